"""JSON and TOML files as trees with places, read with tree-sitter's grammars."""

from __future__ import annotations

import json
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from kvlint.launch.arguments import Place
from kvlint.source.documents import Fields, Items, Scalar, Tree, unescaped_offsets
from kvlint.source.loading import LoadError, load_toml
from kvlint.source.text import SourceFile
from kvlint.source.yaml_files import UnreadableDocument

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


@cache
def _json_parser() -> Parser:
    import tree_sitter
    import tree_sitter_json

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_json.language()))


@cache
def _toml_parser() -> Parser:
    import tree_sitter
    import tree_sitter_toml

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_toml.language()))


class _Reader:
    """Turns a syntax tree's byte positions into places of the text."""

    def __init__(self, source: SourceFile) -> None:
        self.text = source.text
        self.data = source.text.encode("utf-8", "surrogatepass")
        self.starts: list[int] | None = None
        if len(self.data) != len(self.text):
            self.starts, total = [], 0
            for character in self.text:
                self.starts.append(total)
                total += len(character.encode("utf-8", "surrogatepass"))

    def at(self, byte: int) -> int:
        return byte if self.starts is None else bisect_right(self.starts, byte - 1)

    def place(self, node: Node) -> Place:
        return Place(self.at(node.start_byte), self.at(node.end_byte))

    def raw(self, node: Node) -> str:
        return self.text[self.at(node.start_byte) : self.at(node.end_byte)]


def read_json(source: SourceFile) -> list[Tree]:
    """The value of a JSON file; comments and trailing commas, as editors allow them, do no harm.

    Raises UnreadableDocument.
    """
    reader = _Reader(source)
    root = _json_parser().parse(reader.data).root_node
    if root.has_error and not any(child.type == "object" for child in root.named_children):
        raise UnreadableDocument("is not valid JSON", root.start_point[0] + 1)
    return [_json(reader, child, 0) for child in root.named_children if child.type != "comment"]


def _json(reader: _Reader, node: Node, depth: int) -> Tree:
    place = reader.place(node)
    children = [child for child in node.named_children if child.type not in ("comment", "ERROR")]
    if depth > 100:
        return Scalar("", place, None)
    if node.type == "array":
        return Items(tuple(_json(reader, child, depth + 1) for child in children), place)
    if node.type == "object":
        entries = []
        for pair in children:
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None and value is not None:
                tree = _json(reader, key, depth + 1)
                if isinstance(tree, Scalar):
                    entries.append((tree, _json(reader, value, depth + 1)))
        return Fields(tuple(entries), place)
    raw = reader.raw(node)
    return _quoted(raw, place) if node.type == "string" else _bare(raw, place)


def _bare(raw: str, place: Place) -> Scalar:
    return Scalar(raw, place, range(place.start, place.end))


def _quoted(raw: str, place: Place) -> Scalar:
    try:
        text = json.loads(raw, strict=False)
    except ValueError:
        return Scalar(raw, place, None, '"')
    offsets = unescaped_offsets(raw[1:-1], place.start + 1, len(text))
    return Scalar(str(text), place, offsets, '"')


def read_toml(source: SourceFile) -> list[Tree]:
    """The tables of a TOML file. Raises UnreadableDocument."""
    try:
        load_toml(source.text.replace("\r\n", "\n"))
    except LoadError as error:
        raise UnreadableDocument(f"is not valid TOML: {error.reason}") from error
    reader = _Reader(source)
    root = _toml_parser().parse(reader.data).root_node
    tables: list[Tree] = [_table(reader, root)]
    for child in root.named_children:
        if child.type in ("table", "table_array_element"):
            tables.append(_table(reader, child))
    return tables


def _table(reader: _Reader, node: Node) -> Fields:
    entries = []
    for child in node.named_children:
        if child.type == "pair":
            key, value = [part for part in child.named_children if part.type != "comment"][:2]
            entries.append((_toml_key(reader, key), _toml(reader, value)))
    return Fields(tuple(entries), reader.place(node), block=node.type != "inline_table")


def _toml_key(reader: _Reader, node: Node) -> Scalar:
    raw = reader.raw(node)
    return Scalar(raw.strip("\"'"), reader.place(node), None)


def _toml(reader: _Reader, node: Node) -> Tree:
    place = reader.place(node)
    if node.type == "array":
        items = [child for child in node.named_children if child.type != "comment"]
        return Items(tuple(_toml(reader, item) for item in items), place)
    if node.type == "inline_table":
        return _table(reader, node)
    raw = reader.raw(node)
    return _toml_string(raw, place) if node.type == "string" else _bare(raw, place)


def _toml_string(raw: str, place: Place) -> Scalar:
    parsed = load_toml("x = " + raw.replace("\r\n", "\n"))["x"]
    text = str(parsed)
    width = 3 if raw.startswith(('"""', "'''")) else 1
    inside, start = raw[width : len(raw) - width], place.start + width
    if width == 3 and inside.startswith(("\n", "\r\n")):
        skipped = 2 if inside.startswith("\r") else 1
        inside, start = inside[skipped:], start + skipped
    if raw.startswith("'"):
        offsets = range(start, start + len(text)) if len(inside) == len(text) else None
        return Scalar(text, place, offsets, "'")
    return Scalar(text, place, unescaped_offsets(inside, start, len(text)), '"')
