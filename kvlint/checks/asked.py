"""What every check is handed, and how a use becomes a finding."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from kvlint.catalogue.demands import Demand, demands_of
from kvlint.catalogue.resolve import View
from kvlint.findings import Evidence, Finding, Fix, Severity, Suggestion
from kvlint.interpret.classes import ClassInfo, is_contract_class
from kvlint.interpret.context import Context
from kvlint.interpret.pool_sets import Certainty, PoolSet, pool_set, short
from kvlint.interpret.uses import Use
from kvlint.interpret.values import Instance, Value
from kvlint.rules.rule import Rule
from kvlint.source.index import Module
from kvlint.source.text import SourceFile


@dataclass(frozen=True, eq=False)
class Asked:
    """One module, the uses of pools in it, and the rules that are asked of them.

    `rules` are the selected ones of this check; `every_rule` are all there are, since a use that
    belongs to a special rule is not the general one's when the special rule is switched off.
    """

    ctx: Context
    module: Module
    uses: Sequence[Use]
    rules: Sequence[Rule]
    every_rule: Sequence[Rule]
    given: Mapping[ast.Attribute, Value] = field(default_factory=dict)
    """Targets of assignments to attributes in the module, with what the object was."""

    @property
    def view(self) -> View:
        return self.ctx.view

    def pools(self, use: Use, known: Value | None = None) -> PoolSet | None:
        """The pool classes of a use's receiver (or of another value), as this module sees them.
        A method's own `self` may be a subclass from anywhere: a base calls what its subclasses
        add."""
        own = may_be_self(use) and any(
            isinstance(atom, Instance) and atom.cls == use.cls for atom in use.value.atoms or ()
        )
        return pool_set(self.ctx, use.value if known is None else known, self.module, own)

    def contracts(self, use: Use) -> PoolSet | None:
        """The same where it may be of another family: an allocator, a host pool, a batch."""
        own = isinstance(use.receiver, ast.Name) and any(
            isinstance(atom, Instance) and atom.cls == use.cls for atom in use.value.atoms or ()
        )
        return pool_set(self.ctx, use.value, self.module, own, contracts=True)

    @cached_property
    def classes(self) -> tuple[ClassInfo, ...]:
        """The classes of this module that the catalogue knows, in the order of the source."""
        found = [
            info
            for info in self.ctx.class_of_node.values()
            if info.module is self.module and is_contract_class(self.ctx, info.qualname)
        ]
        return tuple(sorted(found, key=lambda info: info.node.lineno))

    def demands(self, method: str) -> tuple[Demand, ...]:
        """The calls of a method that this release of SGLang makes."""
        return demands_of(self.view.catalogue.version).get(method, ())


def may_be_self(use: Use) -> bool:
    """Whether the receiver may be the method's own object: under some name, or handed through an
    expression. What an attribute holds is another object, and so is what was just made."""
    if isinstance(use.receiver, ast.Name | ast.Attribute):
        return isinstance(use.receiver, ast.Name)
    atoms = use.value.atoms or ()
    return any(isinstance(atom, Instance) and not atom.exact for atom in atoms)


WRITERS = ("set_", "store_", "write_", "load_cpu_copy", "move_kv_cache")
"""How the names of accessors that write begin."""
MILDNESS: tuple[Severity, ...] = ("error", "warning", "hint")
Check = Callable[[Asked], Iterator[Finding]]


def finding(
    asked: Asked,
    rule: Rule,
    use: Use,
    pools: PoolSet,
    message: str,
    *,
    certainty: Certainty = "certain",
    at_most: Severity = "error",
    node: ast.expr | None = None,
    raises: str = "",
    remedy: str | None = None,
    fix: Fix | None = None,
    suggestions: tuple[Suggestion, ...] = (),
) -> Finding:
    """A finding at the use (or at another node of it)."""
    source = asked.module.source
    place = node or use.call or use.node
    span = source.span(
        place.lineno,
        place.col_offset,
        place.end_lineno or place.lineno,
        place.end_col_offset or place.col_offset,
    )
    limits: tuple[Severity, ...] = (
        rule.severity,
        at_most,
        "error" if certainty == "certain" else "warning",
    )
    return Finding(
        code=rule.code,
        name=rule.name,
        path=source.path,
        span=span,
        severity=max(limits, key=MILDNESS.index),
        message=message,
        evidence=evidence_of(asked, use, pools),
        raises=raises,
        remedy=rule.remedy if remedy is None else remedy,
        fix=fix,
        suggestions=suggestions,
        statement=statement_lines(use.statement),
        receiver_classes=tuple(sorted({short(cls) for cls in pools.classes})),
        accessor=use.name,
        extra={"certainty": certainty},
    )


def found_at(
    asked: Asked,
    rule: Rule,
    node: ast.expr | ast.stmt,
    statement: ast.stmt,
    message: str,
    *,
    at_most: Severity = "error",
    evidence: Sequence[Evidence] = (),
    raises: str = "",
    remedy: str | None = None,
    fix: Fix | None = None,
    classes: Sequence[str] = (),
    accessor: str = "",
) -> Finding:
    """A finding that speaks of no pool's use: of a definition, a class, an import."""
    source = asked.module.source
    span = source.span(
        node.lineno, node.col_offset, *_end_of(node, isinstance(node, ast.stmt), source)
    )
    return Finding(
        code=rule.code,
        name=rule.name,
        path=source.path,
        span=span,
        severity=max((rule.severity, at_most), key=MILDNESS.index),
        message=message,
        evidence=tuple(evidence),
        raises=raises,
        remedy=rule.remedy if remedy is None else remedy,
        fix=fix,
        statement=statement_lines(statement),
        receiver_classes=tuple(sorted({short(cls) for cls in classes})),
        accessor=accessor,
        extra={"certainty": "certain" if at_most == "error" else "likely"},
    )


def _end_of(node: ast.expr | ast.stmt, is_head: bool, source: SourceFile) -> tuple[int, int]:
    """Where the shown part ends: of a definition its first line."""
    if is_head and hasattr(node, "body"):
        return node.lineno, len(source.line(node.lineno).rstrip().encode())
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def evidence_of(asked: Asked, use: Use, pools: PoolSet) -> tuple[Evidence, ...]:
    """The steps by which the receiver is known. Where there is none, the class around it."""
    if use.value.evidence:
        return use.value.evidence
    declared = " or ".join(sorted({f"`{short(part.declared)}`" for part in pools.parts}))
    receiver = ast.unparse(use.receiver)
    line = use.receiver.lineno
    if use.cls is not None:
        text = f"`{receiver}` is {declared}, in the body of `{short(use.cls)}`"
        info = asked.ctx.classes.get(use.cls)
        line = info.node.lineno if info is not None else line
    else:
        text = f"`{receiver}` is {declared}"
    return (Evidence(text, asked.module.path, line),)


def statement_lines(statement: ast.stmt) -> tuple[int, int]:
    """The lines where a suppression counts: of a compound statement only its head."""
    first = statement.lineno
    body = getattr(statement, "body", None)
    if isinstance(body, list) and body:
        return first, max(first, body[0].lineno - 1)
    cases = getattr(statement, "cases", None)
    if cases:
        return first, max(first, cases[0].pattern.lineno - 1)
    return first, statement.end_lineno or first


def in_family(asked: Asked, cls: str | None, relatives: Sequence[str]) -> bool:
    """Whether code in a class body is at home in one of the pools: the class is the pool, a base,
    a subclass or a mixin of it, or a pool class beside it in the module that defines it."""
    if cls is None:
        return False
    enclosing = cls.partition(".<locals>.")[0]
    view = asked.view
    for relative in relatives:
        if cls in view.mro(relative) or relative in view.mro(cls):
            return True
        if any(cls in view.mro(sub) for sub in view.subclasses(relative)):
            return True
        if enclosing == relative:
            return True
    return False
