"""The child of `kvlint run`: imports SGLang once, then forks one process for each pool.

Started with `-c` by `supervisor`, with a pipe for its plan and one for its reports (a JSON object
a line). On the CPU SGLang is imported before the forks, on CUDA after each, because a CUDA context
does not survive a fork. A forked process that crashes or overruns loses only its current probe.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_PR_SET_PDEATHSIG = 1
_ASYNC_ASSERT = "SGLANG_ENABLE_ASYNC_ASSERT"


@dataclass
class Child:
    """One forked process: the probes it still owes, and the one it is at."""

    group: dict[str, Any]
    pid: int
    pipe: int
    log: str
    deadline: float
    buffer: bytes = b""
    owed: list[dict[str, Any]] = field(default_factory=list)
    current: dict[str, Any] | None = None
    overran: bool = False


def main() -> None:
    plan = json.loads(os.fdopen(int(sys.argv[1]), "rb").read())
    report = Reporter(int(sys.argv[2]))
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    if plan["engine"] == "cuda":
        if not _gpu_is_there():
            report.send({"event": "no-gpu"})
            return
    elif not _prepare(report):
        return
    Forks(plan, report).run()
    report.send({"event": "end"})


class Reporter:
    """Writes JSON lines to the supervisor's pipe, each in one write."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[os.write(self.descriptor, data) :]


def die_with_parent() -> None:
    """Linux: be killed when the parent is, so that no orphan is left."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _gpu_is_there() -> bool:
    """Asked in a fork: the answer initialises CUDA, and what forks later must not inherit it."""
    pid = os.fork()
    if pid == 0:
        import torch

        os._exit(0 if torch.cuda.is_available() else 1)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status) == 0


_KEEP: list[Any] = []


def _prepare(report: Reporter) -> bool:
    """Import torch and SGLang's pools; report versions, or what is missing."""
    from kvlint.runtime import builders, compat

    started = time.monotonic()
    try:
        _KEEP.append(compat.declare_torchvision_operators())
        for name in builders.POOL_MODULES:
            _import_pools(f"sglang.srt.mem_cache.{name}")
        _KEEP.append(compat.install_context())
        _warm(builders)
    # Whatever an import of this size raises, the supervisor wants its text.
    except Exception as error:
        missing = getattr(error, "name", None) if isinstance(error, ImportError) else None
        report.send(
            {
                "event": "import-failed",
                "missing": missing,
                "error": f"{type(error).__name__}: {error}",
            }
        )
        return False
    report.send({"event": "ready", "seconds": time.monotonic() - started, **_versions()})
    return True


def _import_pools(module: str) -> None:
    """Import one module of pools; that a release does not have it is no error."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise


def _warm(builders: Any) -> None:
    """One write into a small pool: SGLang imports a thousand modules at its first one, which
    every fork would repeat. What goes wrong here goes wrong again in a probe, and is told there."""
    from kvlint.runtime.call_values import Scene
    from kvlint.runtime.outcome import attempt

    def write() -> None:
        site = builders.Site()
        pool = builders.build(builders.pool_module("memory_pool").MHATokenToKVPool, site)
        scene = Scene(pool, site, 0)
        scene.pool.set_kv_buffer(scene.layer, scene.write_loc, scene.k, scene.v)

    attempt(write)


def _versions() -> dict[str, str]:
    import numpy
    import torch
    import triton

    return {"torch": torch.__version__, "triton": triton.__version__, "numpy": numpy.__version__}


class Forks:
    """Runs groups of probes in forked processes, at most `jobs` at once."""

    def __init__(self, plan: dict[str, Any], report: Reporter) -> None:
        self.plan = plan
        self.report = report
        self.waiting: list[dict[str, Any]] = list(plan["groups"])
        self.children: dict[int, Child] = {}

    def run(self) -> None:
        while self.waiting or self.children:
            while self.waiting and len(self.children) < self.plan["jobs"]:
                self._fork(self.waiting.pop(0))
            self._collect()

    def _fork(self, group: dict[str, Any]) -> None:
        read, write = os.pipe()
        handle, log = tempfile.mkstemp(prefix="kvlint-run-")
        os.close(handle)
        pid = os.fork()
        if pid == 0:
            os.close(read)
            run_group(self.plan, group, write, log)
            os._exit(0)
        os.close(write)
        deadline = time.monotonic() + self.plan["timeout"] + self.plan["start_seconds"]
        self.children[read] = Child(group, pid, read, log, deadline, owed=list(group["probes"]))

    def _collect(self) -> None:
        now = time.monotonic()
        wait = min([child.deadline for child in self.children.values()], default=now) - now
        ready, _, _ = select.select(list(self.children), [], [], max(0.0, min(wait, 1.0)))
        for pipe in ready:
            self._read(self.children[pipe])
        for child in list(self.children.values()):
            if time.monotonic() > child.deadline and not child.overran:
                child.overran = True
                os.kill(child.pid, signal.SIGKILL)

    def _read(self, child: Child) -> None:
        data = os.read(child.pipe, 1 << 16)
        if not data:
            self._ended(child)
            return
        *lines, child.buffer = (child.buffer + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["event"] == "start":
                child.current = child.owed.pop(0)
                child.deadline = time.monotonic() + self.plan["timeout"]
            elif message["event"] == "result":
                child.current = None
            elif message["event"] == "import-failed":
                self._give_up(child, message["error"])
                continue
            self.report.send(message)

    def _give_up(self, child: Child, error: str) -> None:
        """On CUDA each process imports SGLang: where that fails, no probe of it can run."""
        for probe in child.owed:
            self._send(child, probe, "cannot-build", f"SGLang does not import: {error}", [])
        child.owed = []

    def _ended(self, child: Child) -> None:
        del self.children[child.pipe]
        os.close(child.pipe)
        _, status = os.waitpid(child.pid, 0)
        self._explain(child, status)
        Path(child.log).unlink()
        if child.owed:
            self.waiting.insert(0, {**child.group, "probes": child.owed})

    def _explain(self, child: Child, status: int) -> None:
        """Report the probe that a killed or crashed process was at."""
        failed = child.current or (child.owed.pop(0) if child.owed else None)
        if failed is None:
            return
        if child.overran:
            verdict, text = "timed-out", f"no answer within {self.plan['timeout']:g} s"
        elif os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            verdict, text = "crashed", f"killed by {signal.Signals(number).name}"
        else:
            verdict, text = "crashed", f"exit status {os.WEXITSTATUS(status)}"
        self._send(child, failed, verdict, text, _tail(child.log))

    def _send(
        self, child: Child, probe: dict[str, Any], verdict: str, text: str, details: list[str]
    ) -> None:
        self.report.send(
            {
                "event": "result",
                "id": probe["id"],
                "async": bool(child.group.get("async")),
                "verdict": verdict,
                "observed": text,
                "details": details,
                "seconds": 0.0,
            }
        )


def _tail(path: str, lines: int = 6) -> list[str]:
    text = Path(path).read_bytes()[-4000:].decode("utf-8", "replace")
    return [line for line in text.splitlines() if line.strip()][-lines:]


def run_group(plan: dict[str, Any], group: dict[str, Any], pipe: int, log: str) -> None:
    """In the forked process: run the probes of one pool and report each."""
    die_with_parent()
    # A core dump of a process this size takes longer than the probes.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    output = os.open(log, os.O_WRONLY | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    report = Reporter(pipe)
    if group.get("async"):
        os.environ[_ASYNC_ASSERT] = "1"
    if plan["engine"] == "cuda":
        if not _prepare(report):
            os._exit(3)
    else:
        _limit_memory(plan["memory_mb"])
    for probe in group["probes"]:
        report.send({"event": "start", "id": probe["id"], "async": bool(group.get("async"))})
        report.send(_run_probe(plan, probe, bool(group.get("async"))))


def _limit_memory(megabytes: int) -> None:
    """At most so much more memory than the fork starts with. Not on CUDA, whose driver maps more
    address space than it uses."""
    if sys.platform != "linux":
        return
    status = Path("/proc/self/status").read_text("ascii").splitlines()
    sizes = [line.split()[1] for line in status if line.startswith("VmData:")]
    used = int(sizes[0]) * 1024 if sizes else 0
    limit = used + megabytes * 1024 * 1024
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _run_probe(plan: dict[str, Any], probe: dict[str, Any], second_pass: bool) -> dict[str, Any]:
    from kvlint.runtime.builders import CannotBuild
    from kvlint.runtime.outcome import Judged, error_text, frames_of, wants_gpu

    started = time.monotonic()
    matrix: dict[str, Any] = {}
    try:
        judged = _PROBES[probe["kind"]](plan, probe, matrix)
    except CannotBuild as reason:
        cause = reason.__cause__
        gpu = wants_gpu(cause) if cause is not None else ""
        judged = Judged("needs-cuda", gpu) if gpu else Judged("cannot-build", str(reason))
    except MemoryError:
        judged = Judged("crashed", f"more than {plan['memory_mb']} MB of memory")
    # A fault of kvlint's own probe must not look like one of SGLang's.
    except Exception as error:
        judged = Judged("broken", f"the probe failed: {error_text(error)}", frames_of(error))
    return {
        "event": "result",
        "id": probe["id"],
        "async": second_pass,
        "verdict": judged.verdict,
        "observed": judged.observed,
        "details": list(judged.details),
        "seconds": time.monotonic() - started,
        "matrix": matrix,
    }


def _site(plan: dict[str, Any]) -> Any:
    from kvlint.runtime.builders import Site

    return Site(plan["device"], triton=plan["engine"] != "cpu")


def _scene(plan: dict[str, Any], probe: dict[str, Any]) -> Any:
    from kvlint.runtime.builders import build, pool_class
    from kvlint.runtime.call_values import Scene

    site = _site(plan)
    built = build(pool_class(probe["pool"]), site)
    layers = built.layers
    if probe["kind"] == "writer" and probe["accessor"] in ("set_index_k_buffer", "set_k_buffer"):
        layers = tuple(built.index_targets)
    return Scene(built, site, layers[0])


_SCENES: dict[str, Any] = {}


def _shared_scene(plan: dict[str, Any], probe: dict[str, Any]) -> Any:
    """One instance for all guards of a class: they put back what they change."""
    if probe["pool"] not in _SCENES:
        _SCENES[probe["pool"]] = _scene(plan, probe)
    return _SCENES[probe["pool"]]


def _guard(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.guards import judge_guard

    return judge_guard(_shared_scene(plan, probe), probe["accessor"], probe["data"])


def _facts(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.guards import judge_facts

    judged, found = judge_facts(_scene(plan, probe), probe["data"])
    matrix.update(found)
    return judged


def _fix(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.fixes import judge_fix

    return judge_fix(_site(plan), probe["data"])


def _necessity(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.necessity import judge_necessity

    return judge_necessity(_site(plan), probe["data"]["name"])


def _writer(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.writers import judge_writer

    return judge_writer(_scene(plan, probe), probe["data"]["name"])


def _launch(plan: dict[str, Any], probe: dict[str, Any], matrix: dict[str, Any]) -> Any:
    from kvlint.runtime.launches import judge_launch

    return judge_launch(probe["data"]["name"], probe["data"])


_PROBES: dict[str, Callable[[dict[str, Any], dict[str, Any], dict[str, Any]], Any]] = {
    "guard": _guard,
    "facts": _facts,
    "fix": _fix,
    "necessity": _necessity,
    "writer": _writer,
    "launch": _launch,
}
