"""The launch rules in one Python file: the program is followed, statement by statement."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from kvlint.findings import Finding
from kvlint.launch.backend_writes import backend_writes
from kvlint.launch.choices import judge_all
from kvlint.launch.facts import LaunchRelease
from kvlint.launch.file_types import distinct
from kvlint.launch.judge import Case, launch_rules
from kvlint.launch.python_program import Constants, Program
from kvlint.launch.relevance import is_worth_following
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

_REGISTERING = frozenset(
    {
        "register_attention_backend",
        "add_attention_backend_choices",
        "add_deterministic_attention_backend_choices",
    }
)
_REGISTERING_BYTES = tuple(name.encode() for name in _REGISTERING)


def check(
    source: SourceFile,
    tree: ast.Module,
    rules: Sequence[Rule],
    release: LaunchRelease,
    constants: Constants,
) -> tuple[Finding, ...]:
    """Findings of the launch rules and, for attention backends, of KV301."""
    findings = list(backend_writes(source, tree, rules))
    chosen = launch_rules(rules)
    if chosen and is_worth_following(source.data):
        facts = release.facts()
        program = Program(source, facts, chosen, registered_backends(tree, source.data), constants)
        try:
            configurations = program.run(tree)
        except RecursionError:
            # An expression nested deeper than Python's stack: nothing is known about it.
            return distinct(findings)
        for configuration in configurations:
            findings.extend(judge_all(Case(source, facts, chosen, configuration)))
        findings.extend(program.decodes)
    return distinct(_with_statements(tree, findings))


def registered_backends(tree: ast.Module, data: bytes) -> frozenset[str]:
    """Names of attention backends that the file itself adds to SGLang's."""
    names: set[str] = set()
    if not any(mark in data for mark in (*_REGISTERING_BYTES, b"ATTENTION_BACKENDS")):
        return frozenset()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in _REGISTERING:
            names.update(_strings_in(node))
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript) and _last_name(target.value) == (
                    "ATTENTION_BACKENDS"
                ):
                    names.update(_strings_in(target.slice))
    return frozenset(names)


def _last_name(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def _strings_in(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def _with_statements(tree: ast.Module, findings: list[Finding]) -> list[Finding]:
    """Each finding with the lines of the smallest statement that it stands in."""
    from dataclasses import replace

    if not findings:
        return findings
    spans = sorted(_statement_spans(tree), key=lambda span: span[1] - span[0])
    placed = []
    for finding in findings:
        line = finding.span.line
        statement = next((span for span in spans if span[0] <= line <= span[1]), (line, line))
        placed.append(replace(finding, statement=statement))
    return placed


def _statement_spans(tree: ast.Module) -> Iterator[tuple[int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body = getattr(node, "body", None)
            if isinstance(body, list) and body:
                yield node.lineno, max(node.lineno, body[0].lineno - 1)
            else:
                yield node.lineno, node.end_lineno or node.lineno
