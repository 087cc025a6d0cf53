"""`kvlint check`: from options to output and exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kvlint.cli.progress import Progress
from kvlint.engine.check import report, run, stdin_path
from kvlint.engine.results import Fixed, Input, Run
from kvlint.errors import UsageError, running_is_forbidden
from kvlint.findings import Finding
from kvlint.output.render import render, statistics
from kvlint.output.report import Report
from kvlint.output.streams import in_actions, write_report
from kvlint.output.style import Style, on_one_line, style_for
from kvlint.output.summary import Counts, complaints, rules_that_are_off, summary
from kvlint.project.files import absolute
from kvlint.project.groups import Choices
from kvlint.project.settings import OutputFormat, SettingsFinder
from kvlint.source.writing import write_atomically, write_whole

CLEAN, FINDINGS, UNREADABLE, NOTHING_THERE = 0, 1, 2, 3
_STDIN = Path("-")


@dataclass(frozen=True)
class Options:
    """The options of `kvlint check` as they stand on the command line."""

    paths: tuple[Path, ...]
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    sglang: str | None = None
    pedantic: bool = False
    fix: bool = False
    unsafe_fixes: bool = False
    diff: bool = False
    show_fixes: bool = False
    show_suppressed: bool = False
    add_ignore: str | None = None
    baseline: Path | None = None
    write_baseline: Path | None = None
    force: bool = False
    output_format: OutputFormat | None = None
    output_file: Path | None = None
    statistics: bool = False
    confirm: bool = False
    stdin_filename: str | None = None
    verbose: bool = False
    use_cache: bool = True
    jobs: int = 0


def main(options: Options) -> int:
    """Check, fix, write; returns the exit status. Raises UsageError."""
    _check_options(options)
    if not options.paths:
        print("kvlint: no paths given, nothing checked (try: kvlint check .)", file=sys.stderr)
        return CLEAN
    inputs = _inputs(options)
    with Progress(sys.stderr) as progress:
        found = run(inputs, progress.update)
        fixed = _fix(found, options, inputs)
    if options.confirm:
        fixed = replace(fixed, run=_confirmed(fixed.run, options))
    if options.write_baseline is not None:
        from kvlint.engine import known

        run_ = known.write(fixed.run, options.write_baseline, options.force)
        fixed = replace(fixed, run=run_)
    return _tell(fixed, inputs, options)


def _confirmed(found: Run, options: Options) -> Run:
    """Each finding with what the real pools showed of it. Raises UsageError where nothing can
    run: no torch, no SGLang."""
    from kvlint.runtime.confirm import confirm_findings
    from kvlint.runtime.probes import RunOptions
    from kvlint.runtime.releases import RunError

    findings = [finding for item in found.judged for finding in item.findings]
    try:
        shown = confirm_findings(findings, RunOptions(sglang=options.sglang))
    except RunError as error:
        raise UsageError(f"--confirm: {error}") from error
    said = {id(each.finding): each.status for each in shown}
    judged = tuple(
        replace(item, findings=tuple(_with_status(f, said[id(f)]) for f in item.findings))
        for item in found.judged
    )
    return replace(found, judged=judged)


def _with_status(finding: Finding, status: str) -> Finding:
    return replace(finding, extra={**finding.extra, "runtime": status})


def _check_options(options: Options) -> None:
    if _STDIN in options.paths and len(options.paths) > 1:
        raise UsageError("- stands alone: standard input cannot be checked along with other paths")
    if options.add_ignore is not None and (options.fix or options.diff):
        raise UsageError("--add-ignore does not go with --fix or --diff")
    if options.add_ignore is not None and _STDIN in options.paths:
        raise UsageError("--add-ignore writes files: it does not go with -")
    for name, given in (("--sglang", options.sglang), ("--select", options.select)):
        if given is not None and not any(part.strip() for part in given):
            raise UsageError(f"{name} is empty")
    if options.confirm and running_is_forbidden():
        raise UsageError("--confirm executes code, which KVLINT_NO_RUN forbids here")
    if options.force and options.write_baseline is None:
        raise UsageError("--force goes with --write-baseline")
    if options.baseline is not None and options.write_baseline is not None:
        raise UsageError("--baseline does not go with --write-baseline")
    if options.unsafe_fixes and not options.fix and not options.diff:
        raise UsageError("--unsafe-fixes goes with --fix or --diff")
    if options.stdin_filename is not None and options.paths != (_STDIN,):
        raise UsageError("--stdin-filename goes with the path -")


def _inputs(options: Options) -> Input:
    choices = Choices(
        options.select, options.ignore, options.sglang, options.pedantic, options.use_cache
    )
    is_stdin = options.paths == (_STDIN,)
    return Input(
        paths=(stdin_path(options.stdin_filename),) if is_stdin else options.paths,
        choices=choices,
        text=_standard_input() if is_stdin else None,
        baseline=options.baseline,
        use_baseline=options.write_baseline is None,
        use_cache=options.use_cache,
        jobs=options.jobs,
        writes=tuple(_files_to_write(options)),
    )


def _files_to_write(options: Options) -> Iterator[tuple[str, Path]]:
    if options.output_file is not None:
        yield "--output-file", options.output_file
    if options.write_baseline is not None:
        yield "--write-baseline", options.write_baseline


def _standard_input() -> bytes:
    if sys.stdin is None:
        raise UsageError("-: standard input is closed")
    try:
        return sys.stdin.buffer.read()
    except OSError as error:
        raise UsageError(f"-: cannot be read: {error.strerror or error}") from error


def _fix(found: Run, options: Options, inputs: Input) -> Fixed:
    if not options.fix and not options.diff and options.add_ignore is None:
        return Fixed(found)
    from kvlint.engine.fix import add_ignores, fix_run, keep_in_memory

    if options.add_ignore is not None:
        _refuse_missing(found, options.add_ignore)
        return add_ignores(found, " ".join(options.add_ignore.split()))
    if options.diff:
        return fix_run(found, inputs, options.unsafe_fixes, write=None)
    write = write_atomically if inputs.text is None else keep_in_memory
    return fix_run(found, inputs, options.unsafe_fixes, write)


def _tell(fixed: Fixed, inputs: Input, options: Options) -> int:
    made = report(fixed.run, Path.cwd(), options.show_suppressed)
    made = replace(made, errors=(*made.errors, *fixed.failures))
    style = style_for(sys.stdout)
    if options.diff:
        _show_diff(fixed, made)
    else:
        _show_findings(made, fixed, inputs, options, style)
    for notice in fixed.run.notices:
        print(f"kvlint: {on_one_line(notice)}", file=sys.stderr)
    for line in complaints(made, fixed.run.selection):
        print(line, file=sys.stderr)
    if options.show_fixes:
        _show_fixes(fixed, made)
    if options.verbose:
        for group in fixed.run.groups:
            for line in rules_that_are_off(group.off, group.settings.file):
                print(line, file=sys.stderr)
    print(on_one_line(summary(made, _counts(fixed, options))), file=sys.stderr)
    return _status(fixed, made)


def _refuse_missing(found: Run, reason: str) -> None:
    """Before anything is written: a word behind `--add-ignore` is a path, not its reason."""
    missing = [on_one_line(str(path)) for path in found.selection.missing]
    if missing:
        hint = "" if reason else "; a reason is written --add-ignore=REASON"
        raise UsageError(f"--add-ignore: {missing[0]}: no such file or folder{hint}")


def _counts(fixed: Fixed, options: Options) -> Counts:
    everything = [item for judged in fixed.run.judged for item in judged.suppressed]
    ignoring = options.add_ignore is not None
    return Counts(
        ignored=len(fixed.applied) if ignoring else 0,
        suppressed=sum(item.kind == "comment" for item in everything),
        known=sum(item.kind == "baseline" for item in everything),
        gone=0 if options.write_baseline else len(fixed.run.fixed),
        taken_out=len(fixed.run.fixed) if options.write_baseline else 0,
        not_added=fixed.run.not_added,
        applied=0 if options.diff or ignoring else len(fixed.applied),
        would_apply=len(fixed.applied) if options.diff else 0,
        more=fixed.more,
        undone=len(fixed.undone),
        fixing=options.fix or options.diff,
    )


def _show_findings(
    made: Report, fixed: Fixed, inputs: Input, options: Options, style: Style
) -> None:
    format_ = options.output_format or _configured_format(inputs.paths[0])
    if options.output_file is not None:
        style = Style(width=100)
    text = statistics(made, format_, style) if options.statistics else render(made, format_, style)
    if options.output_file is not None:
        _write_file(options.output_file, text)
    if inputs.text is not None and options.fix:
        _write_fixed_text(fixed, inputs.text)
        sys.stderr.write(text if options.output_file is None else "")
    elif options.output_file is None:
        write_report(sys.stdout, text, format_)


def _configured_format(path: Path) -> OutputFormat:
    place = absolute(path)
    return SettingsFinder().at(place if os.path.isdir(place) else place.parent).output_format


def _write_fixed_text(fixed: Fixed, text: bytes) -> None:
    data = fixed.changes[0].data if fixed.changes else text
    sys.stdout.buffer.write(data)
    sys.stdout.flush()


def _write_file(path: Path, text: str) -> None:
    try:
        write_whole(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        reason = error.strerror or error
        raise UsageError(f"--output-file: {path}: cannot be written: {reason}") from error


def _show_diff(fixed: Fixed, made: Report) -> None:
    from kvlint.fixing.diff import unified_diff

    for change in fixed.changes:
        name = made.path_from_root(change.path)
        diff = unified_diff(name, change.source.data, change.data)
        if in_actions() or sys.stdout.isatty():  # it is read, not applied: nothing of it goes raw
            sys.stdout.write(diff.decode("utf-8", "backslashreplace"))
            sys.stdout.flush()
        else:
            sys.stdout.buffer.write(diff)
    sys.stdout.flush()


def _show_fixes(fixed: Fixed, made: Report) -> None:
    for change in fixed.changes:
        print(f"{on_one_line(made.shown_path(change.path))}:", file=sys.stderr)
        for finding in change.applied:
            title = finding.fix.title if finding.fix else ""
            print(f"    {finding.code} line {finding.span.line}: {title}", file=sys.stderr)


def _status(fixed: Fixed, made: Report) -> int:
    selection = fixed.run.selection
    if made.errors or fixed.run.has_syntax_error:
        return UNREADABLE
    if selection.missing or selection.bare:
        return NOTHING_THERE
    return FINDINGS if made.findings else CLEAN
