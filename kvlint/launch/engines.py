"""KV304 in Python: calls that generate on an engine or server that was started for embedding."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kvlint.findings import Finding
from kvlint.launch.arguments import Place
from kvlint.launch.python_text import place_of
from kvlint.launch.python_values import (
    Address,
    Evaluated,
    Known,
    Member,
    Server,
    Symbol,
    Target,
    Text,
)
from kvlint.launch.requests import DECODING_METHODS, decode_finding, is_decoding_path
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

_URL = re.compile(r"(?:https?://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0)(?::(\d+))?")
_OPEN_URL = re.compile(r"https?://[^/]*:$")
_ERROR_STATUS = range(400, 600)


class Decodes:
    """Collects the calls that generate on what was started for embedding."""

    def __init__(self, source: SourceFile, rule: Rule | None) -> None:
        self.source, self.rule = source, rule
        self.findings: list[Finding] = []
        self.expecting = False

    @contextmanager
    def within(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[None]:
        """Inside of a function; one that asserts an error status is left alone."""
        before = self.expecting
        self.expecting = self.rule is None or _asserts_an_error(function)
        try:
            yield
        finally:
            self.expecting = before

    def report(self, function: ast.expr, started: Place | None, what: str) -> None:
        if self.rule is None or self.expecting:
            return
        place = place_of(self.source, function)
        if isinstance(function, ast.Attribute):
            place = Place(max(place.start, place.end - len(function.attr)), place.end)
        finding = decode_finding(self.source, self.rule, place, started, what)
        if all(found.span != finding.span for found in self.findings):
            self.findings.append(finding)

    def request(self, function: ast.expr, url: Evaluated, servers: Sequence[Server]) -> None:
        """A request to a URL."""
        address, path = split_url(url)
        if address is not None and is_decoding_path(path):
            self.client_call(function, address, servers)

    def client_call(self, function: ast.expr, address: Address, servers: Sequence[Server]) -> None:
        """A call that generates on the server at an address: the last that was started there."""
        found = [server for server in servers if server.address == address]
        if found and found[-1].configuration.value("is_embedding") is True:
            started = found[-1].configuration.arguments["is_embedding"].place
            self.report(function, started, "this request")


def is_decoding_method(name: str) -> bool:
    return name in DECODING_METHODS


def is_completion(path: tuple[str, ...]) -> bool:
    """Whether an OpenAI client's method generates."""
    return path[-3:] in (
        ("chat", "completions", "create"),
        ("chat", "completions", "parse"),
        ("chat", "completions", "stream"),
    ) or path in (("completions", "create"), ("responses", "create"))


def split_url(url: Evaluated) -> tuple[Address | None, str]:
    """The address and the path of a URL. Unknown parts are compared by what they stand for."""
    match url:
        case Known(value=str(text)):
            return _known_url(text)
        case Symbol(name=name):
            return ("name", name), ""
        case Target(name=name):
            return ("name", f"import:{name}"), ""
        case Member(owner=Symbol(name=name), path=path):
            return ("name", f"{name}.{'.'.join(path)}"), ""
        case Text(parts=(Symbol(name=name), *rest)):
            return ("name", name), _path(rest)
        case Text(parts=(str(head), Symbol(name=name), *rest)) if _OPEN_URL.search(head):
            return ("port", name), _path(rest)
    return None, ""


def _known_url(text: str) -> tuple[Address | None, str]:
    match = _URL.match(text)
    if match is None:
        return None, ""
    return ("port", int(match.group(1) or 80)), text[match.end() :].partition("?")[0]


def _path(rest: Sequence[str | Symbol]) -> str:
    return rest[0] if len(rest) == 1 and isinstance(rest[0], str) else ""


def _asserts_an_error(function: ast.AST) -> bool:
    """Whether a test expects its requests to fail."""
    for node in ast.walk(function):
        if isinstance(node, ast.Compare) and _compares_status(node.left, node.comparators):
            if any(_is_error(part) for part in (node.left, *node.comparators)):
                return True
            if isinstance(node.ops[0], ast.NotEq):
                return True
        elif isinstance(node, ast.Call) and _compares_status(None, node.args):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if any(_is_error(part) for part in node.args) or name == "assertNotEqual":
                return True
    return False


def _compares_status(left: ast.expr | None, others: Sequence[ast.expr]) -> bool:
    parts = [*others, *([left] if left is not None else [])]
    return any(isinstance(p, ast.Attribute) and p.attr in ("status_code", "status") for p in parts)


def _is_error(node: ast.expr) -> bool:
    return any(
        isinstance(child, ast.Constant)
        and isinstance(child.value, int)
        and child.value in _ERROR_STATUS
        for child in ast.walk(node)
    )
