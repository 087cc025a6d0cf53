"""The commands `kvlint run` and `kvlint doctor`; no logic."""

from __future__ import annotations

from pathlib import Path

import typer

from kvlint.errors import UsageError, running_is_forbidden
from kvlint.runtime.probes import DoctorOptions, RunOptions

_SGLANG = typer.Option(
    None, "--sglang", metavar="PATH|VERSION", help="An unpacked wheel, a site-packages folder."
)
_PYTHON = typer.Option(
    None, "--python", metavar="PATH", help="Python with torch, triton and SGLang's dependencies."
)


def register(app: typer.Typer) -> None:
    """Add `run` and `doctor` to the application."""
    app.command("run", help="Confirm every guard and fix on SGLang's real pools.")(run)
    app.command("doctor", help="Say what this machine can run, and what is missing.")(doctor)


def run(
    selection: list[str] = typer.Argument(
        None, metavar="[RULE|CLASS|PROBE|FILE.py]...", help="What to run; all without it."
    ),
    sglang: str = _SGLANG,
    python: str = _PYTHON,
    device: str = typer.Option("auto", "--device", help="auto, cpu, cuda, cuda:N or all."),
    engine: str = typer.Option(None, "--engine", help="cpu, triton-interpreter or cuda."),
    jobs: int = typer.Option(0, "--jobs", "-j", min=0, help="Processes per engine; 0 chooses."),
    timeout: float = typer.Option(60.0, "--timeout", min=0.1, help="Seconds for one probe."),
    memory: int = typer.Option(4096, "--memory", min=64, help="MB for one process."),
    list_only: bool = typer.Option(False, "--list", help="List the probes and run none."),
    require_all: bool = typer.Option(False, "--require-all", help="Skipped probes fail, too."),
    output_format: str = typer.Option(
        "text", "--output-format", help="text, key-value, json or junit."
    ),
    output_file: Path = typer.Option(None, "--output-file", help="Write the report there."),
    verbose: bool = typer.Option(False, "--verbose", "-v", help="Details of skipped probes."),
) -> None:
    if running_is_forbidden() and not list_only:
        raise UsageError("run executes code, which KVLINT_NO_RUN forbids here")
    from kvlint.runtime.session import run_command

    options = RunOptions(
        selection=tuple(selection or ()),
        sglang=sglang,
        python=python,
        device=device,
        engine=engine,
        jobs=jobs,
        timeout=timeout,
        memory_mb=memory,
        list_only=list_only,
        require_all=require_all,
        output_format=output_format,
        output_file=output_file,
        verbose=verbose,
    )
    raise typer.Exit(run_command(options))


def doctor(
    sglang: str = _SGLANG,
    python: str = _PYTHON,
    output_format: str = typer.Option("text", "--output-format", help="text or json."),
) -> None:
    from kvlint.runtime.session import doctor_command

    options = DoctorOptions(sglang=sglang, python=python, output_format=output_format)
    raise typer.Exit(doctor_command(options))
