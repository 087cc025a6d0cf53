"""Fixes for writes past a parent pool: `pool.full_kv_pool.set_kv_buffer(...)`."""

from __future__ import annotations

import ast

from kvlint.findings import Fix
from kvlint.fixing.k_only import through_parent
from kvlint.fixing.places import make_fix, path_to
from kvlint.source.text import SourceFile

_POSITIONAL = 6
"""layer, loc, cache_k, cache_v, k_scale, v_scale; the seventh is layer_id_override."""
_REASON = (
    "the parent chooses the sub-pool by layer.layer_id and maps the layer id and the locations "
    "itself, where the sub-pool took them as they are"
)


def fix_sub_pool_write(
    source: SourceFile, tree: ast.Module, call: ast.Call, writer: str
) -> Fix | None:
    """The fix of `parent.sub_pool.method(...)`: the parent's `writer` with the same arguments.

    None where the arguments address the sub-pool (`layer_id_override`, which the parents' writers
    do not take: sglang/srt/mem_cache/swa_memory_pool.py) or are starred, so that this is open.
    """
    names = [keyword.arg for keyword in call.keywords]
    starred = None in names or any(isinstance(each, ast.Starred) for each in call.args)
    overrides = "layer_id_override" in names or len(call.args) > _POSITIONAL
    if starred or overrides or not path_to(tree, call):
        return None
    changes = through_parent(source, call, writer)
    if changes is None:
        return None
    return make_fix(source, f"Write through the parent's {writer}", changes, [_REASON])
