"""The catalogue: what the pools of one SGLang release promise.

A catalogue stores *own* facts: what each class body itself defines. What an instance offers is
resolved along the MRO by `kvlint.catalogue.resolve`, so that the pool subclasses of a checked
project join the catalogue by the same code.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

MethodKind = Literal["works", "guard", "conditional", "abstract"]
AccessorKind = Literal["works", "guard", "conditional", "absent"]
ParameterKind = Literal[
    "positional-only", "positional", "var-positional", "keyword-only", "var-keyword"
]
HolderForm = Literal["attribute", "property", "method", "function"]
AS_BASE = -1
Family = Literal["pool", "allocator", "host", "storage", "requests", "backend", "value", "holder"]
"""What a class is to those who use KV: "requests" maps requests to tokens (ReqToTokenPool), "value"
is handed along (KVWriteLoc), "holder" is something that holds pools among much else."""


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    kind: ParameterKind = "positional"
    has_default: bool = False
    annotation: str | None = None
    default: str | None = None
    """The default as text, where it is a literal."""


@dataclass(frozen=True, slots=True)
class SuperCall:
    """A call of a method further along the MRO: `super().m()`, `super(C, self).m()`, `C.m(self)`.

    `after`: search the MRO after this class (None: after the class that holds the call).
    `explicit`: search from this class on, itself included (`C.m(self)`).
    """

    method: str
    after: str | None = None
    explicit: str | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A method as one class body defines it.

    `kind`: "guard" does nothing but raise; "abstract" is a guard under @abstractmethod;
    "conditional" raises for some arguments; "works" is the rest.
    `message` is the text of the guard's exception where it is a literal (an f-string's holes are
    `{}`), None where there is none or the release is embedded without texts.
    """

    name: str
    kind: MethodKind
    parameters: tuple[Parameter, ...] = ()
    """Without self or cls."""
    exception: str | None = None
    message: str | None = None
    has_message: bool = False
    is_property: bool = False
    is_static: bool = False
    is_class: bool = False
    returns: str | None = None
    line: int | None = None
    assigns: tuple[str, ...] = ()
    """Attributes of self that the body assigns (nested functions excluded)."""
    self_calls: tuple[str, ...] = ()
    """Methods of self that the body calls."""
    super_calls: tuple[SuperCall, ...] = ()
    always_calls: tuple[str, ...] = ()
    """Methods of self that every call of this one that returns has called: where one of them is a
    guard, this method raises as well."""
    always_super_calls: tuple[SuperCall, ...] = ()
    """The same for methods further along the MRO."""
    maybe_assigns: tuple[str, ...] = ()
    """Attributes of self that only a nested function assigns: absence is not certain."""
    passes_self: bool = False
    """Hands self to other code, which may set attributes on it."""
    wrapped: bool = False
    """A decorator or wrapper stands around it that may change how it is called."""
    arity: int = 0
    """The length of the result where every `return` is a tuple display of that length, else 0;
    AS_BASE where it is what the method of the base gives."""
    alias: SuperCall | None = None
    """Where the class body says `name = Base.other`: the method that really runs."""


@dataclass(frozen=True, slots=True)
class PoolClass:
    """One class body: a class derived from KVCache, or a base or mixin of one.

    `bases` are qualified names (`sglang.srt.mem_cache.memory_pool.KVCache`); a base outside the
    tree keeps the name it is written with (`abc.ABC`).
    """

    qualname: str
    bases: tuple[str, ...]
    methods: dict[str, Method] = field(default_factory=dict)
    class_attributes: tuple[str, ...] = ()
    """Assigned in the class body, or annotated there with a value."""
    declared_attributes: tuple[str, ...] = ()
    """Annotated in the class body without a value: promised, not present."""
    dynamic: bool = False
    """Has __getattr__, __getattribute__, uses setattr(self, ...) or self.__dict__, or has a base
    nothing is known about: absence is never certain."""
    is_pool: bool = True
    """False for mixins and bases that do not derive from KVCache themselves."""
    sub_pools: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Attribute or property -> qualified names of the pool classes it can hold. An element of a
    list of pools is written `attr[]`."""
    family: Family | None = None
    """None for pools themselves (`is_pool`), and for mixins and bases that are of no family."""
    constant_flags: dict[str, bool] = field(default_factory=dict)
    """Class attributes that the body sets to True or False, and no method assigns."""
    path: str = ""
    """Path in the tree, POSIX, from the folder that holds `sglang`."""
    line: int | None = None

    @property
    def is_contract(self) -> bool:
        """Whether it is a pool, or something of another family that hands KV about."""
        return self.is_pool or self.family is not None

    @property
    def name(self) -> str:
        return self.qualname.rpartition(".")[2]

    @property
    def module(self) -> str:
        return self.qualname.rpartition(".")[0]


@dataclass(frozen=True, slots=True)
class Holder:
    """A way by which code comes by a pool.

    `owner` is the qualified name of a class ("attribute", "property", "method") or of a module
    ("function", "attribute"). `classes` are qualified names: a declared class stands for its
    subclasses too.
    """

    owner: str
    name: str
    form: HolderForm
    classes: tuple[str, ...]
    value_class: str | None = None
    """Where the value is no pool but an object on the way to one (`model_runner: ModelRunner`)."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The facts about one SGLang release.

    `classes` by qualified name. `exports`: module -> {name: qualified name} of pool classes that a
    module makes importable without defining them.
    """

    version: str
    classes: dict[str, PoolClass]
    exports: dict[str, dict[str, str]] = field(default_factory=dict)
    holders: tuple[Holder, ...] = ()
    outside_attributes: tuple[str, ...] = ()
    """Attributes that SGLang's own code assigns on a pool from outside its class."""
    outside_calls: tuple[str, ...] = ()
    """Private methods that SGLang's own code calls on a pool from outside its class."""
    functions: dict[str, Method] = field(default_factory=dict)
    """Module functions of `sglang.srt.mem_cache`, by qualified name."""
    modules: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Modules of the packages that are known whole -> the names that each binds at its top level;
    ("*",) where that cannot be told."""
    backends: tuple[str, ...] = ()
    """Valid values of --attention-backend."""
    source: str = "embedded"
    """"embedded", or the path of the tree that was read."""
    release: str | None = None
    """The embedded release that these facts are of, to the byte of its source; None for any other
    tree, whatever version it says of itself."""
    partial: bool = False
    """Modules are left out that the checked tree has of its own: what it defines is not judged."""
