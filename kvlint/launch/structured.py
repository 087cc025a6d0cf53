"""Servers that YAML, JSON and TOML files start: Kubernetes, Compose, workflows, launch files, and
SGLang's own `--config` files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from kvlint.launch.arguments import (
    UNKNOWN,
    Addition,
    Argument,
    LaunchConfiguration,
    Place,
    Value,
    Word,
    typed_setting,
)
from kvlint.launch.commands import NOOP_OPTION, Slice, configuration_of, launch_at
from kvlint.launch.facts import NOOP_FLAG, LaunchFacts
from kvlint.launch.shell import read_script
from kvlint.launch.shell_words import Invocation
from kvlint.source.documents import Fields, Items, Scalar, Tree, moved
from kvlint.source.text import SourceFile
from kvlint.source.yaml_files import UnreadableDocument, read_yaml_text

_PROSE = frozenset(
    {
        "comment",
        "description",
        "doc",
        "docs",
        "documentation",
        "example",
        "examples",
        "help",
        "message",
        "name",
        "note",
        "notes",
        "summary",
        "title",
        "usage",
    }
)
_SCRIPT_KEYS = frozenset(
    {"after_script", "args", "bash", "before_script", "cmd", "command", "run", "script", "shell"}
)
_COMMAND_KEYS = ("command", "cmd", "program", "runtimeExecutable", "image_command")
_ARGUMENT_KEYS = ("args", "arguments", "runtimeArgs", "argv")


@dataclass
class _Reading:
    source: SourceFile
    facts: LaunchFacts
    found: list[Invocation] = field(default_factory=list)
    done: set[int] = field(default_factory=set)


def read_documents(
    documents: Sequence[Tree], facts: LaunchFacts, source: SourceFile, *, config: bool = False
) -> list[Invocation]:
    """What the documents of one file start; `config`: it may be a file for SGLang's `--config`."""
    reading = _Reading(source, facts)
    for document in documents:
        if isinstance(document, Fields):
            settings = _settings(reading, document, root=config)
            if settings is not None:
                reading.found.append(Invocation((), settings))
                continue
        _visit(reading, document)
    return reading.found


def _visit(reading: _Reading, tree: Tree, script: bool = False) -> None:
    if id(tree) in reading.done:
        return
    if isinstance(tree, Scalar):
        _shell(reading, tree, script)
    elif isinstance(tree, Items):
        if not _argument_list(reading, [tree], tree):
            for item in tree.items:
                _visit(reading, item, script)
    else:
        _container(reading, tree)
        settings = _settings(reading, tree, root=False)
        if settings is not None:
            reading.found.append(Invocation((), settings))
        for key, value in tree.entries:
            if key.text.endswith((".yaml", ".yml")) and isinstance(value, Scalar):
                _embedded_file(reading, value)
            elif key.text.lower() not in _PROSE and not key.text.startswith("$"):
                _visit(reading, value, key.text.lower() in _SCRIPT_KEYS)


def _embedded_file(reading: _Reading, scalar: Scalar) -> None:
    """A YAML file inside of a scalar, as a ConfigMap holds them."""
    if scalar.offsets is None or not any(name in scalar.text for name in ("attention", "disable")):
        return
    try:
        documents = read_yaml_text(scalar.text)
    except UnreadableDocument:
        return
    trees = [moved(document, scalar.offsets) for document in documents]
    reading.found.extend(read_documents(trees, reading.facts, reading.source, config=True))


def _shell(reading: _Reading, scalar: Scalar, script: bool) -> None:
    """A scalar that holds a command or a whole `script`, or options by themselves."""
    text = scalar.text
    if " " not in text:
        return
    if NOOP_OPTION in text and text.lstrip().startswith("--"):
        _add(reading, _split_words(reading, scalar), None)
    elif "sglang" in text or (script and NOOP_OPTION in text):
        found = _script(reading, scalar)
        reading.found.extend(
            i for i in found if script or (i.configuration and i.configuration.started)
        )


def _script(reading: _Reading, scalar: Scalar) -> list[Invocation]:
    """The commands in a scalar; without edits where its characters' places are not known."""
    if scalar.offsets is not None:
        return read_script(Slice(scalar.text, scalar.offsets), reading.facts, reading.source)
    blurred = Slice(scalar.text, [scalar.place.start] * len(scalar.text))
    found = read_script(blurred, reading.facts, reading.source)
    return [_without_edits(invocation, scalar.place) for invocation in found]


def _without_edits(invocation: Invocation, place: Place) -> Invocation:
    configuration = invocation.configuration
    if configuration is None:
        return invocation
    arguments = {
        name: replace(argument, place=place, value_place=None, removal=None)
        for name, argument in configuration.arguments.items()
    }
    return Invocation(invocation.words, replace(configuration, arguments=arguments, addition=None))


def _container(reading: _Reading, fields: Fields) -> None:
    """A mapping that says what is run by `entrypoint`, `command`, `module` and `args`."""
    parts = [fields.get("entrypoint"), fields.get(*_COMMAND_KEYS), fields.get(*_ARGUMENT_KEYS)]
    present = [part for part in parts if part is not None]
    module = fields.get("module")
    if isinstance(module, Scalar) and isinstance(parts[2], Items):
        words = [Word("-m", module.place), module.word(), *_item_words(reading.source, parts[2])]
        if _add(reading, words, parts[2]):
            reading.done.add(id(parts[2]))
        return
    lists = [part for part in present if isinstance(part, Items)]
    if lists and _argument_list(reading, present, lists[-1]):
        reading.done.update(id(part) for part in present)
    elif present and all(isinstance(part, Scalar) for part in present):
        joined = [word for part in present for word in _split_words(reading, part)]
        alone = len(present) == 1 and launch_at(joined) is not None
        if not alone and _add(reading, joined, None):
            reading.done.update(id(part) for part in present)


def _argument_list(reading: _Reading, parts: Sequence[Tree], last: Items) -> bool:
    """Read lists of words as one command; False where they are none of SGLang's."""
    words: list[Word] = []
    for part in parts:
        if isinstance(part, Scalar):
            words.extend(_split_words(reading, part))
        elif isinstance(part, Items) and all(isinstance(item, Scalar) for item in part.items):
            words.extend(_item_words(reading.source, part))
        else:
            return False
    return _add(reading, words, last)


def _add(reading: _Reading, words: list[Word], last: Items | None) -> bool:
    if not words:
        return False
    addition = _addition(reading.source, last) if last else _word_addition(words[-1])
    configuration = configuration_of(words, reading.facts, addition=addition)
    if configuration is not None:
        reading.found.append(Invocation(tuple(words), configuration))
    return configuration is not None


def _word_addition(last: Word) -> Addition | None:
    return Addition(last.place.end, "words", " ") if last.offsets else None


def _split_words(reading: _Reading, tree: Tree) -> list[Word]:
    """The words of a scalar that is a command line."""
    if not isinstance(tree, Scalar):
        return []
    if tree.offsets is None:
        return [Word(None, tree.place, opaque=True)]
    if not any(character.isspace() for character in tree.text):
        return [tree.word()]
    dummy = Slice("_ ", [tree.offsets[0]] * 2)
    text = Slice(dummy.content + tree.text, [*dummy.offsets, *tree.offsets])
    found = read_script(text, reading.facts, reading.source)
    return list(found[0].words[1:]) if len(found) == 1 else []


def _item_words(source: SourceFile, items: Items) -> list[Word]:
    """Each item as a word, with the text without which it is gone."""
    words: list[Word] = []
    scalars = [item for item in items.items if isinstance(item, Scalar)]
    for index, scalar in enumerate(scalars):
        if items.block:
            removal = _block_removal(source.text, scalar)
        else:
            removal = gap_removal(source.text, scalars[index - 1].place, scalar.place, index)
        words.append(replace(scalar.word(), removal=removal))
    return words


def _block_removal(text: str, scalar: Scalar) -> Place | None:
    """A whole line with its dash; a comment on it stays."""
    start = text.rfind("\n", 0, scalar.place.start) + 1
    lead = text[start : scalar.place.start]
    end = _line_end(text, scalar.place.end)
    rest = text[scalar.place.end : end]
    if lead.strip() != "-":
        return None
    if rest.strip():
        return Place(start + lead.index("-"), end - len(rest.lstrip()))
    following = text.find("\n", end)
    return Place(start, following + 1) if following >= 0 else None


def gap_removal(text: str, before: Place, item: Place, index: int) -> Place | None:
    """An item with what parts it from the one before; None where a comment stands between."""
    gap = text[before.end : item.start]
    if not index or item.start < before.end or "#" in gap or "//" in gap:
        return None
    return Place(before.end, item.end)


def _addition(source: SourceFile, items: Items) -> Addition | None:
    """Further items go behind the last one, each on a line of its own where the others are."""
    scalars = [item for item in items.items if isinstance(item, Scalar)]
    if not scalars:
        return None
    last, text = scalars[-1], source.text
    line_start = text.rfind("\n", 0, last.place.start) + 1
    lead = text[line_start : last.place.start]
    newline = "\r\n" if "\r\n" in text else "\n"
    quote = last.quote if last.quote in ("'", '"') else ""
    if items.block:
        if lead.strip() != "-":
            return None
        return Addition(
            last.place.end, "words", newline + lead, separator=newline + lead, quote=quote
        )
    mark = ", " if lead.strip() else f",{newline}{lead}"
    return Addition(last.place.end, "words", mark, separator=mark, quote=quote)


def _settings(reading: _Reading, fields: Fields, *, root: bool) -> LaunchConfiguration | None:
    """A mapping of SGLang's own options: one that names the no-op pool's flag, or a whole
    `--config` file, in which every key is an option."""
    names = {key.text: key.text.replace("-", "_") for key, _ in fields.entries}
    options = {"--" + name.replace("_", "-") for name in names.values()}
    known = reading.facts.options
    whole_file = root and "model_path" in names.values()
    whole_file = whole_file and options <= known.keys() | {"--config"}
    if NOOP_FLAG not in names.values() and not whole_file:
        return None
    arguments = {
        field_name: argument
        for key, value in fields.entries
        for field_name, argument in _setting(reading, key, value)
    }
    return LaunchConfiguration(
        arguments,
        complete=whole_file,
        started=whole_file,
        overridable=True,
        addition=_entry_addition(reading.source, fields),
    )


def _setting(reading: _Reading, key: Scalar, value: Tree) -> Iterator[tuple[str, Argument]]:
    name = "--" + key.text.replace("_", "-")
    known = reading.facts.options.get(name)
    field_name = known[0] if known else key.text.replace("-", "_")
    place = Place(key.place.start, value.place.end)
    if not isinstance(value, Scalar):
        yield field_name, Argument(field_name, UNKNOWN, place)
        return
    inside = value.place
    if value.quote in ("'", '"'):
        inside = Place(inside.start + 1, inside.end - 1)
    given: Value = value.value
    if isinstance(given, str):
        template = value.word().text is None
        given = UNKNOWN if template else _setting_value(field_name, given)
    yield (
        field_name,
        Argument(field_name, given, place, inside if value.offsets else None, "yaml", None, False),
    )


def _setting_value(field_name: str, text: str) -> Value:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return typed_setting(field_name, text)


def _entry_addition(source: SourceFile, fields: Fields) -> Addition | None:
    """Further entries go behind the last one, spelled and placed as it is."""
    key, value = fields.entries[-1]
    text = source.text
    line_start = text.rfind("\n", 0, key.place.start) + 1
    lead = text[line_start : key.place.start]
    newline = "\r\n" if "\r\n" in text else "\n"
    raw_key = text[key.place.start : key.place.end]
    quote = raw_key[0] if raw_key[:1] in ("'", '"') else ""
    between = text[key.place.end : value.place.start]
    dashes = not any("_" in name.text for name, _ in fields.entries)
    if not isinstance(value, Scalar) or value.quote in ("|", ">") or not between.strip():
        return None
    separator = between if "\n" not in between else ": "
    if lead.strip():
        prefix = ", " if not fields.block else None
    else:
        prefix = newline + lead if fields.block else f",{newline}{lead}"
    if prefix is None:
        return None
    at = value.place.end
    if fields.block:
        at = _line_end(text, at)
    return Addition(at, "yaml", prefix, separator=separator, quote=quote, dashes=dashes)


def _line_end(text: str, at: int) -> int:
    """The end of a line, behind a comment on it."""
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end
