"""Which files a run checks: named files, and folders walked as git would see them.

What holds for a path that is named on the command line: the settings' `exclude` and
`extend-exclude`. What only steers the walk below a named folder: the default excludes and
`.gitignore`, so that `kvlint check .venv/lib/python3.11/site-packages/plugin` works.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kvlint.findings import FileError
from kvlint.project.ignores import Ignores, ignores_of, read_ignores
from kvlint.project.settings import DEFAULT_EXCLUDE, SettingsFinder
from kvlint.source.boundary import Boundary
from kvlint.source.languages import is_python

SEARCHED_SUFFIXES = (".py", ".pyw")
"""Python files that a folder is searched for: stubs run nothing."""
_ABSENT = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)
_DEFAULT_NAMES = frozenset(DEFAULT_EXCLUDE)
Wanted = Callable[[Path], bool]


@dataclass(frozen=True, slots=True)
class Selection:
    """What the paths on the command line come to. All paths are absolute.

    `files` are sorted and unique. `missing` do not exist; `bare` are folders that hold nothing to
    check; `skipped` counts named paths that are excluded or of no kind that kvlint reads;
    `led_out` are links below named folders to what lies outside the repository;
    `unread_ignores` are files of git's that say nothing, with the reason.
    """

    files: tuple[Path, ...] = ()
    missing: tuple[Path, ...] = ()
    bare: tuple[Path, ...] = ()
    skipped: int = 0
    errors: tuple[FileError, ...] = ()
    led_out: tuple[Path, ...] = ()
    unread_ignores: tuple[tuple[Path, str], ...] = ()


@dataclass
class _Walk:
    """One run's walk: what it found, and what it needs to decide."""

    finder: SettingsFinder
    wanted: Wanted
    errors: list[FileError] = field(default_factory=list)
    files: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    led_out: list[Path] = field(default_factory=list)
    unread_ignores: dict[Path, str] = field(default_factory=dict)

    def add(self, path: str, is_link: bool) -> None:
        (self.links if is_link else self.files).add(path)

    def chosen(self) -> tuple[Path, ...]:
        """The files, less links to a file that is among them itself."""
        real = {os.path.realpath(path) for path in self.files} if self.links else set()
        links = {path for path in self.links if os.path.realpath(path) not in real}
        return tuple(map(Path, sorted(self.files | links)))


def collect(paths: Iterable[Path], finder: SettingsFinder, wanted: Wanted) -> Selection:
    """Find the files to check. `wanted` says which non-Python files are read as well.

    Symbolic links to folders are followed when named, never in the walk: no loop can arise.
    Raises SettingsError.
    """
    walk = _Walk(finder, wanted)
    missing: list[Path] = []
    bare: list[Path] = []
    skipped = 0
    for path in map(absolute, paths):
        try:
            is_folder = stat.S_ISDIR(path.stat().st_mode)
        except OSError as error:
            if error.errno in _ABSENT:
                missing.append(path)
            else:
                walk.errors.append(_unreadable(path, error))
            continue
        if _is_excluded(path, finder, is_folder):
            skipped += 1
        elif is_folder:
            if not _add_below(path, walk):
                bare.append(path)
        elif not _is_readable_kind(path, wanted):
            skipped += 1
        elif not os.path.isfile(path):
            walk.errors.append(FileError(path, "is no regular file"))
        else:
            walk.add(str(path), path.is_symlink())
    return Selection(
        files=walk.chosen(),
        missing=tuple(missing),
        bare=tuple(bare),
        skipped=skipped,
        errors=tuple(walk.errors),
        led_out=tuple(walk.led_out),
        unread_ignores=tuple(walk.unread_ignores.items()),
    )


def absolute(path: Path) -> Path:
    """`path` made absolute and free of `..`, its symbolic links kept."""
    return Path(os.path.abspath(path))  # noqa: PTH100 - Path.absolute keeps `..`


def is_excluded(path: Path, finder: SettingsFinder) -> bool:
    """Whether the settings leave out a file even when it is named. Raises SettingsError."""
    return _is_excluded(absolute(path), finder)


def matches(pattern: str, relative: str) -> bool:
    """Whether a pattern, as in .gitignore, is about the POSIX path from the pattern's folder."""
    spec = ignores_of((pattern,))
    return spec is not None and spec.matches(relative)


def _is_readable_kind(path: Path, wanted: Wanted) -> bool:
    if path.suffix in SEARCHED_SUFFIXES:
        return True
    return path.is_file() and (wanted(path) or is_python(path))


def _is_excluded(path: Path, finder: SettingsFinder, is_folder: bool = False) -> bool:
    settings = finder.at(path if is_folder else path.parent)
    spec = ignores_of(settings.exclude or (), settings.extend_exclude)
    relative = _relative(path, settings.root)
    return bool(relative and spec and spec.matches(relative + "/" * is_folder))


def _relative(path: Path, root: Path) -> str:
    text, prefix = str(path), _with_separator(str(root))
    return text[len(prefix) :].replace(os.sep, "/") if text.startswith(prefix) else ""


_Ignores = tuple[tuple[str, Ignores], ...]


def _add_below(top: Path, walk: _Walk) -> bool:
    """Add the files to check below a named folder; says whether there are any."""
    ignores = _ignores_above(top, walk)
    boundary = Boundary((), [top])
    if _is_ignored(f"{top}{os.sep}", ignores):
        ignores = ()
    pending = [(str(top), ignores)]
    found = False
    while pending:
        folder, above = pending.pop()
        entries = _entries(folder, walk)
        if entries is None:
            continue
        skips = _skipper(folder, walk, above + _ignores_in(folder, entries, walk))
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not skips.folder(entry):
                    pending.append((entry.path, skips.ignores))
            elif entry.is_symlink() and _is_folder(entry):
                # Never entered, since it may lead in circles.
                if not skips.folder(entry) and boundary.leads_out(entry.path):
                    walk.led_out.append(Path(entry.path))
            elif _is_of_interest(entry, walk.wanted) and not skips.path(entry.path):
                found = True
                if entry.is_symlink() and boundary.leads_out(entry.path):
                    walk.led_out.append(Path(entry.path))
                else:
                    walk.add(entry.path, entry.is_symlink())
    return found


def _entries(folder: str, walk: _Walk) -> Sequence[os.DirEntry[str]] | None:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:
        walk.errors.append(_unreadable(Path(folder), error))
        return None


def _unreadable(path: Path, error: OSError) -> FileError:
    return FileError(path, f"cannot be read: {error.strerror or error}")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_of_interest(entry: os.DirEntry[str], wanted: Wanted) -> bool:
    if not entry.name.endswith(SEARCHED_SUFFIXES) and not wanted(Path(entry.path)):
        return False
    try:
        return entry.is_file()
    except OSError:
        return True  # a link that leads to itself: reading it says so


@dataclass(frozen=True, slots=True)
class _Skips:
    """What is left out in one folder of the walk. `root` ends in a separator."""

    spec: Ignores | None
    root: str
    names: frozenset[str]
    ignores: _Ignores

    def folder(self, entry: os.DirEntry[str]) -> bool:
        return entry.name in self.names or self.path(entry.path + os.sep)

    def path(self, path: str) -> bool:
        if self.spec is not None and path.startswith(self.root):
            relative = path[len(self.root) :].replace(os.sep, "/")
            if self.spec.matches(relative):
                return True
        return bool(self.ignores) and _is_ignored(path, self.ignores)


def _skipper(folder: str, walk: _Walk, ignores: _Ignores) -> _Skips:
    settings = walk.finder.at(Path(folder))
    return _Skips(
        spec=ignores_of(settings.exclude or (), settings.extend_exclude),
        root=_with_separator(str(settings.root)),
        names=_DEFAULT_NAMES if settings.exclude is None else frozenset(),
        ignores=ignores,
    )


def _is_ignored(path: str, ignores: _Ignores) -> bool:
    """As git decides: the innermost file that says anything about the path."""
    for folder, spec in reversed(ignores):
        verdict = spec.verdict(path[len(folder) :].replace(os.sep, "/"))
        if verdict is not None:
            return verdict
    return False


def _ignores_in(folder: str, entries: Sequence[os.DirEntry[str]], walk: _Walk) -> _Ignores:
    if any(entry.name == ".gitignore" for entry in entries):
        return _ignores_of(folder, ".gitignore", walk)
    return ()


def _ignores_of(folder: str, name: str, walk: _Walk) -> _Ignores:
    """The patterns of a file in a folder, with that folder, ending in a separator."""
    path = Path(folder, name)
    spec, problem = read_ignores(path)
    if problem:
        walk.unread_ignores[path] = problem
    return ((_with_separator(folder), spec),) if spec else ()


def _with_separator(folder: str) -> str:
    return folder.rstrip(os.sep) + os.sep


def _ignores_above(top: Path, walk: _Walk) -> _Ignores:
    """The patterns that reach into `top` from above: those of its git repository."""
    chain: list[_Ignores] = []
    for folder in (top, *top.parents):
        if folder != top:
            chain.append(_ignores_of(str(folder), ".gitignore", walk))
        if (folder / ".git").exists():
            chain.append(_ignores_of(str(folder), ".git/info/exclude", walk))
            return tuple(item for part in reversed(chain) for item in part)
    return ()
