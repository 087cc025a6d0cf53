"""`kvlint run` and `kvlint doctor` without their command line."""

from __future__ import annotations

import os
import platform as host
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from kvlint.catalogue.embed import embedded_versions, load_embedded
from kvlint.catalogue.extract import extract_tree
from kvlint.catalogue.model import Catalogue
from kvlint.catalogue.resolve import View
from kvlint.catalogue.tree import CatalogueError
from kvlint.output.style import on_one_line
from kvlint.rules.rule import RuleError, builtin_rules
from kvlint.runtime import display, doctor
from kvlint.runtime import formats as report
from kvlint.runtime.plan import SelectionError, plan_probes, select
from kvlint.runtime.probes import (
    ENGINES,
    DoctorOptions,
    Engine,
    Platform,
    Probe,
    Report,
    RunOptions,
    exit_code,
)
from kvlint.runtime.releases import (
    Interpreter,
    Release,
    RunError,
    find_release,
    inspect_interpreter,
    require_extra,
)
from kvlint.runtime.supervisor import Progress, Task, execute
from kvlint.source.writing import write_whole

INTERRUPTED = 130
"""Exit code of a run that ctrl-C ended, as a shell gives it."""
_FORMATS = ("text", "key-value", "json", "junit")


def run_command(options: RunOptions) -> int:
    """Run the probes that the options select. Returns the exit code: 2 where nothing can run."""
    try:
        return _run(options)
    except (RunError, SelectionError, CatalogueError, RuleError) as error:
        print(f"kvlint run: {on_one_line(str(error))}", file=sys.stderr)
        return 2


def doctor_command(options: DoctorOptions) -> int:
    """Say what this machine can run. Exit 0 where probes can run, 2 where none can."""
    return doctor.examine(options)


def _run(options: RunOptions) -> int:
    if options.output_format not in _FORMATS:
        raise RunError(f"--output-format {options.output_format}: one of {', '.join(_FORMATS)}")
    files = [Path(word) for word in options.selection if word.endswith(".py")]
    if files:
        from kvlint.runtime.confirm import confirm_files

        return confirm_files(files, options)
    interpreter = inspect_interpreter(options.python)
    require_extra(interpreter)
    release = find_release(options.sglang, interpreter)
    probes = probes_of(release, options.selection)
    engines = engines_for(options)
    if options.list_only:
        _print_list(probes, engines)
        return 0
    found = run_probes(interpreter, release, probes, engines, options)
    publish(found, engines, options)
    return INTERRUPTED if found.interrupted else exit_code(found, options.require_all)


def probes_of(release: Release, words: tuple[str, ...] = ()) -> tuple[Probe, ...]:
    """The probes of a release, its catalogue read from the very tree that will run."""
    return select(all_probes(release, catalogue_of(release)), words)


def catalogue_of(release: Release) -> Catalogue:
    return extract_tree(release.root / "sglang", release.version)


def all_probes(release: Release, catalogue: Catalogue) -> tuple[Probe, ...]:
    published = None
    if release.version in embedded_versions():
        published = View(load_embedded(release.version))
    return plan_probes(View(catalogue), builtin_rules(), published)


def run_probes(
    interpreter: Interpreter,
    release: Release,
    probes: tuple[Probe, ...],
    engines: tuple[Engine, ...],
    options: RunOptions,
) -> Report:
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kvlint-run-") as scratch:
        task = Task(
            interpreter=interpreter,
            release=release,
            probes=probes,
            engines=engines,
            device=_device(options),
            jobs=options.jobs or max(1, (os.cpu_count() or 2) // max(1, len(engines))),
            timeout=options.timeout,
            memory_mb=options.memory_mb,
        )
        with display.live(options) as listen:
            progress = execute(task, listen, Path(scratch))
    return Report(
        platform=_platform(interpreter, release, progress),
        results=progress.finished(),
        accessors=progress.accessors,
        seconds=time.monotonic() - started,
        interrupted=progress.interrupted,
    )


def engines_for(options: RunOptions) -> tuple[Engine, ...]:
    """The engines asked for. `--device auto` means CUDA where there is a GPU, else the CPU's two.

    Raises RunError for names that are none.
    """
    device = options.device
    if device not in ("auto", "cpu", "all") and not device.startswith("cuda"):
        raise RunError(f"--device {device}: one of auto, cpu, cuda, cuda:N, all")
    if options.engine is not None:
        if options.engine not in ENGINES:
            raise RunError(f"--engine {options.engine}: one of {', '.join(ENGINES)}")
        return tuple(engine for engine in ENGINES if engine == options.engine)
    if device == "all":
        return ENGINES
    if device.startswith("cuda") or (device == "auto" and gpu_facts()):
        return ("cuda",)
    return ("cpu", "triton-interpreter")


def _device(options: RunOptions) -> str:
    return options.device if options.device.startswith("cuda") else "cuda"


def gpu_facts() -> tuple[str, str] | None:
    """Name and driver of the first NVIDIA GPU, None where there is none."""
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    line = done.stdout.strip().splitlines()[:1]
    if done.returncode or not line or "," not in line[0]:
        return None
    name, _, driver = line[0].partition(",")
    return name.strip(), driver.strip()


def _platform(interpreter: Interpreter, release: Release, progress: Progress) -> Platform:
    versions = {**interpreter.versions, **progress.versions}
    on_gpu = "cuda" in progress.task.engines
    name, driver = (gpu_facts() or ("", "")) if on_gpu else ("", "")
    return Platform(
        sglang=release.version,
        sglang_source="installed" if release.installed else "unpacked",
        python=versions.get("python", ""),
        torch=versions.get("torch", ""),
        triton=versions.get("triton", ""),
        numpy=versions.get("numpy", ""),
        driver=driver,
        device=name,
        machine=f"{host.system()} {host.machine()}",
    )


def publish(found: Report, engines: tuple[Engine, ...], options: RunOptions) -> None:
    """Write the report where and how the options say."""
    if options.output_format in ("json", "junit"):
        make = report.as_json if options.output_format == "json" else report.as_junit
        text = make(found, options)
        if options.output_file is None:
            sys.stdout.write(text)
        else:
            write_whole(options.output_file, text.encode())
        if options.output_file is None:
            return
    elif options.output_file is not None:
        lines = "\n".join(report.key_value_lines(found.results))
        write_whole(options.output_file, f"{lines}\n".encode())
    display.print_report(found, engines, replace(options, output_format="text"))


def _print_list(probes: tuple[Probe, ...], engines: tuple[Engine, ...]) -> None:
    for probe in probes:
        on = ",".join(engine for engine in probe.engines if engine in engines)
        if on:
            print(f"{probe.id}  [{on}]  {' '.join(probe.rules)}  {probe.title}")
