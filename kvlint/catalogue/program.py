"""The part of SGLang's source that pools are read from, parsed as little as possible.

Modules that define pools are parsed whole. Of the others only those functions are parsed in
which a searched word stands: parsing the three hundred files that name a pool would take seconds.
"""

from __future__ import annotations

import ast
import re
import textwrap
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TypeGuard

_CLASS_HEADER = re.compile(rb"\bclass (\w+)\(([^)]*)\)")
_CAPITALISED = re.compile(rb"[A-Z]\w+")
_NAME = re.compile(rb"\w+")
_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+[.\w]+[ \t]+import[ \t]*(?:\([^)]*\)|[^\n]*)|import[ \t]+[^\n]*)", re.M
)
_DEFINITION = re.compile(r"^([ \t]*)(class|def|async def)\b[ \t]*(\w+)")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Assignment = tuple[ast.expr, ast.expr | None, ast.expr | None]


def is_self_attribute(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


@dataclass(frozen=True, eq=False)
class Function:
    """A function with the module and class it stands in."""

    node: FunctionNode
    module: Module
    owner: str | None = None
    """Qualified name of the class whose body holds it."""

    @property
    def parameters(self) -> list[ast.arg]:
        arguments = self.node.args
        return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]

    def parameter(self, name: str) -> ast.arg | None:
        return next((a for a in self.parameters if a.arg == name), None)

    def default(self, name: str) -> ast.expr | None:
        arguments = self.node.args
        positional = [*arguments.posonlyargs, *arguments.args]
        pairs = zip(reversed(positional), reversed(arguments.defaults), strict=False)
        by_name = {argument.arg: value for argument, value in pairs}
        keyword = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        by_name.update((a.arg, value) for a, value in keyword if value is not None)
        return by_name.get(name)

    @cached_property
    def bindings(self) -> dict[str, list[ast.expr]]:
        """The expressions that are assigned to each local name, in the order of the source."""
        found: dict[str, list[ast.expr]] = {}
        for target, value, _ in self.assignments:
            if isinstance(target, ast.Name) and value is not None:
                found.setdefault(target.id, []).append(value)
        return found

    @cached_property
    def attributes(self) -> dict[str, list[Assignment]]:
        """What is assigned to attributes of self; `self.x[k] = v` and `self.x.append(v)` as well,
        with their own targets."""
        found: dict[str, list[Assignment]] = {}
        for assignment in self.assignments:
            target = assignment[0]
            inner = target.value if isinstance(target, ast.Subscript) else target
            if is_self_attribute(inner):
                found.setdefault(inner.attr, []).append(assignment)
        return found

    @cached_property
    def assignments(self) -> list[Assignment]:
        """(target, value, annotation) of every assignment; `target.append(v)` counts as
        `target[...] = v`."""
        found: list[Assignment] = []
        for node in self.nodes:
            if isinstance(node, ast.Assign):
                found += [(target, node.value, None) for target in node.targets]
            elif isinstance(node, ast.AnnAssign):
                found.append((node.target, node.value, node.annotation))
            elif isinstance(node, ast.NamedExpr):
                found.append((node.target, node.value, None))
            elif isinstance(node, ast.Call) and node.args:
                function = node.func
                if isinstance(function, ast.Attribute) and function.attr in ("append", "add"):
                    element = ast.Subscript(function.value, ast.Constant(0), ast.Store())
                    found.append((element, node.args[0], None))
        return found

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.node))

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    @cached_property
    def self_calls(self) -> dict[str, list[ast.Call]]:
        """The calls of each method of self."""
        found: dict[str, list[ast.Call]] = {}
        for call in self.calls:
            if is_self_attribute(call.func):
                found.setdefault(call.func.attr, []).append(call)
        return found

    @cached_property
    def returns(self) -> list[ast.expr]:
        nested: set[int] = set()
        found = []
        for node in ast.walk(self.node):
            if node is not self.node and isinstance(node, (FunctionNode, ast.Lambda)):
                nested.update(id(inner) for inner in ast.walk(node))
            if isinstance(node, ast.Return) and node.value is not None:
                found.append(node)
        return [node.value for node in found if id(node) not in nested and node.value]


@dataclass(frozen=True, eq=False)
class Module:
    """One file: its text, its imports, and its tree where it has been parsed whole."""

    name: str
    path: str
    data: bytes

    @property
    def is_package(self) -> bool:
        return self.path.endswith("/__init__.py")

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8", "replace").replace("\r\n", "\n")

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self.lines)][:-1]

    @cached_property
    def _definitions(self) -> list[tuple[int, int, str, str]]:
        """(line, indentation, "class" or "def", name) of every class and def statement."""
        found = []
        for number, line in enumerate(self.lines):
            if "def " in line or "class " in line:
                match = _DEFINITION.match(line)
                if match:
                    kind = "class" if match[2] == "class" else "def"
                    found.append((number, len(match[1]), kind, match[3]))
        return found

    def _definitions_before(self, number: int) -> Iterator[tuple[int, int, str, str]]:
        """Those at or above a line, nearest first."""
        index = bisect_right(self._definitions, number, key=lambda one: one[0])
        return reversed(self._definitions[:index])

    def line_at(self, offset: int) -> int:
        """Number, from 0, of the line that holds a character of the text."""
        return bisect_right(self._line_starts, offset) - 1

    def lines_with(self, word: str) -> list[int]:
        """Numbers, from 0, of the lines in which the text stands."""
        found: list[int] = []
        offset = self.text.find(word) if word.encode() in self.data else -1
        while offset >= 0:
            found.append(self.line_at(offset))
            offset = self.text.find(word, offset + 1)
        return found

    def in_header(self, start: int, number: int) -> bool:
        """Whether a line belongs to the header of the `def` at `start`."""
        return number < start + len(self.header_at(start).split("\n"))

    def body_at(self, start: int) -> list[str]:
        return self.lines[start : self._end_of(start, _indent(self.lines[start]))]

    def header_at(self, start: int) -> str:
        """The text of a `def` statement's header."""
        for end in range(start, min(start + 80, len(self.lines))):
            if self.lines[end].split("#")[0].rstrip().endswith(":"):
                return "\n".join(self.lines[start : end + 1])
        return self.lines[start]

    @cached_property
    def tree(self) -> ast.Module:
        """Raises nothing: a file that does not parse has no statements here, and is reported by
        the check of the file itself."""
        try:
            return ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def capitalised(self) -> frozenset[str]:
        """The words of the file that can name classes, leading underscores left out."""
        return frozenset(word.decode() for word in _CAPITALISED.findall(self.data))

    @cached_property
    def _import_statements(self) -> list[str]:
        return [match[0] for match in _IMPORT.finditer(self.text)]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Name -> qualified name, of imports anywhere in the file."""
        found: dict[str, str] = {}
        for statement in self._import_statements:
            found.update(self._imported(statement.strip()))
        return found

    def exports(self, words: tuple[str, ...]) -> dict[str, str]:
        """The same of the imports at the left margin that hold one of the words: names that
        others can import from here."""
        found: dict[str, str] = {}
        for statement in self._import_statements:
            if not statement[0].isspace() and any(word in statement for word in words):
                found.update(self._imported(statement))
        return found

    def _imported(self, statement: str) -> dict[str, str]:
        try:
            body = ast.parse(statement.split(";")[0].rstrip("\\")).body
        except SyntaxError:
            return {}  # prose in a docstring that begins with "import" or "from"
        node = body[0] if body else None
        if isinstance(node, ast.Import):
            return {
                alias.asname or alias.name.partition(".")[0]: (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
                for alias in node.names
            }
        if isinstance(node, ast.ImportFrom):
            source = self.absolute(node.module, node.level)
            return {alias.asname or alias.name: f"{source}.{alias.name}" for alias in node.names}
        return {}

    def absolute(self, module: str | None, level: int) -> str:
        """The absolute name of a module as an import statement of this file names it."""
        if not level:
            return module or ""
        parts = self.name.split(".")
        keep = len(parts) - level + (1 if self.is_package else 0)
        return ".".join([*parts[: max(keep, 0)], *([module] if module else [])])

    def defines(self, name: str) -> bool:
        """Whether a class or function of that name stands at the left margin."""
        return (
            re.search(rf"^(?:class|def|async def) {re.escape(name)}\b", self.text, re.M) is not None
        )

    def functions_with(self, word: str) -> list[Function]:
        """The innermost functions of the file in which the word stands on some line."""
        wanted = re.compile(rf"\b{re.escape(word)}\b")
        found: dict[int, Function] = {}
        for number in self.lines_with(word):
            start = self.definition_before(number) if wanted.search(self.lines[number]) else None
            if start is not None and start not in found:
                function = self.function_at(start)
                if function is not None:
                    found[start] = function
        return list(found.values())

    def function_named(self, name: str, owner: str | None) -> Function | None:
        """The function or method of that name, if a pool can be meant in it at all."""
        defined = re.compile(rf"[ \t]*(?:async )?def {re.escape(name)}\b")
        for start in self.lines_with(f"def {name}"):
            if not defined.match(self.lines[start]):
                continue
            indent = _indent(self.lines[start])
            body = self.lines[start : self._end_of(start, indent)]
            if self.class_around(start, indent) == owner and any("ool" in line for line in body):
                return self.function_at(start)
        return None

    def definition_before(self, number: int) -> int | None:
        """Line of the `def` at or above a line whose body or header holds the line."""
        indent = _indent(self.lines[number])
        for start, column, kind, _ in self._definitions_before(number):
            if column < indent or (start == number and kind == "def"):
                return start if kind == "def" else None
        return None

    def function_at(self, start: int) -> Function | None:
        indent = _indent(self.lines[start])
        first = start
        while (
            first
            and self.lines[first - 1].strip()
            and (
                _indent(self.lines[first - 1]) == indent
                and self.lines[first - 1].lstrip()[0] == "@"
            )
        ):
            first -= 1
        body = "\n".join(self.lines[first : self._end_of(start, indent)])
        try:
            node = ast.parse(textwrap.dedent(body)).body[0]
        except (SyntaxError, ValueError, IndexError):
            return self._function_in_tree(start + 1)
        if not isinstance(node, FunctionNode):
            return None
        return Function(node, self, self.class_around(start, indent))

    def _end_of(self, start: int, indent: int) -> int:
        for index in range(start + 1, len(self.lines)):
            line = self.lines[index]
            stripped = line.lstrip()
            if stripped and not stripped.startswith((")", "#", "]")) and _indent(line) <= indent:
                return index
        return len(self.lines)

    def _function_in_tree(self, line: int) -> Function | None:
        for node in ast.walk(self.tree):
            if isinstance(node, FunctionNode) and node.lineno == line:
                return Function(node, self, self.class_around(line - 1, node.col_offset))
        return None

    def class_around(self, number: int, indent: int) -> str | None:
        """Qualified name of the class whose body holds a line of that indentation."""
        for start, column, kind, name in self._definitions_before(number):
            if column < indent:
                outer = self.class_around(start, column) if column else None
                return f"{outer or self.name}.{name}" if kind == "class" else None
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


@dataclass(frozen=True, eq=False)
class Program:
    """The modules that can matter, by qualified name."""

    modules: dict[str, Module]
    bases: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Short name of a base -> (class, module) of the class statements that name it."""

    def modules_with(self, word: str) -> list[Module]:
        data = word.encode()
        return [module for module in self.modules.values() if data in module.data]

    def resolve(self, module: Module, dotted: str) -> str:
        """The qualified name that a dotted name of a module stands for, re-exports followed."""
        head, _, rest = dotted.partition(".")
        target = module.imports.get(head, f"{module.name}.{head}")
        return self.canonical(f"{target}.{rest}" if rest else target)

    def canonical(self, qualname: str, depth: int = 8) -> str:
        """Where a name that modules pass on is really defined."""
        home, _, name = qualname.rpartition(".")
        module = self.modules.get(home)
        if module is None or not depth or name not in module.imports:
            return qualname
        target = module.imports[name]
        if target == qualname or module.defines(name):
            return qualname
        return self.canonical(target, depth - 1)


def read_program(files: dict[str, bytes]) -> Program:
    """`files`: path from the folder that holds the package -> content."""
    modules = {}
    bases: dict[str, list[tuple[str, str]]] = {}
    for path, data in files.items():
        name = path[: -len(".py")].replace("/", ".").removesuffix(".__init__")
        modules[name] = Module(name, path, data)
        for match in _CLASS_HEADER.finditer(data):
            for base in _NAME.findall(match[2]):
                bases.setdefault(base.decode(), []).append((match[1].decode(), name))
    return Program(modules, bases)
