"""Writer probes: SGLang's own writers, driven through the pools' public methods.

Each must leave exactly the bytes that an independent torch reference leaves. A wrong byte means
that the control failed: `broken`. Runs only in child processes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from kvlint.runtime.call_values import Scene
from kvlint.runtime.outcome import Judged, error_text, frames_of, observe, wants_gpu
from kvlint.runtime.references import (
    NoReference,
    against,
    bits,
    put_index_k,
    put_kv,
    put_paged_pair,
    put_rows,
)
from kvlint.runtime.storage import Snapshot

Reference = Callable[[Snapshot], None]
Action = Callable[[], Any]


def judge_writer(scene: Scene, accessor: str) -> Judged:
    """Run one writer and compare every byte of the pool with the reference."""
    maker = WRITERS[accessor]
    try:
        action, reference = maker(scene)
    except NoReference as reason:
        return Judged("cannot-build", str(reason))
    return judge_effect(scene, action, reference)


def judge_effect(scene: Scene, action: Action, reference: Reference) -> Judged:
    call = observe(scene.pool, action, scene.built.keep)
    if call.error is not None:
        reason = wants_gpu(call.error) if scene.site.device == "cpu" else ""
        if reason:
            return Judged("needs-cuda", reason)
        return Judged("broken", f"raised {error_text(call.error)}", frames_of(call.error))
    expected = call.before.copy()
    try:
        reference(expected)
    except NoReference as reason:
        return Judged("cannot-build", str(reason))
    wrong = against(expected, call.after)
    if wrong:
        return Judged(
            "broken",
            "the bytes are not those of the reference",
            (f"against the reference: {wrong}", f"the call: {call.changed}"),
        )
    if not call.changed:
        return Judged("broken", "no byte changed")
    return Judged("confirmed", f"exactly the reference: {call.changed}")


def _set_kv_buffer(scene: Scene) -> tuple[Action, Reference]:
    k, v = scene.k, scene.v
    return (
        lambda: scene.pool.set_kv_buffer(scene.layer, scene.write_loc, k.clone(), v.clone()),
        lambda snapshot: put_kv(snapshot, scene, k, v),
    )


def _set_kv_buffer_masked(scene: Scene) -> tuple[Action, Reference]:
    """`dcp_kv_mask`: the row that another rank owns is left alone."""
    import torch

    k, v = scene.k, scene.v
    mask = torch.ones(len(scene.locations), dtype=torch.bool, device=scene.site.device)
    mask[1] = False
    target = scene.built.targets[scene.layer_id]

    def reference(snapshot: Snapshot) -> None:
        rows = [row for index, row in enumerate(target.rows(scene.locations)) if index != 1]
        put_rows(snapshot, target.k, rows, k[mask])
        put_rows(snapshot, target.v, rows, v[mask])

    return (
        lambda: scene.pool.set_kv_buffer(
            scene.layer, scene.write_loc, k.clone(), v.clone(), dcp_kv_mask=mask
        ),
        reference,
    )


def _prefix_valid(scene: Scene) -> tuple[Action, Reference]:
    """Two requests of three rows; the first commits two, the second one."""
    import torch

    locations = [*scene.locations, *(location + 1 for location in scene.locations)]
    wide = _wider(scene)
    loc = torch.tensor(locations, dtype=torch.int64, device=scene.site.device).view(2, 3)
    lengths = torch.tensor([2, 1], dtype=torch.int32, device=scene.site.device)
    k, v = wide
    kept = [0, 1, 3]
    target = scene.built.targets[scene.layer_id]

    def reference(snapshot: Snapshot) -> None:
        rows = target.rows([locations[index] for index in kept])
        put_rows(snapshot, target.k, rows, k[kept])
        put_rows(snapshot, target.v, rows, v[kept])

    return (
        lambda: scene.pool.set_kv_buffer_prefix_valid(
            scene.layer, loc, lengths, k.clone(), v.clone()
        ),
        reference,
    )


def _wider(scene: Scene) -> tuple[Any, Any]:
    import torch

    k = torch.cat([scene.k, scene.rows(tuple(scene.k.shape[1:]), salt=11)])
    v = torch.cat([scene.v, scene.rows(tuple(scene.v.shape[1:]), salt=12)])
    return k, v


def _set_mla_kv_buffer(scene: Scene) -> tuple[Action, Reference]:
    import torch

    pool = scene.pool
    latent = scene.rows((1, pool.kv_lora_rank), salt=4)
    rope = scene.rows((1, pool.qk_rope_head_dim), salt=5)
    target = scene.built.targets[scene.layer_id]
    return (
        lambda: pool.set_mla_kv_buffer(scene.layer, scene.write_loc, latent.clone(), rope.clone()),
        lambda snapshot: put_rows(
            snapshot, target.k, scene.locations, torch.cat([latent, rope], dim=-1)
        ),
    )


def _set_index_k_buffer(scene: Scene) -> tuple[Action, Reference]:
    rows = scene.index_k
    return (
        lambda: scene.pool.set_index_k_buffer(scene.layer, scene.loc, rows.clone()),
        lambda snapshot: put_index_k(snapshot, scene, rows),
    )


def _set_k_buffer(scene: Scene) -> tuple[Action, Reference]:
    rows = scene.index_k
    return (
        lambda: scene.pool.set_k_buffer(scene.layer_id, scene.loc, rows.clone()),
        lambda snapshot: put_index_k(snapshot, scene, rows),
    )


def _set_index_k_scale_buffer(scene: Scene) -> tuple[Action, Reference]:
    """DSA: pages of 64 rows of 128 FP8 values, then 64 scales of 4 bytes."""
    import torch

    index_k = scene.rows((128,), salt=6).to(torch.float8_e4m3fn)
    scale = scene.rows((1,), dtype=torch.float32, salt=7)
    local = list(scene.built.layers).index(scene.layer_id)
    views = observe(scene.pool, lambda: None, scene.built.keep).before
    path = next(
        (
            candidate
            for candidate in (
                f"index_k_with_scale_buffer[{local}]",
                f"index_key_cache.buffer[{local}]",
            )
            if views.has(candidate)
        ),
        "index_k_with_scale_buffer",
    )
    return (
        lambda: scene.pool.set_index_k_scale_buffer(
            scene.layer_id, scene.loc, index_k.clone(), scale.clone()
        ),
        lambda snapshot: put_paged_pair(snapshot, path, scene, index_k, scale, 64, 4),
    )


def dsv4_pack(scene: Scene) -> tuple[Any, Any, Any]:
    """FP8 NoPE values, bf16 RoPE values and scale bytes of one packed DeepSeek-V4 row each."""
    import torch

    nope = scene.rows((448,), salt=8).to(torch.float8_e4m3fn)
    rope = scene.rows((64,), salt=9)
    scales = (scene.rows((7,), salt=10).float().abs() * 40).to(torch.uint8)
    return nope, rope, scales


def pack_class() -> Any:
    """NopeFp8RopeBf16Pack, wherever this release keeps it."""
    for module in (
        "sglang.kernels.ops.kvcache.dsv4_main_kv_store",
        "sglang.srt.layers.attention.dsv4.quant_k_cache",
        "sglang.srt.mem_cache.deepseek_v4_memory_pool",
        "sglang.srt.layers.attention.nsa.quant_k_cache_v4",
    ):
        try:
            found = getattr(importlib.import_module(module), "NopeFp8RopeBf16Pack", None)
        except ModuleNotFoundError:
            continue
        if found is not None:
            return found
    raise NoReference("this release has no NopeFp8RopeBf16Pack")


def _set_key_buffer(scene: Scene) -> tuple[Action, Reference]:
    import torch

    nope, rope, scales = dsv4_pack(scene)
    pack = pack_class()(nope.clone(), rope.clone(), scales.clone())
    rows = torch.cat([nope.view(torch.uint8), rope.view(torch.uint8)], dim=-1)
    path = f"kv_buffer[{scene.layer_id}]"
    page = scene.pool.page_size
    return (
        lambda: scene.pool.set_key_buffer(scene.layer_id, scene.loc, pack),
        lambda snapshot: put_paged_pair(snapshot, path, scene, rows, scales, page, 8),
    )


def _set_key_buffer_fused(scene: Scene) -> tuple[Action, Reference]:
    """Only the uniform FP8 pool has a layout that torch can quantize to; the packed one is
    quantized by a CUDA kernel and has no bit-exact reference here."""
    import torch

    latent = scene.rows((512,), salt=8)

    def reference(snapshot: Snapshot) -> None:
        path = f"kv_buffer[{scene.layer_id}]"
        if not hasattr(scene.pool, "kv_cache_total_dim") or scene.pool.kv_cache_total_dim != 512:
            raise NoReference("no bit-exact reference is known for the packed quantization")
        mirror = snapshot.mirror(path).view(torch.uint8).view(-1, 512)
        mirror[scene.locations] = latent.to(torch.float8_e4m3fn).view(torch.uint8)

    return (
        lambda: scene.pool.set_key_buffer_fused(scene.layer_id, scene.loc, latent.clone()),
        reference,
    )


def _move_kv_cache(scene: Scene) -> tuple[Action, Reference]:
    """Rows are filled first, then moved: every layer's row of the target becomes the source's."""
    source, target = scene.loc[1:2], scene.loc[:1]
    fill(scene)

    def reference(snapshot: Snapshot) -> None:
        for one in scene.built.targets.values():
            for path in (one.k, one.v):
                if path:
                    mirror = bits(snapshot.mirror(path))
                    mirror[target.tolist()] = mirror[source.tolist()]

    return lambda: scene.pool.move_kv_cache(target, source), reference


def fill(scene: Scene) -> None:
    """Give every row of the layers' buffers bytes of its own."""
    import torch

    snapshot = observe(scene.pool, lambda: None, scene.built.keep).before
    generator = torch.Generator().manual_seed(scene.seed)
    for target in scene.built.targets.values():
        for path in (target.k, target.v):
            if path:
                view = next(view for view in snapshot.views if view.path == path)
                noise = torch.randn(tuple(view.tensor.shape), generator=generator)
                view.tensor.copy_(noise.to(view.tensor.dtype).to(view.tensor.device))


WRITERS: dict[str, Callable[[Scene], tuple[Action, Reference]]] = {
    "set_kv_buffer": _set_kv_buffer,
    "set_kv_buffer(dcp_kv_mask)": _set_kv_buffer_masked,
    "set_kv_buffer_prefix_valid": _prefix_valid,
    "set_mla_kv_buffer": _set_mla_kv_buffer,
    "set_index_k_buffer": _set_index_k_buffer,
    "set_k_buffer": _set_k_buffer,
    "set_index_k_scale_buffer": _set_index_k_scale_buffer,
    "set_key_buffer": _set_key_buffer,
    "set_key_buffer_fused": _set_key_buffer_fused,
    "move_kv_cache": _move_kv_cache,
}
