"""What a run is to do: files grouped by the settings that hold for them."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kvlint.catalogue.choose import CatalogueError, Choice, choose
from kvlint.catalogue.overlap import without_modules_of
from kvlint.engine.applicable import nothing_to_ask, rules_off
from kvlint.errors import UsageError
from kvlint.project.files import matches
from kvlint.project.settings import Settings, SettingsFinder, line_of
from kvlint.rules.rule import Rule, RuleError, load_rules, rules_folder
from kvlint.rules.selection import UnknownSelector, codes_of, select
from kvlint.source.index import import_root
from kvlint.source.kept import CATALOGUES, FOLDER, problem_with
from kvlint.source.reading import read_regular

_PROJECT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the command line says about rules and the release."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    sglang: str | None = None
    pedantic: bool = False
    use_cache: bool = True


@dataclass(frozen=True)
class Group:
    """Files under one settings file, with all that it decides."""

    settings: Settings
    files: tuple[Path, ...]
    rules: tuple[Rule, ...]
    codes: frozenset[str]
    choice: Choice
    off: Mapping[str, str]
    """Rules that are not asked, with the reason."""
    roots: tuple[Path, ...]
    cache_home: Path | None
    """The top of the project that the files belong to, if they do."""

    @property
    def asked(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self.rules if rule.code not in self.off)


def groups(
    files: Sequence[Path], named: Sequence[Path], finder: SettingsFinder, choices: Choices
) -> list[Group]:
    """Group files by settings. `named` are the paths of the command line, absolute.

    Raises UsageError.
    """
    by_settings: dict[Path, tuple[Settings, list[Path]]] = {}
    at: dict[Path, Settings] = {}
    for path in files:
        folder = path.parent
        if folder not in at:
            at[folder] = finder.at(folder)
        settings = at[folder]
        key = settings.file or Path()
        by_settings.setdefault(key, (settings, []))[1].append(path)
    return [_group(settings, found, named, choices) for settings, found in by_settings.values()]


def _group(
    settings: Settings, files: Sequence[Path], named: Sequence[Path], choices: Choices
) -> Group:
    rules = rules_of(settings)
    top = project_of(settings, files[0])
    project = top or files[0].parent
    codes = _codes(settings, rules, choices)
    cache = (top or Path.cwd()) / FOLDER
    choice = _beside_own(_choice(settings, named, project, choices, cache), files)
    off = rules_off(rules, codes, choice, choices.pedantic)
    if nothing_to_ask(rules, off):
        raise UsageError(_no_rule(settings, choice, off))
    return Group(
        settings=settings,
        files=tuple(files),
        rules=rules,
        codes=codes,
        choice=choice,
        off=off,
        roots=_roots(files, named, project),
        cache_home=top,
    )


def _beside_own(choice: Choice, files: Sequence[Path]) -> Choice:
    """The choice for files among which may be modules of a SGLang that is not the one chosen."""
    folders = {path.parent: path for path in files if "sglang" in path.parts}
    roots = {import_root(path) for path in folders.values()}
    others = [root for root in roots if _holds_another(root / "sglang", choice.tree)]
    if not others:
        return choice
    return replace(choice, catalogue=without_modules_of(choice.catalogue, sorted(others)))


def _holds_another(package: Path, chosen: Path | None) -> bool:
    if not os.path.isdir(package / "srt"):
        return False
    return chosen is None or not package.samefile(chosen)


def _no_rule(settings: Settings, choice: Choice, off: Mapping[str, str]) -> str:
    reasons: dict[str, list[str]] = {}
    for code, reason in off.items():
        reasons.setdefault(reason, []).append(code)
    listed = "; ".join(f"{', '.join(codes)}: {reason}" for reason, codes in reasons.items())
    place = f"{settings.file}: " if settings.file is not None else ""
    return f"{place}no rule is on, nothing would be checked ({choice.reason}): {listed}"


def rules_of(settings: Settings) -> tuple[Rule, ...]:
    """kvlint's rules and those of the settings. Raises UsageError."""
    try:
        rules = load_rules([rules_folder(), *settings.extend_rules])
    except RuleError as error:
        place = f"{settings.place('extend-rules')}: " if settings.extend_rules else ""
        raise UsageError(f"{place}{error}") from error
    _check_selectors(settings, rules)
    return rules


def _check_selectors(settings: Settings, rules: Sequence[Rule]) -> None:
    named = [("select", settings.select or ()), ("ignore", settings.ignore)]
    named += [("per-file-ignores", codes) for _, codes in settings.per_file_ignores]
    for key, selectors in named:
        for selector in selectors:
            try:
                codes_of(selector, rules)
            except UnknownSelector as error:
                place = _place(settings, key, selector)
                raise UsageError(f"{place}: {key}: {error}") from error


def _place(settings: Settings, key: str, value: str) -> str:
    if settings.file is None:
        return key
    text = read_regular(settings.file).decode("utf-8", "replace")
    return f"{settings.file}:{line_of(text, key, value)}"


def _codes(settings: Settings, rules: Sequence[Rule], choices: Choices) -> frozenset[str]:
    try:
        return select(rules, [(settings.select, settings.ignore), (choices.select, choices.ignore)])
    except UnknownSelector as error:
        option = "--ignore" if error.selector in choices.ignore else "--select"
        raise UsageError(f"{option}: {error}") from error


def _choice(
    settings: Settings, named: Sequence[Path], project: Path, choices: Choices, cache: Path
) -> Choice:
    base = settings.file.parent if settings.file else None
    uses_cache = choices.use_cache and not problem_with(cache)
    kept = cache / CATALOGUES if uses_cache else None
    try:
        return choose(choices.sglang, settings.sglang, named, project, base, kept)
    except CatalogueError as error:
        named_in_settings = choices.sglang is None and settings.sglang is not None
        place = (
            f"{_place(settings, 'sglang', settings.sglang or '')}: " if named_in_settings else ""
        )
        raise UsageError(f"{place}{error}") from error


def project_of(settings: Settings, path: Path) -> Path | None:
    """The folder of the settings file, else the closest folder above `path` that looks like the
    top of a project."""
    if settings.file is not None:
        return settings.root
    for folder in path.parents:
        if any(os.path.exists(folder / mark) for mark in _PROJECT_MARKS):
            return folder
    return None


def _roots(files: Sequence[Path], named: Sequence[Path], project: Path) -> tuple[Path, ...]:
    """Folders under which modules are looked for by name."""
    folders = [path if os.path.isdir(path) else path.parent for path in named]
    imports = dict.fromkeys(import_root(path) for path in files[:1])
    source = [project / "src"] if os.path.isdir(project / "src") else []
    return tuple(dict.fromkeys([*imports, *folders, project, *source]))


def ignored_in(path: Path, group: Group) -> frozenset[str]:
    """Codes that the settings' per-file-ignores leave out in a file."""
    try:
        relative = path.relative_to(group.settings.root).as_posix()
    except ValueError:
        return frozenset()
    return frozenset(
        code
        for pattern, selectors in group.settings.per_file_ignores
        if matches(pattern, relative)
        for selector in selectors
        for code in codes_of(selector, group.rules)
    )
