"""Is a class made an instance of that leaves part of its contract unwritten?"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from kvlint.catalogue.resolve import View
from kvlint.checks.asked import Asked, found_at
from kvlint.findings import Evidence, Finding
from kvlint.interpret.handlers import catches
from kvlint.interpret.pool_sets import short
from kvlint.interpret.uses import Use
from kvlint.interpret.values import ClassObject

USUAL = 0.85
"""The share of SGLang's own classes that write a method which the base only raises in: then it is
part of the contract."""


def check(asked: Asked) -> Iterator[Finding]:
    for use in asked.uses:
        if use.kind in ("construct", "replace-class") and not catches(use.caught, "TypeError"):
            atoms = [atom for atom in use.value.atoms or () if isinstance(atom, ClassObject)]
            if len(atoms) == 1 and atoms[0].exact:
                yield from _made(asked, use, atoms[0].cls)


def _made(asked: Asked, use: Use, cls: str) -> Iterator[Finding]:
    info = asked.ctx.classes.get(cls)
    if info is None or cls.startswith("sglang.") or not asked.view.is_certain(cls):
        return
    abstract = unwritten(asked.view, cls)
    missing = abstract or _raising(asked.view, cls)
    if not missing:
        return
    listed = " and ".join(f"`{name}`" for name in missing[:3])
    more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
    where = Evidence(f"`{info.name}` is defined here", info.module.path, info.node.lineno)
    if abstract:
        raises = f"TypeError: Can't instantiate abstract class {info.name}"
    else:
        raises = f"NotImplementedError when SGLang calls {missing[0]}"
    node: ast.expr = use.call or use.node
    for rule in asked.rules:
        yield found_at(
            asked,
            rule,
            node,
            use.statement,
            f"{short(cls)} is used without {listed}{more}",
            at_most="error" if abstract else "warning",
            evidence=(where,),
            raises=raises,
            classes=(cls,),
        )


def unwritten(view: View, cls: str) -> list[str]:
    """The abstract methods that are left: Python refuses to make an instance."""
    seen: set[str] = set()
    found: list[str] = []
    for own in view.known_mro(cls):
        for method in own.methods.values():
            if method.kind == "abstract" and method.name not in seen:
                found.append(method.name)
            seen.add(method.name)
        seen.update(own.class_attributes)
    return found


def _raising(view: View, cls: str) -> list[str]:
    """Methods in which the base only raises and that nearly every class of SGLang's writes."""
    own = view.catalogue.classes[cls]
    if own.family != "backend":
        return []
    root = next((one for one in view.known_mro(cls) if one.name == "AttentionBackend"), None)
    if root is None:
        return []
    siblings = [
        name
        for name in view.subclasses(root.qualname)
        if name != root.qualname and name.startswith("sglang.srt.layers.") and view.concrete(name)
    ]
    return [
        name
        for name, method in root.methods.items()
        if method.kind == "guard"
        and view.accessor(cls, name).guarded_by == f"{root.qualname}.{name}"
        and _share(view, siblings, name) >= USUAL
    ]


def _share(view: View, classes: list[str], name: str) -> float:
    written = [cls for cls in classes if view.accessor(cls, name).kind != "guard"]
    return len(written) / len(classes) if classes else 0.0
