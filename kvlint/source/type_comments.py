"""PEP 484 type comments, read as the annotations that they stand for."""

from __future__ import annotations

import ast
import re

_COMMENT = re.compile(r"#\s*type:\s*(?!ignore\b)\S")


def has_type_comments(text: str) -> bool:
    return "# type:" in text and _COMMENT.search(text) is not None


def annotate(tree: ast.Module) -> ast.Module:
    """Turn the type comments of a tree that was parsed with them into annotations, in place. A
    comment that is no type is left alone: it is somebody's prose."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            _annotate_function(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                block[:] = [_annotated(statement) for statement in block]
    return tree


def _annotate_function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    parameters = [*node.args.posonlyargs, *node.args.args]
    every = [*parameters, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    for argument in every:
        if argument is not None and argument.type_comment and argument.annotation is None:
            argument.annotation = _expression(argument.type_comment, argument)
    if not node.type_comment:
        return
    try:
        signature = ast.parse(node.type_comment, mode="func_type")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    types = signature.argtypes
    # `(self, a, b)` may leave self out.
    shown = parameters[len(parameters) - len(types) :] if len(types) <= len(parameters) else []
    for argument, annotation in zip(shown, types, strict=False):
        if argument.annotation is None and not isinstance(annotation, ast.Constant):
            argument.annotation = _placed(annotation, argument)
    if node.returns is None:
        node.returns = _placed(signature.returns, node)


def _annotated(statement: ast.stmt) -> ast.stmt:
    comment = getattr(statement, "type_comment", None)
    if not isinstance(statement, ast.Assign) or not comment or len(statement.targets) != 1:
        return statement
    [target] = statement.targets
    annotation = _expression(comment, statement)
    if annotation is None or not isinstance(target, (ast.Name, ast.Attribute)):
        return statement
    simple = int(isinstance(target, ast.Name))
    made = ast.AnnAssign(target, annotation, statement.value, simple)
    return ast.copy_location(made, statement)


def _expression(comment: str, place: ast.AST) -> ast.expr | None:
    try:
        return _placed(ast.parse(comment.strip(), mode="eval").body, place)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _placed(node: ast.expr, place: ast.AST) -> ast.expr:
    """The expression with every part of it where the commented code stands."""
    for part in ast.walk(node):
        if isinstance(part, ast.expr):
            ast.copy_location(part, place)
    return node
