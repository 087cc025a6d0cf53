"""One run of `kvlint check`: paths -> files -> findings -> what is left to report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kvlint.engine import schedule as runner
from kvlint.engine.analysis import RawResult, Request, check_files
from kvlint.engine.applicable import launch_release
from kvlint.engine.cache import Home
from kvlint.engine.own_files import without_own
from kvlint.engine.results import SYNTAX_ERROR, Input, Judged, Run
from kvlint.engine.screen import THOROUGH_LIMIT, Progress
from kvlint.errors import UsageError
from kvlint.findings import FileError, Finding, Span
from kvlint.launch import is_launch_file
from kvlint.launch.facts import LaunchRelease
from kvlint.output.report import Release, Report
from kvlint.project.files import Selection, absolute, collect, is_excluded
from kvlint.project.groups import Group, groups, ignored_in
from kvlint.project.settings import SETTINGS_FILE, SettingsFinder
from kvlint.rules.rule import Rule
from kvlint.source.index import digest
from kvlint.source.kept import FOLDER, problem_with
from kvlint.source.text import SourceFile
from kvlint.waivers.baseline import Entry, Scope
from kvlint.waivers.comments import Policy, suppress


def run(inputs: Input, progress: Progress) -> Run:
    """Check the files that `inputs` name. Raises UsageError."""
    finder = SettingsFinder()
    named = tuple(map(absolute, inputs.paths))
    selection = without_own(_select(inputs, named, finder), named, inputs, finder)
    made = tuple(groups(selection.files, named, finder, inputs.choices))
    judged: list[Judged] = []
    fixed: list[Entry] = []
    for group in made:
        path = inputs.baseline_for(group)
        if path is None:
            found = _check_group(group, inputs, progress)
        else:
            from kvlint.engine import known

            entries = known.read_for(group, inputs)
            found, gone = known.without(_check_group(group, inputs, progress), group, entries, path)
            fixed.extend(gone)
        judged.extend(found)
    judged.sort(key=lambda item: str(item.path))
    scope = Scope(frozenset(selection.files), frozenset().union(*(g.codes for g in made)))
    notices = tuple(_caches_not_used(made, inputs))
    return Run(selection, made, tuple(judged), scope, tuple(sorted(set(fixed))), notices=notices)


def _select(inputs: Input, named: Sequence[Path], finder: SettingsFinder) -> Selection:
    if inputs.text is None:
        return collect(named, finder, _is_launch_file)
    excluded = is_excluded(named[0], finder)
    return Selection(files=() if excluded else (named[0],), skipped=int(excluded))


def _is_launch_file(path: Path) -> bool:
    return is_launch_file(path) and path.name != SETTINGS_FILE


def _check_group(group: Group, inputs: Input, progress: Progress) -> list[Judged]:
    request = request_for(group, inputs.choices.pedantic)
    if inputs.text is not None:
        request = replace(request, texts={group.files[0]: inputs.text})
    uses_cache = inputs.use_cache and inputs.text is None and not problem_with(_cache_of(group))
    home = _home(group, request) if uses_cache else None
    results = runner.check(request, home, inputs.jobs or os.cpu_count() or 1, progress)
    return [judge(result, group, inputs.choices.pedantic) for result in results]


def request_for(group: Group, pedantic: bool) -> Request:
    return Request(
        files=group.files,
        roots=group.roots,
        rules=group.asked,
        catalogue=group.choice.catalogue,
        launch=launch_release(group.choice),
        pedantic=pedantic,
        named=frozenset(group.files) if len(group.files) <= THOROUGH_LIMIT else frozenset(),
    )


def _home(group: Group, request: Request) -> Home:
    catalogue = request.catalogue
    embedded = catalogue.source == "embedded"
    release = catalogue.version if embedded else repr(catalogue)
    arguments = _arguments(request.arguments)
    parts = (repr(request.rules), str(request.pedantic), arguments, *map(str, request.roots))
    return Home(_cache_of(group), release, parts)


def _cache_of(group: Group) -> Path:
    return (group.cache_home or Path.cwd()) / FOLDER


def _caches_not_used(made: Iterable[Group], inputs: Input) -> Iterator[str]:
    if inputs.use_cache and inputs.text is None:
        for folder in dict.fromkeys(map(_cache_of, made)):
            problem = problem_with(folder)
            if problem:
                yield f"{folder} {problem}: no results are kept"


def _arguments(release: LaunchRelease) -> str:
    """Stands for the server arguments that results rest on."""
    if release.tree is None:
        return release.version
    from kvlint.launch.trees import argument_text

    return f"{release.version} {digest(argument_text(release.tree) or b'')}"


def judge(result: RawResult, group: Group, pedantic: bool) -> Judged:
    """What is to be reported of a file's raw result."""
    codes = group.codes - ignored_in(result.path, group)
    found = [f for f in result.findings if f.code in codes and (pedantic or f.severity != "hint")]
    source = result.source
    if result.error is not None:
        if source is None or result.error.line is None:
            return Judged(result.path, group, source, _sorted(found), error=result.error)
        if SYNTAX_ERROR in codes:
            found.append(_syntax_error(result.error, source, group.rules))
        return Judged(result.path, group, source, _sorted(found))
    if source is None:
        return Judged(result.path, group, source, _sorted(found))
    outcome = suppress(source, found, _policy(group, codes, pedantic))
    return Judged(result.path, group, source, _sorted(outcome.findings), outcome.suppressed)


def _sorted(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: finding.sort_key))


def _policy(group: Group, codes: frozenset[str], pedantic: bool) -> Policy:
    judged = frozenset(
        rule.code
        for rule in group.asked
        if rule.code in codes and (pedantic or rule.severity != "hint")
    )
    return Policy(group.rules, codes, judged, group.settings.require_reason)


def _syntax_error(error: FileError, source: SourceFile, rules: Sequence[Rule]) -> Finding:
    rule = next(rule for rule in rules if rule.code == SYNTAX_ERROR)
    line = min(max(error.line or 1, 1), max(1, len(source.lines)))
    column = min(max(error.column or 1, 1), len(source.line(line)) + 1)
    return Finding(
        code=rule.code,
        name=rule.name,
        path=error.path,
        span=Span(line, column, line, column + 1),
        severity=rule.severity,
        message=error.message,
        remedy=rule.remedy,
    )


def rechecker(item: Judged, inputs: Input) -> Callable[[bytes], tuple[Finding, ...]]:
    """What finds the findings of another text of the same file, for the fixer."""
    pedantic = inputs.choices.pedantic
    request = request_for(item.group, pedantic)
    from kvlint.engine import known

    path = inputs.baseline_for(item.group)
    entries = known.read_for(item.group, inputs)

    def recheck(data: bytes) -> tuple[Finding, ...]:
        (result,) = check_files(replace(request, files=(item.path,), texts={item.path: data}))
        judged = judge(result, item.group, pedantic)
        return known.unknown(judged, entries, path.parent) if path else judged.findings

    return recheck


def report(run: Run, root: Path, show_suppressed: bool) -> Report:
    """The report of a run for the output formats."""
    unread = tuple(item.error for item in run.judged if item.error is not None)
    errors = (*run.selection.errors, *unread)
    return Report(
        root=root,
        findings=tuple(finding for item in run.judged for finding in item.findings),
        suppressed=tuple(s for item in run.judged for s in item.suppressed if show_suppressed),
        errors=errors,
        files=len(run.selection.files) - len(unread),
        unread=len(errors),
        releases=_releases(run.groups),
        rules=_rules(run.groups),
        sources={item.path: item.source for item in run.judged if item.source is not None},
    )


def _releases(made: Iterable[Group]) -> tuple[Release, ...]:
    named = (Release(g.choice.catalogue.version, g.choice.reason) for g in made)
    return tuple(dict.fromkeys(named))


def _rules(made: Iterable[Group]) -> tuple[Rule, ...]:
    by_code = {rule.code: rule for group in made for rule in group.rules}
    return tuple(by_code[code] for code in sorted(by_code))


def stdin_path(name: str | None) -> Path:
    """The path that standard input is checked under. Raises UsageError for a folder's."""
    path = absolute(Path(name or "stdin.py"))
    if os.path.isdir(path):
        raise UsageError(f"--stdin-filename: {name} is a folder")
    return path
