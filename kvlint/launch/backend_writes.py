"""KV301 for attention backends: writes that do not skip the no-op pool."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.findings import Evidence, Finding
from kvlint.launch.facts import NOOP_FLAG
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

CODE = "KV301"
_POOL = "NoOpMHATokenToKVPool"
_SKIPS = frozenset({_POOL, NOOP_FLAG, "fa_skip_kv_cache", "skip_kv_cache", "is_noop_pool"})
_FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def backend_writes(
    source: SourceFile, tree: ast.Module, rules: Sequence[Rule]
) -> Iterator[Finding]:
    """Backends of a file that names the no-op pool, whose write path reaches `set_kv_buffer`
    without a test for it."""
    rule = next((r for r in rules if r.code == CODE), None)
    marks = (_POOL.encode(), NOOP_FLAG.encode())
    if rule is None or b"set_kv_buffer" not in source.data:
        return
    if not any(mark in source.data for mark in marks):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and _is_backend(node):
            for method in _unguarded(node):
                yield from _writes(source, rule, node, method)


def _unguarded(backend: ast.ClassDef) -> list[_FunctionNode]:
    """The methods in which nothing, nor in one that calls them, asks for the no-op pool."""
    methods = [item for item in backend.body if isinstance(item, _FunctionNode)]
    answers = _names_for_the_answer(methods)
    asking = [method for method in methods if _mentions_skip(method, answers)]
    if any(m.name == "__init__" and _raises(m) for m in asking):
        return []
    covered = {method.name for method in asking}
    for method in asking:
        covered.update(_name(node.func) for node in ast.walk(method) if isinstance(node, ast.Call))
    return [method for method in methods if method.name not in covered]


def _names_for_the_answer(methods: Sequence[_FunctionNode]) -> frozenset[str]:
    """Attributes that keep whether it is the no-op pool, and methods that tell."""
    names = {method.name for method in methods if _returns_skip(method)}
    for method in methods:
        for node in ast.walk(method):
            if isinstance(node, ast.Assign) and _mentions_skip(node.value, frozenset()):
                names.update(_name(target) for target in node.targets)
    return frozenset(names) - {""}


def _raises(method: _FunctionNode) -> bool:
    return any(isinstance(node, ast.Raise) for node in ast.walk(method))


def _returns_skip(method: _FunctionNode) -> bool:
    returned = [node for node in ast.walk(method) if isinstance(node, ast.Return)]
    return any(_mentions_skip(node, frozenset()) for node in returned)


def _is_backend(node: ast.ClassDef) -> bool:
    names = (_name(base) for base in node.bases)
    return any(name.endswith(("AttentionBackend", "AttnBackend")) for name in names)


def _name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _mentions_skip(tree: ast.AST, answers: frozenset[str]) -> bool:
    """Whether the pool or the flag is asked for, or one of the names for the answer."""
    for node in ast.walk(tree):
        name = ""
        if isinstance(node, ast.Name):
            name = node.id
        elif isinstance(node, ast.Attribute):
            name = node.attr
        elif isinstance(node, ast.arg):
            name = node.arg
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            name = node.value
        folded = name.lower()
        if (
            name in _SKIPS
            or name in answers
            or ("skip" in folded and "kv" in folded)
            or "noop" in folded
        ):
            return True
    return False


def _writes(
    source: SourceFile, rule: Rule, backend: ast.ClassDef, method: _FunctionNode
) -> Iterator[Finding]:
    for node in ast.walk(method):
        match node:
            case ast.Call(func=ast.Attribute(value=receiver, attr="set_kv_buffer") as function):
                if _is_super(receiver):
                    continue
                end = function.end_lineno or function.lineno, function.end_col_offset or 0
                yield Finding(
                    code=rule.code,
                    name=rule.name,
                    path=source.path,
                    span=source.span(end[0], end[1] - len("set_kv_buffer"), *end),
                    severity="warning",
                    message=f"`{backend.name}.{method.name}` writes KV without a skip for the"
                    " no-op pool, which this file knows of",
                    evidence=(
                        Evidence(
                            f"`{backend.name}` is an attention backend",
                            source.path,
                            backend.lineno,
                            backend.col_offset + 1,
                        ),
                    ),
                    raises=f"RuntimeError: {_POOL}.set_kv_buffer was called.",
                    remedy=rule.remedy,
                    receiver_classes=(_POOL,),
                    accessor="set_kv_buffer",
                )


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _name(node.func) == "super"
