"""Fixes for reads of K and V on pools that keep both in one buffer.

`DeepSeekV4SingleKVPool` and its subclasses answer `get_kv_buffer` and `get_value_buffer` with
NotImplementedError; `get_key_buffer(layer_id)` gives the shared buffer
(sglang/srt/mem_cache/deepseek_v4_memory_pool.py).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from kvlint.findings import Fix, Suggestion
from kvlint.fixing import brackets
from kvlint.fixing.names import is_unused_after
from kvlint.fixing.places import (
    Change,
    attribute_name,
    code_positions,
    enclosing_statement,
    has_comment,
    make_fix,
    path_to,
    place_of,
    text_of,
)
from kvlint.source.text import SourceFile

SHARED = "the pool has one buffer for K and V, so the value is the same tensor as the key"
COMMENT = "a comment goes with the text it stands in"
_TITLE = "Read the shared buffer with get_key_buffer"
_PLAIN = (ast.Name, ast.Attribute, ast.Subscript)
_GUARD_CLASS = "DeepSeekV4SingleKVPool"
_GUARD_MODULE = "sglang.srt.mem_cache.deepseek_v4_memory_pool"


def fix_pair_read(source: SourceFile, tree: ast.Module, call: ast.Call) -> Fix | None:
    """The fix of `X.get_kv_buffer(...)`: safe where only the key is used, unsafe where the value
    is, None where the pair itself goes on to somewhere else."""
    path = path_to(tree, call)
    rename = _rename(source, call, "get_kv_buffer")
    if rename is None or len(path) < 2:
        return None
    match path[-2]:
        case ast.Expr():
            return make_fix(source, _TITLE, [rename])
        case ast.Subscript(value=value, ctx=ast.Load()) as subscript if value is call:
            return _fix_subscript(source, subscript, rename)
        case ast.Assign(targets=[ast.Tuple() | ast.List() as target]):
            return _fix_unpacking(source, path[:-1], target, rename)
    return None


def fix_value_read(source: SourceFile, tree: ast.Module, call: ast.Call) -> Fix | None:
    """The fix of `X.get_value_buffer(...)`: always unsafe, the value is the key's buffer."""
    rename = _rename(source, call, "get_value_buffer")
    return make_fix(source, _TITLE, [rename], [SHARED]) if rename and path_to(tree, call) else None


def alternatives(
    source: SourceFile, tree: ast.Module, call: ast.Call, receiver_text: str
) -> tuple[Suggestion, ...]:
    """The documented type guard and the documented fallback, for this receiver and arguments."""
    guarded, shared = _both_ways(source, tree, call, receiver_text)
    guard = (
        f"from {_GUARD_MODULE} import {_GUARD_CLASS}\n\n"
        f"if isinstance({receiver_text}, {_GUARD_CLASS}):\n    {shared}\nelse:\n    {guarded}"
    )
    fallback = f"try:\n    {guarded}\nexcept NotImplementedError:\n    {shared}"
    return (
        Suggestion("Ask for the pool's class where it can be another pool too", guard),
        Suggestion("Fall back to the shared buffer where the pool refuses", fallback),
    )


def _rename(source: SourceFile, call: ast.Call, accessor: str) -> Change | None:
    if not isinstance(call.func, ast.Attribute) or call.func.attr != accessor:
        return None
    if len(call.args) > 1 or any(word.arg not in ("layer_id", None) for word in call.keywords):
        return None
    name = attribute_name(source, call.func)
    return Change(name.start, name.end, "get_key_buffer") if name else None


def _fix_subscript(source: SourceFile, subscript: ast.Subscript, rename: Change) -> Fix | None:
    try:
        index = ast.literal_eval(subscript.slice)
    except ValueError:
        return None
    if type(index) is not int or index not in (0, 1, -1, -2):
        return None
    cut = _subscript_cut(source, subscript)
    if cut is None:
        return None
    reasons = [SHARED] if index in (1, -1) else []
    if has_comment(source.text[cut.start : cut.end]):
        reasons.append(COMMENT)
    return make_fix(source, _TITLE, [rename, cut], reasons)


def _subscript_cut(source: SourceFile, subscript: ast.Subscript) -> Change | None:
    """The brackets and, unless a comment is in it, the space before them."""
    text, end = source.text, place_of(source, subscript).end
    call_end = place_of(source, subscript.value).end
    opening = [at for at in code_positions(text, call_end, end) if text[at] == "["]
    if not opening or text[end - 1] != "]":
        return None
    start = opening[0]
    if "#" not in text[call_end:start]:
        while text[start - 1] in " \t\f\r\n\\":
            start -= 1
    return Change(start, end)


def _fix_unpacking(
    source: SourceFile, path: Sequence[ast.AST], target: ast.Tuple | ast.List, rename: Change
) -> Fix | None:
    if len(target.elts) != 2 or not all(isinstance(each, _PLAIN) for each in target.elts):
        return None
    key, value = target.elts
    reasons = []
    if _is_unused(path, value):
        changes = _keep_key(source, target, key)
    else:
        changes = _bind_both(source, path, target)
        reasons.append(SHARED)
    if changes is None:
        return None
    if any(has_comment(source.text[each.start : each.end]) for each in changes):
        reasons.append(COMMENT)
    return make_fix(source, _TITLE, [rename, *changes], reasons)


def _is_same_name(key: ast.Name, value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == key.id


def _is_unused(path: Sequence[ast.AST], target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and is_unused_after(path, target.id)


def _target_text(source: SourceFile, target: ast.expr) -> str:
    text = text_of(source, target)
    return f"({text})" if "\n" in text or "\r" in text else text


def _bind_both(
    source: SourceFile, path: Sequence[ast.AST], target: ast.Tuple | ast.List
) -> list[Change]:
    """`k = v`, in the order in which the tuple was bound; an unused `_` is left out."""
    key, value = target.elts
    place = place_of(source, target)
    names = [_target_text(source, value)]
    if not isinstance(key, ast.Name) or not (
        _is_same_name(key, value) or (not key.id.strip("_") and _is_unused(path, key))
    ):
        names.insert(0, _target_text(source, key))
    return [Change(place.start, place.end, " = ".join(names))]


def _keep_key(
    source: SourceFile, target: ast.Tuple | ast.List, key: ast.expr
) -> list[Change] | None:
    place = place_of(source, target)
    text = source.text
    if not has_comment(text[place.start : place.end]):
        return [Change(place.start, place.end, _target_text(source, key))]
    parts = brackets.elements(text, place.start, place.end)
    if parts is None or len(parts) != 2 or parts[0].comma is None:
        return None
    return [
        Change(place.start, place.start + 1, "("),
        Change(parts[0].comma, parts[0].comma + 1),
        brackets.cut(text, parts[1]),
        Change(place.end - 1, place.end, ")"),
    ]


def _both_ways(
    source: SourceFile, tree: ast.Module, call: ast.Call, receiver_text: str
) -> tuple[str, str]:
    """One line that asks the general accessor, and the same with `get_key_buffer`."""
    accessor = call.func.attr if isinstance(call.func, ast.Attribute) else "get_kv_buffer"
    arguments = ", ".join(ast.unparse(part) for part in (*call.args, *call.keywords))
    names = _bound_names(enclosing_statement(path_to(tree, call)), call)
    if accessor == "get_value_buffer":
        names = [names[0] if len(names) == 1 else "v"]
    elif len(names) != 2:
        names = ["k", "v"]
    return (
        f"{', '.join(names)} = {receiver_text}.{accessor}({arguments})",
        f"{' = '.join(names)} = {receiver_text}.get_key_buffer({arguments})",
    )


def _bound_names(statement: ast.stmt | None, call: ast.Call) -> list[str]:
    """What a plain assignment of the call's result binds."""
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)], value=value):
            pass
        case ast.Assign(targets=targets, value=value):
            pass
        case _:
            return []
    plain = value is call and all(isinstance(each, _PLAIN) for each in targets)
    return [ast.unparse(each) for each in targets] if plain else []
