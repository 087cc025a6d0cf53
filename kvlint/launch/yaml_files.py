"""YAML files as trees with places, read by ruamel.yaml."""

from __future__ import annotations

from typing import Any

from kvlint.launch.arguments import Place
from kvlint.launch.documents import Fields, Items, Scalar, Tree, aligned_offsets, unescaped_offsets
from kvlint.source.text import SourceFile

_MAX_DEPTH = 100


class UnreadableDocument(ValueError):
    """A file that its format's parser refuses, at `line` where that is known."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


def read_yaml(source: SourceFile) -> list[Tree]:
    """The documents of a YAML file. Raises UnreadableDocument."""
    return read_yaml_text(source.text)


def read_yaml_text(text: str) -> list[Tree]:
    """The documents of a YAML text, with places in it. Raises UnreadableDocument."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        nodes = list(YAML(typ="safe", pure=True).compose_all(text))
    except MarkedYAMLError as error:
        mark = error.problem_mark
        message = f"is not valid YAML: {error.problem}"
        raise UnreadableDocument(message, mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise UnreadableDocument("is nested too deeply to be read") from error
    except (YAMLError, ValueError) as error:
        raise UnreadableDocument(f"is not valid YAML: {error}") from error
    reading = _Reading(text)
    return [reading.tree(node, 0) for node in nodes if node is not None]


MOST_REPEATED = 2_000
"""An alias stands for all that its anchor holds: aliases of aliases may stand for billions."""


class _Reading:
    """One text, and the nodes of it that have been read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._read: set[int] = set()
        self._repeated = 0

    def tree(self, node: Any, depth: int) -> Tree:
        from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode

        place = Place(node.start_mark.index, node.end_mark.index)
        block = not node.flow_style if not isinstance(node, ScalarNode) else False
        self._repeated += id(node) in self._read
        self._read.add(id(node))
        if depth > _MAX_DEPTH or self._repeated > MOST_REPEATED:
            return Scalar("", place, None)
        if isinstance(node, SequenceNode):
            return Items(tuple(self.tree(item, depth + 1) for item in node.value), place, block)
        if isinstance(node, MappingNode):
            entries = tuple(
                (_scalar(self._text, key), self.tree(value, depth + 1))
                for key, value in node.value
                if isinstance(key, ScalarNode)
            )
            return Fields(entries, place, block)
        return _scalar(self._text, node)


def _scalar(text: str, node: Any) -> Scalar:
    start, end = node.start_mark.index, node.end_mark.index
    value, style = str(node.value), node.style
    place = Place(start, end)
    if style in ("'", '"'):
        raw = text[start + 1 : end - 1]
        if style == '"' and "\\" in raw:
            offsets = unescaped_offsets(raw, start + 1, len(value))
        else:
            offsets = aligned_offsets(raw, start + 1, value)
        return Scalar(value, place, offsets, style)
    if style in ("|", ">"):
        first = text.find("\n", start) + 1
        return Scalar(value, place, aligned_offsets(text[first:end], first, value), style)
    stripped = text[start:end].rstrip()
    return Scalar(
        value, Place(start, start + len(stripped)), aligned_offsets(stripped, start, value)
    )
