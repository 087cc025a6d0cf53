"""`kvlint run` on a terminal: a live table, one row a probe and engines as columns."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, TextIO

from kvlint.runtime.formats import key_value_lines, repeat_command, summary
from kvlint.runtime.probes import FAILURES, Engine, Platform, Report, Result, RunOptions, Verdict
from kvlint.runtime.supervisor import Listener, Progress

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

_STYLES: dict[Verdict, str] = {
    "confirmed": "green",
    "refuted": "bold red",
    "drift": "bold red",
    "broken": "bold red",
    "crashed": "bold red",
    "timed-out": "yellow",
    "needs-cuda": "dim",
    "cannot-build": "yellow",
    "interrupted": "yellow",
}
_LATEST = 12


def _console(stream: TextIO) -> Console:
    from rich.console import Console

    return Console(file=stream, highlight=False, soft_wrap=False)


@contextlib.contextmanager
def live(options: RunOptions) -> Iterator[Listener]:
    """A listener that shows progress on a terminal's stderr, and nothing where it is piped."""
    console = _console(sys.stderr)
    if not console.is_terminal or options.output_format not in ("text", "key-value"):
        yield lambda progress: None
        return
    from rich.live import Live

    with Live(console=console, transient=True, refresh_per_second=8) as screen:
        yield lambda progress: screen.update(_frame(progress))


def _frame(progress: Progress) -> RenderableType:
    from rich.console import Group
    from rich.text import Text

    total = sum(1 for _ in progress.expected())
    finished = progress.finished()
    table = _table(finished[-_LATEST:], progress.task.engines)
    at = ", ".join(f"{engine}: {probe}" for engine, probe in progress.running.items())
    return Group(table, Text(f"{len(finished)} of {total} probes  {at}", style="dim"))


def _table(results: tuple[Result, ...], engines: tuple[Engine, ...]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("probe", overflow="fold", ratio=3)
    table.add_column("rules", no_wrap=True)
    for engine in engines:
        table.add_column(engine, no_wrap=True)
    rows: dict[str, dict[Engine, Verdict]] = {}
    rules: dict[str, str] = {}
    for result in results:
        rows.setdefault(result.probe.id, {})[result.engine] = result.verdict
        rules[result.probe.id] = " ".join(result.probe.rules)
    for probe, verdicts in rows.items():
        cells = [
            Text(verdicts[engine], style=_STYLES[verdicts[engine]]) if engine in verdicts else ""
            for engine in engines
        ]
        table.add_row(probe, rules[probe], *cells)
    return table


def print_report(report: Report, engines: tuple[Engine, ...], options: RunOptions) -> None:
    """Table, details of what failed, and the footer; `key=value` lines where piped."""
    console = _console(sys.stdout)
    if options.output_format == "key-value" or not console.is_terminal:
        for line in key_value_lines(report.results):
            print(line)
    else:
        console.print(_table(report.results, engines))
    error = _console(sys.stderr)
    for result in report.results:
        if result.verdict in FAILURES or (options.verbose and result.verdict != "confirmed"):
            _print_details(error, result, options)
    _print_footer(error, report)


def _print_details(console: Console, result: Result, options: RunOptions) -> None:
    from rich.text import Text

    # Piped text is for other programs: they break lines themselves.
    wide = not console.is_terminal
    title = Text(f"{result.verdict} ", style=_STYLES[result.verdict])
    console.print(title.append(f"{result.probe.id} on {result.engine}", ""), soft_wrap=wide)
    lines = [f"  expected: {result.expected}", f"  observed: {result.observed}"]
    lines += [f"    {line}" for line in result.details]
    for line in [*lines, f"  repeat: {repeat_command(result, options)}"]:
        console.print(Text(line), soft_wrap=wide)


def _print_footer(console: Console, report: Report) -> None:
    from rich.text import Text

    counts = ", ".join(f"{count} {verdict}" for verdict, count in summary(report.results).items())
    how = "interrupted: " if report.interrupted else ""
    console.print(Text(f"{how}{counts or 'no probe'} in {report.seconds:.1f} s"))
    console.print(Text(footer(report.platform), style="dim"), soft_wrap=not console.is_terminal)


def footer(platform: Platform) -> str:
    parts = [
        f"SGLang {platform.sglang} ({platform.sglang_source})",
        f"torch {platform.torch or '?'}",
        f"triton {platform.triton or '?'}",
        f"Python {platform.python}",
        f"driver {platform.driver}" if platform.driver else "no GPU driver",
        platform.device or "CPU",
    ]
    return ", ".join(parts)
