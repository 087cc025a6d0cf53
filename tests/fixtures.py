"""Where the fixture programs are and how their fixed forms are made."""

from __future__ import annotations

from pathlib import Path

from tests.marks import unmarked
from tests.running import kvlint

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"
PROGRAMS = FIXTURES / "programs"
SILENT = FIXTURES / "silent"
FIXED = {
    "safe": (FIXTURES / "fixed", ("--fix",)),
    "unsafe": (FIXTURES / "fixed_unsafe", ("--fix", "--unsafe-fixes")),
}


def fixed_texts(
    scratch: Path, arguments: tuple[str, ...], source: Path = PROGRAMS
) -> dict[str, str]:
    """Relative path -> text of each program, without its marks, after fixing it in `scratch`."""
    names = [str(file.relative_to(source)) for file in sorted(source.rglob("*.py"))]
    for name in names:
        target = scratch / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(unmarked((source / name).read_text(encoding="utf-8")), encoding="utf-8")
    done = kvlint("check", "--no-cache", "--sglang", "0.5.23", *arguments, scratch)
    if done.returncode not in (0, 1):
        raise AssertionError(done.stderr)
    return {name: (scratch / name).read_text(encoding="utf-8") for name in names}
