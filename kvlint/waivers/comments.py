"""`# kvlint: ignore[KV101] reason` and its kin: which findings a file says are meant.

Read from comments only: a string or prose that contains the words suppresses nothing. A directive
stands at the start of a comment, or after another comment on the same line
(`# type: ignore  # kvlint: ignore[KV101]`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kvlint.findings import Edit, Finding, Fix, Span
from kvlint.rules.rule import Rule
from kvlint.rules.selection import UnknownSelector, codes_of, rule_named
from kvlint.source.comments import Comment, comments
from kvlint.source.text import SourceFile

UNUSED = "KV002"
BARE = "KV003"
Kind = Literal["ignore", "file-ignore", "noqa"]

_PRAGMA = r"(?:kvlint:|noqa\b|type:|pyright:|mypy:|pylint:|pragma:|fmt:|isort:|ruff:|nosec\b)"
_BOUNDARY = re.compile(rf"\s{{2,}}(?=#)|\s(?=#\s*{_PRAGMA})")
_DIRECTIVE = re.compile(r"#+\s*kvlint:\s*(file-ignore|ignore)(?![\w-])(.*)", re.S)
_MISSPELT = re.compile(r"#+\s*kvlint:\s*([\w-]+)\s*\[")
_CODES = re.compile(r"\s*\[([^\]]*)\](.*)", re.S)
_NOQA = re.compile(r"#+\s*noqa\s*:\s*((?:[A-Z]+[0-9]+)(?:[\s,]+[A-Z]+[0-9]+)*)", re.I)


@dataclass(frozen=True, slots=True)
class Directive:
    """One suppression comment. `start` and `end` are character offsets of the directive itself,
    `names` what its brackets list, `problem` why it suppresses nothing."""

    kind: Kind
    comment: Comment
    start: int
    end: int
    names: tuple[str, ...] = ()
    reason: str = ""
    problem: str = ""
    covers: int | None = None
    """The line below that a directive on a line of its own is about."""


@dataclass(frozen=True, slots=True)
class Suppressed:
    """A finding that is not reported, and why: the comment's line and reason."""

    finding: Finding
    line: int
    reason: str
    kind: Literal["comment", "baseline"] = "comment"


@dataclass(frozen=True, slots=True)
class Outcome:
    findings: tuple[Finding, ...]
    suppressed: tuple[Suppressed, ...]


@dataclass(frozen=True, slots=True)
class Policy:
    """What a run knows about rules: all of them, the codes it asks of this file, and whether every
    directive needs a reason."""

    rules: Sequence[Rule]
    asked: frozenset[str]
    judged: frozenset[str]
    """Codes of which every finding would have been seen: only these can be called unused."""
    require_reason: bool = False


def directives(source: SourceFile) -> list[Directive]:
    """The suppression comments of a file, in order."""
    if b"kvlint" not in source.data and b"noqa" not in source.data.lower():
        return []
    found = comments(source)
    alone = {comment.line for comment in found if comment.alone}
    return [
        replace(directive, covers=_line_below(directive.comment, alone))
        for comment in found
        for directive in _directives_in(comment)
    ]


def _line_below(comment: Comment, alone: set[int]) -> int | None:
    if not comment.alone:
        return None
    line = comment.line + 1
    while line in alone:
        line += 1
    return line


def _directives_in(comment: Comment) -> Iterator[Directive]:
    start = 0
    for boundary in (*_BOUNDARY.finditer(comment.text), None):
        end = boundary.start() if boundary else len(comment.text)
        directive = _directive(comment, start, end)
        if directive is not None:
            yield directive
        start = boundary.end() if boundary else end


def _directive(comment: Comment, start: int, end: int) -> Directive | None:
    text = comment.text[start:end]
    place = (comment, comment.start + start, comment.start + end)
    noqa = _NOQA.match(text)
    if noqa:
        return Directive("noqa", *place, names=tuple(re.split(r"[\s,]+", noqa.group(1).upper())))
    found = _DIRECTIVE.match(text)
    if found is None:
        return _misspelt(text, place)
    kind: Kind = "file-ignore" if found.group(1) == "file-ignore" else "ignore"
    codes = _CODES.match(found.group(2))
    if codes is None:
        problem = "has a bracket that is not closed" if "[" in found.group(2) else "names no rule"
        return Directive(kind, *place, problem=problem)
    names = tuple(name.strip() for name in codes.group(1).split(",") if name.strip())
    reason = codes.group(2).strip().lstrip(":-–—").strip()
    return Directive(kind, *place, names, reason, "" if names else "names no rule")


def _misspelt(text: str, place: tuple[Comment, int, int]) -> Directive | None:
    found = _MISSPELT.match(text)
    if found is None:
        return None
    word = found.group(1)
    return Directive("ignore", *place, problem=f"says {word!r}: want ignore or file-ignore")


def suppress(source: SourceFile, findings: Iterable[Finding], policy: Policy) -> Outcome:
    """Take out the findings that the file's comments suppress, and add what is wrong with those
    comments: KV002 for one that suppresses nothing, KV003 for one that names no rule."""
    found = directives(source)
    if not found:
        return Outcome(tuple(findings), ())
    used: dict[int, set[str]] = {}
    codes = [_codes(directive, policy.rules) for directive in found]
    left, suppressed = _split(findings, found, codes, used)
    own = [*_bare(source, found, policy), *_unused(source, found, used, policy)]
    own_left, own_suppressed = _split(own, found, codes, used)
    return Outcome((*left, *own_left), (*suppressed, *own_suppressed))


def _codes(directive: Directive, rules: Sequence[Rule]) -> dict[str, str]:
    """Code -> the name it is written by."""
    codes: dict[str, str] = {}
    for name in directive.names if not directive.problem else ():
        try:
            codes[rule_named(name, rules).code] = name
        except UnknownSelector:
            continue
    return codes


def _split(
    findings: Iterable[Finding],
    found: Sequence[Directive],
    codes: Sequence[dict[str, str]],
    used: dict[int, set[str]],
) -> tuple[list[Finding], list[Suppressed]]:
    left: list[Finding] = []
    suppressed: list[Suppressed] = []
    for finding in findings:
        matches = [
            index
            for index, directive in enumerate(found)
            if finding.code in codes[index] and _covers(directive, finding)
        ]
        for index in matches:
            used.setdefault(index, set()).add(codes[index][finding.code])
        if matches:
            by = found[matches[0]]
            suppressed.append(Suppressed(finding, by.comment.line, by.reason))
        else:
            left.append(finding)
    return left, suppressed


def _covers(directive: Directive, finding: Finding) -> bool:
    if directive.kind == "file-ignore":
        return True
    first, last = finding.statement_lines
    return first <= directive.comment.line <= last or (
        directive.covers is not None and directive.kind == "ignore" and directive.covers == first
    )


def _bare(source: SourceFile, found: Sequence[Directive], policy: Policy) -> Iterator[Finding]:
    for directive in found:
        problem = _problem(directive, policy) if directive.kind != "noqa" else ""
        if problem and BARE in policy.asked:
            yield _finding(source, directive, BARE, f"suppression comment {problem}", policy)


def _problem(directive: Directive, policy: Policy) -> str:
    if directive.problem:
        return directive.problem
    for name in directive.names:
        try:
            rule_named(name, policy.rules)
        except UnknownSelector as error:
            if _stands_for_several(name, policy.rules):
                return f"names {name!r}: a comment takes codes and names, no prefixes and no ALL"
            return f"names an {error}"
    if policy.require_reason and not directive.reason:
        return "gives no reason"
    return ""


def _stands_for_several(name: str, rules: Sequence[Rule]) -> bool:
    try:
        return bool(codes_of(name.upper(), rules))
    except UnknownSelector:
        return False


def _unused(
    source: SourceFile,
    found: Sequence[Directive],
    used: dict[int, set[str]],
    policy: Policy,
) -> Iterator[Finding]:
    """Comments of other tools' making (noqa) are never called unused: others read them too."""
    for index, directive in enumerate(found):
        if directive.kind == "noqa" or directive.problem or UNUSED not in policy.asked:
            continue
        idle = [
            name
            for name in directive.names
            if name not in used.get(index, ()) and _is_judged(name, policy)
        ]
        if idle:
            message = f"nothing to suppress here for {', '.join(idle)}"
            fix = Fix("Remove the unused suppression", "safe", (_removal(source, directive, idle),))
            yield replace(_finding(source, directive, UNUSED, message, policy), fix=fix)


def _is_judged(name: str, policy: Policy) -> bool:
    try:
        code = rule_named(name, policy.rules).code
    except UnknownSelector:
        return False
    return code in policy.judged and code not in (UNUSED, BARE)


def _removal(source: SourceFile, directive: Directive, idle: Sequence[str]) -> Edit:
    """The edit that takes the idle names, or the whole directive, out of the file."""
    kept = [name for name in directive.names if name not in idle]
    text = source.text
    if kept:
        start = text.index("[", directive.start) + 1
        return _edit(source, start, text.index("]", start), ", ".join(kept))
    comment = directive.comment
    line_start = source.line_starts[comment.line - 1]
    start, end = directive.start, directive.end
    if start == comment.start and end == comment.end:
        if comment.alone:
            following = source.line_starts[comment.line :][:1]
            return _edit(source, line_start, following[0] if following else len(text))
        return _edit(source, line_start + len(text[line_start:start].rstrip()), end)
    if start == comment.start:
        return _edit(source, start, end + len(text[end:]) - len(text[end:].lstrip(" \t")))
    return _edit(source, line_start + len(text[line_start:start].rstrip()), end)


def _edit(source: SourceFile, start: int, end: int, replacement: str = "") -> Edit:
    return Edit(source.byte_offset(start), source.byte_offset(end), source.encode(replacement))


def _finding(
    source: SourceFile, directive: Directive, code: str, message: str, policy: Policy
) -> Finding:
    rule = rule_named(code, policy.rules)
    line = directive.comment.line
    start = source.line_starts[line - 1]
    span = Span(line, directive.start - start + 1, line, directive.end - start + 1)
    return Finding(
        code=rule.code,
        name=rule.name,
        path=source.path,
        span=span,
        severity=rule.severity,
        message=message,
        remedy=rule.remedy,
    )
