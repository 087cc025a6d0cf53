"""Launch files other than Python: which they are, and the findings in them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kvlint.findings import FileError, Finding
from kvlint.launch.relevance import is_worth_following, may_hold_a_backend
from kvlint.rules.rule import Rule
from kvlint.source.languages import is_python
from kvlint.source.text import SourceError, SourceFile

if TYPE_CHECKING:
    from kvlint.launch.facts import LaunchFacts, LaunchRelease
    from kvlint.launch.shell_words import Invocation

LAUNCH_SUFFIXES = frozenset(
    {
        ".sh",
        ".bash",
        ".sbatch",
        ".slurm",
        ".yaml",
        ".yml",
        ".json",
        ".toml",
        ".dockerfile",
        ".containerfile",
    }
)
LAUNCH_NAMES = ("dockerfile", "containerfile")
_FLAGS = (
    b"prefill-only-disable-kv-cache",
    b"prefill_only_disable_kv_cache",
    b"attention-backend",
    b"attention_backend",
    b"is-embedding",
    b"is_embedding",
)


def is_launch_file(path: Path) -> bool:
    """Whether the name is that of a file in which servers are started: scripts, Dockerfiles, YAML,
    JSON, TOML."""
    name = path.name.lower()
    if path.suffix.lower() in LAUNCH_SUFFIXES:
        return True
    return any(name == known or name.startswith(known + ".") for known in LAUNCH_NAMES)


def is_candidate(path: Path, data: bytes) -> bool:
    """Whether a file is worth reading: it names one of the options that the rules are about."""
    if is_python(path, data):
        return is_worth_following(data) or may_hold_a_backend(data)
    return is_launch_file(path) and any(flag in data for flag in _FLAGS)


def check_launch_file(
    source: SourceFile, rules: Sequence[Rule], release: LaunchRelease
) -> tuple[Finding, ...]:
    """The findings of one launch file, in order.

    Raises SourceError for a file that names the no-op pool's flag and that cannot be read; a
    malformed file that may be anyone's is silent.
    """
    if not is_candidate(source.path, source.data):
        return ()
    from kvlint.launch.judge import Case, judge, launch_rules
    from kvlint.launch.requests import script_decodes
    from kvlint.source.yaml_files import UnreadableDocument

    chosen = launch_rules(rules)
    if not chosen:
        return ()
    facts = release.facts()
    try:
        invocations = _invocations(source, facts)
    except UnreadableDocument as error:
        if _is_plainly_sglangs(source.data):
            raise SourceError(FileError(source.path, str(error), error.line)) from error
        return ()
    findings = [
        finding
        for invocation in invocations
        if invocation.configuration is not None
        for finding in judge(Case(source, facts, chosen, invocation.configuration))
    ]
    findings.extend(script_decodes(source, facts, chosen, invocations))
    return distinct(findings)


def _invocations(source: SourceFile, facts: LaunchFacts) -> list[Invocation]:
    from kvlint.launch.commands import whole
    from kvlint.launch.dockerfile import read_dockerfile
    from kvlint.launch.shell import read_script
    from kvlint.launch.structured import read_documents
    from kvlint.source.json_toml import read_json, read_toml
    from kvlint.source.yaml_files import read_yaml

    suffix = source.path.suffix.lower()
    if suffix in (".yaml", ".yml"):
        return read_documents(read_yaml(source), facts, source, config=True)
    if suffix == ".json":
        return read_documents(read_json(source), facts, source)
    if suffix == ".toml":
        return read_documents(read_toml(source), facts, source)
    if suffix in (".sh", ".bash", ".sbatch", ".slurm"):
        return read_script(whole(source.text), facts, source)
    return read_dockerfile(source, facts)


def _is_plainly_sglangs(data: bytes) -> bool:
    """It names the no-op pool's flag, and it is no template, which only looks malformed."""
    return any(flag in data for flag in _FLAGS[:2]) and b"{{" not in data and b"{%" not in data


def distinct(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Findings in order, each once."""
    seen = {(f.code, f.span): f for f in reversed(findings)}
    return tuple(sorted(seen.values(), key=lambda finding: finding.sort_key))
