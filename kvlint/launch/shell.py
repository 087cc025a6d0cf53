"""Launch commands in shell text: scripts, and the scripts that other files hold.

Read with tree-sitter's Bash grammar, which keeps positions and survives what it cannot parse.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from kvlint.launch.arguments import Addition, Place, Word
from kvlint.launch.commands import Slice, configuration_of, launch_at, names_the_pool
from kvlint.launch.facts import LaunchFacts
from kvlint.launch.shell_words import (
    HIDDEN,
    Invocation,
    Script,
    all_nodes,
    bounds,
    byte_table,
    characters_of,
    shown,
    split_words,
    text_of,
    words_of,
)
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
_MAX_NESTING = 3
_RUNNERS = frozenset({"bash", "sh", "ssh", "zsh", "dash", "sudo", "docker", "kubectl", "srun"})


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
    table = None if len(data) == len(text.content) else byte_table(text.content)
    root = _parser().parse(data).root_node
    script = Script(text, facts, source, depth, table)
    for node in all_nodes(root):
        if node.type == "variable_assignment" and (name := node.child_by_field_name("name")):
            script.assigned[text_of(script, name)] += 1
    _read(script, root)
    script.found.extend(_unused_lists(script))
    return script.found


def _as_variable(match: re.Match[str]) -> str:
    """`${{ matrix.backend }}` is replaced before the shell runs: an unknown of the same length."""
    return "$" + "_" * (len(match.group()) - 1)


def _read(script: Script, root: Node) -> None:
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


def _forget_changes(script: Script, saved: dict[str, list[Word] | None]) -> None:
    for name, words in script.variables.items():
        if name not in saved or saved[name] is not words:
            script.variables[name] = None


def _forget_assigned(script: Script, node: Node) -> None:
    for child in all_nodes(node):
        if child.type == "variable_assignment" and (name := child.child_by_field_name("name")):
            script.variables[text_of(script, name)] = None
    variable = node.child_by_field_name("variable")
    if variable is not None:
        script.variables[text_of(script, variable)] = None


def _assign(script: Script, node: Node) -> None:
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None:
        return
    name = text_of(script, target)
    appends = any(child.type == "+=" for child in node.children)
    words = _assigned_words(script, value)
    if appends:
        before = script.variables.get(name)
        words = [*before, *words] if before is not None and words is not None else None
    if words is not None and sum(len(word.text or "") + 1 for word in words) > MOST_TEXT:
        words = None
    script.variables[name] = words


MOST_TEXT = 1 << 16
"""A variable longer than this is no command line: `A="$A$A"` forty times is a bomb."""


def _assigned_words(script: Script, value: Node | None) -> list[Word] | None:
    """The words that an expansion of the variable gives; None where they are not known."""
    if value is None:
        return None
    if value.type == "array":
        items = [word for child in value.named_children for word in words_of(script, child)]
        return [replace(item, elsewhere=True) for item in items]
    characters: list[tuple[str, int]] = []
    if not characters_of(script, value, characters, placeholder=HIDDEN):
        return None
    text = "".join(character for character, _ in characters)
    if text.strip() == HIDDEN:
        return None
    place = script.text.place(*bounds(script, value))
    whole = Word(text, place, [offset for _, offset in characters])
    return [replace(shown(word), elsewhere=True) for word in split_words(whole)]


def _command(script: Script, node: Node) -> None:
    words: list[Word] = []
    for child in node.named_children:
        if child.type in ("file_redirect", "heredoc_redirect", "herestring_redirect", "comment"):
            continue
        if child.type == "variable_assignment":
            if node.type == "declaration_command":
                _assign(script, child)
            continue
        if child.type == "command_name":
            words.extend(w for part in child.named_children for w in words_of(script, part))
        else:
            words.extend(words_of(script, child))
    if not words:
        return
    words = _with_removals(script, words)
    arguments = [child for child in node.named_children if not child.type.endswith("_redirect")]
    place = script.text.place(*bounds(script, node))
    statement = (_line(script, place.start), _line(script, place.end - 1))
    end = script.text.place(*bounds(script, arguments[-1])).end
    configuration = configuration_of(
        words, script.facts, addition=_addition(script, words, end), statement=statement
    )
    script.found.append(Invocation(tuple(words), configuration))
    if configuration is None and script.depth < _MAX_NESTING:
        _nested(script, words)
    _substituted(script, node)


def _substituted(script: Script, node: Node) -> None:
    """The commands in `$(...)` and `<(...)`. Reading one reads those in it: each is read once."""
    pending = list(reversed(node.children))
    while pending:
        child = pending.pop()
        if child.type in ("command_substitution", "process_substitution"):
            for inner in child.named_children:
                _read(script, inner)
        else:
            pending.extend(reversed(child.children))


def _nested(script: Script, words: Sequence[Word]) -> None:
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


def _heredoc(script: Script, node: Node) -> None:
    """The lines that a heredoc gives to a shell, or writes into a file that looks like a script."""
    holder = node.parent
    if holder is None or script.depth >= _MAX_NESTING:
        return
    command = text_of(script, holder).partition("<<")[0]
    names = command.split()
    runs = bool(names) and names[0].rpartition("/")[2] in _RUNNERS
    head = text_of(script, holder).partition("\n")[0]
    if not runs and not any(part.strip("'\"").endswith((".sh", ".bash")) for part in head.split()):
        return
    for child in all_nodes(node):
        if child.type == "heredoc_body":
            inner = script.text.part(*bounds(script, child))
            script.found.extend(read_script(inner, script.facts, script.source, script.depth + 1))


def _line(script: Script, offset: int) -> int:
    return bisect_right(script.source.line_starts, offset)


def _with_removals(script: Script, words: list[Word]) -> list[Word]:
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


def _addition(script: Script, words: Sequence[Word], end: int) -> Addition:
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


def _unused_lists(script: Script) -> Iterator[Invocation]:
    """Lists of arguments that name the pool's flag and that no command here takes."""
    for name, words in script.variables.items():
        if words and name not in script.used and names_the_pool(words):
            configuration = configuration_of(words, script.facts)
            if configuration is not None:
                yield Invocation(tuple(words), configuration)
