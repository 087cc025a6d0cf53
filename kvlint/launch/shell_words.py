"""What the words of a shell command stand for, and where their characters are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvlint.launch.arguments import LaunchConfiguration, Place, Word
from kvlint.launch.commands import Slice
from kvlint.launch.facts import LaunchFacts
from kvlint.source.text import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node

HIDDEN = "\0"
"""Stands for what is not known in the text of a variable."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command of a script with the configuration that it gives, where it gives one."""

    words: tuple[Word, ...]
    configuration: LaunchConfiguration | None


@dataclass
class Script:
    """One script being read. `variables` holds what is known: the words of each variable."""

    text: Slice
    facts: LaunchFacts
    source: SourceFile
    depth: int
    bytes_to_characters: list[int] | None
    assigned: Counter[str] = field(default_factory=Counter)
    variables: dict[str, list[Word] | None] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    found: list[Invocation] = field(default_factory=list)


def byte_table(content: str) -> list[int]:
    table = [
        index
        for index, character in enumerate(content)
        for _ in character.encode("utf-8", "surrogatepass")
    ]
    return [*table, len(content)]


def all_nodes(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def bounds(script: Script, node: Node) -> tuple[int, int]:
    table = script.bytes_to_characters
    if table is None:
        return node.start_byte, node.end_byte
    return table[node.start_byte], table[node.end_byte]


def text_of(script: Script, node: Node) -> str:
    start, end = bounds(script, node)
    return script.text.content[start:end]


def shown(word: Word) -> Word:
    """A word of an assigned text, in which what is not known was put as a placeholder."""
    text = word.text or ""
    known, hidden, _ = text.partition(HIDDEN)
    return Word(None, word.place, start=known, opaque=text == HIDDEN) if hidden else word


def split_words(word: Word) -> Iterator[Word]:
    """The words of an unquoted expansion."""
    text, offsets = word.text or "", word.offsets or ()
    position = 0
    for part in text.split():
        start = text.index(part, position)
        position = start + len(part)
        yield Word(part, Place(offsets[start], offsets[position - 1] + 1), offsets[start:position])


def words_of(script: Script, node: Node) -> list[Word]:
    """The words that one argument gives; usually one."""
    start, end = bounds(script, node)
    place = script.text.place(start, end)
    if node.type in ("simple_expansion", "expansion"):
        return expanded(script, node, place, quoted=False)
    if node.type == "string" and len(node.named_children) == 1:
        inner = node.named_children[0]
        if inner.type in ("simple_expansion", "expansion") and inner.end_byte == node.end_byte - 1:
            return expanded(script, inner, place, quoted=True)
    characters: list[tuple[str, int]] = []
    known = characters_of(script, node, characters)
    text = "".join(character for character, _ in characters)
    if not known:
        return [Word(None, place, start=text)]
    return [Word(text, place, [offset for _, offset in characters])]


def expanded(script: Script, node: Node, place: Place, *, quoted: bool) -> list[Word]:
    """The words of a variable; an unknown one may stand for any number of words, unless quoted."""
    source = text_of(script, node)
    name = source.strip("${}")
    is_list = name.endswith(("[@]", "[*]"))
    name = name.removesuffix("[@]").removesuffix("[*]")
    words = script.variables.get(name) if name.isidentifier() else None
    if words is None:
        several = is_list or source.strip("${}") in ("@", "*")
        return [Word(None, place, opaque=several)]
    script.used.add(name)
    if quoted and not is_list and len(words) != 1:
        return [rejoined(words, place)]
    return list(words)


def rejoined(words: Sequence[Word], place: Place) -> Word:
    """A variable's words in quotes: one word. What is not known in a whole command stands as `$_`,
    for whoever reads it again."""
    text, offsets = "", list[int]()
    for word in words:
        part = word.text if word.text is not None else word.start + "$_"
        known = word.offsets if word.text is not None and word.offsets is not None else None
        text += (" " if text else "") + part
        offsets += [word.place.start] * (len(text) - len(offsets) - len(part))
        offsets += known or [word.place.start] * len(part)
    if any(word.text is None for word in words) and "sglang" not in text:
        return Word(None, place)
    return Word(text, place, offsets)


def characters_of(
    script: Script, node: Node, out: list[tuple[str, int]], placeholder: str = ""
) -> bool:
    """Append what the node stands for, character by character; False where it is not known. A
    `placeholder` stands for expansions that are not known."""
    start, end = bounds(script, node)
    content, offsets = script.text.content, script.text.offsets
    kind = node.type
    if kind == "raw_string":
        out.extend((content[i], offsets[i]) for i in range(start + 1, end - 1))
        return True
    if kind in ("word", "number", "string_content", "variable_name", "extglob_pattern"):
        unescaped(script, start, end, out, quoted=kind == "string_content")
        return True
    if kind in ("concatenation", "command_name"):
        return all(characters_of(script, child, out, placeholder) for child in node.named_children)
    if kind == "string":
        return string_of(script, node, out, placeholder)
    if kind in ("simple_expansion", "expansion"):
        words = expanded(script, node, script.text.place(start, end), quoted=True)
        if len(words) == 1 and words[0].text is not None:
            out.extend(zip(words[0].text, words[0].offsets or (), strict=False))
            return True
    if placeholder and kind in ("simple_expansion", "expansion"):
        out.append((placeholder, script.text.place(start, end).start))
        return True
    return False


def string_of(
    script: Script, node: Node, out: list[tuple[str, int]], placeholder: str = ""
) -> bool:
    """A double-quoted string: the text between its named children belongs to it as well."""
    start, end = bounds(script, node)
    position = start + 1
    for child in node.named_children:
        first, last = bounds(script, child)
        unescaped(script, position, first, out, quoted=True)
        if not characters_of(script, child, out, placeholder):
            return False
        position = last
    unescaped(script, position, end - 1, out, quoted=True)
    return True


def unescaped(
    script: Script, start: int, end: int, out: list[tuple[str, int]], *, quoted: bool
) -> None:
    content, offsets = script.text.content, script.text.offsets
    index = start
    while index < end:
        if content[index] == "\\" and index + 1 < end:
            following = content[index + 1]
            if following == "\n":
                index += 2
                continue
            if not quoted or following in '$`"\\':
                index += 1
        out.append((content[index], offsets[index]))
        index += 1
