"""Builds SGLang's real pools with tiny sizes, on whatever device is at hand.

Constructor parameters drift from release to release: a builder offers more than any one release
takes, and `construct` passes what the signature takes. Sizes are tokens unless said otherwise.
Runs only in child processes.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from kvlint.runtime.compat import two_context_ranks

SIZE = 64
PAGE = 16
HEADS = 2
HEAD_DIM = 64

POOL_MODULES = (
    "memory_pool",
    "swa_memory_pool",
    "base_swa_memory_pool",
    "deepseek_v4_memory_pool",
    "hisparse_memory_pool",
    "dsa_cache_layer_split",
    "unified_memory_pool",
    "unified_draft_pool",
    "qsa_kv_pool",
    "minimax_m3_nvfp4_pool",
    "page_interleave_pool",
)


class CannotBuild(Exception):
    """A pool that cannot be built here. The text is the reason, or the missing package."""


@dataclass(frozen=True)
class Site:
    """Where pools are built: `device` as torch spells it, `triton` whether kernels can run,
    `start_layer` of a later pipeline stage where a class takes one."""

    device: str = "cpu"
    triton: bool = False
    start_layer: int = 0


@dataclass(frozen=True)
class Target:
    """The tensors that K and V of one layer belong in, by their paths, as the layout documents
    it: never read from the pool's own mapping, which is what is under test.

    `slots`: location in the parent's ids -> row of the tensors, where the two differ.
    """

    k: str
    v: str = ""
    slots: dict[int, int] = field(default_factory=dict)

    def rows(self, locations: list[int]) -> list[int]:
        return [self.slots.get(location, location) for location in locations]


@dataclass(frozen=True)
class Built:
    """A real pool with what must stay alive beside it.

    `layers`: layer ids that its accessors take. `slots`: token locations that are free to write,
    row 0 (padding) excluded.
    """

    pool: Any
    layers: tuple[int, ...] = (0, 1)
    slots: tuple[int, ...] = (17, 40, 33)
    keep: tuple[Any, ...] = ()
    targets: dict[int, Target] = field(default_factory=dict)
    index_targets: dict[int, Target] = field(default_factory=dict)


def pool_module(name: str) -> Any:
    return importlib.import_module(f"sglang.srt.mem_cache.{name}")


def pool_class(qualname: str) -> Any:
    """The class of a qualified name. Raises CannotBuild where its module does not import."""
    module, _, name = qualname.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise CannotBuild(f"the module {error.name} is missing") from error
    except (ImportError, OSError) as error:
        raise CannotBuild(f"{module} does not import: {first_line(error)}") from error
    except AttributeError as error:
        raise CannotBuild(f"{module} has no {name}") from error


def first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0]}" if text else type(error).__name__


def accepted_parameters(cls: type, follow: bool = True) -> tuple[set[str], set[str]]:
    """Names that `cls(...)` takes and those it needs. `follow`: through `*args`/`**kwargs` up the
    MRO; SWAKVPool is the one that hands them to its sub-pools instead."""
    names: set[str] = set()
    needed: set[str] = set()
    for owner in cls.__mro__:
        if "__init__" not in owner.__dict__ or owner is object:
            continue
        open_ended = False
        parameters = list(inspect.signature(owner.__dict__["__init__"]).parameters.values())[1:]
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                open_ended = True
                continue
            names.add(parameter.name)
            if parameter.default is parameter.empty:
                needed.add(parameter.name)
        if not (open_ended and follow):
            break
    return names, needed


def construct(cls: type, offered: dict[str, Any], follow: bool = True) -> Any:
    """`cls(...)` with what its signature takes of `offered`. Raises CannotBuild."""
    abstract = sorted(getattr(cls, "__abstractmethods__", ()))
    if abstract:
        raise CannotBuild(f"{cls.__name__} is abstract ({', '.join(abstract)})")
    names, needed = accepted_parameters(cls, follow)
    missing = sorted(needed - set(offered))
    if missing:
        raise CannotBuild(f"{cls.__name__}.__init__ wants {', '.join(missing)}: no value is known")
    return cls(**{name: value for name, value in offered.items() if name in names})


def build(cls: type, site: Site) -> Built:
    """A small real instance of `cls`. Raises CannotBuild with the reason."""
    for owner in cls.__mro__:
        builder = BUILDERS.get(owner.__name__)
        if builder is not None:
            return _guarded(builder, cls, site)
    raise CannotBuild(f"no builder is known for {cls.__name__}")


def _guarded(builder: Callable[[type, Site], Built], cls: type, site: Site) -> Built:
    try:
        return builder(cls, site)
    except ModuleNotFoundError as error:
        raise CannotBuild(f"the module {error.name} is missing") from error
    except NotImplementedError as error:
        raise CannotBuild(f"SGLang refuses to build it: {first_line(error)}") from error
    except (
        ImportError,
        RuntimeError,
        ValueError,
        TypeError,
        AttributeError,
        KeyError,
        AssertionError,
        IndexError,
        OSError,
    ) as error:
        raise CannotBuild(f"its constructor failed: {first_line(error)}") from error


def _common(site: Site) -> dict[str, Any]:
    import torch

    return {
        "size": SIZE,
        "page_size": PAGE,
        "layer_num": 2,
        "device": site.device,
        "enable_memory_saver": False,
        "dtype": torch.bfloat16,
        "head_num": HEADS,
        "head_dim": HEAD_DIM,
        "enable_alt_stream": False,
        "enable_kv_cache_copy": site.triton,
        "start_layer": site.start_layer,
    }


def kv_targets(layers: tuple[int, ...], prefix: str = "") -> dict[int, Target]:
    """The i-th of `layers` has the i-th K and V buffer."""
    return {
        layer: Target(f"{prefix}k_buffer[{index}]", f"{prefix}v_buffer[{index}]")
        for index, layer in enumerate(layers)
    }


def latent_targets(layers: tuple[int, ...]) -> dict[int, Target]:
    return {layer: Target(f"kv_buffer[{index}]") for index, layer in enumerate(layers)}


def _mha(cls: type, site: Site) -> Built:
    layers = (site.start_layer, site.start_layer + 1)
    return Built(construct(cls, _common(site)), layers=layers, targets=kv_targets(layers))


def _no_op(cls: type, site: Site) -> Built:
    return Built(construct(cls, _common(site)))


def _k_only(cls: type, site: Site) -> Built:
    pool = construct(cls, {**_common(site), "head_num": 1, "start_layer": 0})
    return Built(pool, index_targets={0: Target("k_buffer[0]"), 1: Target("k_buffer[1]")})


def _fp4(cls: type, site: Site) -> Built:
    import torch

    offered = {**_common(site), "dtype": torch.float4_e2m1fn_x2, "enable_kv_cache_copy": False}
    return Built(construct(cls, offered))


def _mxfp8(cls: type, site: Site) -> Built:
    import torch

    offered = {
        **_common(site),
        "dtype": torch.float8_e4m3fn,
        "page_size": 128,
        "size": 256,
        "head_dim": 128,
    }
    return Built(construct(cls, offered))


def _mla_parameters(site: Site) -> dict[str, Any]:
    mla = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "index_head_dim": None}
    return {**_common(site), **mla}


def _mla(cls: type, site: Site) -> Built:
    layers = (site.start_layer, site.start_layer + 1)
    built = construct(cls, _mla_parameters(site))
    return Built(built, layers=layers, targets=latent_targets(layers))


def _mla_fp4(cls: type, site: Site) -> Built:
    import torch

    return Built(construct(cls, {**_mla_parameters(site), "dtype": torch.float4_e2m1fn_x2}))


def _dsa_parameters(site: Site) -> dict[str, Any]:
    return {
        **_mla_parameters(site),
        "size": 128,
        "page_size": 64,
        "index_head_dim": 128,
        "kv_cache_dim": 576,
        "max_running_requests": 2,
    }


def _dsa(cls: type, site: Site) -> Built:
    layers = (site.start_layer, site.start_layer + 1)
    pool = construct(cls, _dsa_parameters(site))
    return Built(pool, layers=layers, slots=(70, 101, 90), targets=latent_targets(layers))


def _layer_split_dsa(cls: type, site: Site) -> Built:
    group = _fake_group(site, world_size=2)
    parallel = importlib.import_module("sglang.srt.runtime_context").get_parallel()
    scope = parallel.override(attn_cp_group=group, **two_context_ranks(parallel))
    scope.__enter__()
    offered = {**_dsa_parameters(site), "layer_shard_rank": 0, "layer_shard_size": 2}
    return Built(construct(cls, offered), layers=(0,), slots=(70, 101, 90), keep=(group, scope))


def _hisparse_mha(cls: type, site: Site) -> Built:
    pool = construct(cls, _common(site))
    pool.register_mapping(slot_mapping(site.device))
    targets = {
        layer: Target(f"k_buffer[{index}]", f"v_buffer[{index}]", OTHER_SLOTS)
        for index, layer in enumerate((0, 1))
    }
    return Built(pool, targets=targets)


def _minimax(cls: type, site: Site) -> Built:
    offered = {
        **_common(site),
        "idx_head_dim": 64,
        "dense_layer_ids": [0],
        "sparse_layer_ids": [1, 2, 3],
        "disable_value_sparse_layer_ids": [1, 2],
        "start_layer": 0,
        "end_layer": 4,
    }
    offered.pop("layer_num")
    layers = (0, 1, 2, 3)
    k_only = {1: Target("index_k_pool.k_buffer[0]"), 2: Target("index_k_pool.k_buffer[1]")}
    return Built(
        construct(cls, offered),
        layers=layers,
        targets=kv_targets(layers, "main_pool."),
        index_targets=k_only,
    )


def _minimax_nvfp4(cls: type, site: Site) -> Built:
    import torch

    offered = {
        **_nvfp4_parameters(site),
        "head_num": HEADS,
        "idx_head_dim": 128,
        "dense_layer_ids": [],
        "sparse_layer_ids": [0, 1],
        "disable_value_sparse_layer_ids": [0, 1],
        "start_layer": 0,
        "end_layer": 2,
        "index_dtype": torch.float4_e2m1fn_x2,
    }
    # The constructor takes **kwargs and hands them on with sub-pool classes of its own.
    names, _ = accepted_parameters(cls)
    taken = {key: value for key, value in offered.items() if key in names}
    return Built(cls(**taken), slots=(130, 200, 150))


def _nvfp4_parameters(site: Site) -> dict[str, Any]:
    import torch

    return {
        **_common(site),
        "dtype": torch.float4_e2m1fn_x2,
        "page_size": 128,
        "size": 256,
        "head_dim": 128,
    }


def _nvfp4_index(cls: type, site: Site) -> Built:
    return Built(construct(cls, {**_nvfp4_parameters(site), "head_num": 1}), slots=(130, 200, 150))


def _nvfp4_main(cls: type, site: Site) -> Built:
    return Built(construct(cls, _nvfp4_parameters(site)), slots=(130, 200, 150))


OTHER_SLOTS = {17: 5, 40: 21, 33: 9}
"""Full slot -> slot of a window or of the device's part, deliberately no identity."""


def slot_mapping(device: str) -> Any:
    import torch

    mapping = torch.zeros(SIZE + PAGE + 1, dtype=torch.int64, device=device)
    for full, window in OTHER_SLOTS.items():
        mapping[full] = window
    return mapping


def _swa(cls: type, site: Site) -> Built:
    offered = {
        **_common(site),
        "size_swa": 32,
        "swa_attention_layer_ids": [0, 2],
        "full_attention_layer_ids": [1, 3],
        "token_to_kv_pool_class": pool_module("memory_pool").MHATokenToKVPool,
    }
    pool = construct(cls, offered, follow=False)
    pool.register_mapping(slot_mapping(site.device))
    targets = kv_targets((1, 3), "full_kv_pool.")
    for index, layer in enumerate((0, 2)):
        path = f"swa_kv_pool.{{}}_buffer[{index}]"
        targets[layer] = Target(path.format("k"), path.format("v"), OTHER_SLOTS)
    return Built(pool, layers=(0, 1, 2, 3), targets=targets)


def mamba_pool(site: Site) -> Any:
    """A real MambaPool of one layer and four slots."""
    import torch

    utils = importlib.import_module("sglang.srt.configs.mamba_utils")
    shape = construct_by_create(utils.Mamba2StateShape)
    offered: dict[str, Any] = {"shape": shape, "layers": [0]}
    dtype_class = getattr(utils, "Mamba2StateDType", None)
    if dtype_class is not None:
        offered["dtype"] = dtype_class(conv=torch.bfloat16, temporal=torch.float32)
    names, _ = accepted_parameters(utils.Mamba2CacheParams)
    parameters = utils.Mamba2CacheParams(**{k: v for k, v in offered.items() if k in names})
    return construct(
        pool_module("memory_pool").MambaPool,
        {
            "size": 4,
            "spec_state_size": 4,
            "cache_params": parameters,
            "mamba_layer_ids": [0],
            "device": site.device,
            "enable_memory_saver": False,
        },
    )


def construct_by_create(shape_class: Any) -> Any:
    return shape_class.create(
        tp_world_size=1,
        intermediate_size=32,
        n_groups=1,
        num_heads=2,
        head_dim=16,
        state_size=8,
        conv_kernel=4,
    )


def _hybrid(cls: type, site: Site) -> Built:
    offered = {
        **_common(site),
        "full_attention_layer_ids": [1, 3],
        "mamba_pool": mamba_pool(site),
        "start_layer": None,
    }
    targets = kv_targets((1, 3), "full_kv_pool.")
    return Built(construct(cls, offered), layers=(1, 3), targets=targets)


def _unified_hybrid(cls: type, site: Site) -> Built:
    module = pool_module("unified_memory_pool")
    buffer = unified_buffer(site)
    inner = construct(
        module.UnifiedMHATokenToKVPool,
        {"unified_buffer": buffer, "sub_pool_name": "full", "page_size": 1},
    )
    offered = {
        **_common(site),
        "page_size": 1,
        "full_attention_layer_ids": [1, 3],
        "mamba_pool": mamba_pool(site),
        "full_kv_pool": inner,
        "start_layer": None,
    }
    targets = kv_targets((1, 3), "full_kv_pool.")
    return Built(construct(cls, offered), layers=(1, 3), keep=(buffer,), targets=targets)


def _qsa(cls: type, site: Site) -> Built:
    offered = {
        **_common(site),
        "full_attention_layer_ids": [1, 3],
        "mamba_pool": mamba_pool(site),
        "start_layer": None,
        "qsa_index_kv_heads": 1,
        "qsa_index_head_dim": 64,
        "qsa_compress_ratio": 4,
        "qsa_token_topk": 8,
        "num_request_slots": 4,
    }
    targets = kv_targets((1, 3), "full_kv_pool.")
    return Built(construct(cls, offered), layers=(1, 3), targets=targets)


def _dsv4_parameters(site: Site) -> dict[str, Any]:
    import torch

    return {
        **_common(site),
        "size": 128,
        "page_size": 64,
        "dtype": torch.float8_e4m3fn,
        "qk_nope_head_dim": 448,
        "qk_rope_head_dim": 64,
        "index_head_dim": 128,
    }


def _dsv4_single(cls: type, site: Site) -> Built:
    return Built(construct(cls, _dsv4_parameters(site)), slots=(70, 101, 90))


def _dsv4_composite(cls: type, site: Site) -> Built:
    import torch

    offered = {
        **_dsv4_parameters(site),
        "max_num_reqs": 2,
        "swa_size": 512,
        "c4_size": 512,
        "c128_size": 16,
        "c4_state_pool_size": 64,
        "c128_state_pool_size": 256,
        "page_size": 256,
        "swa_page_size": 128,
        "compression_ratios": [0, 4, 128],
        "layer_num": 3,
        "c4_state_dtype": torch.float32,
        "c128_state_dtype": torch.float32,
        "indexer_head_dim": 128,
    }
    offered.pop("size")
    return Built(construct(cls, offered), layers=(0, 1, 2), slots=(300, 400, 350))


def unified_buffer(site: Site, layers: int = 2, draft: bool = False) -> Any:
    """A real UnifiedKVPool with the sub-pools `full` (grows down) and `swa` (grows up)."""
    import torch

    module = pool_module("unified_memory_pool")
    common: dict[str, Any] = {
        "layer_num": layers,
        "head_num": HEADS,
        "head_dim": HEAD_DIM,
        "store_dtype": torch.bfloat16,
    }
    placement = _draft_placement() if draft else None
    specs = []
    for name, direction in (("full", "down"), ("swa", "up")):
        region = {} if placement is None else {"draft_region": placement.region(name)}
        specs.append(module.MHASubPoolSpec(name=name, grow_direction=direction, **common, **region))
    offered = {
        "total_bytes": 1 << 18,
        "sub_pool_specs": specs,
        "device": site.device,
        "enable_memory_saver": False,
        "page_size": 1,
    }
    if placement is not None:
        offered["fused_draft"] = placement
    return construct(module.UnifiedKVPool, offered)


def _draft_placement() -> Any:
    import torch

    layout = importlib.import_module("sglang.srt.mem_cache.layout.fused_draft")
    region = layout.DenseDraftRegion(
        lane_num=1, head_num=HEADS, head_dim=HEAD_DIM, store_dtype=torch.bfloat16
    )
    ranges = {"full": (0, 1), "swa": (0, 1)}
    return layout.FusedDraftPlacement(
        runners=(layout.RunnerLanes(ranges=ranges),), regions={"full": region, "swa": region}
    )


def _unified_mha(cls: type, site: Site) -> Built:
    buffer = unified_buffer(site)
    sibling = construct(
        pool_module("unified_memory_pool").UnifiedMHATokenToKVPool,
        {"unified_buffer": buffer, "sub_pool_name": "swa", "page_size": 1},
    )
    offered = {"unified_buffer": buffer, "sub_pool_name": "full", "page_size": 1}
    targets = kv_targets((0, 1))
    return Built(construct(cls, offered), keep=(buffer, sibling), targets=targets)


def _unified_mla(cls: type, site: Site) -> Built:
    import torch

    module = pool_module("unified_memory_pool")
    specs = [
        module.MLASubPoolSpec(
            name=name,
            grow_direction=direction,
            layer_num=2,
            kv_lora_rank=512,
            qk_rope_head_dim=64,
            store_dtype=torch.bfloat16,
        )
        for name, direction in (("full", "down"), ("swa", "up"))
    ]
    buffer = construct(
        module.UnifiedKVPool,
        {
            "total_bytes": 1 << 18,
            "sub_pool_specs": specs,
            "device": site.device,
            "enable_memory_saver": False,
            "page_size": 1,
        },
    )
    offered = {
        "unified_buffer": buffer,
        "sub_pool_name": "full",
        "page_size": 1,
        "kv_cache_dtype": torch.bfloat16,
    }
    return Built(construct(cls, offered), keep=(buffer,), targets=latent_targets((0, 1)))


def _unified_swa(cls: type, site: Site) -> Built:
    buffer = unified_buffer(site)
    offered = {
        "unified_buffer": buffer,
        "swa_attention_layer_ids": [0, 2],
        "full_attention_layer_ids": [1, 3],
        "page_size": 1,
    }
    targets = kv_targets((1, 3), "full_kv_pool.")
    return Built(construct(cls, offered), layers=(1, 3), keep=(buffer,), targets=targets)


def _unified_draft(cls: type, site: Site) -> Built:
    buffer = unified_buffer(site, draft=True)
    offered = {
        "unified_buffer": buffer,
        "host_sub_pool_name": "full",
        "host_allocator": None,
        "layer_lanes": {0: 0},
        "page_size": 1,
    }
    return Built(construct(cls, offered), layers=(0,), keep=(buffer,))


def _unified_draft_swa(cls: type, site: Site) -> Built:
    buffer = unified_buffer(site, draft=True)
    offered = {
        "unified_buffer": buffer,
        "host_allocator": None,
        "page_size": 1,
        "full_layer_lanes": {0: 0},
        "swa_layer_lanes": {1: 0},
    }
    return Built(construct(cls, offered), layers=(0, 1), keep=(buffer,))


@dataclass(frozen=True)
class OneOfTwoRanks:
    """What a pool reads of the process group it is sharded over: rank 0 of 2, alone here.

    The pool and its buffers are real; nothing that these probes call talks to the other rank.
    """

    cpu_group: Any
    device: Any
    device_group: Any = None
    world_size: int = 2
    rank_in_group: int = 0
    pynccl_comm: Any = None


def _fake_group(site: Site, world_size: int) -> OneOfTwoRanks:
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        fake = importlib.import_module("torch.testing._internal.distributed.fake_pg")
        dist.init_process_group(
            backend="fake", rank=0, world_size=world_size, store=fake.FakeStore()
        )
    group = dist.group.WORLD
    return OneOfTwoRanks(group, torch.device(site.device), group)


def _page_interleave(parameters: Callable[[Site], dict[str, Any]]) -> Callable[[type, Site], Built]:
    def builder(cls: type, site: Site) -> Built:
        if site.device != "cpu":
            raise CannotBuild("it opens an NCCL communicator between two GPUs")
        group = _fake_group(site, world_size=2)
        offered = parameters(site)
        page = offered["page_size"]
        spec = importlib.import_module("sglang.srt.mem_cache.page_interleave").PageShardSpec(
            shard_rank=0,
            shard_size=2,
            page_size=page,
            max_prefix_tokens=2 * page,
            chunk_tokens=2 * page,
        )
        offered = {**offered, "shard_spec": spec, "shard_group": group, "use_dsa": False}
        offered["enable_kv_cache_copy"] = False
        return Built(construct(cls, offered), slots=(17, 40, 33), keep=(group,))

    return builder


def _mlx_stub(cls: type, site: Site) -> Built:
    return Built(construct(cls, _common(site)), layers=(0,))


BUILDERS: dict[str, Callable[[type, Site], Built]] = {
    "PageInterleaveDSATokenToKVPool": _page_interleave(_dsa_parameters),
    "PageInterleaveMLATokenToKVPool": _page_interleave(_mla_parameters),
    "PageInterleaveMHATokenToKVPool": _page_interleave(_common),
    "UnifiedDraftSWAKVPool": _unified_draft_swa,
    "UnifiedDraftKVPool": _unified_draft,
    "UnifiedHybridLinearKVPool": _unified_hybrid,
    "UnifiedSWAKVPool": _unified_swa,
    "UnifiedMLATokenToKVPool": _unified_mla,
    "UnifiedMHATokenToKVPool": _unified_mha,
    "MiniMaxM3Nvfp4KVPool": _minimax_nvfp4,
    "MiniMaxM3Nvfp4MainKVPool": _nvfp4_main,
    "MiniMaxM3Nvfp4IndexKPool": _nvfp4_index,
    "MiniMaxSparseKVPool": _minimax,
    "MHATokenToKOnlyPool": _k_only,
    "LayerSplitDSATokenToKVPool": _layer_split_dsa,
    "DSATokenToKVPool": _dsa,
    "MLATokenToKVPoolFP4": _mla_fp4,
    "MLATokenToKVPool": _mla,
    "MHATokenToKVPoolMXFP8": _mxfp8,
    "MHATokenToKVPoolFP4": _fp4,
    "HiSparseMHAMainPool": _hisparse_mha,
    "NoOpMHATokenToKVPool": _no_op,
    "MHATokenToKVPool": _mha,
    "QSATokenToKVPool": _qsa,
    "HybridLinearKVPool": _hybrid,
    "SWAKVPool": _swa,
    "DeepSeekV4TokenToKVPool": _dsv4_composite,
    "DeepSeekV4IndexerPool": _dsv4_single,
    "DeepSeekV4SingleKVPool": _dsv4_single,
    "_DummyKVCache": _mlx_stub,
}


def pool_classes_in_process() -> Iterator[type]:
    """Every class derived from KVCache that is imported now, KVCache itself included."""
    root = pool_module("memory_pool").KVCache
    seen: set[type] = set()
    queue = [root]
    while queue:
        cls = queue.pop()
        if cls not in seen:
            seen.add(cls)
            queue.extend(cls.__subclasses__())
            yield cls
