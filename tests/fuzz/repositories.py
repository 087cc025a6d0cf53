"""Repositories made by somebody who means harm, checked as continuous integration would.

What is planted: modules under the names of Python's own and of kvlint's dependencies, links out of
the repository, special files, names that are commands to a terminal or to GitHub, settings and
caches that are no such thing. None of it may run, be written outside, or reach the output raw.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from random import Random

from tests.fuzz.command import alone
from tests.fuzz.hostile import FORMATS, hostile, seeds
from tests.fuzz.verdicts import texts

Plant = Callable[[Path, Path, Random], None]
"""Puts something into a repository; the second folder is outside of it and must stay as it is."""
SECRET = b"# a secret of the runner\nTOKEN = 'hunter2'\n"
_MODULES = (
    *("typing", "json", "ast", "re", "os", "pathlib", "tomllib", "dataclasses", "tokenize"),
    *(
        "libcst",
        "yaml",
        "typer",
        "click",
        "rich",
        "pathspec",
        "packaging",
        "kvlint",
        "sitecustomize",
    ),
    *("bashlex", "dockerfile_parse", "tree_sitter", "sglang", "torch", "usercustomize"),
)
_NAMES = (
    *("::stop-commands::x.py", "a\nb.py", "\x1b[2J.py", "\r::error::x.py", "-rf.py", "--fix.py"),
    *("a\x85b.py", "\u202ex.py", " .py", "%0A.py", "$(touch ran).py", "`touch ran`.sh", "a;b.yaml"),
)
_SETTINGS = (
    'sglang = "../outside"\n',
    'sglang = "/dev/zero"\n',
    'sglang = "\\u001b[31m::error::"\n',
    'extend-rules = ["../outside", "/dev/zero"]\n',
    'baseline = "../outside/secret.py"\n',
    'baseline = "/dev/tty"\n',
    'baseline = "a\\u0000b"\n',
    'exclude = ["[z-a]", "!", "*****************b", "a/**/**/**/**/b"]\n',
    "select = 1\n",
    'select = ["\\u001b[31m"]\n',
    f"x = {'9' * 6000}\n",
    f"x = {'[' * 3000}\n",
    "[per-file-ignores]\n'" + "*" * 40 + "x' = ['KV101']\n",
)


def modules(repository: Path, outside: Path, rng: Random) -> None:
    ran = f"open({str(outside / 'ran')!r}, 'w').write('x')\n"
    for name in rng.sample(_MODULES, 8):
        (repository / f"{name}.py").write_text(ran)
    (repository / "new_syntax.py").write_text("type X[T] = list[T]\nx = f'{'a' + f'{1}'}'\n")


def links(repository: Path, outside: Path, rng: Random) -> None:
    names = ("linked.py", "linked", ".kvlint_cache", "kvlint.toml", ".gitignore", "serve.yaml")
    for name in rng.sample(names, 3):
        _place(lambda path: path.symlink_to(_target(outside, rng)), repository / name)


def _target(outside: Path, rng: Random) -> Path:
    return rng.choice((outside, outside / "secret.py", Path("/dev/zero"), Path("/nowhere"), Path()))


def _place(make: Callable[[Path], None], path: Path) -> None:
    if not os.path.lexists(path):
        make(path)


def _writing(text: str) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(text)

    return write


def special(repository: Path, outside: Path, rng: Random) -> None:
    names = (".gitignore", "fifo.py", "requirements.txt", "pyproject.toml", "kvlint.toml", "x.sh")
    for name in rng.sample(names, 2):
        _place(lambda path: os.mkfifo(path), repository / name)


def names(repository: Path, outside: Path, rng: Random) -> None:
    bad = [text for name, text in texts() if name.endswith(("bad", "bad.py"))]
    for name in rng.sample(_NAMES, 4):
        if "/" not in name:
            (repository / name).write_text(rng.choice(bad))


def settings(repository: Path, outside: Path, rng: Random) -> None:
    _place(_writing(rng.choice(_SETTINGS)), repository / "kvlint.toml")


def cache(repository: Path, outside: Path, rng: Random) -> None:
    folder = repository / ".kvlint_cache"
    if os.path.lexists(folder):
        return
    (folder / "rests").mkdir(parents=True)
    for name in ("CACHEDIR.TAG", "rests/x", "0" * 64, "catalogues"):
        (folder / name).write_bytes(rng.randbytes(64))


def metadata(repository: Path, outside: Path, rng: Random) -> None:
    lines = ("sglang===foo", "sglang==\x1b[31m", "-r /dev/zero", "sglang>=9" * 500, "sglang @ x")
    _place(_writing(rng.choice(lines)), repository / "requirements.txt")
    folder = repository / ".venv/lib/python3.11/site-packages/sglang-x.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(rng.choice(("", "Name: sglang\n", "Version: \x1b[1m\n", "\0")))


def sglang(repository: Path, outside: Path, rng: Random) -> None:
    """A tree of SGLang's whose version and pools are what the enemy likes."""
    srt = repository / "sglang" / "srt"
    (srt / "mem_cache").mkdir(parents=True, exist_ok=True)
    version = rng.choice(("'\x1b[31m'", "'::error::x'", "'9' * 10 ** 9", "'" + "9" * 5000 + "'"))
    (repository / "sglang" / "_version.py").write_text(f"__version__ = version = {version}\n")
    pools = rng.choice(("class KVCache: pass\n", "class KVCache(KVCache): pass\n", "def (\n", ""))
    (srt / "mem_cache" / "memory_pool.py").write_text(pools)
    if rng.random() < 0.5:
        (srt / "server_args.py").write_text(rng.choice(("", "(" * 300, "A = " + "[" * 200)))


def hostile_files(repository: Path, outside: Path, rng: Random) -> None:
    pool = seeds()
    for number in range(5):
        suffix, data = hostile(pool, rng)
        (repository / f"hostile{number}{suffix}").write_bytes(data)


_ANNOTATIONS = (b"::error ", b"::warning ", b"::notice ")
"""The commands to GitHub that kvlint itself gives."""
PLANTS: tuple[Plant, ...] = (
    *(modules, links, special, names, settings, cache, metadata, sglang, hostile_files),
)


def faults_of_repository(folder: Path, rng: Random, plants: Sequence[Plant]) -> Iterator[str]:
    """Check, and fix, one repository in which these are planted; what it made kvlint do."""
    repository, outside = folder / "repository", folder / "outside"
    for place in (repository, outside):
        place.mkdir(parents=True)
    (outside / "secret.py").write_bytes(SECRET)
    (outside / "rests").mkdir()
    (outside / "rests" / "kept").write_bytes(b"kept")
    for plant in plants:
        plant(repository, outside, rng)
    before = _content(outside)
    options = ["--output-format", rng.choice(FORMATS), *rng.choice(([], ["--fix"], ["--no-cache"]))]
    ended = alone(repository, "check", ".", *options, environment={"GITHUB_ACTIONS": "true"})
    told = f"{' '.join(options)} with {', '.join(p.__name__ for p in plants)}"
    for fault in ended.faults():
        yield f"{told}: {fault}"
    if _content(outside) != before:
        changed = _content(outside).keys() ^ before.keys()
        yield f"{told}: the folder outside is changed: {sorted(changed) or 'a file in it'}"
    for name, text in (("output", ended.out), ("errors", ended.err)):
        if b"hunter2" in text:
            yield f"{told}: the secret is in {name}"
        for line in text.splitlines():
            if line.startswith(b"::") and not line.startswith(
                (b"::error ", b"::warning ", b"::notice ")
            ):
                yield f"{told}: a command to GitHub in {name}: {line[:200]!r}"


def _content(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def campaign(count: int, seed: int, folder: Path) -> list[str]:
    """Faults of that many repositories."""
    rng = Random(seed)
    faults: list[str] = []
    for number in range(count):
        plants = rng.sample(PLANTS, rng.choice((1, 2, 3)))
        faults += faults_of_repository(folder / f"repository{number}", rng, plants)
    return faults
