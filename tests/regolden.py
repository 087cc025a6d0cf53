"""`python -m tests.regolden`: rewrite the goldens. Read the diff before it is committed.

Verdicts of findings that are still there are kept; a new finding is "unjudged", which the tests
refuse.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from tests import module_map
from tests.fixtures import FIXED, fixed_texts
from tests.rules_index import INDEX, rules_index
from tests.trees import GOLDEN, TREES, Entry, key, observe, read_golden, trees_folder


def fixtures() -> None:
    for folder, arguments in FIXED.values():
        with tempfile.TemporaryDirectory() as scratch:
            texts = fixed_texts(Path(scratch), arguments)
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


def trees() -> None:
    golden = read_golden() if GOLDEN.exists() else {}
    for name in TREES:
        known = {key(entry): entry for entry in golden.get(name, [])}
        golden[name] = [judged(entry, known.get(key(entry))) for entry in observe(name)]
    GOLDEN.parent.mkdir(exist_ok=True)
    lines = (
        f'  "{name}": [\n'
        + ",\n".join(f"    {json.dumps(entry, ensure_ascii=False)}" for entry in golden[name])
        + ("\n  ]" if golden[name] else "  ]")
        for name in TREES
    )
    GOLDEN.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def judged(entry: Entry, before: Entry | None) -> Entry:
    if before is not None:
        entry["verdict"], entry["reason"] = before["verdict"], before["reason"]
    return entry


if __name__ == "__main__":
    INDEX.write_text(rules_index(), encoding="utf-8")
    module_map.PAGE.write_text(module_map.page(), encoding="utf-8")
    fixtures()
    if trees_folder() is None:
        print("KVLINT_TREES is not set: tests/golden/trees.json is left as it is")
    else:
        trees()
