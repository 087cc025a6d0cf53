"""`kvlint rule` and `kvlint rules`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kvlint.errors import UsageError
from kvlint.output.style import style_for, wrapped
from kvlint.project.groups import rules_of
from kvlint.project.settings import SettingsFinder
from kvlint.rules.rule import Rule
from kvlint.rules.selection import UnknownSelector, rule_named
from kvlint.runtime import evidence


def _rules_here() -> tuple[Rule, ...]:
    """kvlint's rules and those that the settings of the working folder add."""
    return rules_of(SettingsFinder().at(Path.cwd()))


def show_rule(name: str) -> int:
    try:
        rule = rule_named(name, _rules_here())
    except UnknownSelector as error:
        raise UsageError(str(error)) from error
    text = document(rule)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        sys.stdout.write(text)
    return 0


def document(rule: Rule) -> str:
    """A rule's documentation as Markdown."""
    facts = [
        f"Severity: {rule.severity}{', with --pedantic only' if rule.pedantic else ''}.",
        f"SGLang: {rule.versions}.",
        f"Fix: {_FIXABLE[rule.fixable]}.",
    ]
    if rule.exception:
        facts.append(f"Raises: {rule.exception}.")
    sections = [f"## {heading}\n\n{text}" for heading, text in rule.sections.items()]
    shown = evidence.section(rule.code)
    if shown:
        sections.append(f"## Runtime evidence\n\n{shown}")
    parts = [f"# {rule.code} {rule.name}", f"{rule.summary}.", " ".join(facts), *sections]
    return "\n\n".join(parts) + "\n"


_FIXABLE = {"none": "none", "sometimes": "sometimes available", "always": "always available"}


def list_rules(output_format: str) -> int:
    rules = _rules_here()
    if output_format == "json":
        print(json.dumps([_data(rule) for rule in rules], indent=2))
        return 0
    style = style_for(sys.stdout)
    widest = max(len(rule.name) for rule in rules)
    for rule in rules:
        first = f"{rule.code}  {rule.name:<{widest}}  {rule.severity:<7}  "
        lines = list(wrapped(rule.summary, style.width, first, " " * len(first)))
        lines[0] = style.paint(rule.code, "bold") + lines[0][len(rule.code) :]
        print("\n".join(lines))
    return 0


def _data(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "summary": rule.summary,
        "severity": rule.severity,
        "sglang": str(rule.versions),
        "pedantic": rule.pedantic,
        "fixable": rule.fixable,
    }
