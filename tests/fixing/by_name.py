"""A check that goes by names alone, and the two questions the tests of fixes ask with it."""

from __future__ import annotations

import ast
from pathlib import Path

from kvlint.catalogue.model import Parameter
from kvlint.findings import Finding, Fix
from kvlint.fixing.apply import FixOutcome, fix_text
from kvlint.fixing.k_only import fix_k_only_write
from kvlint.fixing.single_kv import fix_pair_read, fix_value_read
from kvlint.fixing.sub_pool import fix_sub_pool_write
from kvlint.source.text import SourceFile, decode_source

PATH = Path("program.py")
WITH_SCALE = tuple(Parameter(name) for name in ("layer", "loc", "cache_idx_k", "k_scale"))


def findings_of(
    data: bytes, writer_parameters: tuple[Parameter, ...] = WITH_SCALE
) -> list[Finding]:
    source = decode_source(PATH, data)
    tree = ast.parse(source.text)
    return [
        finding
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for finding in _check(source, tree, node, writer_parameters)
    ]


def _check(
    source: SourceFile, tree: ast.Module, call: ast.Call, parameters: tuple[Parameter, ...]
) -> list[Finding]:
    match call.func:
        case ast.Attribute(attr="get_kv_buffer"):
            return [_finding(source, call, "KV101", fix_pair_read(source, tree, call))]
        case ast.Attribute(attr="get_value_buffer"):
            return [_finding(source, call, "KV101", fix_value_read(source, tree, call))]
        case ast.Attribute(attr="set_kv_buffer", value=receiver):
            return _check_write(source, tree, call, receiver, parameters)
    return []


def _check_write(
    source: SourceFile,
    tree: ast.Module,
    call: ast.Call,
    receiver: ast.expr,
    parameters: tuple[Parameter, ...],
) -> list[Finding]:
    match receiver:
        case ast.Attribute(attr="index_k_pool"):
            fix = fix_k_only_write(source, tree, call, True, parameters)
            return [_finding(source, call, "KV201", fix)]
        case ast.Name(id="sub_pool"):
            fix = fix_k_only_write(source, tree, call, False, parameters)
            return [_finding(source, call, "KV201", fix)]
        case ast.Attribute(attr="full_kv_pool"):
            fix = fix_sub_pool_write(source, tree, call, "set_kv_buffer")
            return [_finding(source, call, "KV202", fix)]
    return []


def _finding(source: SourceFile, call: ast.Call, code: str, fix: Fix | None) -> Finding:
    end_line, end_column = call.end_lineno or 0, call.end_col_offset or 0
    span = source.span(call.lineno, call.col_offset, end_line, end_column)
    return Finding(code, code.lower(), PATH, span, "error", "misuse", fix=fix)


def fixed(
    data: bytes, unsafe: bool = False, writer_parameters: tuple[Parameter, ...] = WITH_SCALE
) -> FixOutcome:
    def recheck(text: bytes) -> list[Finding]:
        return findings_of(text, writer_parameters)

    return fix_text(decode_source(PATH, data), recheck(data), recheck, unsafe)


def becomes(before: str | bytes, after: str | bytes, unsafe: bool = False) -> None:
    """Exactly this, with nothing left to find or to fix. A fix that is unsafe is not applied as a
    safe one."""
    data = before.encode() if isinstance(before, str) else before
    wanted = after.encode() if isinstance(after, str) else after
    outcome = fixed(data, unsafe)
    assert outcome.data == wanted
    assert outcome.undone == ()
    assert outcome.remaining == ()
    assert fixed(wanted, unsafe=True).applied == ()
    if unsafe:
        careful = fixed(data)
        assert careful.data == data
        assert careful.more_with_unsafe == len(outcome.applied)


def stays(before: str | bytes) -> None:
    """Found, and edited by neither kind of fix."""
    data = before.encode() if isinstance(before, str) else before
    assert findings_of(data)
    outcome = fixed(data, unsafe=True)
    assert outcome.data == data
    assert outcome.applied == outcome.undone == ()


def body(*lines: str) -> str:
    """A function with these lines, whose parameters are what the lines need."""
    return "def f(pool, i, xs, other):\n" + "".join(f"    {line}\n" for line in lines)
