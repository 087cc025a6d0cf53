"""The SGLang dependency that a project declares."""

from __future__ import annotations

import configparser
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement

from kvlint.catalogue.tree import CatalogueError
from kvlint.source.boundary import Boundary
from kvlint.source.loading import LoadError, load_toml
from kvlint.source.reading import read_text

_LINE = re.compile(r"^\s*(sglang\b[^#;]*)", re.I)


def requirements(project: Path) -> Iterator[tuple[str, Requirement]]:
    """(file, requirement) of each time the project names SGLang: `pyproject.toml`,
    `requirements*.txt`, `setup.cfg`, in this order. Raises CatalogueError for a file that cannot
    be read as what it is.
    """
    yield from _sglang_in("pyproject.toml", _from_pyproject(project / "pyproject.toml"))
    for path in sorted((*project.glob("requirements*.txt"), *project.glob("requirements/*.txt"))):
        lines = _text(path).splitlines()
        yield from _sglang_in(path.relative_to(project).as_posix(), lines)
    yield from _sglang_in("setup.cfg", _from_setup_cfg(project / "setup.cfg"))


def _sglang_in(name: str, lines: Iterable[str]) -> Iterator[tuple[str, Requirement]]:
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            requirement = Requirement(match[1].strip())
        except InvalidRequirement:
            continue  # another distribution (`sglang-router @ ...`), or pip's own syntax
        if requirement.name.lower() == "sglang":
            yield name, requirement


def _text(path: Path) -> str:
    if Boundary([path.parent]).leads_out(path):
        return ""
    try:
        return read_text(path)
    except (OSError, UnicodeDecodeError):
        return ""


def _from_pyproject(path: Path) -> Iterator[str]:
    text = _text(path)
    try:
        document = load_toml(text)
    except LoadError as error:
        place = f"{path}:{error.line}"
        raise CatalogueError(f"{place}: is not valid TOML: {error.reason}") from error
    project = document.get("project")
    if not isinstance(project, dict):
        project = {}
    yield from _strings(project.get("dependencies"))
    for table in (project.get("optional-dependencies"), document.get("dependency-groups")):
        for group in table.values() if isinstance(table, dict) else ():
            yield from _strings(group)


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))


def _from_setup_cfg(path: Path) -> Iterator[str]:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(_text(path))
    except configparser.Error as error:
        raise CatalogueError(f"{path} cannot be read: {error}") from error
    yield from parser.get("options", "install_requires", fallback="").splitlines()
    if parser.has_section("options.extras_require"):
        for _, extra in parser.items("options.extras_require"):
            yield from extra.splitlines()
