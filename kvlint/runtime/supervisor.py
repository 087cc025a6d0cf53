"""Starts one worker for each engine, gathers what they report, and ends them all cleanly.

Imports neither torch nor SGLang. A worker is the leader of its own process group, so that ending
it ends everything it forked.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import kvlint
from kvlint.runtime.plan import as_json
from kvlint.runtime.probes import Engine, Probe, Result
from kvlint.runtime.releases import Interpreter, Release, child_environment

# Importing SGLang takes 4 to 5 s, 15 s where nothing is compiled yet.
START_SECONDS = 180.0
_KILL_SECONDS = 5.0

# Loads kvlint from where it runs now without putting that folder's other packages before the
# child's own.
_BOOT = """
import importlib.util as u, sys
folder = sys.argv.pop(1)
spec = u.spec_from_file_location("kvlint", folder + "/__init__.py",
                                 submodule_search_locations=[folder])
module = u.module_from_spec(spec)
sys.modules["kvlint"] = module
spec.loader.exec_module(module)
from kvlint.runtime.worker import main
main()
"""

Listener = Callable[["Progress"], None]


@dataclass(frozen=True, slots=True)
class Task:
    """What to run: probes, engines they run on, limits. `timeout` is seconds for one probe."""

    interpreter: Interpreter
    release: Release
    probes: tuple[Probe, ...]
    engines: tuple[Engine, ...]
    device: str
    jobs: int
    timeout: float
    memory_mb: int


@dataclass
class Progress:
    """What is known so far; listeners are called with it after each report."""

    task: Task
    results: dict[tuple[str, Engine], Result] = field(default_factory=dict)
    accessors: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    running: dict[Engine, str] = field(default_factory=dict)
    interrupted: bool = False
    asserted: dict[tuple[str, Engine], str] = field(default_factory=dict)

    def expected(self) -> Iterator[tuple[Probe, Engine]]:
        for probe in self.task.probes:
            for engine in self.task.engines:
                if engine in probe.engines:
                    yield probe, engine

    def finished(self) -> tuple[Result, ...]:
        """All results in the order of the plan, with what the second pass told."""
        found = []
        for probe, engine in self.expected():
            result = self.results.get((probe.id, engine))
            if result is not None:
                text = self.asserted.get((probe.id, engine), "")
                found.append(replace(result, async_assert=text) if text else result)
        return tuple(found)


@dataclass
class Worker:
    engine: Engine
    process: subprocess.Popen[bytes]
    pipe: int
    deadline: float
    log: Path
    buffer: bytes = b""
    ready: bool = False
    ended: bool = False


def execute(task: Task, listen: Listener, scratch: Path) -> Progress:
    """Run every probe. Ctrl-C ends the workers and returns what is known."""
    progress = Progress(task)
    workers: list[Worker] = []
    try:
        for engine in task.engines:
            if any(engine in probe.engines for probe in task.probes):
                workers.append(_start(task, engine, scratch))
        _gather(workers, progress, listen)
    except KeyboardInterrupt:
        progress.interrupted = True
    finally:
        for worker in workers:
            _end(worker)
    _account_for_the_rest(progress, listen)
    return progress


def _start(task: Task, engine: Engine, scratch: Path) -> Worker:
    plan_read, plan_write = os.pipe()
    report_read, report_write = os.pipe()
    log = scratch / f"{engine}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [
                *(task.interpreter.executable, "-c", _BOOT),
                *(str(Path(kvlint.__file__).parent), str(plan_read), str(report_write)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=child_environment(engine, task.release),
            pass_fds=(plan_read, report_write),
            start_new_session=True,
            cwd=scratch,
        )
    os.close(plan_read)
    os.close(report_write)
    with os.fdopen(plan_write, "wb") as pipe, contextlib.suppress(BrokenPipeError):
        pipe.write(json.dumps(_plan(task, engine)).encode())
    deadline = time.monotonic() + START_SECONDS
    return Worker(engine, process, report_read, deadline, log)


def _plan(task: Task, engine: Engine) -> dict[str, Any]:
    return {
        "engine": engine,
        "device": task.device if engine == "cuda" else "cpu",
        "jobs": task.jobs,
        "timeout": task.timeout,
        "start_seconds": START_SECONDS if engine == "cuda" else 0.0,
        "memory_mb": task.memory_mb,
        "groups": [*_groups(task.probes, engine), *_second_pass(task.probes, engine)],
    }


def _groups(probes: Iterable[Probe], engine: Engine) -> list[dict[str, Any]]:
    """One group for each pool class, so one process."""
    groups: dict[str, dict[str, Any]] = {}
    for probe in probes:
        if engine in probe.engines:
            group = groups.setdefault(probe.pool, {"pool": probe.pool, "probes": []})
            group["probes"].append(as_json(probe))
    return list(groups.values())


def _second_pass(probes: Iterable[Probe], engine: Engine) -> list[dict[str, Any]]:
    """The misuses again, with SGLang's own range checks switched on."""
    misuses = [probe for probe in probes if probe.kind == "necessity"]
    return [{**group, "async": True} for group in _groups(misuses, engine)]


def _gather(workers: list[Worker], progress: Progress, listen: Listener) -> None:
    living = list(workers)
    while living:
        ready, _, _ = select.select([worker.pipe for worker in living], [], [], 1.0)
        for worker in list(living):
            if worker.pipe in ready:
                _read(worker, progress, listen)
            elif not worker.ready and time.monotonic() > worker.deadline:
                worker.ended = True
                progress.versions[f"error:{worker.engine}"] = "importing SGLang took too long"
            if worker.ended:
                living.remove(worker)


def _read(worker: Worker, progress: Progress, listen: Listener) -> None:
    data = os.read(worker.pipe, 1 << 16)
    if not data:
        worker.ended = True
        return
    *lines, worker.buffer = (worker.buffer + data).split(b"\n")
    for line in lines:
        _take(worker, json.loads(line), progress)
        listen(progress)


def _take(worker: Worker, message: dict[str, Any], progress: Progress) -> None:
    event = message["event"]
    if event == "ready":
        worker.ready = True
        for name in ("torch", "triton", "numpy"):
            progress.versions[name] = message.get(name, "")
    elif event == "import-failed":
        missing = message.get("missing")
        text = f"the module {missing} is missing" if missing else message["error"]
        progress.versions[f"error:{worker.engine}"] = text
    elif event == "no-gpu":
        progress.versions[f"no-gpu:{worker.engine}"] = "yes"
    elif event == "start":
        progress.running[worker.engine] = message["id"]
    elif event == "result":
        _take_result(worker, message, progress)


def _take_result(worker: Worker, message: dict[str, Any], progress: Progress) -> None:
    probe = next(probe for probe in progress.task.probes if probe.id == message["id"])
    key = (probe.id, worker.engine)
    if message["async"]:
        progress.asserted[key] = _second_opinion(message)
        return
    progress.results[key] = Result(
        probe=probe,
        engine=worker.engine,
        verdict=message["verdict"],
        expected=probe.expected,
        observed=message["observed"],
        details=tuple(message["details"]),
        seconds=message["seconds"],
    )
    if message.get("matrix"):
        progress.accessors.setdefault(probe.pool_name, {}).update(message["matrix"])


def _second_opinion(message: dict[str, Any]) -> str:
    """What SGLang's own checks made of the misuse."""
    if message["verdict"] == "confirmed":
        return "silent"
    if "refuses it" in message["observed"] or "then raised" in message["observed"]:
        return f"caught: {message['observed']}"
    return f"{message['verdict']}: {message['observed']}"


def _end(worker: Worker) -> None:
    """Kill the worker's whole group and reap it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(worker.process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        worker.process.wait(_KILL_SECONDS)
    os.close(worker.pipe)


def _account_for_the_rest(progress: Progress, listen: Listener) -> None:
    """Probes that no worker reported: interrupted, or lost with a worker that did not start."""
    for probe, engine in progress.expected():
        key = (probe.id, engine)
        if key in progress.results:
            continue
        reason = progress.versions.get(f"error:{engine}", "")
        if progress.interrupted:
            verdict, text = "interrupted", "interrupted before it ran"
        elif f"no-gpu:{engine}" in progress.versions:
            verdict, text = "needs-cuda", "no GPU that torch can use"
        elif reason:
            verdict, text = "cannot-build", f"SGLang does not import: {reason}"
        else:
            verdict, text = "crashed", "its worker ended without a report"
        progress.results[key] = Result(
            probe,
            engine,
            verdict,  # type: ignore[arg-type]
            probe.expected,
            text,
        )
    listen(progress)
