"""Trees of YAML, JSON and TOML files: mappings, sequences and scalars with their places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvlint.launch.arguments import UNKNOWN, Place, Unknown, Value, Word
from kvlint.launch.commands import Slice

_TRUE, _FALSE = ("true", "yes", "on"), ("false", "no", "off")
_TEMPLATES = ("$(", "${", "{{", "<%")


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar's text; `offsets` say where each of its characters stands, if that is known."""

    text: str
    place: Place
    offsets: range | tuple[int, ...] | None
    quote: str = ""

    @property
    def value(self) -> Value:
        """The value as PyYAML's safe loader, which SGLang uses, reads it."""
        return self.text if self.quote else plain_value(self.text)

    @property
    def slice(self) -> Slice | None:
        return None if self.offsets is None else Slice(self.text, self.offsets)

    def word(self) -> Word:
        template = min((i for t in _TEMPLATES if (i := self.text.find(t)) >= 0), default=None)
        if template is not None:
            return Word(None, self.place, start=self.text[:template], opaque=not template)
        return Word(self.text, self.place, self.offsets)


@dataclass(frozen=True, slots=True)
class Items:
    """A sequence. `block`: each item on a line of its own behind a dash."""

    items: tuple[Tree, ...]
    place: Place
    block: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    """A mapping. `block`: each entry on a line of its own, without braces."""

    entries: tuple[tuple[Scalar, Tree], ...]
    place: Place
    block: bool = False

    def get(self, *names: str) -> Tree | None:
        for key, value in self.entries:
            if key.text in names:
                return value
        return None


Tree = Scalar | Items | Fields


def moved(tree: Tree, offsets: Sequence[int]) -> Tree:
    """A tree read from a text inside of a file, with its places in the file."""

    def place(at: Place) -> Place:
        if at.start >= len(offsets):
            return Place(offsets[-1] + 1, offsets[-1] + 1)
        return Place(offsets[at.start], offsets[max(at.end, at.start + 1) - 1] + 1)

    if isinstance(tree, Scalar):
        inside = None if tree.offsets is None else tuple(offsets[i] for i in tree.offsets)
        return Scalar(tree.text, place(tree.place), inside, tree.quote)
    if isinstance(tree, Items):
        items = tuple(moved(item, offsets) for item in tree.items)
        return Items(items, place(tree.place), tree.block)
    entries = []
    for key, value in tree.entries:
        new_key = moved(key, offsets)
        if isinstance(new_key, Scalar):
            entries.append((new_key, moved(value, offsets)))
    return Fields(tuple(entries), place(tree.place), tree.block)


def plain_value(text: str) -> Value:
    """What an unquoted scalar means."""
    folded = text.lower()
    if folded in _TRUE or folded in _FALSE:
        return folded in _TRUE
    if folded in ("", "null", "~"):
        return None
    try:
        return int(text)
    except ValueError:
        return UNKNOWN if any(mark in text for mark in _TEMPLATES) else text


def unescaped_offsets(raw: str, start: int, size: int) -> tuple[int, ...] | range | None:
    """Where each of the `size` characters of a string with backslash escapes stands, `raw` being
    its inside, which starts at `start`; None where that cannot be told."""
    if "\\" not in raw:
        return range(start, start + size) if len(raw) == size else None
    offsets, index = [], 0
    widths = {"u": 6, "U": 10, "x": 4}
    while index < len(raw):
        if raw.startswith("\\\n", index):
            index += 2
            continue
        offsets.append(start + index)
        index += widths.get(raw[index + 1 : index + 2], 2) if raw[index] == "\\" else 1
    return tuple(offsets) if len(offsets) == size else None


def aligned_offsets(raw: str, start: int, text: str) -> tuple[int, ...] | range | None:
    """Where each character of a scalar stands whose lines are folded or indented in the file."""
    if raw == text:
        return range(start, start + len(text))
    offsets: list[int] = []
    position = 0
    for run, is_space in _runs(text):
        found = position
        while found < len(raw) and raw[found].isspace():
            found += 1
        if is_space:
            offsets.extend([start + min(position, len(raw) - 1)] * len(run))
        elif raw.startswith(run, found):
            offsets.extend(range(start + found, start + found + len(run)))
            position = found + len(run)
        else:
            return None
    return tuple(offsets)


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Stretches of white space and of anything else, in turn."""
    start = 0
    for index in range(1, len(text) + 1):
        if index == len(text) or text[index].isspace() != text[start].isspace():
            yield text[start:index], text[start].isspace()
            start = index


def is_known(value: Value) -> bool:
    return not isinstance(value, Unknown)
