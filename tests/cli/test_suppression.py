"""Suppression comments: which count, which do not, and what is said about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import BAD, GOOD, HEAD, Kvlint
from tests.running import kvlint as run_kvlint

CALL = "    k, v = pool.get_kv_buffer(layer_id)"


def codes(kvlint: Kvlint, *arguments: str) -> list[tuple[int, str]]:
    """(line, code) of what is left."""
    done = kvlint("check", ".", "--output-format", "concise", *arguments)
    rows = [line.split(":") for line in done.out.splitlines()]
    return [(int(row[1]), row[3].split()[0]) for row in rows]


@pytest.mark.parametrize(
    "body",
    [
        f"{CALL}  # kvlint: ignore[KV101] a reason\n",
        f"{CALL}  # kvlint:ignore[KV101]\n",
        f"{CALL}  # kvlint: ignore[single-kv-pair-read]\n",
        f"{CALL}  # noqa: KV101\n",
        f"{CALL}  # noqa: E501, KV101\n",
        f"{CALL}  # type: ignore # kvlint: ignore[KV101]\n",
        f"{CALL}  # words  # kvlint: ignore[KV101]\n",
        f"    # kvlint: ignore[KV101] above\n{CALL}\n",
        f"    # kvlint: ignore[KV101] above\n    # more words\n{CALL}\n",
        "    k, v = (\n        pool.get_kv_buffer(\n            layer_id,\n        )\n"
        "    )  # kvlint: ignore[KV101]\n",
        "    k, v = (  # kvlint: ignore[KV101]\n        pool.get_kv_buffer(\n"
        "            layer_id,\n        )\n    )\n",
        "    k, v = (\n        # kvlint: ignore[KV101]\n"
        "        pool.get_kv_buffer(layer_id)\n    )\n",
        f"{CALL}\n# kvlint: file-ignore[KV101] all of it\n",
    ],
)
def test_a_suppression_that_counts(project: Path, kvlint: Kvlint, body: str) -> None:
    (project / "bad.py").write_text(f"{HEAD}{body}")
    assert codes(kvlint) == []


@pytest.mark.parametrize(
    "body",
    [
        f"{CALL}  # kvlint: ignore[KV101, KV201]\n",
        f"{CALL}  # kvlint: ignore[KV201, KV101]\n",
    ],
)
def test_of_several_codes_the_unused_one_is_reported_and_taken_out(
    project: Path, kvlint: Kvlint, body: str
) -> None:
    (project / "bad.py").write_text(f"{HEAD}{body}")
    assert codes(kvlint) == [(5, "KV002")]
    assert kvlint("check", "--fix", ".").status == 0
    assert (project / "bad.py").read_text() == f"{HEAD}{CALL}  # kvlint: ignore[KV101]\n"


@pytest.mark.parametrize(
    "body",
    [
        '    text = "# kvlint: ignore[KV101]"; k, v = pool.get_kv_buffer(layer_id)\n',
        f"{CALL}  # write kvlint: ignore[KV101] to silence this\n",
        f'{CALL}  # write "# kvlint: ignore[KV101]" to silence this\n',
        f"{CALL}  # noqa\n",
        f"    # noqa: KV101\n{CALL}\n",
        f"    # kvlint: ignore[KV101]\n\n{CALL}\n".replace("# kvlint", "# see kvlint"),
        f'    """\n    # kvlint: ignore[KV101]\n    """\n{CALL}\n',
    ],
)
def test_what_only_looks_like_a_suppression(project: Path, kvlint: Kvlint, body: str) -> None:
    (project / "bad.py").write_text(f"{HEAD}{body}")
    assert [code for _, code in codes(kvlint)] == ["KV101"]


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# kvlint: ignore", "names no rule"),
        ("# kvlint: ignore[]", "names no rule"),
        ("# kvlint: ignore because", "names no rule"),
        ("# kvlint: ignore[KV101", "has a bracket that is not closed"),
        ("# kvlint: ignore[KV1]", "names 'KV1': a comment takes codes and names"),
        ("# kvlint: ignore[KV9]", "names an unknown rule 'KV9'"),
        ("# kvlint: igore[KV101]", "says 'igore': want ignore or file-ignore"),
    ],
)
def test_a_bare_suppression_suppresses_nothing_and_is_an_error(
    project: Path, kvlint: Kvlint, comment: str, said: str
) -> None:
    (project / "bad.py").write_text(f"{HEAD}{CALL}  {comment}\n")
    assert codes(kvlint) == [(5, "KV101"), (5, "KV003")]
    assert said in kvlint("check", ".").out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    return 1  # kvlint: ignore[KV101] old\n", "    return 1\n"),
        ("    # kvlint: ignore[KV101] old\n    return 1\n", "    return 1\n"),
        ("    return 1  # noqa: E501  # kvlint: ignore[KV101]\n", "    return 1  # noqa: E501\n"),
        ("    return 1  # kvlint: ignore[KV101]  # words\n", "    return 1  # words\n"),
        ("    return 1\n# kvlint: file-ignore[KV101]\n", "    return 1\n"),
        ("    return 1  # kvlint: ignore[KV101]", "    return 1"),
        ("    return 'ü'  # kvlint: ignore[KV101]\r\n", "    return 'ü'\r\n"),
    ],
)
def test_an_unused_suppression_is_removed_by_fix(
    project: Path, kvlint: Kvlint, before: str, after: str
) -> None:
    (project / "good.py").write_bytes(f"{HEAD}{before}".encode())
    assert [code for _, code in codes(kvlint)] == ["KV002"]
    assert kvlint("check", "--fix", ".").status == 0
    assert (project / "good.py").read_bytes() == f"{HEAD}{after}".encode()


def test_a_suppression_of_a_rule_that_was_not_asked_is_not_called_unused(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "good.py").write_text(GOOD.rstrip() + "  # kvlint: ignore[KV201]\n")
    assert codes(kvlint, "--select", "KV1,KV0") == []
    assert codes(kvlint) == [(5, "KV002")]


def test_in_a_file_that_holds_no_pool_an_unused_suppression_is_found_too(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "plain.py").write_text("x = 1  # kvlint: ignore[KV101]\n")
    assert codes(kvlint) == [(1, "KV002")]


def test_show_suppressed_lists_them_with_their_reason(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(f"{HEAD}{CALL}  # kvlint: ignore[KV101] a test\n")
    done = kvlint("check", ".", "--show-suppressed")
    assert done.status == 0
    assert done.out.startswith("bad.py:5:12: KV101 ")
    assert done.out.endswith("(suppressed by line 5: a test)\n")
    assert "1 suppressed by comments." in done.err


def test_a_reason_can_be_required(project: Path, kvlint: Kvlint) -> None:
    (project / "kvlint.toml").write_text('sglang = "0.5.23"\nrequire-reason = true\n')
    (project / "bad.py").write_text(f"{HEAD}{CALL}  # kvlint: ignore[KV101]\n")
    assert codes(kvlint) == [(5, "KV003")]
    (project / "bad.py").write_text(f"{HEAD}{CALL}  # kvlint: ignore[KV101] a reason\n")
    assert codes(kvlint) == []


def test_add_ignore_writes_a_comment_that_counts(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    done = kvlint("check", ".", "--add-ignore=known since 0.5.19")
    assert done.status == 0
    assert "Wrote suppressions for 1 finding." in done.err
    text = BAD.replace("(layer_id)\n", "(layer_id)  # kvlint: ignore[KV101] known since 0.5.19\n")
    assert (project / "bad.py").read_text() == text
    assert codes(kvlint) == []


def test_add_ignore_needs_no_reason(project: Path, kvlint: Kvlint) -> None:
    (project / "bad.py").write_text(BAD)
    assert kvlint("check", "--add-ignore", "bad.py").status == 0
    assert "  # kvlint: ignore[KV101]\n" in (project / "bad.py").read_text()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "    k, v = pool.get_kv_buffer(\n        layer_id\n    )  # words\n",
            "    k, v = pool.get_kv_buffer(\n        layer_id\n"
            "    )  # words  # kvlint: ignore[KV101]\n",
        ),
        (
            '    k, v = pool.get_kv_buffer("""a\n    b""")\n',
            '    k, v = pool.get_kv_buffer("""a\n    b""")  # kvlint: ignore[KV101]\n',
        ),
        (
            f"{CALL}; k, v = pool.get_kv_buffer(1)\n",
            f"{CALL}; k, v = pool.get_kv_buffer(1)  # kvlint: ignore[KV101]\n",
        ),
        (f"{CALL}\r\n", f"{CALL}  # kvlint: ignore[KV101]\r\n"),
        (
            "    if pool.get_kv_buffer(0):\n        pass\n",
            "    if pool.get_kv_buffer(0):  # kvlint: ignore[KV101]\n        pass\n",
        ),
    ],
)
def test_add_ignore_puts_the_comment_where_one_may_stand(
    project: Path, kvlint: Kvlint, before: str, after: str
) -> None:
    (project / "bad.py").write_bytes(f"{HEAD}{before}".encode())
    assert kvlint("check", "--add-ignore", ".").status == 0
    assert (project / "bad.py").read_bytes() == f"{HEAD}{after}".encode()
    assert codes(kvlint) == []


def test_add_ignore_extends_a_comment_that_is_there(project: Path, kvlint: Kvlint) -> None:
    body = (
        "    k, v = pool.get_kv_buffer(0), pool.k_buffer[0].copy_(1)"
        "  # kvlint: ignore[KV101] a reason\n"
    )
    (project / "bad.py").write_text(f"{HEAD}{body}")
    left = {code for _, code in codes(kvlint)}
    assert left
    assert kvlint("check", "--add-ignore", ".").status == 0
    assert codes(kvlint) == []
    listed = ", ".join(["KV101", *sorted(left)])
    assert f"# kvlint: ignore[{listed}] a reason\n" in (project / "bad.py").read_text()


def test_a_launch_file_is_suppressed_in_its_own_comments(project: Path, kvlint: Kvlint) -> None:
    command = "python -m sglang.launch_server --model m --attention-backend fa\n"
    (project / "serve.sh").write_text(f"#!/bin/sh\n{command}")
    found = codes(kvlint)
    assert [line for line, _ in found] == [2]
    (project / "serve.sh").write_text(
        f"#!/bin/sh\n# kvlint: ignore[{found[0][1]}] a reason\n{command}"
    )
    assert codes(kvlint) == []
    (project / "serve.sh").write_text(f"#!/bin/sh\n{command}")
    assert kvlint("check", "--add-ignore=why", ".").status == 0
    assert (project / "serve.sh").read_text() == (
        f"#!/bin/sh\n# kvlint: ignore[{found[0][1]}] why\n{command}"
    )


def test_add_ignore_writes_nothing_where_a_path_is_missing(tmp_path: Path) -> None:
    text = (
        "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
        "def f(pool: DeepSeekV4SingleKVPool):\n"
        "    return pool.get_value_buffer(0)\n"
    )
    (tmp_path / "bad.py").write_text(text)
    done = run_kvlint(
        "check", "--sglang", "0.5.23", "--add-ignore", "meant", "bad.py", cwd=tmp_path
    )
    assert done.returncode == 2
    assert "a reason is written --add-ignore=REASON" in done.stderr
    assert (tmp_path / "bad.py").read_text() == text
