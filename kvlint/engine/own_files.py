"""The files that a run itself makes: never checked, and never written over what is checked."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from kvlint.engine.results import Input
from kvlint.errors import UsageError
from kvlint.launch.file_types import is_candidate
from kvlint.project.files import Selection, absolute
from kvlint.project.settings import SettingsFinder
from kvlint.source.reading import read_regular


def without_own(
    selection: Selection, named: Sequence[Path], inputs: Input, finder: SettingsFinder
) -> Selection:
    """The selection less baselines and the report of an earlier run.

    Raises UsageError where the run would write over a file that it checks, or two things into
    one file.
    """
    targets = [(option, path, absolute(path)) for option, path in inputs.writes]
    if inputs.baseline is not None:
        targets.append(("--baseline", inputs.baseline, absolute(inputs.baseline)))
    own: set[Path] = set()
    for option, path, target in targets:
        for file in _same_files(target, selection.files):
            if option != "--baseline" and _is_input(file, named):
                raise UsageError(f"{option}: {path} is one of the files to check")
            own.add(file)
    _check_distinct(targets)
    own.update(_configured_baselines(selection.files, finder))
    if not own:
        return selection
    return replace(selection, files=tuple(file for file in selection.files if file not in own))


def _same_files(target: Path, files: Collection[Path]) -> Iterator[Path]:
    """Those of the files that writing to `target` would change, by whatever name."""
    try:
        status = target.stat()
    except OSError:
        yield from (file for file in files if file == target)  # standard input stands for it
        return
    for file in files:
        try:
            if os.path.samestat(status, file.stat()):
                yield file
        except OSError:
            continue


def _is_input(file: Path, named: Sequence[Path]) -> bool:
    """Whether a file is there to be checked. JSON below a named folder is so only where it speaks
    of launching and is no report of kvlint's."""
    if file in named or file.suffix != ".json":
        return True
    try:
        data = read_regular(file)
    except OSError:
        return False
    is_report = b"kvlint" in data or b'"check_name"' in data
    return is_candidate(file, data) and not is_report


def _check_distinct(targets: Sequence[tuple[str, Path, Path]]) -> None:
    for number, (option, path, target) in enumerate(targets):
        for other, _, same in targets[number + 1 :]:
            if os.path.realpath(target) == os.path.realpath(same):
                raise UsageError(f"{option}: {path} is the file of {other}, too")


def _configured_baselines(files: Sequence[Path], finder: SettingsFinder) -> Iterator[Path]:
    folders = {file.parent for file in files}
    baselines = {finder.at(folder).baseline for folder in folders}
    present = {absolute(path) for path in baselines if path is not None}
    yield from (file for file in files if file in present)
