"""Which Python files, and which functions in them, are worth following: a test of bytes only.

It decides nothing but what is read; most files of a project start no server.
"""

from __future__ import annotations

import re

_FLAGS = (
    b"prefill_only_disable_kv_cache",
    b"prefill-only-disable-kv-cache",
    b"NoOpMHATokenToKVPool",
)
_STARTS = (
    b"ServerArgs",
    b"Engine",
    b"Runtime",
    b"launch_server",
    b"sglang serve",
    b'"serve"',
    b"'serve'",
    b"prepare_server_args",
)
_EMBEDS = (b"is_embedding", b"is-embedding")
_DECODES = (b".generate", b"async_generate", b"/generate", b"completions", b"attention")
_BACKEND = re.compile(
    rb"attention_backend[\"']?\]?\s*[=:,]\s*f?[\"'A-Z]|attention_backend=\w"
    rb"|attention-backend[\"' =]"
)
_FOLLOWED = re.compile(
    r"ServerArgs|Engine|Runtime|launch|sglang|generate|completions|attention|embedding|kv[-_]cache"
)


def is_worth_following(data: bytes) -> bool:
    """Whether a Python file can hold a finding of the launch rules."""
    if any(flag in data for flag in _FLAGS):
        return True
    embeds = any(mark in data for mark in _EMBEDS)
    if not embeds and b"attention_backend" not in data and b"attention-backend" not in data:
        return False
    if not any(mark in data for mark in _STARTS):
        return False
    if embeds and any(mark in data for mark in _DECODES):
        return True
    return _BACKEND.search(data) is not None


def is_worth_reading(text: str, names: frozenset[str]) -> bool:
    """Whether a function's text names anything that can matter, `names` being the file's own."""
    return _FOLLOWED.search(text) is not None or any(name in text for name in names)
