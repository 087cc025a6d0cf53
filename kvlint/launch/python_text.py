"""From nodes of Python's tree to places of the text, and from literals to their characters."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from kvlint.launch.arguments import Addition, Argument, Place, Value
from kvlint.launch.commands import Slice
from kvlint.source.documents import unescaped_offsets
from kvlint.source.text import SourceFile

_OPENING = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')")


def place_of(source: SourceFile, node: ast.AST) -> Place:
    """Where a node stands."""
    start = source.offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
    end = source.offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
    return Place(start, end)


def literal_slice(source: SourceFile, node: ast.expr) -> Slice | None:
    """The characters of one string literal and where they stand; None for adjacent literals and
    escapes that stand for other than one character."""
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return None
    inside = _inside(source, node)
    if inside is None:
        return None
    prefix, quote, start, end = inside
    raw = source.text[start:end].replace("\r\n", "\n")
    if len(raw) != end - start:
        return None
    if "r" in prefix:
        return Slice(node.value, range(start, end)) if raw == node.value else None
    if _holds(raw, quote):
        return None
    offsets = unescaped_offsets(raw, start, len(node.value))
    return None if offsets is None else Slice(node.value, offsets)


def _inside(source: SourceFile, node: ast.expr) -> tuple[str, str, int, int] | None:
    place = place_of(source, node)
    opening = _OPENING.match(source.text, place.start, place.end)
    if opening is None:
        return None
    quote = opening.group(2)
    end = place.end - len(quote)
    if end < opening.end() or not source.text.startswith(quote, end):
        return None
    return opening.group(1).lower(), quote, opening.end(), end


def _holds(raw: str, quote: str) -> bool:
    return quote in re.sub(r"\\.", "", raw, flags=re.S)


def formatted_slice(
    source: SourceFile, node: ast.JoinedStr, known: Callable[[ast.expr], str | None]
) -> Slice | None:
    """The characters of an f-string; a part whose value is not known stands as `$_`."""
    inside = _inside(source, node)
    if inside is None or _holds(
        re.sub(r"\{[^{}]*\}", "", source.text[inside[2] : inside[3]]), inside[1]
    ):
        return None
    fields = [part for part in node.values if isinstance(part, ast.FormattedValue)]
    text, position, end = source.text, inside[2], inside[3]
    content: list[str] = []
    offsets: list[int] = []
    while position < end:
        character = text[position]
        if text.startswith(("{{", "}}"), position):
            content.append(character)
            offsets.append(position)
            position += 2
        elif character == "{":
            if not fields:
                return None
            value = known(fields.pop(0).value) or ""
            after = _field_end(text, position, end)
            # The first and the last character stand for the field's braces, so that an edit of
            # the value replaces the whole field; a shorter one is not known.
            value = value if len(value) > 1 else "$_"
            content.append(value)
            offsets.extend([position] * (len(value) - 1) + [after - 1])
            position = after
        elif character == "\\" and "r" not in inside[0]:
            if text[position + 1] != "\n":
                escaped = {"n": "\n", "t": "\t"}.get(text[position + 1], text[position + 1])
                content.append(escaped)
                offsets.append(position)
            position += 2
        else:
            content.append(character)
            offsets.append(position)
            position += 1
    return Slice("".join(content), offsets)


def _field_end(text: str, start: int, end: int) -> int:
    depth = 0
    for index in range(start, end):
        depth += {"{": 1, "}": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    return end


def keyword_argument(
    source: SourceFile, name: str, value: Value, node: ast.AST, value_node: ast.expr
) -> Argument:
    """An argument that a keyword, a dictionary's entry or an assignment states."""
    whole, inner = place_of(source, node), place_of(source, value_node)
    if inner.start < whole.start or (inner.end < whole.end and not whole.start <= inner.start):
        inner = whole
    place = Place(min(whole.start, inner.start), max(whole.end, inner.end))
    literal = literal_slice(source, value_node)
    if literal is not None and literal.content:
        inside = literal.place(0, len(literal.content))
        return Argument(name, value, place, inside, "python", quoted=True)
    return Argument(name, value, place, inner, "python")


def call_addition(source: SourceFile, call: ast.Call) -> Addition | None:
    """Further keywords go behind the last argument of a call, as that one is placed."""
    items: list[ast.AST] = [*call.args, *call.keywords]
    if not items:
        return None
    last = max(items, key=lambda item: (item.end_lineno, item.end_col_offset))  # type: ignore[attr-defined]
    quotes = [source.text[place_of(source, k.value).start] for k in call.keywords]
    quote = next((mark for mark in quotes if mark in "'\""), '"')
    return _behind(source, place_of(source, last), place_of(source, call).end - 1, "keyword", quote)


def dict_addition(source: SourceFile, node: ast.Dict) -> Addition | None:
    """Further entries go behind the last one of a dictionary display."""
    if not node.values or node.keys[-1] is None:
        return None
    key = place_of(source, node.keys[-1])
    last = Place(key.start, place_of(source, node.values[-1]).end)
    quote = source.text[key.start] if source.text[key.start] in "'\"" else '"'
    addition = _behind(source, last, place_of(source, node).end - 1, "entry", quote)
    between = source.text[key.end : place_of(source, node.values[-1]).start]
    return Addition(
        addition.at,
        "entry",
        addition.prefix,
        addition.suffix,
        between if "\n" not in between else ": ",
        quote,
        comma_at=addition.comma_at,
    )


def list_addition(source: SourceFile, node: ast.List | ast.Tuple) -> Addition | None:
    """Further words go behind the last one of a list, one on a line where the others are so."""
    last = node.elts[-1] if node.elts else None
    if not isinstance(last, ast.Constant) or not isinstance(last.value, str):
        return None
    place, text = place_of(source, last), source.text
    quote = text[place.start] if text[place.start] in "'\"" else '"'
    added = _behind(source, place, place_of(source, node).end - 1, "words", quote)
    options = [e for e in node.elts if isinstance(e, ast.Constant) and str(e.value)[:2] == "--"]
    separator = ", "
    if options:
        option = place_of(source, options[-1])
        lead = _lead(text, option.start)
        if lead is not None and "\n" in text[option.start : place.start]:
            separator = f",{_newline(text)}{lead}"
        elif lead is not None and option.start != place.start:
            added = _behind(
                source,
                Place(option.start, place.end),
                place_of(source, node).end - 1,
                "words",
                quote,
            )
    return Addition(
        added.at, "words", added.prefix, added.suffix, separator, quote, comma_at=added.comma_at
    )


def _behind(source: SourceFile, last: Place, close: int, form: str, quote: str) -> Addition:
    """An addition behind the item at `last`, before the bracket at `close`."""
    text = source.text
    comma = _comma(text, last.end, close)
    lead, newline = _lead(text, last.start), _newline(text)
    at = last.end if comma is None else comma + 1
    if lead is not None and comma is None and "\n" not in text[last.end : close]:
        return Addition(at, form, f",{newline}{lead}", quote=quote)  # type: ignore[arg-type]
    if lead is None or "\n" not in text[last.end : close]:
        prefix, suffix = (", ", "") if comma is None else (" ", ",")
        return Addition(at, form, prefix, suffix, quote=quote)  # type: ignore[arg-type]
    line_end = text.find("\n", at)
    line_end -= text[line_end - 1] == "\r"
    comment = text[at:line_end].strip()
    prefix = newline + lead
    if comma is not None:
        at = line_end if comment else at
        return Addition(at, form, prefix, ",", quote=quote)  # type: ignore[arg-type]
    if not comment:
        return Addition(at, form, "," + prefix, quote=quote)  # type: ignore[arg-type]
    return Addition(line_end, form, prefix, ",", quote=quote, comma_at=last.end)  # type: ignore[arg-type]


def _comma(text: str, start: int, end: int) -> int | None:
    """Offset of a trailing comma, comments left out."""
    index = start
    while index < end:
        if text[index] == "#":
            index = text.find("\n", index)
        elif text[index] == ",":
            return index
        index += 1
    return None


def _lead(text: str, start: int) -> str | None:
    """The white space before an item that is the first of its line."""
    lead = text[text.rfind("\n", 0, start) + 1 : start]
    return None if lead.strip() else lead


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
