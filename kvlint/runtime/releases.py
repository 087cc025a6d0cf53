"""Which SGLang is run, by which Python, in which environment. Nothing of SGLang is imported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from kvlint.catalogue.tree import tree_version
from kvlint.runtime.probes import Engine

INSTALL_HINT = "pip install 'sglang-kvlint[run]'"
_VERSION = re.compile(r"\d+\.\d+[\w.]*")

# Everything else of the caller's environment is left out: keys and tokens live there.
_KEPT = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT"),
    *("LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV", "CONDA_PREFIX", "XDG_CACHE_HOME"),
    *("CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    *("NVIDIA_DRIVER_CAPABILITIES", "TRITON_CACHE_DIR", "TRITON_PTXAS_PATH", "CC"),
)

_INSPECT = """
import importlib.metadata as m, importlib.util as u, json, platform, sys
found = {"python": platform.python_version(), "executable": sys.executable}
for name in ("torch", "triton", "numpy", "psutil", "sglang", "torchvision", "sgl-kernel",
             "flashinfer-python"):
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        found[name] = ""
try:
    spec = u.find_spec("sglang")
except (ImportError, ValueError):
    spec = None
places = list(spec.submodule_search_locations or []) if spec else []
found["sglang_path"] = places[0] if places else ""
print(json.dumps(found))
"""


class RunError(Exception):
    """`kvlint run` cannot start. The text is one line, and says what mends it."""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """The Python of the children, and the versions of what it has ("" where missing)."""

    executable: str
    versions: dict[str, str]

    def has(self, package: str) -> bool:
        return bool(self.versions.get(package))


@dataclass(frozen=True, slots=True)
class Release:
    """One SGLang: `root` is the folder that holds the package `sglang`."""

    version: str
    root: Path
    installed: bool

    @property
    def source(self) -> str:
        return "installed" if self.installed else str(self.root)


def inspect_interpreter(python: str | None) -> Interpreter:
    """What the children's Python has. Raises RunError where it does not run."""
    executable = python or os.environ.get("KVLINT_RUNTIME_PYTHON") or sys.executable
    try:
        done = subprocess.run(
            [executable, "-c", _INSPECT],
            capture_output=True,
            text=True,
            timeout=60,
            env=child_environment("cpu"),
            cwd=Path(sys.executable).anchor,  # `-c` looks for modules in the working folder first
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RunError(f"{executable} does not run: {error}") from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no message"]
        raise RunError(f"{executable} does not run: {lines[-1]}")
    return Interpreter(executable, json.loads(done.stdout.splitlines()[-1]))


def require_extra(interpreter: Interpreter) -> None:
    missing = [name for name in ("torch", "triton") if not interpreter.has(name)]
    if missing:
        raise RunError(
            f"kvlint run needs {' and '.join(missing)}: {INSTALL_HINT}, or name an environment "
            "that has them with --python"
        )


def find_release(sglang: str | None, interpreter: Interpreter) -> Release:
    """The SGLang to run: a path, a version below $KVLINT_TREES, or the installed one.

    Raises RunError.
    """
    if sglang is None:
        place = interpreter.versions.get("sglang_path", "")
        if not place:
            raise RunError(
                f"no sglang is installed for {interpreter.executable}: pip install sglang, or "
                "name one with --sglang PATH"
            )
        return _release_at(Path(place).parent, installed=True, known=interpreter.versions["sglang"])
    path = Path(sglang)
    if not path.exists() and _VERSION.fullmatch(sglang):
        path = _known_tree(sglang)
    if not path.exists():
        raise RunError(f"--sglang {sglang}: no such folder")
    return _release_at(_root_of(path), installed=False)


def _known_tree(version: str) -> Path:
    trees = os.environ.get("KVLINT_TREES")
    if not trees:
        raise RunError(
            f"--sglang {version}: name a folder (an unpacked wheel), or set KVLINT_TREES to a "
            f"folder that holds sglang-{version}/"
        )
    return Path(trees) / f"sglang-{version}"


def _root_of(path: Path) -> Path:
    """The folder that holds `sglang/srt`, given itself, the package, or a checkout."""
    for candidate in (path, path.parent, path / "python"):
        if (candidate / "sglang" / "srt").is_dir():
            return candidate.resolve()
    raise RunError(f"{path} holds no sglang package (looked for sglang/srt)")


def _release_at(root: Path, installed: bool, known: str = "") -> Release:
    return Release(known or tree_version(root / "sglang"), root, installed)


def _without_nvcc(path: str) -> str:
    kept = [place for place in path.split(os.pathsep) if not (Path(place) / "nvcc").exists()]
    return os.pathsep.join(kept)


def child_environment(engine: Engine, release: Release | None = None) -> dict[str, str]:
    """The environment of a child: what it needs to run, and nothing secret."""
    environment = {name: os.environ[name] for name in _KEPT if name in os.environ}
    environment.update(
        PYTHONNOUSERSITE="1",
        PYTHONUNBUFFERED="1",
        PYTHONHASHSEED="0",
        OMP_NUM_THREADS="1",
        MKL_NUM_THREADS="1",
        TOKENIZERS_PARALLELISM="false",
        HF_HUB_OFFLINE="1",
        TRANSFORMERS_OFFLINE="1",
        TRANSFORMERS_VERBOSITY="error",
    )
    if engine != "cuda":
        # With nvcc at hand some kernels start a build for a minute before they fail.
        environment.pop("CUDA_HOME", None)
        environment.pop("CUDA_PATH", None)
        environment["PATH"] = _without_nvcc(environment.get("PATH", os.defpath))
        environment["CUDA_VISIBLE_DEVICES"] = ""
        # The FP4 pools compile their quantization for minutes; eager is the same code.
        environment["TORCHDYNAMO_DISABLE"] = "1"
    if engine == "triton-interpreter":
        environment["TRITON_INTERPRET"] = "1"
    if release is not None and not release.installed:
        environment["PYTHONPATH"] = str(release.root)
    return environment
