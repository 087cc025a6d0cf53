"""KV304 in scripts: requests for generation that go to a server started for embedding."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from kvlint.findings import Evidence, Finding
from kvlint.launch.arguments import LaunchConfiguration, Place, Word
from kvlint.launch.facts import LaunchFacts
from kvlint.launch.judge import DECODE, span_of
from kvlint.launch.shell_words import Invocation
from kvlint.rules.rule import Rule
from kvlint.source.text import SourceFile

DEFAULT_PORT = 30000
DECODING_PATHS = frozenset({"/generate", "/v1/chat/completions", "/v1/completions", "/api/chat"})
DECODING_METHODS = frozenset({"generate", "async_generate"})
_LOCAL = frozenset({"localhost", "127.0.0.1", "0.0.0.0", "::1"})
_CLIENTS = frozenset({"curl", "wget", "http", "https", "httpie", "xh"})
_PORT_OPTION = re.compile(r"--port=(\d+)")


def is_decoding_path(path: str) -> bool:
    """Whether a URL's path is one on which SGLang's server generates."""
    return path.rstrip("/") in DECODING_PATHS


def script_decodes(
    source: SourceFile,
    facts: LaunchFacts,
    rules: Mapping[str, Rule],
    invocations: Sequence[Invocation],
) -> list[Finding]:
    """Requests in a script to the port on which it has started an embedding server last."""
    rule = rules.get(DECODE)
    servers: dict[int, LaunchConfiguration | None] = {}
    findings = []
    for invocation in invocations:
        configuration, words = invocation.configuration, invocation.words
        if configuration is not None and configuration.started and words:
            port = _port(words)
            if port is not None:
                servers[port] = configuration
        elif rule is not None and words and words[0].text in _CLIENTS:
            for word in words[1:]:
                server = servers.get(_decoded_port(word) or -1)
                if server is not None and server.value("is_embedding") is True:
                    findings.append(_decode_finding(source, rule, word, server))
    return findings


def _port(words: Sequence[Word]) -> int | None:
    for index, word in enumerate(words):
        if word.known_start.partition("=")[0] == "--port":
            text = word.text if word.text and "=" in word.text else None
            if text is None and word.text == "--port" and index + 1 < len(words):
                text = f"--port={words[index + 1].text}"
            match = _PORT_OPTION.fullmatch(text or "")
            return int(match.group(1)) if match else None
        if word.opaque:
            return None
    return DEFAULT_PORT


def _decoded_port(word: Word) -> int | None:
    """The local port of a URL on which SGLang generates."""
    text = word.text or ""
    if not text.startswith(("http://", "https://", "localhost:", "127.0.0.1:", "0.0.0.0:")):
        return None
    try:
        url = urlsplit(text if "://" in text else "http://" + text)
        port = url.port
    except ValueError:
        return None
    return port if url.hostname in _LOCAL and is_decoding_path(url.path) else None


def _decode_finding(
    source: SourceFile, rule: Rule, word: Word, server: LaunchConfiguration
) -> Finding:
    return decode_finding(
        source, rule, word.place, server.arguments["is_embedding"].place, "this request"
    )


def decode_finding(
    source: SourceFile, rule: Rule, place: Place, started: Place | None, what: str
) -> Finding:
    """The finding for a call that generates, `started` being where embedding is switched on."""
    evidence: tuple[Evidence, ...] = ()
    if started is not None:
        at = span_of(source, started)
        evidence = (Evidence("it is started for embedding", source.path, at.line, at.column),)
    return Finding(
        code=rule.code,
        name=rule.name,
        path=source.path,
        span=span_of(source, place),
        severity=rule.severity,
        message=f"{what} decodes, but what it runs on was started for embedding",
        evidence=evidence,
        raises="RuntimeError: NoOpMHATokenToKVPool.set_kv_buffer was called.",
        remedy=rule.remedy,
    )
