"""KV301 for attention backends that know of the no-op pool and write all the same."""

from __future__ import annotations

import pytest

from tests.launch.asking import findings, places

HEAD = """\
from sglang.srt.layers.attention.base_attn_backend import AttentionBackend
from sglang.srt.mem_cache.memory_pool import NoOpMHATokenToKVPool

class MyBackend(AttentionBackend):
    def __init__(self, runner):
        self.pool = runner.token_to_kv_pool
        self.skip = isinstance(self.pool, NoOpMHATokenToKVPool)

"""
WRITE = """\
    def forward_extend(self, q, k, v, layer, forward_batch, save_kv_cache=True):
        if save_kv_cache:
            self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
"""
SILENT = {
    "the method asks for the pool": """\
    def forward_extend(self, q, k, v, layer, forward_batch):
        if not isinstance(self.pool, NoOpMHATokenToKVPool):
            self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
""",
    "the method asks for the flag": """\
    def forward_extend(self, q, k, v, layer, forward_batch):
        if not self.server_args.prefill_only_disable_kv_cache:
            self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
""",
    "the method has a name for it": """\
    def forward_extend(self, q, k, v, layer, forward_batch):
        if not self.fa_skip_kv_cache:
            self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
""",
    "an attribute keeps the answer": """\
    def forward_extend(self, q, k, v, layer, forward_batch):
        if not self.skip:
            self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
""",
    "the caller asks": """\
    def forward_extend(self, q, k, v, layer, forward_batch):
        if not self.skip:
            self.save(layer, forward_batch, k, v)

    def save(self, layer, forward_batch, k, v):
        self.pool.set_kv_buffer(layer, forward_batch.out_cache_loc, k, v)
""",
    "it does not write": "    def forward_extend(self, q, k, v): return q\n",
}


def test_a_write_without_a_skip_is_a_warning() -> None:
    (found,) = findings("backend.py", HEAD + WRITE)
    assert (found.code, found.severity, found.span.line) == ("KV301", "warning", 11)


@pytest.mark.parametrize("reason", SILENT)
def test_silent_because(reason: str) -> None:
    assert places("backend.py", HEAD + SILENT[reason]) == []


def test_a_backend_that_refuses_the_pool_is_left_alone() -> None:
    refusing = HEAD + "        if self.skip:\n            raise ValueError(self.pool)\n\n"
    assert places("backend.py", refusing + WRITE) == []


def test_a_class_that_is_no_backend_is_left_alone() -> None:
    assert places("backend.py", (HEAD + WRITE).replace("(AttentionBackend)", "(Writer)")) == []


def test_a_file_that_knows_nothing_of_the_pool_is_left_alone() -> None:
    assert places("backend.py", (HEAD + WRITE).replace("NoOpMHA", "MHA")) == []
