"""The commands and their options. What they do is elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Optional

import typer

from kvlint import __version__
from kvlint.project.settings import OutputFormat

_LIGHT = ("check", "config", "rule", "rules")
"""Commands that need nothing of the others: their start-up does not pay for them."""
Text = Optional[str]  # noqa: UP045 - typer reads annotations at run time, also on Python 3.10
File = Optional[Path]  # noqa: UP045
Texts = Optional[list[str]]  # noqa: UP045
Paths = Optional[list[Path]]  # noqa: UP045


def command_in(arguments: Sequence[str]) -> str | None:
    """The command that a command line names, without parsing it."""
    return next((word for word in arguments if not word.startswith("-")), None)


def build(command: str | None = None) -> typer.Typer:
    """The command line: all of it, or what is needed to run one of the light commands."""
    app = typer.Typer(
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_top)
    app.command()(check)
    app.command()(rule)
    app.command()(rules)
    app.command()(config)
    if command not in _LIGHT:
        app.command()(pools)
        _register_others(app)
    return app


def _register_others(app: typer.Typer) -> None:
    from kvlint.cli import args as cli_args
    from kvlint.cli import run as cli_run

    cli_args.register(app)
    cli_run.register(app)


def _top(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Find misuse of SGLang's KV-cache pools before a GPU does."""
    if version:
        typer.echo(f"kvlint {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def check(
    paths: Annotated[
        Paths,
        typer.Argument(help="Files and folders to check; - is standard input.", readable=False),
    ] = None,
    select: Annotated[
        Texts, typer.Option(help="Ask only these rules: codes, prefixes or names, by comma.")
    ] = None,
    ignore: Annotated[
        Texts, typer.Option(help="Do not ask these rules: codes, prefixes or names, by comma.")
    ] = None,
    sglang: Annotated[
        Text, typer.Option(help="Check against this release: a version, or the path of a tree.")
    ] = None,
    pedantic: Annotated[
        bool, typer.Option("--pedantic", help="Report what is noisy by nature, too.")
    ] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Apply the safe fixes.")] = False,
    unsafe_fixes: Annotated[
        bool, typer.Option("--unsafe-fixes", help="With --fix or --diff: the unsafe ones as well.")
    ] = False,
    diff: Annotated[
        bool, typer.Option("--diff", help="Show what --fix would change; write nothing.")
    ] = False,
    show_fixes: Annotated[
        bool, typer.Option("--show-fixes", help="List the fixes that were applied.")
    ] = False,
    show_suppressed: Annotated[
        bool, typer.Option("--show-suppressed", help="Show suppressed findings, too.")
    ] = False,
    add_ignore: Annotated[
        Text,
        typer.Option(
            metavar="[REASON]", help="Write a suppression comment for each finding (=REASON)."
        ),
    ] = None,
    baseline: Annotated[
        File, typer.Option(help="Do not report the findings that this file knows.")
    ] = None,
    write_baseline: Annotated[
        File, typer.Option(help="Write the findings to this file; an existing one only shrinks.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="With --write-baseline: let it grow.")
    ] = False,
    output_format: Annotated[
        Optional[OutputFormat],  # noqa: UP045
        typer.Option(help="How findings are written."),
    ] = None,
    output_file: Annotated[
        File, typer.Option(help="Write findings to this file instead of standard output.")
    ] = None,
    statistics: Annotated[
        bool, typer.Option("--statistics", help="Count the findings of each rule instead.")
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option("--confirm", help="Show each finding on SGLang's real pools (kvlint run)."),
    ] = False,
    stdin_filename: Annotated[
        Text, typer.Option(help="The path that standard input stands for.")
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say which rules are off, and why.")
    ] = False,
    no_cache: Annotated[
        bool, typer.Option("--no-cache", help="Neither read nor write .kvlint_cache.")
    ] = False,
    jobs: Annotated[
        int, typer.Option(min=0, help="Processes for large runs; 0 is one for each processor.")
    ] = 0,
) -> None:
    """Check files and folders.

    Exit status: 0 nothing left, 1 findings, 2 usage, settings or unreadable input, 3 a path that
    does not exist or holds nothing to check.
    """
    from kvlint.cli.check import Options, main

    options = Options(
        paths=tuple(paths or ()),
        select=_split(select),
        ignore=_split(ignore) or (),
        sglang=sglang,
        pedantic=pedantic,
        fix=fix,
        unsafe_fixes=unsafe_fixes,
        diff=diff,
        show_fixes=show_fixes,
        show_suppressed=show_suppressed,
        add_ignore=add_ignore,
        baseline=baseline,
        write_baseline=write_baseline,
        force=force,
        output_format=output_format,
        output_file=output_file,
        statistics=statistics,
        confirm=confirm,
        stdin_filename=stdin_filename,
        verbose=verbose,
        use_cache=not no_cache,
        jobs=jobs,
    )
    raise typer.Exit(main(options))


def _split(values: Sequence[str] | None) -> tuple[str, ...] | None:
    if values is None:
        return None
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


def rule(
    name: Annotated[str, typer.Argument(metavar="CODE|NAME", help="A rule's code or name.")],
) -> None:
    """Show the documentation of one rule."""
    from kvlint.cli.rules import show_rule

    raise typer.Exit(show_rule(name))


def rules(
    output_format: Annotated[
        Literal["text", "json"], typer.Option(help="How the list is written.")
    ] = "text",
) -> None:
    """List the rules."""
    from kvlint.cli.rules import list_rules

    raise typer.Exit(list_rules(output_format))


def config(
    path: Annotated[Path, typer.Argument(help="A file or folder.")] = Path(),
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of the settings.")
    ] = False,
    output_format: Annotated[
        Literal["text", "json"], typer.Option(help="How the settings are written.")
    ] = "text",
) -> None:
    """Show the settings that hold for a path, and where each comes from."""
    from kvlint.cli.config import show_schema, show_settings

    raise typer.Exit(show_schema() if schema else show_settings(path, output_format))


def pools(
    name: Annotated[Text, typer.Argument(metavar="[CLASS]", help="Show one pool class.")] = None,
    sglang: Annotated[
        Text, typer.Option(help="The release: a version, or the path of a tree.")
    ] = None,
    diff: Annotated[
        Optional[tuple[str, str]],  # noqa: UP045
        typer.Option(metavar="OLD NEW", help="What changed between two releases."),
    ] = None,
    output_format: Annotated[
        Literal["text", "json"], typer.Option(help="How facts are written.")
    ] = "text",
) -> None:
    """Show which pool class offers what: the matrix, one class, or what changed."""
    from kvlint.cli.pools import show_pools

    raise typer.Exit(show_pools(name, sglang, diff, output_format))
