"""The project's modules, found by dotted name and parsed when first needed.

Nothing here is imported or run: a module is its text and its syntax tree.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import subprocess
import sys
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path

from kvlint.findings import FileError
from kvlint.source.boundary import Boundary
from kvlint.source.children import run_isolated
from kvlint.source.reading import read_regular
from kvlint.source.text import SourceError, SourceFile, decode_source, read_source
from kvlint.source.type_comments import annotate, has_type_comments

MAX_DEPTH_ERROR = "is nested too deeply to be checked"


@dataclass(frozen=True, slots=True)
class Imported:
    """A name bound by an import: `module` itself (`name` is None), or `name` of `module`."""

    module: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Assigned:
    """A name bound by an assignment; `value` is None for a bare annotation.

    `position` is the index of the name in an unpacked tuple, None where it takes the whole value.
    `scope` is the function that assigns it under a `global` statement.
    """

    value: ast.expr | None
    annotation: ast.expr | None = None
    position: int | None = None
    scope: ast.FunctionDef | ast.AsyncFunctionDef | None = None


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Binding = Imported | Assigned | Definition


@dataclass(eq=False)
class Module:
    """One parsed file. `bindings` are the names its top level binds, in source order."""

    name: str
    source: SourceFile
    tree: ast.Module
    is_package: bool
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    star_imports: list[str] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.source.path

    @cached_property
    def has_globals(self) -> bool:
        """Whether a function may assign globals."""
        return "global " in self.source.text

    @cached_property
    def class_tests(self) -> list[int]:
        """The lines that ask for the class of something by `isinstance`."""
        starts = self.source.line_starts
        return [bisect_right(starts, m.start()) for m in _TEST.finditer(self.source.text)]

    @cached_property
    def stores_on_others(self) -> dict[str, list[tuple[str, int]]]:
        """Attribute -> (name, line) of each indented `name.attribute = ...` but those of self."""
        text = self.source.text
        found: dict[str, list[tuple[str, int]]] = {}
        for match in _STORE.finditer(text):
            if match[1] != "self":
                line = bisect_right(self.source.line_starts, match.start(1))
                found.setdefault(match[2], []).append((match[1], line))
        return found

    @cached_property
    def imported_modules(self) -> frozenset[str]:
        """Modules that the top level imports, or imports names from."""
        found = set(self.star_imports)
        for bindings in self.bindings.values():
            for binding in bindings:
                if isinstance(binding, Imported):
                    found.add(binding.module)
                    if binding.name is not None:
                        found.add(f"{binding.module}.{binding.name}")
        return frozenset(found)

    @property
    def package(self) -> str:
        return self.name if self.is_package else self.name.rpartition(".")[0]


_TEST = re.compile(r"\bisinstance\(")
_STORE = re.compile(r"^[ \t]+(\w+)\.(\w+)[ \t]*=(?!=)", re.M)


class ParseError(Exception):
    """A file whose text cannot be parsed. Carries the FileError to report."""

    def __init__(self, error: FileError) -> None:
        super().__init__(error.message)
        self.error = error


def parse(source: SourceFile) -> ast.Module:
    """Parse a file. Raises ParseError with line and column."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.simplefilter("ignore", DeprecationWarning)
            if has_type_comments(source.text):
                with suppress(SyntaxError):  # of a comment: the text may be well without them
                    return annotate(ast.parse(source.text, type_comments=True))
            return ast.parse(source.text, filename=str(source.path))
    except SyntaxError as error:
        message = newer_syntax(source.text, source.line(error.lineno or 0)) or error.msg
        raise ParseError(FileError(source.path, message, error.lineno, error.offset)) from error
    except (RecursionError, MemoryError) as error:
        raise ParseError(FileError(source.path, MAX_DEPTH_ERROR)) from error
    except ValueError as error:
        raise ParseError(FileError(source.path, str(error))) from error


def newer_syntax(text: str, line: str) -> str:
    """What to say of a text that this Python cannot parse but a newer one can; empty where none
    can. libcst reads the syntax of every Python up to its own newest, whichever runs it. Deep
    nesting overflows its stack, so a process of its own reads the text."""
    if _NEWER.search(line) is None:
        return ""
    try:
        done = run_isolated(("-c", _READ_WITH_LIBCST, *_libcst_folder()), text.encode(), 20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    running = ".".join(map(str, sys.version_info[:2]))
    says = f"uses syntax newer than Python {running}, which runs kvlint: run it with a newer one"
    return says if done.returncode == 0 else ""


_NEWER = re.compile(
    r"\btype\s+\w|\b(def|class)\s+\w+\s*\[|\bexcept\b.*[*,]|\b[ft]r?['\"]|\brf['\"]", re.I
)
_READ_WITH_LIBCST = """
import sys
sys.path += sys.argv[1:]
import libcst
libcst.parse_module(sys.stdin.buffer.read().decode())
"""


def _libcst_folder() -> list[str]:
    """Where libcst is installed: the folder of a user's own packages is closed to the child."""
    spec = find_spec("libcst")
    return [str(Path(spec.origin).parent.parent)] if spec and spec.origin else []


class Project:
    """Modules by dotted name, looked for under `roots`.

    Packages named in `opaque` are never looked up by name: the catalogue says what they offer.
    `texts` replaces what is on disk. Files consulted are remembered, and names that no root has,
    since a result about one file rests on those too (`rests_on`).
    """

    def __init__(
        self,
        roots: Sequence[Path],
        texts: Mapping[Path, bytes] | None = None,
        opaque: frozenset[str] = frozenset(),
    ) -> None:
        self.opaque = opaque
        self.roots = tuple(dict.fromkeys(roots))
        self.texts = dict(texts or {})
        self._consulted: set[Path] = set()
        self._missed: set[str] = set()
        self._imported: dict[tuple[Path, str], str] = {}
        self._missed_under: set[tuple[Path, str]] = set()
        self._by_name: dict[str, Module | None] = {}
        self._by_path: dict[Path, Module] = {}
        self._folders: dict[Path, frozenset[str]] = {}
        self._boundary = Boundary((), self.roots)

    def module(self, name: str) -> Module | None:
        """The module of that dotted name, None where no root has it or it does not parse."""
        if name.partition(".")[0] in self.opaque:
            return None
        if name not in self._by_name:
            self._by_name[name] = None
            path = self._find(name)
            if path is None:
                self._missed.add(name)
            else:
                self._consulted.add(path)
                with suppress(SourceError, ParseError):
                    self._by_name[name] = self.module_at(path, name)
        found = self._by_name[name]
        if found is not None:
            self._consulted.add(found.path)
        return found

    def rests_on(self) -> tuple[tuple[Path, str], ...]:
        """What everything found so far rests on: each file consulted, with the sha256 of its
        content, and each place where a module was looked for in vain, with an empty text."""
        found = {path: self._digest_of(path) for path in self._consulted}
        missed = [(root, name) for name in self._missed for root in self.roots]
        for root, name in [*missed, *self._missed_under]:
            found.update((place, "") for place in self._places_of(root, name))
        return tuple(sorted(found.items()))

    def _digest_of(self, path: Path) -> str:
        known = self._by_path.get(path)
        try:
            return digest(known.source.data if known else read_regular(path))
        except OSError:
            return ""

    def _places_of(self, root: Path, name: str) -> Iterator[Path]:
        """Where files would have to appear for the module of that name to be found."""
        folder = root
        for part in name.split("."):
            entries = self._entries(folder)
            yield folder / f"{part}.py"
            if part not in entries:
                yield folder / part
                return
            folder = folder / part
        yield folder / "__init__.py"

    def module_at(self, path: Path, name: str | None = None) -> Module:
        """Parse the file at `path`. Raises SourceError, ParseError."""
        known = self._by_path.get(path)
        if known is not None:
            return known
        text = self.texts.get(path)
        source = read_source(path) if text is None else decode_source(path, text)
        return self.module_of(source, name)

    def module_of(self, source: SourceFile, name: str | None = None) -> Module:
        """The module of a text that has been read. Raises ParseError."""
        known = self._by_path.get(source.path)
        return known if known is not None else self.add(source, parse(source), name)

    def imported(self, importer: Module, name: str) -> str:
        """The name under which `importer` finds a module: what stands beside it comes first."""
        key = (importer.path, name)
        if key not in self._imported:
            self._imported[key] = self._imported_by(importer, name)
        return self._imported[key]

    def _imported_by(self, importer: Module, name: str) -> str:
        top = name.partition(".")[0]
        if top in self.opaque or not name:
            return name
        root = import_root(importer.path)
        found = self.module(name)
        if found is not None and found.path.is_relative_to(root):
            return name
        path = self._find_under(root, name)
        if path is None:
            self._missed_under.add((root, name))
            return name
        self._consulted.add(path)
        with suppress(SourceError, ParseError):
            return self.module_at(path).name
        return name

    def add(self, source: SourceFile, tree: ast.Module, name: str | None = None) -> Module:
        is_package = source.path.name == "__init__.py"
        name = name or module_name(source.path, self.roots)
        if self._by_name.get(name) is not None:
            # Two folders may hold a module of one name; each keeps its own classes and globals.
            name = f"{name}@{source.path}"
        module = Module(name, source, tree, is_package)
        collect_bindings(module)
        self._by_path[source.path] = module
        self._by_name[name] = module
        return module

    def _find(self, name: str) -> Path | None:
        found = (self._find_under(root, name) for root in self.roots)
        return next((path for path in found if path is not None), None)

    def _find_under(self, root: Path, name: str) -> Path | None:
        path = self._place_under(root, name)
        return None if path is None or self._boundary.leads_out(path) else path

    def _place_under(self, root: Path, name: str) -> Path | None:
        parts = name.split(".")
        folder = root.joinpath(*parts[:-1])
        entries = self._entries(folder)
        if f"{parts[-1]}.py" in entries:
            return folder / f"{parts[-1]}.py"
        if parts[-1] in entries and "__init__.py" in self._entries(folder / parts[-1]):
            return folder / parts[-1] / "__init__.py"
        return None

    def _entries(self, folder: Path) -> frozenset[str]:
        if folder not in self._folders:
            try:
                self._folders[folder] = frozenset(entry.name for entry in folder.iterdir())
            except OSError:
                self._folders[folder] = frozenset()
        return self._folders[folder]


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def import_root(path: Path) -> Path:
    """The folder from which a file is imported: above the topmost package that holds it. SGLang
    has packages without `__init__.py`, so a folder named `sglang` with `srt` in it ends the way."""
    for parent in path.parents:
        if parent.name == "sglang" and os.path.isdir(parent / "srt"):
            return parent.parent
    folder = path.parent
    while os.path.isfile(folder / "__init__.py") and folder.parent != folder:
        folder = folder.parent
    return folder


def module_name(path: Path, roots: Iterable[Path] = ()) -> str:
    """Dotted name of the file at `path`, from the first of its import root and `roots`."""
    for root in (import_root(path), *roots):
        try:
            relative = path.relative_to(root)
        except ValueError:
            continue
        parts = list(relative.with_suffix("").parts)
        if parts[-1] == "__init__" and len(parts) > 1:
            parts.pop()
        return ".".join(parts)
    return path.stem


def collect_bindings(module: Module) -> None:
    """Fill `bindings` and `star_imports` from the top level, blocks included."""
    for statement in _top_level(module.tree.body):
        for name, binding in bindings_of(statement, module):
            module.bindings.setdefault(name, []).append(binding)
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            module.star_imports.append(absolute_module(module, statement))
    if "global " in module.source.text:
        _collect_globals(module)


def _top_level(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        yield statement
        for block in _blocks(statement):
            yield from _top_level(block)


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for name in ("body", "orelse", "finalbody"):
        block = getattr(statement, name, None)
        if isinstance(block, list):
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


def bindings_of(statement: ast.stmt, module: Module) -> Iterator[tuple[str, Binding]]:
    """The names that one statement binds, nested blocks excluded."""
    if isinstance(statement, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
        yield statement.name, statement
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname:
                yield alias.asname, Imported(alias.name)
            else:
                top = alias.name.partition(".")[0]
                yield top, Imported(top)
    elif isinstance(statement, ast.ImportFrom):
        source = absolute_module(module, statement)
        for alias in statement.names:
            if alias.name != "*":
                yield alias.asname or alias.name, Imported(source, alias.name)
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target, statement.value)
    elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        yield statement.target.id, Assigned(statement.value, statement.annotation)
    elif hasattr(ast, "TypeAlias") and isinstance(statement, ast.TypeAlias):
        yield statement.name.id, Assigned(statement.value)


def _targets(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Binding]]:
    if isinstance(target, ast.Name):
        yield target.id, Assigned(value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, element in enumerate(target.elts):
            if isinstance(element, ast.Name):
                yield element.id, Assigned(value, position=position)


def absolute_module(module: Module, statement: ast.ImportFrom) -> str:
    """The module that an import names, relative ones resolved against the importing package."""
    name = statement.module or ""
    if not statement.level:
        return name
    package = module.package.split(".") if module.package else []
    base = package[: len(package) - (statement.level - 1)]
    return ".".join([*base, name] if name else base)


def _collect_globals(module: Module) -> None:
    """Assignments that functions make to globals under a `global` statement."""
    lines = [
        number
        for number, line in enumerate(module.source.lines, 1)
        if line.lstrip().startswith("global ")
    ]
    for function in functions_at(module.tree.body, lines) if lines else ():
        statements = list(_top_level(function.body))
        names = {n for s in statements if isinstance(s, ast.Global) for n in s.names}
        for statement in statements:
            for name, binding in bindings_of(statement, module):
                if name in names and isinstance(binding, Assigned):
                    scoped = Assigned(binding.value, binding.annotation, binding.position, function)
                    module.bindings.setdefault(name, []).append(scoped)


def functions_at(
    body: Sequence[ast.stmt], lines: Sequence[int]
) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions, nested ones too, whose own lines hold one of `lines`."""
    for statement in body:
        last = statement.end_lineno or statement.lineno
        if not any(statement.lineno <= line <= last for line in lines):
            continue
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield statement
        inner = getattr(statement, "body", None)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from functions_at(statement.body, lines)
        elif isinstance(inner, list):
            for block in _blocks(statement):
                yield from functions_at(block, lines)
