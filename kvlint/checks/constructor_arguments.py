"""Is a pool, an allocator or their base constructed with arguments that it does not take?"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.catalogue.binding import missing, refusal, slots
from kvlint.catalogue.model import Method, Parameter
from kvlint.catalogue.resolve import View
from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding, Severity
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import short
from kvlint.interpret.uses import Use
from kvlint.interpret.values import ClassObject, Instance

ABBREVIATED = 4
"""Who leaves out more arguments than that writes `Pool(...)` for short, in a text about pools."""


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.call is None or catches(use.caught, "TypeError"):
            continue
        if use.kind == "construct" or (use.kind == "access" and use.name == "__init__"):
            yield from _constructed(asked, use, use.call)


def _constructed(asked: Asked, use: Use, call: ast.Call) -> Iterator[Finding]:
    classes = _classes(use)
    methods = [constructor(asked.view, cls) for cls in classes]
    known = [method.parameters for method in methods if method is not None]
    if not known or len(known) != len(classes):
        return
    shape = use.shape
    if any(len(missing(parameters, shape)) > ABBREVIATED for parameters in known):
        return
    reasons = [refusal(parameters, shape) for parameters in known]
    name = short(classes[0])
    if all(reason is not None for reason in reasons):
        reason = reasons[0].reason if reasons[0] is not None else ""
        yield from _found(
            asked,
            use,
            call,
            f"`{name}` cannot be made so: its constructor {reason}",
            f"TypeError: {name}.__init__() {reason}",
            "error",
            classes,
        )
        return
    if any(asked.view.family([cls]) == "value" for cls in classes):
        return  # KVWriteLoc(swa_loc): the location of one space handed on as the only one
    if use.given is not None:
        return
    shifted = [_shifted(parameters, call, use.bound_by) for parameters in known]
    if all(shifted) and not any(reasons):
        argument, parameter = shifted[0] or ("", "")
        yield from _found(
            asked,
            use,
            call,
            f"`{argument}` becomes `{parameter}` of {name}: an argument before it is missing",
            f"Nothing: `{parameter}` silently gets the value of `{argument}`",
            "error" if use.kind == "access" else "warning",
            classes,
        )


def _found(
    asked: Asked,
    use: Use,
    call: ast.Call,
    message: str,
    raises: str,
    at_most: Severity,
    classes: Sequence[str],
) -> Iterator[Finding]:
    name = short(classes[0])
    evidence = use.value.evidence or (Evidence(f"`{name}` as this release defines it"),)
    for rule in asked.rules:
        yield found_at(
            asked,
            rule,
            call,
            use.statement,
            message,
            at_most=at_most,
            evidence=evidence,
            raises=raises,
            classes=classes,
            accessor="__init__",
        )


def _classes(use: Use) -> list[str]:
    atoms = use.value.atoms or ()
    return sorted({atom.cls for atom in atoms if isinstance(atom, (ClassObject, Instance))})


def constructor(view: View, qualname: str) -> Method | None:
    """The `__init__` that makes an instance; None where something else may decide what it takes:
    a base nothing is known about, a `__new__`, a metaclass, a decorator."""
    if not view.is_certain(qualname) or view.find(qualname, "__new__") is not None:
        return None
    own = view.find(qualname, "__init__")
    method = own.methods.get("__init__") if own is not None else None
    if method is None or method.wrapped or method.alias is not None:
        return None
    return method


def _shifted(
    parameters: Sequence[Parameter], call: ast.Call, bound_by: int
) -> tuple[str, str] | None:
    """(argument, parameter) where a plain name that is another parameter's lands on this one."""
    names = {one.name for one in parameters}
    if bound_by:
        call = ast.copy_location(ast.Call(call.func, call.args[bound_by:], call.keywords), call)
    for parameter, argument in slots(parameters, call):
        if isinstance(argument, ast.Name) and argument.id in names - {parameter.name}:
            return argument.id, parameter.name
    return None
