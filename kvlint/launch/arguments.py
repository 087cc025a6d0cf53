"""Server arguments as a file states them: a `LaunchConfiguration`, whatever language it is in.

Places are character offsets into `SourceFile.text`; edits become bytes in `judge`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final, Literal

from kvlint.launch.facts import LaunchFacts


class Unknown(Enum):
    """The value that the text does not show."""

    VALUE = "unknown"


UNKNOWN: Final = Unknown.VALUE
Value = str | int | float | bool | None | Unknown
Spelling = Literal["word", "python", "yaml"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Values of which the text shows that it is one of them or, with `each`, that every one is used
    in its turn. The choice of one `origin` is the same wherever it stands."""

    values: tuple[Value, ...]
    origin: int
    each: bool = False


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Characters `start` to `end` (exclusive) of a file's text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Argument:
    """One option with its value. `place` is the option and its value together, `value_place` the
    text that another value would replace, `removal` the text without which it would be gone."""

    field: str
    value: Value
    place: Place
    value_place: Place | None = None
    spelling: Spelling = "word"
    removal: Place | None = None
    quoted: bool = False
    """`value_place` is the inside of a string literal."""
    choice: Choice | None = None
    """What the value can be, where it is not one alone."""


@dataclass(frozen=True, slots=True)
class Addition:
    """Where and how further options are written: each is `prefix` + option + `suffix`, where
    option and value are kept apart by `separator` and each is put in `quote`s."""

    at: int
    form: Literal["words", "joined", "keyword", "entry", "yaml"]
    prefix: str
    suffix: str = ""
    separator: str = " "
    quote: str = ""
    dashes: bool = True
    """YAML keys: `chunked-prefill-size` and not `chunked_prefill_size`."""
    comma_at: int | None = None
    """Where a comma is missing behind what is the last item now."""


@dataclass(frozen=True, slots=True)
class LaunchConfiguration:
    """The arguments that one server, engine or `ServerArgs` is given, by field.

    `complete`: every argument is visible, so that a missing one has its default.
    `started`: the text starts a server, and not something that may only share the names.
    `may_be_diffusion`: `sglang serve` also serves diffusion models, which have other backends.
    `statement`: first and last line of the statement it stands in, (0, 0) for each place's own.
    """

    arguments: Mapping[str, Argument]
    complete: bool
    started: bool = True
    may_be_diffusion: bool = False
    overridable: bool = False
    """A settings file: the command line may add to it."""
    addition: Addition | None = None
    statement: tuple[int, int] = (0, 0)
    plugin_backends: frozenset[str] = frozenset()

    def value(self, name: str) -> Value:
        """The value given; None where it is absent. See `given`."""
        argument = self.arguments.get(name)
        return argument.value if argument else None

    def given(self, name: str) -> bool:
        return name in self.arguments


@dataclass(frozen=True, slots=True)
class Word:
    """One element of an argument list. `text` is None where it is not known; `start` is then what
    is known of its beginning. `opaque`: it may stand for any number of words.

    `place` is all of it in the file, `offsets` where each character of `text` stands there, None
    where that is not known. `elsewhere`: it stands at a variable's assignment."""

    text: str | None
    place: Place
    offsets: Sequence[int] | None = None
    start: str = ""
    opaque: bool = False
    removal: Place | None = None
    elsewhere: bool = False
    choice: Choice | None = None

    @property
    def known_start(self) -> str:
        return self.text if self.text is not None else self.start

    def part(self, start: int) -> Place | None:
        """Where the text from `start` on stands, quotes left out."""
        if self.offsets is None or self.text is None or start >= len(self.text):
            return None
        return Place(self.offsets[start], self.offsets[len(self.text) - 1] + 1)


@dataclass
class _Argv:
    arguments: dict[str, Argument] = field(default_factory=dict)
    complete: bool = True


def read_argv(words: Sequence[Word], facts: LaunchFacts) -> tuple[dict[str, Argument], bool]:
    """The arguments that SGLang's parser would take from these words, the last of each kind, and
    whether all are visible."""
    argv = _Argv()
    position = 0
    while position < len(words):
        position = _read_option(words, position, facts, argv)
    return argv.arguments, argv.complete


def _read_option(words: Sequence[Word], position: int, facts: LaunchFacts, argv: _Argv) -> int:
    word = words[position]
    name, equals, _ = word.known_start.partition("=")
    if not name.startswith("--"):
        # A word that is not known may be an option, or several.
        argv.complete = argv.complete and word.text is not None
        return position + 1
    if word.text is None and not equals:
        argv.complete = False
        return position + 1
    option = facts.option(name)
    if name == "--config":
        argv.complete = False
    if option is None:
        return position + 1
    field_name, kind = option
    if kind in ("flag", "switch"):
        value = UNKNOWN if equals else not name.startswith("--no-")
        argv.arguments[field_name] = Argument(field_name, value, word.place, removal=word.removal)
        return position + 1
    if equals:
        argv.arguments[field_name] = _joined(field_name, word, len(name) + 1)
        return position + 1
    follower = words[position + 1] if position + 1 < len(words) else None
    if follower is None or follower.known_start.startswith("--"):
        argv.arguments[field_name] = Argument(field_name, UNKNOWN, word.place)
        return position + 1
    place = word.place
    if follower.elsewhere == word.elsewhere and follower.place.start >= place.start:
        place = Place(place.start, follower.place.end)
    argv.arguments[field_name] = Argument(
        field_name,
        _typed(field_name, follower.text),
        place,
        follower.part(0),
        removal=_joint_removal(word, follower),
        choice=_typed_choice(field_name, follower.choice),
    )
    if follower.opaque:
        argv.complete = False
    return position + 2


def _joined(field_name: str, word: Word, start: int) -> Argument:
    value = UNKNOWN if word.text is None else _typed(field_name, word.text[start:])
    return Argument(field_name, value, word.place, word.part(start), removal=word.removal)


def _joint_removal(option: Word, value: Word) -> Place | None:
    if option.removal is None or value.removal is None:
        return None
    return Place(option.removal.start, value.removal.end)


def _typed(field_name: str, text: str | None) -> Value:
    if text is None:
        return UNKNOWN
    if field_name.endswith("_size"):
        try:
            return int(text)
        except ValueError:
            return UNKNOWN
    return text


def _typed_choice(field_name: str, choice: Choice | None) -> Choice | None:
    if choice is None:
        return None
    values = tuple(_typed(field_name, str(value)) for value in choice.values)
    return replace(choice, values=values)


def typed_setting(field_name: str, text: str) -> Value:
    """The value of a word that sets a field, as `-1` for `chunked_prefill_size`."""
    return _typed(field_name, text)


def option_words(addition: Addition, field_name: str, value: Value) -> str:
    """The text that sets a field to a value, in the manner of the place it is added to."""
    quote = addition.quote
    name = "--" + field_name.replace("_", "-")
    match addition.form:
        case "keyword":
            return f"{field_name}={python_literal(value, quote or chr(34))}"
        case "entry":
            mark = quote or '"'
            return f"{mark}{field_name}{mark}{addition.separator}{python_literal(value, mark)}"
        case "yaml":
            key = name[2:] if addition.dashes else field_name
            return f"{quote}{key}{quote}{addition.separator}{plain_text(value)}"
    if value is True:
        return f"{quote}{name}{quote}"
    if addition.form == "joined":
        return f"{quote}{name}={plain_text(value)}{quote}"
    return f"{quote}{name}{quote}{addition.separator}{quote}{plain_text(value)}{quote}"


def python_literal(value: Value, quote: str) -> str:
    return f"{quote}{value}{quote}" if isinstance(value, str) else repr(value)


def plain_text(value: Value) -> str:
    """A value as YAML, JSON, TOML and the command line write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_in(words: Sequence[Word]) -> Iterator[str]:
    """The option names among words, values left out."""
    for word in words:
        if word.known_start.startswith("--"):
            yield word.known_start.partition("=")[0]
