"""The short names that dotted expressions end in."""

from __future__ import annotations

import ast

ENDING = frozenset("sys.exit exit quit os._exit os.abort pytest.fail pytest.skip".split())
"""Functions that do not return."""


def last_name(node: ast.expr) -> str:
    """`raises` of `pytest.raises`; empty for what is no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def is_overload(node: ast.AST) -> bool:
    """Whether a function is one of the declarations of another that follows it."""
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and any(
        called_name(decorator) == "overload" for decorator in node.decorator_list
    )


def called_name(node: ast.expr) -> str:
    """The same, of the function where the expression is a call: a decorator with arguments."""
    return last_name(node.func if isinstance(node, ast.Call) else node)
