"""Checks files: text -> tree -> uses of pools -> findings. Nothing is imported or run."""

from __future__ import annotations

import ast
import errno
import gc
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from kvlint.catalogue.model import Catalogue, Holder
from kvlint.catalogue.resolve import View
from kvlint.checks import (
    absent_accessor,
    assumed_type,
    call_arguments,
    capability_probe,
    constructor_arguments,
    dead_dispatch,
    guarded_accessor,
    missing_implementation,
    moved_name,
    override,
    raw_buffer_write,
    replaced_class,
    result_arity,
    sub_pool_reference,
    sub_pool_write,
)
from kvlint.checks.asked import Asked, Check
from kvlint.engine.deep import with_deep_stack
from kvlint.findings import FileError, Finding
from kvlint.interpret.constants import constants
from kvlint.interpret.context import Context
from kvlint.interpret.uses import Recorder, Use
from kvlint.launch.facts import LaunchRelease
from kvlint.rules.rule import Rule, builtin_rules
from kvlint.source.index import Module, ParseError, Project, import_root, module_name
from kvlint.source.reading import MAX_KEPT_BYTES, read_regular
from kvlint.source.text import SourceError, SourceFile, decode_source, read_source

CHECKS: dict[str, Check] = {
    "absent_accessor": absent_accessor.check,
    "assumed_type": assumed_type.check,
    "call_arguments": call_arguments.check,
    "capability_probe": capability_probe.check,
    "constructor_arguments": constructor_arguments.check,
    "dead_dispatch": dead_dispatch.check,
    "guarded_accessor": guarded_accessor.check,
    "missing_implementation": missing_implementation.check,
    "moved_name": moved_name.check,
    "override": override.check,
    "raw_buffer_write": raw_buffer_write.check,
    "replaced_class": replaced_class.check,
    "result_arity": result_arity.check,
    "sub_pool_reference": sub_pool_reference.check,
    "sub_pool_write": sub_pool_write.check,
}
OF_THE_MODULE = frozenset(("moved_name", "override"))
"""Questions about what stands in a module, whether or not it uses a pool."""
_PARTS = (b"KV", b"kv", b"Pool", b"k_pool")
"""One of them is in each of the words: most files are passed over after four looks."""
_WORDS = (
    b"KVPool",
    b"KVCache",
    b"kv_pool",
    b"_kv_buffer",
    b"kvcache",
    b"KOnlyPool",
    b"DevicePool",
    b"IndexerPool",
    b"k_pool",
    b"MambaPool",
)
_OUTSIDE = (b"sglang.srt.mem_cache", b"AttentionBackend")
"""Words of plugins beside those: in SGLang's own files they say little."""
_CLASS = re.compile(rb"^[ \t]*class\s+(\w+)\s*\(([^)]{0,1000})\)", re.M)


@dataclass(frozen=True)
class Request:
    """What is to be checked, and against what.

    `rules` are those that are asked. `launch`: whose server arguments count, by default the
    catalogue's. `roots` are folders under which modules are looked for by name. `texts` replaces
    what is on disk. `named` are files that were given one by one: they are parsed whatever they
    hold, while of a folder's files only those are that can matter. `pool_files` are the project's
    files that define pool classes (`pool_files()`), the same for every part of a run that is split.
    """

    files: tuple[Path, ...]
    roots: tuple[Path, ...]
    rules: tuple[Rule, ...]
    catalogue: Catalogue
    pedantic: bool = False
    texts: Mapping[Path, bytes] = field(default_factory=dict)
    named: frozenset[Path] = frozenset()
    pool_files: tuple[Path, ...] | None = None
    launch: LaunchRelease | None = None

    @property
    def arguments(self) -> LaunchRelease:
        return self.launch or LaunchRelease(self.catalogue.version)


@dataclass(frozen=True)
class RawResult:
    """What checking one file gave, before suppression. `depends_on`: what else it may rest on, for
    all files of a request alike, since they share what was inferred: `Project.rests_on`."""

    path: Path
    source: SourceFile | None
    findings: tuple[Finding, ...] = ()
    error: FileError | None = None
    depends_on: tuple[tuple[Path, str], ...] = ()


def relevant(path: Path, data: bytes) -> bool:
    """Whether a Python file can matter at all: whether it speaks of pools or of launching."""
    from kvlint import launch

    if speaks_of_pools(data) or launch.is_candidate(path, data):
        return True
    if "sglang" in path.parts:
        return False
    return b"pool" in data or any(word in data for word in _OUTSIDE)


def speaks_of_pools(data: bytes) -> bool:
    """Whether a file names a pool class, a way to come by a pool, or an accessor."""
    if not any(part in data for part in _PARTS):
        return False
    return any(word in data for word in _WORDS)


def pool_files(files: Sequence[Path], catalogue: Catalogue) -> tuple[Path, ...]:
    """Those of the files that define subclasses of pools, by the names in their class statements:
    bases that are pool classes of the catalogue, or of the project in turn."""
    known = {cls.name.encode() for cls in catalogue.classes.values() if cls.is_pool}
    heads: list[tuple[Path, bytes, set[bytes]]] = []
    for path in files:
        try:
            data = read_regular(path)
        except OSError:
            continue
        if b"Pool" in data or b"KVCache" in data:
            for match in _CLASS.finditer(data):
                heads.append((path, match[1], set(re.findall(rb"\w+", match[2]))))
    found: dict[Path, None] = {}
    changed = True
    while changed:
        changed = False
        for path, name, bases in heads:
            if bases & known and (name not in known or path not in found):
                changed = changed or name not in known
                known.add(name)
                found[path] = None
    return tuple(sorted(found))


def check_files(request: Request) -> list[RawResult]:
    """Check the files of a request, in this process, in order."""
    try:
        return _check_files(request)
    except _TooDeep:
        return with_deep_stack(lambda: _check_files(request, deep=True))


class _TooDeep(RecursionError):
    """A file needs more of a stack than Python gives by itself."""


def _check_files(request: Request, deep: bool = False) -> list[RawResult]:
    collecting = gc.isenabled()
    # Trees are many small objects without cycles: looking for garbage took most of the time.
    gc.disable()
    try:
        context = _context(request, deep)
        results = [_check_file(request, context, path, deep) for path in request.files]
    finally:
        if collecting:
            gc.freeze()  # the first collection would go through all of it
            gc.enable()
    rests_on = context.project.rests_on()
    return [replace(result, depends_on=rests_on) for result in results]


def _context(request: Request, deep: bool) -> Context:
    try:
        return make_context(request)
    except RecursionError as error:
        if deep:
            raise
        raise _TooDeep from error


def make_context(request: Request) -> Context:
    """The shared state of a run; the project's pool classes are part of its view."""
    from kvlint.interpret.classes import class_info
    from kvlint.interpret.context import module_frame

    roots = dict.fromkeys([*(import_root(path) for path in request.files[:1]), *request.roots])
    project = Project(tuple(roots), request.texts, frozenset(["sglang"]))
    catalogue = replace(request.catalogue, classes=dict(request.catalogue.classes))
    context = Context(project, View(catalogue), _holders_by_owner(catalogue.holders))
    files = request.pool_files
    for path in pool_files(request.files, catalogue) if files is None else files:
        if module_name(path).startswith("sglang."):
            continue
        try:
            module = project.module_at(path)
        except (SourceError, ParseError):
            continue
        frame = module_frame(context, module)
        for bindings in module.bindings.values():
            for binding in bindings:
                if isinstance(binding, ast.ClassDef):
                    class_info(frame, {}, binding)
    return context


def _holders_by_owner(holders: Sequence[Holder]) -> dict[str, dict[str, Holder]]:
    found: dict[str, dict[str, Holder]] = {}
    for holder in holders:
        found.setdefault(holder.owner, {})[holder.name] = holder
    return found


def _check_file(request: Request, context: Context, path: Path, deep: bool) -> RawResult:
    from kvlint import launch

    text = request.texts.get(path)
    try:
        if launch.is_launch_file(path) and not _starts_servers(path, text):
            return RawResult(path, None)
        source = read_source(path) if text is None else decode_source(path, text)
        if launch.is_launch_file(path):
            rules = [rule for rule in request.rules if rule.check == "launch"]
            found = launch.check_launch_file(source, rules, request.arguments)
            return RawResult(path, source, _shown(request, found))
        if path not in request.named and not _worth_parsing(context, source):
            return RawResult(path, source)
        module = context.project.module_of(source)
        found = check_module(request, context, module)
    except SourceError as error:
        return RawResult(path, None, error=error.error)
    except ParseError as error:
        if not deep and isinstance(error.__cause__, RecursionError):
            raise _TooDeep from error
        return RawResult(path, source, error=error.error)
    except RecursionError as error:
        if not deep:
            raise _TooDeep from error
        message = "is nested too deeply to be checked"
        return RawResult(path, source, error=FileError(path, message))
    return RawResult(path, source, _shown(request, found))


def _starts_servers(path: Path, text: bytes | None) -> bool:
    """Whether a file that is no Python speaks of launching: somebody else's data, however odd or
    large, is none of kvlint's business. One that cannot be read is, so that the reason is said."""
    from kvlint import launch

    try:
        data = read_regular(path, MAX_KEPT_BYTES) if text is None else text
    except OSError as error:
        return error.errno != errno.EFBIG
    return launch.is_candidate(path, data)


def _worth_parsing(context: Context, source: SourceFile) -> bool:
    """Like `relevant`, and of SGLang's own files only those that name something the catalogue
    knows more of than that it is some pool."""
    from kvlint import launch
    from kvlint.interpret.interest import speaks

    if launch.is_candidate(source.path, source.data):
        return True
    if not module_name(source.path).startswith("sglang."):
        return relevant(source.path, source.data)
    return speaks_of_pools(source.data) and speaks(context.vocabulary(), source)


def _shown(request: Request, findings: Sequence[Finding]) -> tuple[Finding, ...]:
    shown = [found for found in findings if request.pedantic or found.severity != "hint"]
    return tuple(sorted(shown, key=lambda found: found.sort_key))


def check_module(request: Request, context: Context, module: Module) -> tuple[Finding, ...]:
    """The findings of every selected rule in one module."""
    from kvlint import launch

    rules = [rule for rule in request.rules if request.pedantic or not rule.pedantic]
    found: list[Finding] = []
    if module.path in request.named or relevant(module.path, module.source.data):
        found += _asked(context, module, recorded(context, module), rules, request.rules)
    launching = [rule for rule in rules if rule.check == "launch" or rule.code == "KV301"]
    if launching:
        stated = partial(constants, context, module)
        tree, release = module.tree, request.arguments
        found += launch.check_python(module.source, tree, launching, release, stated)
    return tuple(found)


def _asked(
    context: Context,
    module: Module,
    recorder: Recorder,
    rules: Sequence[Rule],
    every: Sequence[Rule],
) -> Iterator[Finding]:
    uses = tuple(sorted(recorder, key=_position))
    known = {rule.code: rule for rule in (*builtin_rules(), *every)}
    for name, check in CHECKS.items():
        selected = [rule for rule in rules if rule.check == name]
        if selected and (uses or name in OF_THE_MODULE):
            asked = Asked(context, module, uses, selected, tuple(known.values()), recorder.given)
            yield from check(asked)


def _position(use: Use) -> tuple[int, int, str]:
    return use.node.lineno, use.node.col_offset, use.kind


def recorded(context: Context, module: Module, whole: bool = False) -> Recorder:
    """Every use of a pool in a module; in SGLang's own, of those of which anything is certain,
    unless it is wanted `whole`."""
    from kvlint.interpret.context import module_frame
    from kvlint.interpret.flow import execute, run_nested
    from kvlint.interpret.interest import interest

    recorder = Recorder()
    frame = module_frame(context, module)
    frame.recorder = recorder
    if module.name.startswith("sglang.") and not whole:
        found = interest(context.vocabulary(), module)
        if not found.lines:
            return recorder
        frame.lines = found.lines
        context.bearing[module] = found.words
    execute(frame, {}, module.tree.body)
    run_nested(frame)
    return recorder
