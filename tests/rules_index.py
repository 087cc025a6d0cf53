"""docs/rules.md, made from the rule files by `python -m tests.regolden`."""

from __future__ import annotations

from pathlib import Path

from kvlint.rules.rule import Rule, builtin_rules

INDEX = Path(__file__).resolve().parent.parent / "docs" / "rules.md"
FAMILIES = {
    "KV0": "kvlint's own",
    "KV1": "Guarded and absent accessors",
    "KV2": "Sub-pools and raw buffers",
    "KV3": "The no-op pool, and how servers are launched with it",
    "KV4": "Contracts: what subclasses, calls and holders owe each other",
}
FIXES = {"none": "", "sometimes": "sometimes", "always": "always"}


def rules_index() -> str:
    """The text of docs/rules.md."""
    parts = [
        "# Rules\n",
        "Made from `rules/` by `python -m tests.regolden`. `kvlint rule CODE` shows a rule in the"
        " terminal.\n",
    ]
    for family, title in FAMILIES.items():
        rows = [row(rule) for rule in builtin_rules() if rule.code.startswith(family)]
        parts += [f"## {title}\n", "| Rule | Finds | Severity | Fix | SGLang |"]
        parts += ["| --- | --- | --- | --- | --- |", *rows, ""]
    return "\n".join(parts).rstrip() + "\n"


def row(rule: Rule) -> str:
    severity = f"{rule.severity}, pedantic" if rule.pedantic else rule.severity
    link = f"[{rule.code} {rule.name}](../rules/{rule.path.name})"
    return f"| {link} | {rule.summary} | {severity} | {FIXES[rule.fixable]} | {rule.versions} |"
