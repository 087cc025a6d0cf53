"""Where SGLang's package lies, and those of its files that can say something about pools."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kvlint.source.reading import read_regular, read_text

# A file with none of these names no pool class and no way to one.
_WORDS = (b"KVCache", b"KVPool", b"kv_pool", b"kvcache")
# What attention backends, schedulers and batches are made of, whatever it speaks of.
_NEEDED = ("/base_attn_backend.py", "_mixin.py")
_POOLS_MODULE = b"mem_cache"
_VERSION = re.compile(
    r"""^(?:__version__|version)\b[^'"\n]*=\s*(?:version\s*=\s*)?['"]([^'"]+)['"]""", re.M
)
UNKNOWN_VERSION = "unknown"


class CatalogueError(Exception):
    """A release or tree that cannot be used, with a message for people."""


class NoPoolsError(CatalogueError):
    """A tree of SGLang whose pools are not there, or not as kvlint knows them."""


def package_folder(path: Path) -> Path:
    """The `sglang` package in `path`: the package itself, the folder that holds it (an unpacked
    wheel, site-packages), or a checkout of the repository. Raises CatalogueError."""
    if not os.path.exists(path):
        raise CatalogueError(f"{path} does not exist")
    for folder in _places(path):
        if _is_package(folder):
            return folder
    raise CatalogueError(
        f"{path} holds no SGLang: neither sglang/srt/mem_cache nor sglang/srt/server_args.py "
        "was found in it"
    )


def contains_sglang(path: Path) -> bool:
    """Whether `path` is or holds SGLang's package, as for `package_folder`."""
    return any(map(_is_package, _places(path)))


def _places(path: Path) -> tuple[Path, ...]:
    return (path, path / "sglang", path / "python" / "sglang")


def _is_package(folder: Path) -> bool:
    """Releases before 0.4 keep their pools elsewhere, stripped forks have none."""
    srt = folder / "srt"
    return os.path.isdir(srt / "mem_cache") or os.path.isfile(srt / "server_args.py")


def tree_version(package: Path) -> str:
    """The version that the tree says of itself: its metadata, else `_version.py`, `version.py`."""
    for info in sorted(package.parent.glob("sglang-*.dist-info")):
        return info.name[len("sglang-") : -len(".dist-info")]
    for name in ("_version.py", "version.py"):
        try:
            text = read_text(package / name)
        except (OSError, UnicodeDecodeError):
            continue
        found = _VERSION.search(text)
        if found:
            return found[1]
    return UNKNOWN_VERSION


def is_test_file(relative: str) -> bool:
    """Whether a path belongs to SGLang's tests: their classes are no part of a release."""
    *folders, name = relative.split("/")
    return (
        any(folder in ("test", "tests") for folder in folders)
        or name.startswith("test_")
        or name.endswith("_test.py")
        or name == "conftest.py"
    )


def pool_files(package: Path, sources: Mapping[Path, bytes] | None = None) -> dict[str, bytes]:
    """The files that can matter: path from the folder that holds `sglang` (POSIX) -> content.

    `sources` may hold contents that have been read already. A file that cannot be read, or is
    over 10 MB, is left out: kvlint's check of that file reports it.
    """
    found: dict[str, bytes] = {}
    root = package.parent
    for path in _python_files(str(package)):
        relative = path[len(str(root)) :].lstrip(os.sep).replace(os.sep, "/")
        if is_test_file(relative):
            continue
        data = sources.get(Path(path)) if sources else None
        if data is None:
            data = _read(path)
        if data and _can_matter(relative, data):
            found[relative] = data
    return found


def _can_matter(relative: str, data: bytes) -> bool:
    if relative.endswith(_NEEDED):
        return True
    if any(word in data for word in _WORDS):
        return True
    if "/attention/" in relative and b"Backend" in data:
        return True
    return b"Pool" in data and (_POOLS_MODULE in data or "mem_cache" in relative)


def _python_files(folder: str) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != "__pycache__":
                yield from _python_files(entry.path)
        elif entry.name.endswith(".py"):
            yield entry.path


def _read(path: str) -> bytes:
    try:
        return read_regular(path)
    except OSError:
        return b""
