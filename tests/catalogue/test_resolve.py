"""What an instance offers along its MRO."""

from __future__ import annotations

import pytest

from kvlint.catalogue.families import family_of
from tests.catalogue.reading import classes, view

POOLS = """
class KVCache(ABC):
    @abstractmethod
    def __init__(self, size):
        self.size = size
        self.end_layer = size
    @abstractmethod
    def get_key_buffer(self, i): raise NotImplementedError()
    @abstractmethod
    def get_value_buffer(self, i): raise NotImplementedError()
    @abstractmethod
    def get_kv_buffer(self, i): raise NotImplementedError()
    @abstractmethod
    def set_kv_buffer(self, l): raise NotImplementedError()
    def get_cpu_copy(self, i): raise NotImplementedError()
    def get_kv_buffer_shape(self): return self.get_kv_buffer(0)[0].shape

class Pair(KVCache):
    def __init__(self, size):
        super().__init__(size)
        self._create()
    def _create(self):
        self.k_buffer = []
        self.v_buffer = []
    def _debug(self): self.trace = 1
    def get_key_buffer(self, i): return 1
    def get_value_buffer(self, i): return 1
    def get_kv_buffer(self, i): return self.get_key_buffer(i), self.get_value_buffer(i)
    def set_kv_buffer(self, l): return 1
    def reset(self): self.used = 0

class Single(KVCache):
    def __init__(self, size):
        super().__init__(size)
        self.kv_buffer = []
    def get_key_buffer(self, i): return 1
    def get_value_buffer(self, i): raise NotImplementedError("Use get_key_buffer instead.")
    def get_kv_buffer(self, i): raise NotImplementedError("Use get_key_buffer instead.")
    def set_kv_buffer(self, l): raise NotImplementedError()

class KOnly(Single):
    def __init__(self, size):
        KVCache.__init__(self, size)
        self.k_buffer = []

class NoOp(Pair):
    def set_kv_buffer(self, l): raise RuntimeError("never")

class Composite(Pair):
    def __init__(self, size):
        self.size = size

class NoValue(Pair):
    def get_value_buffer(self, i): raise NotImplementedError("no V")

class Empty(Pair):
    def _create(self): pass
"""


def test_c3_order() -> None:
    found = view("class A: pass\nclass B(A): pass\nclass C(A): pass\nclass D(B, C): pass")

    assert found.mro("D") == ("D", "B", "C", "A")


def test_bases_that_python_refuses_still_have_an_order() -> None:
    found = view("class A: pass\nclass B(A): pass\nclass C(A, B): pass")

    assert set(found.mro("C")) == {"A", "B", "C"}


def test_cycle_of_bases_ends() -> None:
    assert view("class A(B): pass\nclass B(A): pass").mro("A")[0] == "A"


def test_abstract_until_every_method_is_defined() -> None:
    found = view(POOLS)

    assert not found.concrete("KVCache")
    assert found.concrete("Pair")


def test_concrete_by_an_alias() -> None:
    source = "class A:\n    @abstractmethod\n    def f(self): ...\nclass B(A):\n    f = None"

    assert view(source).concrete("B")


@pytest.mark.parametrize(
    ("name", "accessor", "kind", "defining"),
    [
        ("Single", "get_kv_buffer", "guard", "Single"),
        ("KOnly", "get_kv_buffer", "guard", "Single"),
        ("Single", "get_key_buffer", "works", "Single"),
        ("Pair", "get_cpu_copy", "guard", "KVCache"),
        ("Pair", "move_kv_cache", "absent", None),
        ("Pair", "get_kv_buffer_shape", "works", "KVCache"),
    ],
)
def test_accessor(name: str, accessor: str, kind: str, defining: str | None) -> None:
    found = view(POOLS).accessor(name, accessor)

    assert (found.kind, found.defining_class) == (kind, defining)


def test_method_that_always_calls_a_guard_of_the_instance_is_one() -> None:
    found = view(POOLS).accessor("NoValue", "get_kv_buffer")

    assert (found.kind, found.message, found.defining_class) == ("guard", "no V", "Pair")
    assert found.guarded_by == "NoValue.get_value_buffer"


def test_method_that_instances_replace_is_never_certain() -> None:
    source = "class A:\n    def __init__(self): self.f = g\n    def f(self): raise ValueError"

    assert view(source).accessor("A", "f").kind == "conditional"


def test_methods_that_call_each_other() -> None:
    source = "class A:\n    def f(self): return self.g()\n    def g(self): return self.f()"

    assert view(source).accessor("A", "f").kind == "works"


@pytest.mark.parametrize(
    ("name", "attribute", "present"),
    [
        ("Pair", "k_buffer", True),
        ("Pair", "end_layer", True),
        ("Pair", "kv_buffer", False),
        ("Composite", "end_layer", False),
        ("Composite", "k_buffer", False),
        ("KOnly", "end_layer", True),
        ("KOnly", "kv_buffer", False),
        ("Empty", "k_buffer", False),
        ("Pair", "used", None),
        ("Pair", "trace", False),
        ("Pair", "get_cpu_copy", True),
        ("Pair", "__class__", True),
        ("Unknown", "x", None),
    ],
)
def test_has_attribute(name: str, attribute: str, present: bool | None) -> None:
    assert view(POOLS).has_attribute(name, attribute) is present


@pytest.mark.parametrize(
    "source",
    [
        "class A(elsewhere.Base): pass",
        "class A:\n    def __getattr__(self, name): return 1",
        "class A:\n    x: int",
        "class A:\n    def __init__(self): fill(self)",
        "class A:\n    def __init__(self):\n        def later(): self.x = 1\n        call(later)",
    ],
)
def test_absence_is_not_certain(source: str) -> None:
    assert view(source).has_attribute("A", "x") is None


@pytest.mark.parametrize(
    ("name", "family"),
    [("Single", "single-kv"), ("KOnly", "k-only"), ("NoOp", "no-op"), ("Pair", None)],
)
def test_family(name: str, family: str | None) -> None:
    found = view(POOLS)

    assert family_of(found, name) == family


def test_project_classes_join_a_view() -> None:
    base = view(POOLS)
    (own,) = classes("class Mine(Single):\n    def set_key_buffer(self, x): return 1")

    found = base.extended([own])

    assert found.subclasses("Single") == {"Single", "KOnly", "Mine"}
    assert found.accessor("Mine", "set_kv_buffer").kind == "guard"
    assert "Mine" not in base.catalogue.classes
