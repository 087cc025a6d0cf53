"""Fixes for writes to the K-only sub-pool of `MiniMaxSparseKVPool`.

`MHATokenToKOnlyPool.set_kv_buffer(layer, loc, cache_k, cache_v, k_scale=None, v_scale=None,
layer_id_override=None)` only raises. The parent's `set_index_k_buffer(layer, loc, cache_idx_k,
k_scale=None)` is the writer; SGLang 0.5.16 has it without `k_scale`
(sglang/srt/mem_cache/memory_pool.py).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from kvlint.catalogue.model import Parameter
from kvlint.findings import Fix, Suggestion
from kvlint.fixing import brackets
from kvlint.fixing.places import (
    Change,
    attribute_dot,
    attribute_name,
    code_positions,
    has_comment,
    make_fix,
    path_to,
    place_of,
)
from kvlint.fixing.single_kv import COMMENT
from kvlint.source.text import SourceFile

_PARENT = "MiniMaxSparseKVPool"
SUB_POOL = "index_k_pool"
GUARDED = "set_kv_buffer"
WRITER = "set_index_k_buffer"
_PARAMETERS = ("layer", "loc", "cache_k", "cache_v", "k_scale", "v_scale", "layer_id_override")
_RENAMED = {"cache_k": "cache_idx_k"}
_WITHOUT_EFFECT = (
    ast.Name,
    ast.Constant,
    ast.Attribute,
    ast.Subscript,
    ast.Slice,
    ast.UnaryOp,
    ast.BinOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Tuple,
    ast.List,
    ast.expr_context,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
)


@dataclass(frozen=True, slots=True)
class _Argument:
    parameter: str
    value: ast.expr
    keyword: ast.keyword | None
    index: int
    """Which of the call's arguments it is, from the left."""


def fix_k_only_write(
    source: SourceFile,
    tree: ast.Module,
    call: ast.Call,
    parent_is_known: bool,
    index_writer_parameters: tuple[Parameter, ...],
) -> Fix | None:
    """The fix of `parent.index_k_pool.set_kv_buffer(...)`: the parent's `set_index_k_buffer`.

    `index_writer_parameters`: those of the parent's writer in the release, with or without self.
    """
    accepted = [each.name for each in index_writer_parameters if each.name != "self"]
    arguments = _bind(call)
    if not parent_is_known or arguments is None or accepted[:3] != ["layer", "loc", "cache_idx_k"]:
        return None
    dropped = [each for each in arguments if _is_dropped(each, accepted)]
    if not _fits(arguments, dropped, accepted) or not path_to(tree, call):
        return None
    receiver = through_parent(source, call, WRITER, SUB_POOL)
    changes = _argument_changes(source, call, arguments, dropped)
    if receiver is None or changes is None:
        return None
    changes = [*receiver, *changes]
    reasons = _reasons(dropped)
    if any(has_comment(source.text[each.start : each.end]) for each in changes):
        reasons.append(COMMENT)
    return make_fix(source, f"Write through the parent's {WRITER}", changes, reasons)


def through_parent(
    source: SourceFile, call: ast.Call, writer: str, sub_pool: str | None = None
) -> list[Change] | None:
    """The changes that turn the callee `parent.sub_pool.method` into `parent.writer`."""
    match call.func:
        case ast.Attribute(value=ast.Attribute() as receiver) as method:
            pass
        case _:
            return None
    if sub_pool is not None and receiver.attr != sub_pool:
        return None
    name, method_name = attribute_name(source, receiver), attribute_name(source, method)
    dot = attribute_dot(source, receiver, name) if name else None
    if name is None or method_name is None or dot is None:
        return None
    rename = Change(method_name.start, method_name.end, writer)
    if has_comment(source.text[dot : name.end]):
        return [Change(dot, dot + 1), Change(name.start, name.end), rename]
    return [Change(_blank_before(source.text, dot), name.end), rename]


def alternatives(
    source: SourceFile, tree: ast.Module, call: ast.Call, receiver_text: str
) -> tuple[Suggestion, ...]:
    """The documented ways around the sub-pool, for this receiver and its arguments."""
    arguments = _bind(call)
    if arguments is None:
        return ()
    receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
    parent = ast.unparse(receiver.value) if isinstance(receiver, ast.Attribute) else "sparse_pool"
    given = {each.parameter: ast.unparse(each.value) for each in arguments}
    layer, loc = given.get("layer", "layer"), given.get("loc", "loc")
    key, value = given.get("cache_k", "cache_k"), given.get("cache_v", "cache_v")
    scales = "".join(f", {name}={given[name]}" for name in ("k_scale", "v_scale") if name in given)
    everything = f"{layer}, {loc}, {key}, {value}{scales}"
    caught = (
        f"try:\n    {receiver_text}.set_kv_buffer({everything})\n"
        "except NotImplementedError as error:\n"
        f'    raise RuntimeError("K-only layers are written by {_PARENT}.{WRITER}") from error'
    )
    return (
        Suggestion(
            "Write the layer's main K and V through the parent, if those were meant",
            f"{parent}.set_kv_buffer({everything})",
        ),
        Suggestion("Say which writer to use where the sub-pool refuses", caught),
    )


def _bind(call: ast.Call) -> list[_Argument] | None:
    """Which parameter of `set_kv_buffer` each argument is for; None where that is not certain or
    another accessor is called."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != GUARDED:
        return None
    if len(call.args) > len(_PARAMETERS) or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    bound = [
        _Argument(name, value, None, index)
        for index, (name, value) in enumerate(zip(_PARAMETERS, call.args, strict=False))
    ]
    for index, word in enumerate(call.keywords, len(bound)):
        if word.arg not in _PARAMETERS or word.arg in {each.parameter for each in bound}:
            return None
        bound.append(_Argument(word.arg, word.value, word, index))
    return bound


def _is_dropped(argument: _Argument, accepted: Sequence[str]) -> bool:
    if argument.parameter in ("cache_v", "v_scale", "layer_id_override"):
        return True
    return argument.parameter == "k_scale" and "k_scale" not in accepted


def _fits(
    arguments: Sequence[_Argument], dropped: Sequence[_Argument], accepted: Sequence[str]
) -> bool:
    """Whether what is left is a call that the parent's writer takes in the same meaning."""
    given = {each.parameter: each for each in arguments}
    override = given.get("layer_id_override")
    if override is not None and not _is_none(override.value):
        return False  # the parent finds the sub-pool's layer by layer.layer_id alone
    if not {"layer", "loc", "cache_k"} <= given.keys():
        return False
    positional = [each for each in arguments if each.keyword is None and each not in dropped]
    wanted = [_RENAMED.get(each.parameter, each.parameter) for each in positional]
    return wanted == list(accepted[: len(wanted)])


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _reasons(dropped: Sequence[_Argument]) -> list[str]:
    reasons = [
        f"dropping {ast.unparse(each.value)} drops what it does"
        for each in dropped
        if not all(isinstance(node, _WITHOUT_EFFECT) for node in ast.walk(each.value))
    ]
    if any(each.parameter == "k_scale" and not _is_none(each.value) for each in dropped):
        reasons.append(f"{WRITER} of this SGLang release takes no k_scale")
    return reasons


def _argument_changes(
    source: SourceFile,
    call: ast.Call,
    arguments: Sequence[_Argument],
    dropped: Sequence[_Argument],
) -> list[Change] | None:
    start = place_of(source, call.func).end
    end = place_of(source, call).end
    opening = [at for at in code_positions(source.text, start, end) if source.text[at] == "("]
    items = brackets.elements(source.text, opening[0], end) if opening else None
    if items is None or len(items) != len(arguments):
        return None
    changes = brackets.without(source.text, items, [each.index for each in dropped])
    for each in arguments:
        if each.keyword is not None and each.parameter in _RENAMED and each not in dropped:
            at = items[each.index].start
            changes.append(Change(at, at + len(each.parameter), _RENAMED[each.parameter]))
    return changes


def _blank_before(text: str, position: int) -> int:
    """The start of the white space before `position`; `position` if that ends a comment."""
    start = position
    while start and text[start - 1] in " \t\f\r\n\\":
        start -= 1
    line_start = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    return position if "#" in text[line_start:start] else start
