"""What makes a finding the same finding after the file around it has changed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from kvlint.findings import Finding
from kvlint.source.text import SourceFile


def fingerprints(
    findings: Iterable[Finding], sources: Mapping[Path, SourceFile], root: Path
) -> list[tuple[Finding, str]]:
    """Each finding with a hash of its code, its path from `root` and the text of its statement.

    Lines may move and be re-indented. Of several alike the second, third, ... count on.
    """
    seen: Counter[str] = Counter()
    result = []
    for finding in findings:
        parts = (finding.code, relative(finding.path, root), _content(finding, sources))
        plain = _hash("\0".join(parts))
        seen[plain] += 1
        number = seen[plain]
        result.append((finding, plain if number == 1 else _hash(f"{plain}\0{number}")))
    return result


def relative(path: Path, root: Path) -> str:
    """POSIX path from `root`, or the whole path where it stands elsewhere."""
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        return path.as_posix()


def _content(finding: Finding, sources: Mapping[Path, SourceFile]) -> str:
    source = sources.get(finding.path)
    if source is None:
        return finding.message
    first, last = finding.statement_lines
    return " ".join(word for n in range(first, last + 1) for word in source.line(n).split())


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
