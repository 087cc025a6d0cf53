"""Servers that Dockerfiles start: `ENTRYPOINT`, `CMD` and `RUN`, in exec and shell form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kvlint.launch.arguments import Addition, Word
from kvlint.launch.commands import Slice, configuration_of
from kvlint.launch.facts import LaunchFacts
from kvlint.launch.shell import read_script
from kvlint.launch.shell_words import Invocation
from kvlint.launch.structured import gap_removal
from kvlint.source.documents import unescaped_offsets
from kvlint.source.text import SourceFile

_INSTRUCTION = re.compile(r"\s*([A-Za-z]+)\s+")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"#\s*escape\s*=\s*(\S)", re.I)
_RUNNING = ("ENTRYPOINT", "CMD", "RUN", "HEALTHCHECK", "ONBUILD")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, comments and continuations taken out: its name and what follows."""

    name: str
    body: Slice
    first: int
    last: int


def read_dockerfile(source: SourceFile, facts: LaunchFacts) -> list[Invocation]:
    """What each stage of a Dockerfile starts: its last ENTRYPOINT with its last CMD, and its
    RUN instructions."""
    found: list[Invocation] = []
    entrypoint: Instruction | None = None
    command: Instruction | None = None
    for instruction in instructions(source):
        if instruction.name == "FROM":
            found.extend(_started(source, facts, entrypoint, command))
            entrypoint = command = None
        elif instruction.name == "ENTRYPOINT":
            entrypoint = instruction
        elif instruction.name == "CMD":
            command = instruction
        elif instruction.name in _RUNNING:
            found.extend(_started(source, facts, None, instruction))
    found.extend(_started(source, facts, entrypoint, command))
    return found


def instructions(source: SourceFile) -> Iterator[Instruction]:
    """The instructions of a Dockerfile, comment lines and continuations left out."""
    escape = "\\"
    starts = [*source.line_starts, len(source.text)]
    characters: list[tuple[str, int]] = []
    first, ends_at = 0, ""
    for number in range(1, len(source.line_starts) + 1):
        line, start = source.line(number), starts[number - 1]
        if ends_at:
            _append(characters, line + "\n", start)
            if line.strip() == ends_at:
                yield from _instruction(characters, first, number)
                characters, ends_at = [], ""
            continue
        if line.lstrip().startswith("#"):
            directive = _ESCAPE.match(line.strip())
            escape = directive.group(1) if directive and not characters else escape
            continue
        if not line.strip():
            continue
        first = first if characters else number
        stripped = line.rstrip()
        if stripped.endswith(escape):
            _append(characters, stripped[: -len(escape)], start)
            continue
        _append(characters, line, start)
        heredoc = re.search(r"<<-?[\"']?(\w+)[\"']?", "".join(c for c, _ in characters))
        if heredoc:
            ends_at = heredoc.group(1)
            _append(characters, "\n", start + len(line))
            continue
        yield from _instruction(characters, first, number)
        characters = []
    yield from _instruction(characters, first, len(source.line_starts))


def _append(characters: list[tuple[str, int]], text: str, start: int) -> None:
    characters.extend((character, start + index) for index, character in enumerate(text))


def _instruction(characters: list[tuple[str, int]], first: int, last: int) -> Iterator[Instruction]:
    content = "".join(character for character, _ in characters)
    match = _INSTRUCTION.match(content)
    if match:
        body = Slice(content, [offset for _, offset in characters])
        end = len(content)
        yield Instruction(match.group(1).upper(), body.part(match.end(), end), first, last)


def _started(
    source: SourceFile,
    facts: LaunchFacts,
    entrypoint: Instruction | None,
    command: Instruction | None,
) -> Iterator[Invocation]:
    parts = [part for part in (entrypoint, command) if part is not None]
    lists = [_exec_form(source, part) for part in parts]
    if not parts:
        return
    if all(words is not None for words in lists):
        words = [word for each in lists for word in each or ()]
        yield from _exec_started(source, facts, words, parts)
        return
    for part, exec_words in zip(parts, lists, strict=True):
        if exec_words is not None:
            yield from _exec_started(source, facts, exec_words, [part])
        elif "sglang" in part.body.content:
            yield from read_script(part.body, facts, source)


def _exec_started(
    source: SourceFile, facts: LaunchFacts, words: list[Word], parts: list[Instruction]
) -> Iterator[Invocation]:
    if not words:
        return
    statement = (parts[0].first, parts[0].last) if len(parts) == 1 else (0, 0)
    configuration = configuration_of(
        words, facts, addition=_addition(source, words), statement=statement
    )
    if configuration is not None:
        yield Invocation(tuple(words), configuration)
        return
    for word in words:
        if word.text and " " in word.text and "sglang" in word.text and word.offsets:
            yield from read_script(Slice(word.text, word.offsets), facts, source)


def _exec_form(source: SourceFile, instruction: Instruction) -> list[Word] | None:
    """The words of the JSON form; None for the shell form."""
    body = instruction.body
    start = body.content.find("[")
    if body.content[:start].strip() or start < 0 or not body.content.rstrip().endswith("]"):
        return None
    words: list[Word] = []
    for match in _STRING.finditer(body.content, start):
        place = body.place(match.start(), match.end())
        inside = body.part(match.start(1), match.end(1))
        text = inside.content
        offsets = inside.offsets
        if "\\" in text:
            relative = unescaped_offsets(text, 0, len(_unescape(text)))
            text = _unescape(text)
            offsets = [inside.offsets[i] for i in relative] if relative is not None else []
        before = words[-1].place if words else place
        removal = gap_removal(source.text, before, place, len(words))
        unknown = "${" in text
        words.append(Word(None if unknown else text, place, offsets, removal=removal))
    return words


def _unescape(text: str) -> str:
    import json

    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text


def _addition(source: SourceFile, words: list[Word]) -> Addition:
    """Further words go behind the last string, on a line of their own where the others are."""
    last, text = words[-1].place, source.text
    line_start = text.rfind("\n", 0, last.start) + 1
    lead = text[line_start : last.start]
    if lead.strip():
        mark = ", "
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        mark = f", \\{newline}{lead}"
    return Addition(last.end, "words", mark, separator=mark, quote='"')
