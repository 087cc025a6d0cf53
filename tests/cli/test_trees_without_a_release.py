"""SGLang as its developers have it: clones without a version, forks without their pools."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.cli.conftest import Kvlint

POOLS = """\
    class KVCache:
        pass

    class SharedPool(KVCache):
        def __init__(self):
            self.kv_buffer = []
        def get_key_buffer(self, layer_id): return self.kv_buffer[layer_id]
        def get_value_buffer(self, layer_id): raise NotImplementedError("one buffer")
        def get_kv_buffer(self, layer_id): raise NotImplementedError("one buffer")
        def set_kv_buffer(self, layer, loc, k, v): raise NotImplementedError("one buffer")
    """
ARGUMENTS = """\
    ATTENTION_BACKEND_CHOICES = ["triton", "fa3", "own_backend"]

    class ServerArgs:
        attention_backend: str | None = None
        is_embedding: bool = False

    def add_cli_args(parser):
        parser.add_argument("--attention-backend", choices=ATTENTION_BACKEND_CHOICES)
        parser.add_argument("--is-embedding", action="store_true")
    """
READ = """\
    from sglang.srt.mem_cache.memory_pool import SharedPool


    def read(pool: SharedPool):
        return pool.get_kv_buffer(0)
    """
VERSIONS = {
    "a clone without tags": "__version__ = version = '0.0.0.dev9596+g29b7f22d8'",
    "a commit after a release": "__version__ = version = '0.5.24.dev12+g1234567'",
    "no version in the file": "commit = None",
    "no number at all": "__version__ = 'main'",
    "an old number": "__version__ = '0.1.0'",
    "no file": None,
}


def sglang(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
    return folder


@pytest.fixture(params=VERSIONS.values(), ids=VERSIONS)
def clone(request: pytest.FixtureRequest, project: Path) -> Path:
    """A tree of SGLang under one of the versions, in a project that names no release."""
    (project / "kvlint.toml").unlink()
    files = {"srt/mem_cache/memory_pool.py": POOLS, "srt/server_args.py": ARGUMENTS}
    if request.param is not None:
        files["_version.py"] = request.param
    return sglang(project / "tree", files)


def test_rules_hold_in_a_checked_tree_whatever_its_version(clone: Path, kvlint: Kvlint) -> None:
    sglang(clone, {"srt/layers/reads.py": READ})

    done = kvlint("check", "tree", "--output-format", "concise")

    assert done.status == 1
    assert done.out.startswith("tree/sglang/srt/layers/reads.py:5:12: KV101")


def test_rules_hold_against_a_named_tree_whatever_its_version(clone: Path, kvlint: Kvlint) -> None:
    (clone.parent / "plugin.py").write_text(dedent(READ))

    done = kvlint("check", "plugin.py", "--sglang", "tree", "--output-format", "concise")

    assert (done.status, done.out[:22]) == (1, "plugin.py:5:12: KV101 ")


def test_arguments_of_a_named_tree_are_its_own(clone: Path, kvlint: Kvlint) -> None:
    command = ("args", "--sglang", "tree", "--", "--model-path", "m", "--attention-backend")

    assert kvlint(*command, "own_backend").status == 0
    refused = kvlint(*command, "flashinfer")
    assert (refused.status, "KV305" in refused.out) == (1, True)


def test_rules_that_are_off_are_listed_with_the_reason(clone: Path, kvlint: Kvlint) -> None:
    (clone.parent / "plugin.py").write_text(dedent(READ))

    done = kvlint("check", "plugin.py", "--sglang", "tree", "--verbose")

    assert "off, this tree has no argument --prefill-only-disable-kv-cache: KV302" in done.err
    assert "off, only with --pedantic: KV306" in done.err
    assert "off, this tree has no k-only pool: KV201" in done.err


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("--select", "KV201"), "KV201: this tree has no k-only pool"),
        (("--select", "KV306"), "KV306: only with --pedantic"),
        (("--select", "KV201,KV001"), "KV201: this tree has no k-only pool"),
        (("--ignore", "ALL"), "KV001, KV002"),
    ],
)
def test_a_run_in_which_no_rule_is_on_fails(
    options: tuple[str, str], reason: str, project: Path, kvlint: Kvlint
) -> None:
    sglang(project / "tree", {"srt/mem_cache/memory_pool.py": POOLS})
    (project / "plugin.py").write_text(dedent(READ))

    done = kvlint("check", "plugin.py", "--sglang", "tree", *options)

    assert done.status == 2
    assert "no rule is on, nothing would be checked" in done.err
    assert reason in done.err


def test_own_rules_alone_may_be_asked(project: Path, kvlint: Kvlint) -> None:
    (project / "plugin.py").write_text("x = 1\n")

    assert kvlint("check", "plugin.py", "--select", "KV0").status == 0


STRIPPED = {
    "srt/server_args.py": ARGUMENTS,
    "srt/mem_cache/memory_pool.py": """\
        class Storage:
            def __init__(self, size): self.size = size

        class MHATokenToKVPool(Storage):
            def rows_of(self, layer_id): return self.size
        """,
    "srt/mem_cache/own.py": """\
        from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool

        class OwnPool(DeepSeekV4SingleKVPool):
            def get_kv_buffer(self, layer_id): return self.own_rows[layer_id]
            def set_own(self, value): self.refresh_own(value)
        """,
    "srt/layers/backend.py": """\
        from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool
        from sglang.srt.mem_cache.own import OwnPool

        class Backend:
            def forward(self, pool: MHATokenToKVPool, own: OwnPool):
                own.set_own(1)
                own.end_row
                return pool.rows_of(0), pool.storage_of(0), own.get_value_buffer(0)
        """,
}


def test_a_tree_without_pools_is_checked_against_the_release_of_the_project(
    project: Path, kvlint: Kvlint
) -> None:
    (project / "kvlint.toml").unlink()
    (project / "requirements.txt").write_text("sglang==0.5.19\n")
    (project / "setup.py").write_text("")
    (project / "serve.sh").write_text("python -m sglang.launch_server --attention-backend fa\n")
    sglang(project, STRIPPED)
    guarded = "MHATokenToKOnlyPool"
    sglang(project, {"srt/layers/reads.py": READ.replace("SharedPool", guarded)})
    sglang(project, {"srt/layers/latent.py": LATENT})

    done = kvlint("check", ".", "--output-format", "concise")

    found = [line.split()[:2] for line in done.out.splitlines()]
    assert found == [["serve.sh:1:32:", "KV305"], ["sglang/srt/layers/latent.py:4:12:", "KV101"]]
    assert "SGLang 0.5.19, declared in requirements.txt; the checked tree has no KVCache" in (
        " ".join(done.err.split())
    )


LATENT = """\
    from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool

    def read(pool: DeepSeekV4SingleKVPool):
        return pool.get_kv_buffer(0)
    """


def test_what_a_checked_copy_defines_is_not_judged_by_another_release(
    project: Path, kvlint: Kvlint
) -> None:
    sglang(project / "third_party", STRIPPED)

    done = kvlint("check", ".")

    assert (done.status, done.out) == (0, "")
    assert "SGLang 0.5.23, set in [tool.kvlint]" in " ".join(done.err.split())


def test_the_same_classes_of_the_release_are_judged(project: Path, kvlint: Kvlint) -> None:
    """What the copy above says of its own classes would be found if they were the release's."""
    text = dedent(STRIPPED["srt/layers/backend.py"]).replace("own.set_own(1)", "pass")
    text = text.replace("mem_cache.own import OwnPool", "mem_cache.memory_pool import KVCache")
    (project / "plugin.py").write_text(text.replace("OwnPool", "KVCache"))

    done = kvlint("check", "plugin.py", "--output-format", "concise")

    assert done.out.count("KV104") == 2
