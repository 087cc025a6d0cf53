"""Small inputs that would cost much, and deep ones that are valid."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import check, kvlint

HEAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "def f(pool: DeepSeekV4SingleKVPool, x):\n"
)
BAD = "    pool.get_value_buffer(0)\n"
LAUNCH = "python -m sglang.launch_server --model-path m --is-embedding "
LAUNCH += "--prefill-only-disable-kv-cache --attention-backend triton"
DEEP = {
    "500 elif": "    if x == 0:\n        pass\n"
    + "".join(f"    elif x == {i}:\n        pass\n" for i in range(1, 500)),
    "800 terms": "    y = " + " + ".join(["x"] * 800) + "\n",
    "3000 terms": "    y = " + " + ".join(["x"] * 3000) + "\n",
    "a chain of 900 calls": "    x" + ".a(1)" * 900 + "\n",
    "90 calls in each other": "    " + "g(" * 90 + ")" * 90 + "\n",
    "1000 strings joined": "    y = " + " + ".join(["'a'"] * 1000) + "\n",
    "1000 conditions": "    y = " + " or ".join(["x"] * 1000) + "\n",
}


@pytest.mark.parametrize("body", DEEP.values(), ids=DEEP)
def test_deep_but_valid_python_is_checked(tmp_path: Path, body: str) -> None:
    (tmp_path / "a.py").write_text(HEAD + body + BAD)
    [found] = check("a.py", "--sglang", "0.5.23", cwd=tmp_path)
    assert found.line == (HEAD + body).count("\n") + 1


BOMBS = {
    "a.sh": [
        "$(" * 200 + LAUNCH + ")" * 200,
        'x="' + '$(echo "' * 60 + LAUNCH + '")' * 60 + '"',
        "`" * 99 + LAUNCH + "`" * 99,
        "<(" * 200 + LAUNCH + ")" * 200,
        'A="$A$A$A"\n' * 60 + LAUNCH + " $A",
    ],
    "Dockerfile": ["FROM x\nRUN " + "$(" * 200 + LAUNCH + ")" * 200],
    "a.yaml": [
        "command: [sh, -c, '" + "$(" * 200 + LAUNCH + ")" * 200 + "']",
        "a0: &a0 {command: "
        + LAUNCH
        + "}\n"
        + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, 40)),
        "a: &a\n  <<: *a\n  command: " + LAUNCH,
        "x: " + "[" * 3000 + "]" * 3000,
    ],
    "a.py": [
        f"import os\nos.system('{'$(' * 200}{LAUNCH}{')' * 200}')",
        f"import os\nos.system(f'{'$(' * 200}{LAUNCH}{')' * 200}')",
    ],
    "a.json": ['{"command": ' + "[" * 3000 + "]" * 3000 + "}"],
    "a.toml": ["command = " + "[" * 3000 + "]" * 3000],
}


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, texts in BOMBS.items() for text in texts]
)
def test_bombs_go_off_nowhere(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text + "\n")
    done = kvlint("check", ".", "--sglang", "0.5.23", cwd=tmp_path, timeout=60)
    assert done.returncode in (0, 1, 2)
    assert "internal error" not in done.stderr
