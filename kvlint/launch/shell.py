"""Launch commands in shell text: scripts, and the scripts that other files hold.

Read with tree-sitter's Bash grammar, which keeps positions and survives what it cannot parse.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from kvlint.launch.arguments import Addition, LaunchConfiguration, Place, Word
from kvlint.launch.commands import Slice, configuration_of, launch_at, names_the_pool
from kvlint.launch.facts import LaunchFacts
from kvlint.source.text import SourceFile

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_BRANCHES = frozenset(
    {
        "if_statement",
        "elif_clause",
        "else_clause",
        "case_item",
        "while_statement",
        "for_statement",
        "c_style_for_statement",
        "subshell",
        "list",
    }
)
_WORKFLOW_EXPRESSION = re.compile(r"\$\{\{.*?\}\}|\{\{.*?\}\}", re.S)
_HIDDEN = "\0"
_MAX_NESTING = 3
_RUNNERS = frozenset({"bash", "sh", "ssh", "zsh", "dash", "sudo", "docker", "kubectl", "srun"})


@dataclass(frozen=True, slots=True)
class Invocation:
    """One command of a script with the configuration that it gives, where it gives one."""

    words: tuple[Word, ...]
    configuration: LaunchConfiguration | None


@dataclass
class _Script:
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


@cache
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def read_script(
    text: Slice, facts: LaunchFacts, source: SourceFile, depth: int = 0
) -> list[Invocation]:
    """The commands of a script, in order, as far as they can start a server or talk to one."""
    text = replace(text, content=_WORKFLOW_EXPRESSION.sub(_as_variable, text.content))
    data = text.content.encode("utf-8", "surrogatepass")
    table = None if len(data) == len(text.content) else _byte_table(text.content)
    root = _parser().parse(data).root_node
    script = _Script(text, facts, source, depth, table)
    for node in _all(root):
        if node.type == "variable_assignment" and (name := node.child_by_field_name("name")):
            script.assigned[_text(script, name)] += 1
    _read(script, root)
    script.found.extend(_unused_lists(script))
    return script.found


def _as_variable(match: re.Match[str]) -> str:
    """`${{ matrix.backend }}` is replaced before the shell runs: an unknown of the same length."""
    return "$" + "_" * (len(match.group()) - 1)


def _byte_table(content: str) -> list[int]:
    table = [
        index
        for index, character in enumerate(content)
        for _ in character.encode("utf-8", "surrogatepass")
    ]
    return [*table, len(content)]


def _all(node: Node) -> Iterator[Node]:
    stack = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(current.children))


def _bounds(script: _Script, node: Node) -> tuple[int, int]:
    table = script.bytes_to_characters
    if table is None:
        return node.start_byte, node.end_byte
    return table[node.start_byte], table[node.end_byte]


def _text(script: _Script, node: Node) -> str:
    start, end = _bounds(script, node)
    return script.text.content[start:end]


def _read(script: _Script, root: Node) -> None:
    """Read statements in order; what a branch assigns is not known after it."""
    stack: list[tuple[Node, dict[str, list[Word] | None] | None]] = [(root, None)]
    while stack:
        node, before = stack.pop()
        if before is not None:
            _forget_changes(script, before)
            continue
        if node.type == "variable_assignment":
            _assign(script, node)
            _substituted(script, node)
        elif node.type in ("command", "declaration_command"):
            _command(script, node)
        elif node.type == "function_definition":
            stack.append((node, dict(script.variables)))
            stack.extend((child, None) for child in reversed(node.children))
            for name in [n for n, count in script.assigned.items() if count > 1]:
                script.variables[name] = None
        else:
            saved = dict(script.variables)
            if node.type in _BRANCHES:
                stack.append((node, saved))
            if node.type in ("for_statement", "while_statement"):
                _forget_assigned(script, node)
            if node.type == "heredoc_redirect":
                _heredoc(script, node)
            for child in reversed(node.children):
                stack.append((child, None))
                if child.type in ("elif_clause", "else_clause"):
                    stack.append((child, saved))


def _forget_changes(script: _Script, saved: dict[str, list[Word] | None]) -> None:
    for name, words in script.variables.items():
        if name not in saved or saved[name] is not words:
            script.variables[name] = None


def _forget_assigned(script: _Script, node: Node) -> None:
    for child in _all(node):
        if child.type == "variable_assignment" and (name := child.child_by_field_name("name")):
            script.variables[_text(script, name)] = None
    variable = node.child_by_field_name("variable")
    if variable is not None:
        script.variables[_text(script, variable)] = None


def _assign(script: _Script, node: Node) -> None:
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None:
        return
    name = _text(script, target)
    appends = any(child.type == "+=" for child in node.children)
    words = _assigned_words(script, value)
    if appends:
        before = script.variables.get(name)
        words = [*before, *words] if before is not None and words is not None else None
    script.variables[name] = words


def _assigned_words(script: _Script, value: Node | None) -> list[Word] | None:
    """The words that an expansion of the variable gives; None where they are not known."""
    if value is None:
        return None
    if value.type == "array":
        items = [word for child in value.named_children for word in _words(script, child)]
        return [replace(item, elsewhere=True) for item in items]
    characters: list[tuple[str, int]] = []
    if not _characters(script, value, characters, placeholder=_HIDDEN):
        return None
    text = "".join(character for character, _ in characters)
    if text.strip() == _HIDDEN:
        return None
    place = script.text.place(*_bounds(script, value))
    whole = Word(text, place, [offset for _, offset in characters])
    return [replace(_shown(word), elsewhere=True) for word in _split(whole)]


def _shown(word: Word) -> Word:
    """A word of an assigned text, in which what is not known was put as a placeholder."""
    text = word.text or ""
    known, hidden, _ = text.partition(_HIDDEN)
    return Word(None, word.place, start=known, opaque=text == _HIDDEN) if hidden else word


def _split(word: Word) -> Iterator[Word]:
    """The words of an unquoted expansion."""
    text, offsets = word.text or "", word.offsets or ()
    position = 0
    for part in text.split():
        start = text.index(part, position)
        position = start + len(part)
        yield Word(part, Place(offsets[start], offsets[position - 1] + 1), offsets[start:position])


def _command(script: _Script, node: Node) -> None:
    words: list[Word] = []
    for child in node.named_children:
        if child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect", "comment"):
            continue
        if child.type == "variable_assignment":
            if node.type == "declaration_command":
                _assign(script, child)
            continue
        if child.type == "command_name":
            words.extend(w for part in child.named_children for w in _words(script, part))
        else:
            words.extend(_words(script, child))
    if not words:
        return
    words = _with_removals(script, words)
    arguments = [child for child in node.named_children if not child.type.endswith("_redirect")]
    place = script.text.place(*_bounds(script, node))
    statement = (_line(script, place.start), _line(script, place.end - 1))
    end = script.text.place(*_bounds(script, arguments[-1])).end
    configuration = configuration_of(
        words, script.facts, addition=_addition(script, words, end), statement=statement
    )
    script.found.append(Invocation(tuple(words), configuration))
    if configuration is None and script.depth < _MAX_NESTING:
        _nested(script, words)
    _substituted(script, node)


def _substituted(script: _Script, node: Node) -> None:
    """The commands in `$(...)` and `<(...)`."""
    for child in _all(node):
        if child.type in ("command_substitution", "process_substitution"):
            for inner in child.named_children:
                _read(script, inner)


def _nested(script: _Script, words: Sequence[Word]) -> None:
    """A whole command in one word, as `bash -c "python -m sglang.launch_server"`."""
    if launch_at(words) is None and words[0].known_start in ("echo", "printf"):
        return
    for word in words:
        text = word.text
        if text and " " in text and "sglang" in text and word.offsets is not None:
            inner = Slice(text, word.offsets)
            found = read_script(inner, script.facts, script.source, script.depth + 1)
            # A text that merely names an option, as a commit's message, starts nothing.
            script.found.extend(i for i in found if i.configuration and i.configuration.started)


def _heredoc(script: _Script, node: Node) -> None:
    """The lines that a heredoc gives to a shell, or writes into a file that looks like a script."""
    holder = node.parent
    if holder is None or script.depth >= _MAX_NESTING:
        return
    command = _text(script, holder).partition("<<")[0]
    names = command.split()
    runs = bool(names) and names[0].rpartition("/")[2] in _RUNNERS
    head = _text(script, holder).partition("\n")[0]
    if not runs and not any(part.strip("'\"").endswith((".sh", ".bash")) for part in head.split()):
        return
    for child in _all(node):
        if child.type == "heredoc_body":
            inner = script.text.part(*_bounds(script, child))
            script.found.extend(read_script(inner, script.facts, script.source, script.depth + 1))


def _line(script: _Script, offset: int) -> int:
    return bisect_right(script.source.line_starts, offset)


def _with_removals(script: _Script, words: list[Word]) -> list[Word]:
    """Each word with the text without which it is gone: it and the space before it."""
    removable = [words[0]]
    for previous, word in pairwise(words):
        here = not previous.elsewhere and not word.elsewhere
        near = here and previous.place.end <= word.place.start
        gap = script.source.text[previous.place.end : word.place.start]
        # A comment line may stand there in a Dockerfile.
        removal = Place(previous.place.end, word.place.end) if near and "#" not in gap else None
        removable.append(replace(word, removal=removal))
    return removable


def _addition(script: _Script, words: Sequence[Word], end: int) -> Addition:
    """Further options go behind the last word, on a line of their own where the others do."""
    text = script.source.text
    options = [word for word in words if word.known_start.startswith("-") and not word.elsewhere]
    lines = [_line(script, word.place.start) for word in options]
    if len(lines) < 2 or lines[-1] == lines[-2] or lines[-1] == lines[0]:
        return Addition(end, "words", " ")
    start = options[-1].place.start
    line_start = text.rfind("\n", 0, start) + 1
    indent = text[line_start:start]
    before = text[:line_start].rstrip("\r\n")
    if indent.strip():
        return Addition(end, "words", " ")
    newline = "\r\n" if text.endswith("\r\n", 0, line_start) else "\n"
    return Addition(
        end, "words", f"{' ' + chr(92) if before.endswith(chr(92)) else ''}{newline}{indent}"
    )


def _words(script: _Script, node: Node) -> list[Word]:
    """The words that one argument gives; usually one."""
    start, end = _bounds(script, node)
    place = script.text.place(start, end)
    if node.type in ("simple_expansion", "expansion"):
        return _expanded(script, node, place, quoted=False)
    if node.type == "string" and len(node.named_children) == 1:
        inner = node.named_children[0]
        if inner.type in ("simple_expansion", "expansion") and inner.end_byte == node.end_byte - 1:
            return _expanded(script, inner, place, quoted=True)
    characters: list[tuple[str, int]] = []
    known = _characters(script, node, characters)
    text = "".join(character for character, _ in characters)
    if not known:
        return [Word(None, place, start=text)]
    return [Word(text, place, [offset for _, offset in characters])]


def _expanded(script: _Script, node: Node, place: Place, *, quoted: bool) -> list[Word]:
    """The words of a variable; an unknown one may stand for any number of words, unless quoted."""
    source = _text(script, node)
    name = source.strip("${}")
    is_list = name.endswith(("[@]", "[*]"))
    name = name.removesuffix("[@]").removesuffix("[*]")
    words = script.variables.get(name) if name.isidentifier() else None
    if words is None:
        several = is_list or source.strip("${}") in ("@", "*")
        return [Word(None, place, opaque=several)]
    script.used.add(name)
    if quoted and not is_list and len(words) != 1:
        return [_rejoined(words, place)]
    return list(words)


def _rejoined(words: Sequence[Word], place: Place) -> Word:
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


def _characters(
    script: _Script, node: Node, out: list[tuple[str, int]], placeholder: str = ""
) -> bool:
    """Append what the node stands for, character by character; False where it is not known. A
    `placeholder` stands for expansions that are not known."""
    start, end = _bounds(script, node)
    content, offsets = script.text.content, script.text.offsets
    kind = node.type
    if kind == "raw_string":
        out.extend((content[i], offsets[i]) for i in range(start + 1, end - 1))
        return True
    if kind in ("word", "number", "string_content", "variable_name", "extglob_pattern"):
        _unescaped(script, start, end, out, quoted=kind == "string_content")
        return True
    if kind in ("concatenation", "command_name"):
        return all(_characters(script, child, out, placeholder) for child in node.named_children)
    if kind == "string":
        return _string(script, node, out, placeholder)
    if kind in ("simple_expansion", "expansion"):
        words = _expanded(script, node, script.text.place(start, end), quoted=True)
        if len(words) == 1 and words[0].text is not None:
            out.extend(zip(words[0].text, words[0].offsets or (), strict=False))
            return True
    if placeholder and kind in ("simple_expansion", "expansion"):
        out.append((placeholder, script.text.place(start, end).start))
        return True
    return False


def _string(script: _Script, node: Node, out: list[tuple[str, int]], placeholder: str = "") -> bool:
    """A double-quoted string: the text between its named children belongs to it as well."""
    start, end = _bounds(script, node)
    position = start + 1
    for child in node.named_children:
        first, last = _bounds(script, child)
        _unescaped(script, position, first, out, quoted=True)
        if not _characters(script, child, out, placeholder):
            return False
        position = last
    _unescaped(script, position, end - 1, out, quoted=True)
    return True


def _unescaped(
    script: _Script, start: int, end: int, out: list[tuple[str, int]], *, quoted: bool
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


def _unused_lists(script: _Script) -> Iterator[Invocation]:
    """Lists of arguments that name the pool's flag and that no command here takes."""
    for name, words in script.variables.items():
        if words and name not in script.used and names_the_pool(words):
            configuration = configuration_of(words, script.facts)
            if configuration is not None:
                yield Invocation(tuple(words), configuration)
