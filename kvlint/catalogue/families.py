"""Which kind of pool a class is, told from what it offers: no list of class names.

- `single-kv`: K and V lie in one buffer (`kv_buffer`); `get_key_buffer` gives it, the generic
  pair readers and the generic writer are guards.
- `k-only`: stores K and no V; the generic writer is a guard, `set_k_buffer` or the parent writes.
- `no-op`: stores nothing: its readers give placeholders, its generic writer is a guard.
- `composite`: owns sub-pools and hands every access on to them.
"""

from __future__ import annotations

from typing import Literal

from kvlint.catalogue.resolve import View

Family = Literal["single-kv", "k-only", "no-op", "composite"]


def family_of(view: View, qualname: str) -> Family | None:
    """The family of a concrete pool class; None for an ordinary one, an abstract or unknown one."""
    own = view.catalogue.classes.get(qualname)
    if own is None or not own.is_pool or not view.concrete(qualname):
        return None
    if not _guards(view, qualname, "set_kv_buffer"):
        return "composite" if view.sub_pools(qualname) else None
    if not _works(view, qualname, "get_key_buffer"):
        return "composite" if view.sub_pools(qualname) else None
    if _works(view, qualname, "get_kv_buffer", "get_value_buffer"):
        return "no-op" if _parent_writes(view, qualname) else None
    if not _guards(view, qualname, "get_kv_buffer", "get_value_buffer"):
        return None
    if view.has_attribute(qualname, "kv_buffer"):
        return "single-kv"
    if view.has_attribute(qualname, "k_buffer") and not view.has_attribute(qualname, "v_buffer"):
        return "k-only"
    return None


def _guards(view: View, qualname: str, *names: str) -> bool:
    return all(view.accessor(qualname, name).kind == "guard" for name in names)


def _works(view: View, qualname: str, *names: str) -> bool:
    return all(view.accessor(qualname, name).kind in ("works", "conditional") for name in names)


def _parent_writes(view: View, qualname: str) -> bool:
    """Whether a base class could be written: the guard is this class's own refusal."""
    return any(
        method.kind in ("works", "conditional")
        for base in view.known_mro(qualname)
        if (method := base.methods.get("set_kv_buffer"))
    )
