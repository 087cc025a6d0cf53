"""`kvlint doctor`: what this machine can run, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import kvlint
from kvlint.runtime.probes import DoctorOptions
from kvlint.runtime.releases import (
    INSTALL_HINT,
    Interpreter,
    Release,
    RunError,
    child_environment,
    find_release,
    inspect_interpreter,
)

_TRITON = ((3, 6), (3, 10))
# Module that an import asks for -> distribution that has it, where the two differ.
_DISTRIBUTIONS = {
    "PIL": "pillow",
    "zmq": "pyzmq",
    "IPython": "ipython",
    "sgl_kernel": "sgl-kernel",
    "flashinfer": "flashinfer-python",
    "yaml": "pyyaml",
    "mlx": "mlx",
}

_IMPORT = """
import importlib.util as u, json, os, sys
folder = sys.argv[1]
spec = u.spec_from_file_location("kvlint", folder + "/__init__.py",
                                 submodule_search_locations=[folder])
module = u.module_from_spec(spec)
sys.modules["kvlint"] = module
spec.loader.exec_module(module)
from kvlint.runtime import compat
answer = {"missing": "", "error": "", "cuda": ""}
out = os.dup(1)
os.dup2(2, 1)
try:
    import torch
    keep = compat.declare_torchvision_operators()
    import sglang.srt.mem_cache.memory_pool
    context = compat.install_context()
    if torch.cuda.is_available():
        answer["cuda"] = torch.cuda.get_device_name(0)
except ModuleNotFoundError as error:
    answer["missing"] = error.name or str(error)
except Exception as error:
    answer["error"] = f"{type(error).__name__}: {error}"
os.write(out, json.dumps(answer).encode())
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor: `state` is "ok", "missing" or "note"."""

    name: str
    state: str
    text: str
    mend: str = ""


def examine(options: DoctorOptions) -> int:
    """Print the checks. 0 where probes can run, 2 where none can."""
    checks = all_checks(options)
    if options.output_format == "json":
        data = {"schema_version": 1, "checks": [asdict(check) for check in checks]}
        print(json.dumps(data, indent=1))
    else:
        for check in checks:
            print(f"{check.state:<8}{check.name:<28}{check.text}")
            if check.mend:
                print(f"{'':<36}-> {check.mend}")
    return 2 if any(check.state == "missing" for check in checks) else 0


def all_checks(options: DoctorOptions) -> list[Check]:
    try:
        interpreter = inspect_interpreter(options.python)
    except RunError as error:
        return [Check("python", "missing", str(error), "name another one with --python")]
    checks = [
        Check("python", "ok", f"{interpreter.versions['python']} ({interpreter.executable})"),
        *(_package(interpreter, name) for name in ("torch", "triton", "numpy")),
    ]
    checks.append(_triton_range(interpreter))
    try:
        release = find_release(options.sglang, interpreter)
    except RunError as error:
        checks.append(Check("sglang", "missing", str(error), "pip install sglang"))
        return [*checks, _gpu()]
    checks.append(Check("sglang", "ok", f"{release.version} ({release.source})"))
    if all(interpreter.has(name) for name in ("torch", "triton")):
        checks.extend(_import(interpreter, release))
    return [*checks, _gpu()]


def _package(interpreter: Interpreter, name: str) -> Check:
    version = interpreter.versions.get(name, "")
    if version:
        return Check(name, "ok", version)
    return Check(name, "missing", "not installed", INSTALL_HINT)


def _triton_range(interpreter: Interpreter) -> Check:
    version = interpreter.versions.get("triton", "")
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdigit())
    low, high = _TRITON
    if len(numbers) == 2 and not low <= numbers < high:
        text = f"{version} is outside 3.6 to 3.9, on which kvlint's kernels are tested"
        return Check("triton range", "note", text, "pip install 'triton>=3.6,<3.10'")
    return Check("triton range", "ok" if version else "note", "3.6 to 3.9 are tested")


def _import(interpreter: Interpreter, release: Release) -> list[Check]:
    """Import SGLang's pools for real, in a child."""
    with TemporaryDirectory(prefix="kvlint-doctor-") as scratch:
        try:
            done = subprocess.run(
                [interpreter.executable, "-c", _IMPORT, str(Path(kvlint.__file__).parent)],
                capture_output=True,
                text=True,
                timeout=180,
                env=child_environment("cuda", release),
                cwd=scratch,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return [Check("import of pools", "missing", "took more than 180 s")]
    try:
        answer = json.loads(done.stdout)
    except json.JSONDecodeError:
        text = (done.stderr.strip().splitlines() or ["no output"])[-1]
        return [Check("import of pools", "missing", f"exit status {done.returncode}: {text}")]
    return _import_checks(interpreter, answer)


def _import_checks(interpreter: Interpreter, answer: dict[str, str]) -> list[Check]:
    if answer["missing"]:
        package = answer["missing"].partition(".")[0]
        name = _DISTRIBUTIONS.get(package, package)
        mend = f"{interpreter.executable} -m pip install {name}"
        return [Check("import of pools", "missing", f"the module {answer['missing']}", mend)]
    if answer["error"]:
        return [Check("import of pools", "missing", answer["error"])]
    found = [Check("import of pools", "ok", "SGLang's pools import")]
    found.append(Check("engine cpu", "ok", "guards, fixes, plain writers, launch arguments"))
    found.append(Check("engine triton-interpreter", "ok", "kernels, Triton writers, red zones"))
    if answer["cuda"]:
        found.append(Check("engine cuda", "ok", answer["cuda"]))
    else:
        text = "no GPU that this torch can use: fused store kernels are not run"
        found.append(Check("engine cuda", "note", text))
    return found


def _gpu() -> Check:
    from kvlint.runtime.session import gpu_facts

    facts = gpu_facts()
    if facts is None:
        return Check("gpu driver", "note", "nvidia-smi finds no GPU: probes run on the CPU")
    return Check("gpu driver", "ok", f"{facts[0]}, driver {facts[1]}")


def main() -> None:
    sys.exit(examine(DoctorOptions()))
