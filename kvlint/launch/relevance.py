"""Which Python files, and which functions in them, are worth following: a test of bytes only.

It decides nothing but what is read; most files of a project start no server.
"""

from __future__ import annotations

import re

_FLAG, _OPTION = b"prefill_only_disable_kv_cache", b"prefill-only-disable-kv-cache"
_GAP = rb"[\s\\]*(?:#[^\n]{0,200}\n[\s\\]*){0,4}"
"""Between two tokens: spaces, breaks, comments; few of them, so that the time stays linear."""
_GIVEN = re.compile(
    rb"prefill_only_disable_kv_cache(?:[\"']" + _GAP + rb"[\]:,]|" + _GAP + rb"=(?!=))"
)
_EMBEDS = (b"is_embedding", b"is-embedding")
_EMBEDDING = re.compile(
    rb"is_embedding(?:[\"']" + _GAP + rb"[\]:,]|" + _GAP + rb"=(?!=))|--is-embedding"
)
_CALLED = tuple(
    re.compile(name + _GAP + rb"(?:[(),]|as\b)")
    for name in (rb"ServerArgs", rb"Engine", rb"Runtime", rb"EngineAdapter")
)
_COMMANDS = (
    b"launch_server",
    b"sglang serve",
    b'"serve"',
    b"'serve'",
    b"prepare_server_args",
    b"ServerArgs.add_cli_args",
)
_DECODES = (b"generate", b"completions", b"attention")
_BACKEND = re.compile(
    rb"attention_backend[\"']?(?:GAP\])?GAP[=:,]GAP(?:\(GAP)*f?[\"'A-Z]|attention_backend=\w"
    rb"|attention-backend[\"' =]".replace(b"GAP", _GAP)
)
_FOLLOWED = re.compile(
    r"ServerArgs|Engine|Runtime|launch|serve\b|import sglang|\bgenerate\b|async_generate"
    r"|completions|attention[-_]backend|is[-_]embedding|disable[-_]kv[-_]cache"
)


def may_hold_a_backend(data: bytes) -> bool:
    """Whether a Python file can define a backend that writes to the no-op pool it knows of."""
    if b"set_kv_buffer" not in data or b"Backend" not in data:
        return False
    return b"NoOpMHATokenToKVPool" in data or _FLAG in data


def is_worth_following(data: bytes) -> bool:
    """Whether a Python file can hold a finding of the launch rules."""
    if _OPTION in data or (_FLAG in data and _GIVEN.search(data)):
        return True
    embeds = any(mark in data for mark in _EMBEDS)
    if not embeds and b"attention_backend" not in data and b"attention-backend" not in data:
        return False
    embeds = embeds and any(m in data for m in _DECODES) and _EMBEDDING.search(data) is not None
    return (embeds or _BACKEND.search(data) is not None) and _starts(data)


def _starts(data: bytes) -> bool:
    """Whether a server's arguments are made or a command is named, annotations left out."""
    if any(command in data for command in _COMMANDS):
        return True
    return any(
        data[match.start() - 2 : match.start()] not in (b": ", b"> ")
        for called in _CALLED
        for match in called.finditer(data)
    )


def is_worth_reading(text: str, names: frozenset[str]) -> bool:
    """Whether a function's text names anything that can matter, `names` being the file's own."""
    return _FOLLOWED.search(text) is not None or any(name in text for name in names)
