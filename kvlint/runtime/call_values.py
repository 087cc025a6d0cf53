"""Values for the parameters of pool accessors and of rule examples, by the field's names.

Runs only in child processes.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kvlint.runtime.builders import HEAD_DIM, HEADS, Built, Site

_LAYER_IDS = frozenset(("layer_id", "layer_index", "layer_idx"))
_LOCATIONS = frozenset(
    ("loc", "loc_info", "locs", "slots", "indices", "out_cache_loc", "kv_indices", "cache_loc")
)
_VALUES = frozenset(("v", "value", "cache_v", "values"))
_KEYS = frozenset(("k", "key", "cache_k", "keys", "latent"))
_INDEX_KEYS = frozenset(("index_k", "cache_idx_k", "idx_k", "index_v", "cache_idx_v"))
# What a method with *args is called with, so that it would work if it were no guard.
_CANONICAL = {
    "set_kv_buffer": ("layer", "loc", "cache_k", "cache_v"),
    "set_kv_buffer_prefix_valid": ("layer", "loc_2d", "commit_lens", "cache_k", "cache_v"),
    "get_kv_buffer": ("layer_id",),
    "get_key_buffer": ("layer_id",),
    "get_value_buffer": ("layer_id",),
    "move_kv_cache": ("tgt_loc", "src_loc"),
}


@dataclass(frozen=True)
class Scene:
    """A built pool and one write to it: `layer_id`, the locations, and the rows to store."""

    built: Built
    site: Site
    layer_id: int
    seed: int = 1

    @property
    def pool(self) -> Any:
        return self.built.pool

    @cached_property
    def locations(self) -> list[int]:
        return list(self.built.slots)

    @cached_property
    def loc(self) -> Any:
        import torch

        return torch.tensor(self.locations, dtype=torch.int64, device=self.site.device)

    @cached_property
    def write_loc(self) -> Any:
        """The locations as `set_kv_buffer` wants them: SWA pools take the window's slots beside
        them, unified pools of 0.5.23 physical ids that say so."""
        import torch

        module = importlib.import_module("sglang.srt.mem_cache.memory_pool")
        bundle = getattr(module, "KVWriteLoc", None)
        if bundle is None:
            return self.loc
        target = self.built.targets.get(self.layer_id)
        if target is not None and target.k.startswith("swa_kv_pool."):
            rows = target.rows(self.locations)
            return bundle(self.loc, torch.tensor(rows, device=self.site.device))
        inner = getattr(self.pool, "full_kv_pool", None) or self.pool
        if getattr(inner, "requires_physical_write_loc", False):
            return bundle(self.loc, physical=True)
        return self.loc

    @cached_property
    def layer(self) -> Any:
        """A real RadixAttention of that layer."""
        module = importlib.import_module("sglang.srt.layers.radix_attention")
        return module.RadixAttention(
            num_heads=HEADS,
            head_dim=HEAD_DIM,
            scaling=1.0,
            num_kv_heads=HEADS,
            layer_id=self.layer_id,
        )

    def rows(self, shape: tuple[int, ...], dtype: Any = None, salt: int = 0) -> Any:
        """Random rows for the locations: no value repeats often enough to hide a misplaced row."""
        import torch

        generator = torch.Generator().manual_seed(self.seed * 1000 + salt)
        values = torch.randn((len(self.locations), *shape), generator=generator)
        return values.to(dtype or torch.bfloat16).to(self.site.device)

    @cached_property
    def k(self) -> Any:
        return self.rows(self._k_shape(), salt=1)

    @cached_property
    def v(self) -> Any:
        pool = self.pool
        if hasattr(pool, "kv_lora_rank") and pool.kv_lora_rank:
            return self.rows((1, pool.kv_lora_rank), salt=2)
        heads, width = getattr(pool, "head_num", HEADS), getattr(pool, "head_dim", HEAD_DIM)
        return self.rows((heads, getattr(pool, "v_head_dim", None) or width), salt=2)

    def _k_shape(self) -> tuple[int, ...]:
        pool = self.pool
        if hasattr(pool, "qk_nope_head_dim"):
            return (pool.qk_nope_head_dim + pool.qk_rope_head_dim,)
        if getattr(pool, "kv_lora_rank", None):
            return (1, pool.kv_lora_rank + pool.qk_rope_head_dim)
        return (getattr(pool, "head_num", HEADS), getattr(pool, "head_dim", HEAD_DIM))

    @cached_property
    def index_k(self) -> Any:
        """Index K rows as bf16, of the K-only sub-pool where there is one."""
        pool = getattr(self.pool, "index_k_pool", None) or self.pool
        width = getattr(pool, "head_dim", 128)
        heads = getattr(pool, "head_num", 1)
        return self.rows((heads, width), salt=3)


def value_for(name: str, scene: Scene) -> Any:
    """The value a parameter of that name gets. None where the name says nothing."""
    if name in _LAYER_IDS:
        return scene.layer_id
    if name == "layer":
        return scene.layer
    if name in _LOCATIONS:
        return scene.write_loc if name in ("loc", "loc_info") else scene.loc
    if name in _INDEX_KEYS:
        return scene.index_k.clone()
    if name in _VALUES:
        return scene.v.clone()
    if name in _KEYS:
        return scene.k.clone()
    return _rarer(name, scene)


def _rarer(name: str, scene: Scene) -> Any:
    if name == "tgt_loc":
        return scene.loc[:1]
    if name == "src_loc":
        return scene.loc[1:2]
    if name == "loc_2d":
        return scene.loc.view(1, -1)
    if name == "commit_lens":
        return scene.loc.new_tensor([len(scene.locations)])
    return None


def arguments_for(
    method: Callable[..., Any], name: str, scene: Scene
) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword values for the required parameters of a bound method."""
    parameters = list(inspect.signature(method).parameters.values())
    if any(p.kind is p.VAR_POSITIONAL for p in parameters) and name in _CANONICAL:
        return [value_for(wanted, scene) for wanted in _CANONICAL[name]], {}
    positional: list[Any] = []
    keywords: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.default is not parameter.empty:
            continue
        value = value_for(parameter.name, scene)
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = value
        else:
            positional.append(value)
    return positional, keywords
