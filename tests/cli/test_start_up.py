"""What starting `kvlint check` may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import BAD

HEAVY = ("libcst", "pydantic", "rich", "ruamel", "torch", "sglang", "jsonschema")


def test_a_plain_check_imports_nothing_heavy(project: Path) -> None:
    (project / "bad.py").write_text(BAD)
    code = (
        "import sys\nsys.argv = ['kvlint', 'check', 'bad.py']\n"
        "from kvlint.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('\\n'.join(sys.modules), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True)
    assert "KV101" in done.stdout
    loaded = {name.partition(".")[0] for name in done.stderr.splitlines()}
    assert loaded & set(HEAVY) == set()
