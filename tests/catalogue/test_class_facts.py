"""What one class body says."""

from __future__ import annotations

import pytest

from kvlint.catalogue.model import Parameter, SuperCall
from tests.catalogue.reading import facts, method

GUARDS = {
    "bare raise": "def f(self): raise NotImplementedError",
    "docstring first": 'def f(self):\n    "Text."\n    raise NotImplementedError()',
    "logging first": "def f(self):\n    logger.warning('no')\n    raise NotImplementedError()",
    "message built first": "def f(self):\n    m = 'no'\n    raise NotImplementedError(m)",
    "from None": "def f(self): raise NotImplementedError('no') from None",
    "assert False": "def f(self): assert False, 'no'",
    "every branch raises": """
        def f(self, x):
            if x:
                raise ValueError("a")
            elif self.y:
                raise ValueError("b")
            else:
                raise ValueError("c")
        """,
    "code after the raise": "def f(self):\n    raise NotImplementedError()\n    return 1",
    "raise in with": "def f(self):\n    with self.lock:\n        raise NotImplementedError()",
    "handler raises as well": """
        def f(self):
            try:
                raise ValueError
            except ValueError:
                raise NotImplementedError
        """,
    "wrapped": "@functools.wraps(g)\ndef f(self): raise NotImplementedError()",
    "static": "@staticmethod\ndef f(): raise NotImplementedError()",
}

NO_GUARDS = {
    "one branch raises": (
        "def f(self, x):\n    if x:\n        raise ValueError\n    return 1",
        "conditional",
    ),
    "raise in a loop": (
        "def f(self):\n    for x in self.y:\n        raise ValueError",
        "conditional",
    ),
    "caught": (
        "def f(self):\n    try:\n        raise ValueError\n    except ValueError:\n        pass",
        "works",
    ),
    "suppressed": (
        "def f(self):\n    with suppress(ValueError):\n        raise ValueError",
        "conditional",
    ),
    "finally returns": (
        "def f(self):\n    try:\n        raise ValueError\n    finally:\n        return 1",
        "works",
    ),
    "generator": ("def f(self):\n    yield 1\n    raise ValueError", "works"),
    "coroutine": ("async def f(self): raise ValueError", "works"),
    "nested function raises": (
        "def f(self):\n    def g():\n        raise ValueError\n    return g",
        "works",
    ),
    "unknown decorator": ("@retried\ndef f(self): raise ValueError", "conditional"),
    "docstring only": ('def f(self):\n    "Text."', "works"),
    "defined under if": (
        "if sys.platform:\n    def f(self): raise ValueError",
        "conditional",
    ),
    "one definition of two raises": (
        "if fast:\n    def f(self): raise ValueError\nelse:\n    def f(self): return 1",
        "conditional",
    ),
}


@pytest.mark.parametrize("body", GUARDS.values(), ids=GUARDS)
def test_guard(body: str) -> None:
    assert method(body).kind == "guard"


@pytest.mark.parametrize(("body", "kind"), NO_GUARDS.values(), ids=NO_GUARDS)
def test_no_guard(body: str, kind: str) -> None:
    assert method(body).kind == kind


def test_guard_under_if_and_else_is_a_guard() -> None:
    body = "if a:\n    def f(self): raise ValueError\nelse:\n    def f(self): raise TypeError"

    assert method(body).kind == "guard"


@pytest.mark.parametrize(
    ("statement", "exception", "message", "has_message"),
    [
        ("raise NotImplementedError", "NotImplementedError", None, False),
        ("raise NotImplementedError()", "NotImplementedError", None, False),
        ("raise ValueError('a' 'b')", "ValueError", "ab", True),
        ("raise ValueError('a' + 'b')", "ValueError", "ab", True),
        ("raise errors.PoolError(f'{self.x} no')", "PoolError", "{} no", True),
        ("raise ValueError(TEXT)", "ValueError", None, True),
        ("assert False, 'no'", "AssertionError", "no", True),
        ("raise self.error('no')", None, None, True),
    ],
)
def test_what_a_guard_raises(
    statement: str, exception: str | None, message: str | None, has_message: bool
) -> None:
    found = method(f"def f(self):\n    {statement}")

    assert (found.exception, found.message, found.has_message) == (exception, message, has_message)


def test_exception_from_a_local_name() -> None:
    found = method("def f(self):\n    error = ValueError('no')\n    raise error")

    assert (found.exception, found.message) == ("ValueError", "no")


def test_abstract_method() -> None:
    assert (
        method("@abc.abstractmethod\ndef f(self): raise NotImplementedError()").kind == "abstract"
    )


def test_parameters_are_without_self() -> None:
    found = method("def f(self, a, /, b: 'X | None', c=1, *d, e, f: Optional[int] = 0, **g): pass")

    assert found.parameters == (
        Parameter("a", "positional-only"),
        Parameter("b", annotation="X | None"),
        Parameter("c", has_default=True, default="1"),
        Parameter("d", "var-positional"),
        Parameter("e", "keyword-only"),
        Parameter("f", "keyword-only", True, "Optional[int]", "0"),
        Parameter("g", "var-keyword"),
    )


def test_static_method_keeps_its_first_parameter() -> None:
    assert method("@staticmethod\ndef f(a): pass").parameters == (Parameter("a"),)


ASSIGNS = {
    "plain": ("self.x = 1", ("x",)),
    "tuple": ("self.x, (self.y, *self.z) = v", ("x", "y", "z")),
    "annotated": ("self.x: int = 1", ("x",)),
    "annotation only": ("self.x: int", ()),
    "augmented needs it": ("self.x += 1", ()),
    "for": ("for self.x in v: pass", ("x",)),
    "with": ("with v as self.x: pass", ("x",)),
    "setattr": ("setattr(self, 'x', 1)", ("x",)),
    "object.__setattr__": ("object.__setattr__(self, 'x', 1)", ("x",)),
    "another name of self": ("me = self\nme.x = 1", ("x",)),
    "under if": ("if v:\n    self.x = 1", ("x",)),
    "attribute of an attribute": ("self.x.y = 1", ()),
    "another object": ("other.x = 1", ()),
    "subscript": ("self.x[0] = 1", ()),
}


@pytest.mark.parametrize(("body", "names"), ASSIGNS.values(), ids=ASSIGNS)
def test_assigned_attributes(body: str, names: tuple[str, ...]) -> None:
    lines = body.replace("\n", "\n    ")

    assert method(f"def f(self, v):\n    {lines}").assigns == names


def test_nested_function_may_assign() -> None:
    found = method("def f(self):\n    def g():\n        self.x = 1\n    g()")

    assert (found.assigns, found.maybe_assigns) == ((), ("x",))


@pytest.mark.parametrize(
    "statement",
    [
        "setattr(self, name, 1)",
        "self.__dict__.update(v)",
        "vars(self)[n] = 1",
        "self.__class__ = D",
    ],
)
def test_computed_attributes_make_a_class_dynamic(statement: str) -> None:
    assert facts(f"class C:\n    def f(self, v):\n        {statement}").dynamic


@pytest.mark.parametrize("header", ["@magic\nclass C: x = 1", "class C(metaclass=Magic): x = 1"])
def test_unknown_class_decorator_or_metaclass_is_dynamic(header: str) -> None:
    assert facts(header).dynamic


def test_calls_of_self_and_super() -> None:
    found = facts("""
        class C(KVCache):
            def f(self):
                super().a()
                super(C, self).b()
                super(KVCache, self).c()
                KVCache.d(self)
                mixins.Other.e(self)
                self.g(1)
        """).methods["f"]

    assert found.self_calls == ("g",)
    assert found.super_calls == (
        SuperCall("a"),
        SuperCall("b", after="C"),
        SuperCall("c", after="KVCache"),
        SuperCall("d", explicit="KVCache"),
        SuperCall("e", explicit="mixins.Other"),
    )


def test_calls_that_are_always_made() -> None:
    found = method("""
        def f(self, x):
            a = self.always()
            if self.in_test():
                self.sometimes()
            y = self.left() if x else self.right()
            z = self.first() or self.second()
            if x:
                return 1
            self.after_return()
        """)

    assert found.always_calls == ("always", "in_test", "first")


def test_passing_self_on() -> None:
    assert method("def f(self): register(self)").passes_self
    assert not method("def f(self): return isinstance(self, C)").passes_self


def test_alias_in_the_class_body() -> None:
    own = facts("""
        class C(KVCache):
            def get_a(self): raise ValueError
            get_b = get_a
            get_c = KVCache.get_d
            x = property(lambda self: 1)
            y = 3
            z: int
        """)

    assert own.methods["get_b"].kind == "guard"
    assert own.methods["get_c"].alias == SuperCall("get_d", explicit="KVCache")
    assert own.methods["x"].is_property
    assert (own.class_attributes, own.declared_attributes) == (("y",), ("z",))


def test_setter_leaves_the_property_as_it_is() -> None:
    own = facts("""
        class C:
            @property
            def x(self): return 1
            @x.setter
            def x(self, value): raise AttributeError
        """)

    assert own.methods["x"].kind == "works"


def test_dataclass_fields_are_present() -> None:
    assert facts("@dataclass\nclass C:\n    x: int").class_attributes == ("x",)


def test_type_checking_block_defines_nothing() -> None:
    assert (
        facts("class C:\n    if TYPE_CHECKING:\n        def f(self): ...\n    x = 1").methods == {}
    )
