"""Commands in a program: lists of words, shell text, and the processes started with them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from kvlint.launch.arguments import (
    Addition,
    LaunchConfiguration,
    Word,
)
from kvlint.launch.commands import Slice, configuration_of, launch_at, names_the_pool, with_style
from kvlint.launch.facts import NOOP_FLAG
from kvlint.launch.python_text import (
    dict_addition,
    formatted_slice,
    list_addition,
    literal_slice,
    place_of,
)
from kvlint.launch.python_values import (
    Address,
    Config,
    DictOf,
    Element,
    Evaluated,
    Known,
    ListOf,
    Member,
    OneOf,
    Server,
    Symbol,
    Text,
)
from kvlint.launch.requests import DEFAULT_PORT
from kvlint.launch.shell import read_script
from kvlint.launch.shell_words import Invocation
from kvlint.launch.structured import gap_removal
from kvlint.source.text import SourceFile

if TYPE_CHECKING:
    from kvlint.launch.python_program import Program


class Commands:
    """Reads the commands of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def shell_words(self, owner: Known | Text) -> list[Word] | None:
        text = self.slice_of(owner.node)
        if text is None or "-" not in text.content:
            return None
        lead = Slice("_ " + text.content, [*([text.offsets[0]] * 2), *text.offsets])
        found = read_script(lead, self.program.facts, self.program.source)
        return list(found[0].words[1:]) if len(found) == 1 else None

    def slice_of(self, node: ast.expr) -> Slice | None:
        """The characters of a string expression, where they can be told."""
        source = self.program.source
        match node:
            case ast.Constant():
                return literal_slice(source, node)
            case ast.JoinedStr():
                return formatted_slice(source, node, self.known_text)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self.slice_of(left), self.slice_of(right)]
                whole = [
                    part or _blank(self.known_text(n), source, n)
                    for part, n in zip(parts, (left, right), strict=True)
                ]
                return Slice(
                    "".join(part.content for part in whole),
                    [offset for part in whole for offset in part.offsets],
                )
            case ast.Name():
                held = self.program.evaluate(node)
                if isinstance(held, Known | Text) and not isinstance(held.node, ast.Name):
                    return self.slice_of(held.node)
        return None

    def known_text(self, node: ast.expr) -> str | None:
        held = self.program.evaluate(node)
        return str(held.value) if isinstance(held, Known) else None

    def argv_addition(self, value: ListOf, words: list[Word]) -> Addition | None:
        if value.node is None:
            return None
        addition = list_addition(self.program.source, value.node)
        return with_style(addition, words) if addition is not None else None

    def words(self, value: ListOf) -> list[Word]:
        if value.words is not None:
            return value.words
        words: list[Word] = []
        source = self.program.source
        display = value.node.elts if value.node is not None else []
        for element in value.items:
            word = self.word(element)
            if words and element.node in display:
                index = display.index(element.node)
                before = place_of(source, display[index - 1]) if index else word.place
                removal = gap_removal(source.text, before, word.place, index)
                word = replace(word, removal=removal)
            words.append(word)
        return words

    def word(self, element: Element) -> Word:
        place = place_of(self.program.source, element.node)
        match element.value:
            case Known(value=str() | int() | float() as held):
                literal = literal_slice(self.program.source, element.node)
                offsets = literal.offsets if literal is not None else None
                return Word(str(held), place, offsets)
            case Text(parts=(str(head), *_)):
                return Word(None, place, start=head)
            case OneOf(choice=choice):
                return Word(None, place, choice=choice)
        return Word(None, place, opaque=element.expanded)

    def started(self, configuration: LaunchConfiguration, address: Address | None) -> Evaluated:
        if not self.program.guarded:
            self.program.launches.append(configuration)
        server = Server(configuration, address)
        self.program.servers.append(server)
        return server

    def process(self, node: ast.Call, positional: list[Element], keywords: DictOf) -> Evaluated:
        """`subprocess.Popen` and its like, with a list or with shell text."""
        entry = keywords.entries.get("args") or keywords.entries.get("cmd")
        value = positional[0].value if positional else (entry.value if entry else None)
        if isinstance(value, ListOf):
            server = self.command(value)
            if server is not None:
                return server
        elif isinstance(value, Known | Text) and "sglang" in str(
            value.value if isinstance(value, Known) else value.parts
        ):
            return self.shell(node, value)
        elif isinstance(value, Known | Text):
            text = self.slice_of(value.node)
            if text is not None and "sglang" in text.content:
                return self.shell(node, value)
        self.passed(node, positional, keywords)
        return Symbol(f"call:{id(node)}")

    def shell(self, node: ast.Call, value: Known | Text) -> Evaluated:
        text = self.slice_of(value.node)
        found: Evaluated = Symbol(f"call:{id(node)}")
        if text is None:
            return found
        for invocation in read_script(text, self.program.facts, self.program.source):
            server = self.invoked(invocation)
            found = server if server is not None else found
        return found

    def invoked(self, invocation: Invocation) -> Evaluated | None:
        configuration = invocation.configuration
        if configuration is None:
            return None
        configuration = replace(configuration, plugin_backends=self.program.plugins)
        return self.started(configuration, _address(configuration))

    def command(self, value: ListOf) -> Evaluated | None:
        """A list that is a whole command."""
        words = self.words(value)
        if launch_at(words) is None:
            return self.nested(words)
        configuration = configuration_of(
            words, self.program.facts, addition=self.argv_addition(value, words)
        )
        if configuration is None:
            return None
        value.taken = True
        configuration = replace(configuration, plugin_backends=self.program.plugins)
        return self.started(configuration, self.list_address(value, configuration))

    def nested(self, words: list[Word]) -> Evaluated | None:
        """`["bash", "-c", "python -m sglang.launch_server"]`."""
        server = None
        for word in words:
            if word.text and "sglang" in word.text and " " in word.text and word.offsets:
                text = Slice(word.text, word.offsets)
                for invocation in read_script(text, self.program.facts, self.program.source):
                    server = self.invoked(invocation) or server
        return server

    def list_address(self, value: ListOf, configuration: LaunchConfiguration) -> Address | None:
        """The address of a command's server: its `--port`, known or a name."""
        for option, following in zip(value.items, value.items[1:], strict=False):
            if isinstance(option.value, Known) and option.value.value == "--port":
                match following.value:
                    case Known(value=port):
                        return ("port", int(str(port))) if str(port).isdigit() else None
                    case Symbol(name=name) | Text(parts=(Symbol(name=name),)):
                        return "port", name
                return None
        return _address(configuration)

    def passed(self, node: ast.Call, positional: list[Element], keywords: DictOf) -> None:
        """Whole commands that are given to a function that is not known."""
        given = [(element.value, element.node) for element in positional]
        given.extend((entry.value, entry.value_node) for entry in keywords.entries.values())
        for value, stated in given:
            if isinstance(value, Member) and isinstance(value.owner, Config):
                self.program.calls.decode(value.owner, value.path, stated)
            if not isinstance(value, ListOf) or value.taken:
                continue
            if launch_at(self.words(value)) is not None:
                self.command(value)

    def leftovers(self, meant: bool) -> Iterator[LaunchConfiguration]:
        """Lists and dictionaries that say of themselves that they are SGLang's: whole commands and,
        where they are `meant` to be right, what names the no-op pool's flag."""
        program = self.program
        for held in program.lists.values():
            if held.taken:
                continue
            words = self.words(held)
            if launch_at(words) is None and not (meant and names_the_pool(words)):
                continue
            addition = self.argv_addition(held, words)
            found = configuration_of(words, program.facts, addition=addition)
            if found is not None:
                yield replace(found, plugin_backends=program.plugins)
        for entries in program.dicts.values():
            if meant and not entries.taken and NOOP_FLAG in entries.entries:
                node = entries.node
                addition = (
                    dict_addition(program.source, node) if isinstance(node, ast.Dict) else None
                )
                yield LaunchConfiguration(
                    program.calls.options(entries), False, started=False, addition=addition
                )


def _blank(text: str | None, source: SourceFile, node: ast.expr) -> Slice:
    """A part of a string expression that stands elsewhere, in the place of its name."""
    content = text if text is not None and len(text) > 1 else "$_"
    place = place_of(source, node)
    return Slice(content, [place.start] * (len(content) - 1) + [place.end - 1])


def _address(configuration: LaunchConfiguration) -> Address | None:
    port = configuration.arguments.get("port")
    if port is None:
        return ("port", DEFAULT_PORT) if configuration.complete else None
    return ("port", int(str(port.value))) if str(port.value).isdigit() else None
