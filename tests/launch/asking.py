"""Asks the launch rules about a text, and applies what they would change."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

from kvlint.catalogue.model import Catalogue
from kvlint.catalogue.resolve import View
from kvlint.findings import Finding
from kvlint.interpret.constants import constants
from kvlint.interpret.context import Context
from kvlint.launch import check_launch_file, check_python
from kvlint.launch.facts import LaunchRelease
from kvlint.rules.rule import builtin_rules
from kvlint.source.index import Project
from kvlint.source.text import decode_source

RULES = [rule for rule in builtin_rules() if rule.check == "launch" or rule.code == "KV301"]


def findings(name: str, text: str, version: str = "0.5.23", hints: bool = False) -> list[Finding]:
    """The findings in a file of that name; hints only where they are asked for."""
    source = decode_source(Path(name), text.encode())
    if name.endswith(".py"):
        tree = ast.parse(text)
        project = Project([])
        context = Context(project, View(Catalogue(version, (), {})))
        stated = partial(constants, context, project.add(source, tree))
        found = check_python(source, tree, RULES, LaunchRelease(version), stated)
    else:
        found = check_launch_file(source, RULES, LaunchRelease(version))
    return [finding for finding in found if hints or finding.severity != "hint"]


def places(name: str, text: str, version: str = "0.5.23") -> list[tuple[int, str]]:
    """(line, code) of each finding."""
    return [(found.span.line, found.code) for found in findings(name, text, version)]


def fixed(name: str, text: str, version: str = "0.5.23") -> str:
    """The text with every fix in it."""
    data = text.encode()
    found = findings(name, text, version)
    edits = sorted({e for f in found if f.fix is not None for e in f.fix.edits}, reverse=True)
    for edit in edits:
        data = data[: edit.start] + edit.replacement + data[edit.end :]
    return data.decode()


def marked(text: str) -> set[tuple[int, str]]:
    """(line, code) of each `# KVnnn` at the end of a line."""
    return {
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for code in line.partition("  # ")[2].split()
        if code.startswith("KV")
    }
