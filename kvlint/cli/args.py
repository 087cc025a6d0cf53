"""`kvlint args`: the command line of one server, given or running."""

from __future__ import annotations

from typing import Annotated, Optional

import typer

from kvlint.project.settings import OutputFormat


def register(app: typer.Typer) -> None:
    """Add the command to `app`."""
    app.command("args", no_args_is_help=True)(args)


def args(
    command: Annotated[
        Optional[list[str]],  # noqa: UP045 - typer reads annotations at run time
        typer.Argument(
            metavar="-- COMMAND...",
            help="The command line, as `-- python -m sglang.launch_server ...`.",
        ),
    ] = None,
    pid: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(min=1, help="Check the running server with this process id (Linux)."),
    ] = None,
    sglang: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="Check against this release: a version, or the path of a tree."),
    ] = None,
    pedantic: Annotated[
        bool, typer.Option("--pedantic", help="Report what is noisy by nature, too.")
    ] = False,
    output_format: Annotated[OutputFormat, typer.Option(help="How findings are written.")] = "text",
) -> None:
    """Check the arguments of one SGLang server before, or while, it runs."""
    from kvlint.engine.command_line import Request, check_command

    request = Request(tuple(command or ()), pid, sglang, pedantic, output_format)
    raise typer.Exit(check_command(request))
