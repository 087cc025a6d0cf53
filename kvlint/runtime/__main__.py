"""`python -m kvlint.runtime`: `kvlint run` without the rest of the command line."""

from __future__ import annotations

import typer

from kvlint.cli_run import register

app = typer.Typer(add_completion=False)
register(app)

if __name__ == "__main__":
    app()
