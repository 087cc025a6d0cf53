"""One command line, as a person gives it or as a running process has it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvlint.errors import UsageError
from kvlint.findings import Finding
from kvlint.launch.commands import whole
from kvlint.launch.facts import LaunchRelease
from kvlint.launch.file_types import distinct
from kvlint.launch.judge import Case, judge, launch_rules
from kvlint.launch.shell import read_script
from kvlint.project.settings import OutputFormat
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

_PROCESSES = Path("/proc")
_COMMAND = ("python", "-m", "sglang.launch_server")


@dataclass(frozen=True, slots=True)
class Request:
    """What `kvlint args` was asked: a command, or the id of a process that runs one."""

    command: tuple[str, ...]
    pid: int | None = None
    sglang: str | None = None
    pedantic: bool = False
    output_format: OutputFormat = "text"


def check_command(request: Request) -> int:
    """Check, write what was found; the exit status: 0 or 1. Raises UsageError."""
    from kvlint.catalogue.choose import CatalogueError, choose
    from kvlint.engine.applicable import launch_release, rules_off
    from kvlint.output.render import render
    from kvlint.output.report import Release, Report
    from kvlint.output.streams import write_report
    from kvlint.output.style import style_for
    from kvlint.project.groups import rules_of
    from kvlint.project.settings import SettingsFinder
    from kvlint.rules.selection import ALL, codes_of

    words = _words(request)
    settings = SettingsFinder().at(Path.cwd())
    try:
        choice = choose(request.sglang, settings.sglang, (), Path.cwd())
    except CatalogueError as error:
        raise UsageError(str(error)) from error
    rules = rules_of(settings)
    off = rules_off(rules, codes_of(ALL, rules), choice, request.pedantic)
    asked = [rule for rule in rules if rule.check == "launch" and rule.code not in off]
    if not asked:
        raise UsageError(f"no rule is on ({choice.reason}), nothing would be checked")
    version = choice.catalogue.version
    source = command_source(words, _name(request))
    findings = command_findings(source, asked, launch_release(choice))
    report = Report(
        root=Path.cwd(),
        findings=findings,
        files=1,
        releases=(Release(version, choice.reason),),
        rules=rules,
        sources={source.path: source},
    )
    text = render(report, request.output_format, style_for(sys.stdout))
    write_report(sys.stdout, text, request.output_format)
    if findings and request.output_format == "text":
        print(_corrected(source, findings))
    count = len(findings)
    print(
        f"{count} finding{'' if count == 1 else 's'} ({choice.reason})"
        if count
        else f"No findings ({choice.reason})",
        file=sys.stderr,
    )
    return 1 if findings else 0


def _words(request: Request) -> tuple[str, ...]:
    if request.pid is not None:
        if request.command:
            raise UsageError("give a command line or --pid, not both")
        return process_words(request.pid)
    if not request.command:
        raise UsageError("no command line: give it behind --, or a process with --pid")
    bare = request.command[0].startswith("-")
    return (*_COMMAND, *request.command) if bare else request.command


def _name(request: Request) -> str:
    return "command line" if request.pid is None else f"process {request.pid}"


def process_words(pid: int, processes: Path = _PROCESSES) -> tuple[str, ...]:
    """The command line of a running process. Raises UsageError where it cannot be read."""
    if not processes.is_dir():
        raise UsageError("--pid reads /proc, which only Linux has")
    try:
        data = (processes / str(pid) / "cmdline").read_bytes()
    except FileNotFoundError:
        raise UsageError(f"there is no process {pid}") from None
    except OSError as error:
        raise UsageError(f"process {pid} cannot be read: {error.strerror}") from error
    words = tuple(word.decode("utf-8", "replace") for word in data.rstrip(b"\0").split(b"\0"))
    if words and words[0].startswith("sglang::"):
        raise UsageError(f"process {pid} is {words[0]}, a worker: give the id of the server itself")
    if words == ("",):
        raise UsageError(f"process {pid} has no command line")
    return words


def command_source(words: Sequence[str], name: str) -> SourceFile:
    """A command line as a text to point into."""
    text = shlex.join(words) + "\n"
    return SourceFile(Path(name), text.encode("utf-8", "replace"), text, "utf-8")


def command_findings(
    source: SourceFile, rules: Sequence[Rule], release: LaunchRelease
) -> tuple[Finding, ...]:
    """Findings of one command line. Raises UsageError for one that starts no SGLang server."""
    facts = release.facts()
    chosen = launch_rules(rules)
    invocations = read_script(whole(source.text), facts, source)
    configurations = [i.configuration for i in invocations if i.configuration is not None]
    if not configurations:
        raise UsageError(f"this command starts no SGLang server: {source.text.strip()}")
    return distinct(
        [
            finding
            for configuration in configurations
            for finding in judge(Case(source, facts, chosen, configuration))
        ]
    )


def _corrected(source: SourceFile, findings: Sequence[Finding]) -> str:
    """The command line with every fix in it."""
    edits = sorted(
        {edit for finding in findings if finding.fix for edit in finding.fix.edits}, reverse=True
    )
    data = source.data
    for edit in edits:
        data = data[: edit.start] + edit.replacement + data[edit.end :]
    return f"\ncorrected: {data.decode().strip()}" if edits else ""
