"""Everything a fresh clone needs, with nothing but Python 3.10 or newer.

python3 dev.py check [PATH ...]   install kvlint into .venv and check PATH
                                  (without one: the programs under fixtures/)
python3 dev.py test [ARG ...]     install the development tools too and run the tests
python3 dev.py lint               ruff and mypy
python3 dev.py trees              fetch the published packages that the golden tests judge,
                                  and print the folder for KVLINT_TREES
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
SGLANG_RELEASES = ("0.5.12.post1", "0.5.14", "0.5.16", "0.5.19", "0.5.21", "0.5.23")
WHEELS = (
    *(f"sglang=={release}" for release in SGLANG_RELEASES),
    "lmcache==0.5.6",
    "sglang-omni==0.1.9",
    "turbo-attn==0.70.1",
)
# kvcached is published as source only, and its build wants torch: it is unpacked, never built.
SOURCES = ("kvcached==0.1.6",)
# The wheels are read, not run, so one platform's serve every machine.
PLATFORM = (
    *("--python-version", "3.11", "--implementation", "cp", "--only-binary", ":all:"),
    *("--platform", "manylinux_2_34_x86_64", "--platform", "manylinux_2_28_x86_64"),
    *("--platform", "manylinux_2_27_x86_64"),
)


def python() -> Path:
    folder = "Scripts" if os.name == "nt" else "bin"
    return ENVIRONMENT / folder / ("python.exe" if os.name == "nt" else "python")


def install(*, development: bool) -> None:
    """Make .venv and install kvlint in it; a second call with nothing new to do is quick."""
    stamp = ENVIRONMENT / ("dev.stamp" if development else "base.stamp")
    project = ROOT / "pyproject.toml"
    if stamp.exists() and stamp.stat().st_mtime >= project.stat().st_mtime:
        return
    if not python().exists():
        create_environment()
    quiet = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(python(), *quiet, "--upgrade", "pip>=25.1")  # the first with --group
    groups = ("--group", f"{project}:dev") if development else ()
    run(python(), *quiet, "--editable", ROOT, *groups)
    stamp.touch()


def create_environment() -> None:
    try:
        venv.create(ENVIRONMENT, with_pip=True)
    except subprocess.CalledProcessError as error:
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
        hint = "this Python comes without ensurepip; on Debian, apt install python3-venv"
        raise SystemExit(f"{ENVIRONMENT} could not be made: {hint}") from error


def run(*command: str | Path, environment: dict[str, str] | None = None) -> None:
    code = status(*command, environment=environment)
    if code:
        raise SystemExit(code)


def status(*command: str | Path, environment: dict[str, str] | None = None) -> int:
    arguments = [str(part) for part in command]
    return subprocess.run(arguments, env={**os.environ, **(environment or {})}).returncode


def check(paths: list[str]) -> int:
    install(development=False)
    return status(
        python(), "-m", "kvlint", "check", *(paths or [str(ROOT / "fixtures" / "programs")])
    )


def test(arguments: list[str]) -> int:
    install(development=True)
    os.chdir(ROOT)
    return status(python(), "-m", "pytest", "-n", "auto", *arguments)


def lint() -> int:
    install(development=True)
    os.chdir(ROOT)
    run(python(), "-m", "ruff", "check", ".")
    run(python(), "-m", "ruff", "format", "--check", ".")
    return status(python(), "-m", "mypy")


def cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvlint-ci"


def trees() -> int:
    """Unpack each package into its own folder, `sglang-0.5.23/sglang/...`."""
    folder = cache() / "trees"
    folder.mkdir(parents=True, exist_ok=True)
    for requirement in (*WHEELS, *SOURCES):
        name, _, version = requirement.partition("==")
        target = folder / f"{name.replace('-', '_')}-{version}"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=folder) as scratch:
                fetched = fetch(requirement, Path(scratch))
                fetched.rename(target)
    print(folder)
    return 0


def fetch(requirement: str, scratch: Path) -> Path:
    """Download one package and unpack it below `scratch`. Returns the folder."""
    pip: tuple[str, ...] = (
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(scratch),
    )
    if requirement in WHEELS:
        run(*pip, *PLATFORM, requirement)
        [wheel] = scratch.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(scratch / "tree")
        return scratch / "tree"
    # pip reads a source package's metadata by building it, which fails for want of torch after it
    # has been unpacked: --no-clean keeps what was unpacked.
    attempt = subprocess.run(
        [*pip, "--no-binary", ":all:", "--no-build-isolation", "--no-clean", requirement],
        env={**os.environ, "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
    )
    found = sorted(scratch.glob("**/PKG-INFO"), key=lambda path: len(path.parts))
    if not found:
        raise SystemExit(f"{requirement} could not be fetched:\n{attempt.stderr}")
    shutil.move(found[0].parent, scratch / "tree")
    return scratch / "tree"


def main(arguments: list[str]) -> int:
    match arguments:
        case ["check", *paths]:
            return check(paths)
        case ["test", *rest]:
            return test(rest)
        case ["lint"]:
            return lint()
        case ["trees"]:
            return trees()
    print(__doc__)
    return 0 if arguments in (["-h"], ["--help"]) else 2


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
