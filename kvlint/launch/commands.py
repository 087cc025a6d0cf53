"""From the words of a command to the configuration of the server that it starts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kvlint.launch.arguments import (
    Addition,
    LaunchConfiguration,
    Place,
    Word,
    options_in,
    read_argv,
)
from kvlint.launch.facts import NOOP_FLAG, LaunchFacts

LAUNCH_MODULES = frozenset(
    {
        "sglang.launch_server",
        "sglang.bench_offline_throughput",
        "sglang.bench_one_batch",
        "sglang.bench_one_batch_server",
        "sglang.compile_deep_gemm",
        "sglang.srt.entrypoints.http_server",
        "sglang_router.launch_server",
    }
)
NOOP_OPTION = "--" + NOOP_FLAG.replace("_", "-")
_PRINTING = frozenset({"echo", "printf", "grep", "cat", "logger", "pgrep", "pkill", "ps", "sed"})


@dataclass(frozen=True, slots=True)
class Slice:
    """Text lifted out of a file: its characters, and where each of them stands there."""

    content: str
    offsets: Sequence[int]

    def place(self, start: int, end: int) -> Place:
        """Where `content[start:end]` stands in the file."""
        if end <= start:
            at = self.offsets[start] if start < len(self.offsets) else self.offsets[-1] + 1
            return Place(at, at)
        return Place(self.offsets[start], self.offsets[end - 1] + 1)

    def part(self, start: int, end: int) -> Slice:
        return Slice(self.content[start:end], self.offsets[start:end])

    @property
    def is_contiguous(self) -> bool:
        """It stands in the file as it is, line ends included."""
        size = len(self.offsets)
        return size == 0 or self.offsets[-1] - self.offsets[0] == size - 1


def whole(text: str) -> Slice:
    return Slice(text, range(len(text)))


def launch_at(words: Sequence[Word]) -> tuple[int, bool] | None:
    """Index of the first argument of SGLang's in a command, and whether it may be a diffusion
    server; None where the command starts no server."""
    if not words or _basename(words[0]) in _PRINTING:
        return None
    for index in range(len(words) - 1):
        first, second = words[index].text, words[index + 1].text
        if first == "-m" and second in LAUNCH_MODULES:
            return index + 2, False
        if _basename(words[index]) == "sglang" and second == "serve":
            return index + 2, True
    for index, word in enumerate(words):
        if word.text is not None and word.text.endswith("sglang/launch_server.py"):
            return index + 1, False
    return None


def _basename(word: Word) -> str:
    return word.known_start.rpartition("/")[2]


def names_the_pool(words: Sequence[Word]) -> bool:
    return any(option == NOOP_OPTION for option in options_in(words))


def configuration_of(
    words: Sequence[Word],
    facts: LaunchFacts,
    *,
    addition: Addition | None = None,
    statement: tuple[int, int] = (0, 0),
) -> LaunchConfiguration | None:
    """The configuration that a whole command gives, or that words which name the no-op pool's flag
    give of themselves; None for other commands."""
    launch = launch_at(words)
    if launch is None:
        printing = bool(words) and _basename(words[0]) in _PRINTING
        if printing or not names_the_pool(words):
            return None
        arguments, _ = read_argv(words, facts)
        return LaunchConfiguration(arguments, False, started=False, statement=statement)
    start, diffusion = launch
    arguments, complete = read_argv(words[start:], facts)
    srt_only = names_the_pool(words) or "is_embedding" in arguments
    return LaunchConfiguration(
        arguments,
        complete,
        may_be_diffusion=diffusion and not srt_only,
        addition=with_style(addition, words[start:]) if addition else None,
        statement=statement,
    )


def with_style(addition: Addition, words: Sequence[Word]) -> Addition:
    """The addition, in `--option=value` form where all options with a value are written so."""
    if addition.form != "words":
        return addition
    joined = any("=" in word.known_start for word in words if word.known_start.startswith("--"))
    apart = any(
        following.text is not None and not following.text.startswith("--")
        for word, following in itertools.pairwise(words)
        if word.known_start.startswith("--") and "=" not in word.known_start
    )
    return replace(addition, form="joined") if joined and not apart else addition
