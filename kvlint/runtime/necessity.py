"""Necessity probes: what a guard or a writer's mapping protects from.

Each makes the write that the misuse would make, into real pool buffers, names every byte that
went astray, and then makes the documented write as its control. A misuse without harm is
`refuted`. Writes by kvlint's Triton kernels go into a red-zone arena, so that nothing outside is
harmed. Runs only in child processes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kvlint.runtime.builders import PAGE, Site, build, pool_module
from kvlint.runtime.call_values import Scene
from kvlint.runtime.outcome import Judged, error_text, frames_of, observe, wants_gpu
from kvlint.runtime.references import NoReference, against, bits, put_index_k, put_kv
from kvlint.runtime.storage import Snapshot, views_of

_ZONE = 1 << 16


def judge_necessity(site: Site, name: str) -> Judged:
    try:
        return NECESSITY[name](site)
    except NoReference as reason:
        return Judged("cannot-build", str(reason))


def _arena(scene: Scene, paths: dict[str, tuple[list[Any], int]], zone: int) -> Any:
    """Move buffers into a red-zone arena, in place: `paths` is name -> (its list, its index)."""
    from kvlint.runtime.arena import RedZoneArena

    tensors = {name: holder[index] for name, (holder, index) in paths.items()}
    arena = RedZoneArena(tensors, zone)
    for name, (holder, index) in paths.items():
        holder[index] = arena.tensor(name)
    return arena


def _kv_paths(pool: Any) -> dict[str, tuple[list[Any], int]]:
    paths = {}
    for index in range(len(pool.k_buffer)):
        paths[f"k_buffer[{index}]"] = (pool.k_buffer, index)
        paths[f"v_buffer[{index}]"] = (pool.v_buffer, index)
    return paths


def no_op_placeholder(site: Site) -> Judged:
    """A Triton store through the no-op pool's getters, at the locations the scheduler hands out."""
    from kvlint.runtime import kernels

    module = pool_module("memory_pool")
    control = Scene(build(module.MHATokenToKVPool, site), site, 0)
    control_arena = _arena(control, _kv_paths(control.pool), _ZONE)
    before = Snapshot(views_of(control.pool))
    k_buffer, v_buffer = control.pool.get_kv_buffer(0)
    kernels.scatter_kv(control.k, control.v, k_buffer, v_buffer, control.loc, bounded=False)
    broken = _control_differs(control, before) or _strays_text(control_arena.strays())
    if broken:
        return Judged("broken", f"the same store into a full pool went astray: {broken}")
    scene = Scene(build(module.NoOpMHATokenToKVPool, site), site, 0)
    arena = _arena(scene, _kv_paths(scene.pool), _ZONE)
    k_buffer, v_buffer = scene.pool.get_kv_buffer(0)
    rows = k_buffer.shape[0]
    kernels.scatter_kv(scene.k, scene.v, k_buffer, v_buffer, scene.loc, bounded=False)
    strays = arena.strays()
    if not strays:
        return Judged("refuted", f"no byte outside the {rows} rows of the placeholder")
    total = sum(stray.count for stray in strays)
    size = scene.pool.size
    return Judged(
        "confirmed",
        f"{total} bytes outside the placeholder: it has {rows} rows, the pool says size {size}",
        tuple(str(stray) for stray in strays),
    )


def _control_differs(scene: Scene, before: Snapshot) -> str:
    expected = before.copy()
    put_kv(expected, scene, scene.k, scene.v)
    wrong = against(expected, Snapshot(before.views))
    return str(wrong) if wrong else ""


def _strays_text(strays: list[Any]) -> str:
    return "; ".join(str(stray) for stray in strays)


def k_only_value_store(site: Site) -> Judged:
    """K and V stored through the only buffer that a K-only pool has."""
    from kvlint.runtime import kernels

    scene = Scene(build(pool_module("memory_pool").MHATokenToKOnlyPool, site), site, 0)
    paths = {f"k_buffer[{i}]": (scene.pool.k_buffer, i) for i in range(len(scene.pool.k_buffer))}
    arena = _arena(scene, paths, _ZONE)
    keys, values = scene.index_k, scene.rows(tuple(scene.index_k.shape[1:]), salt=30)
    buffer = scene.pool.get_key_buffer(0)
    kernels.scatter_rows(keys, buffer, scene.loc, bounded=False)
    kept = kernels.gather_rows(buffer, scene.loc)
    if not _same(kept, keys) or arena.strays():
        return Judged("broken", "the K rows that were stored are not the K rows that are read")
    kernels.scatter_kv(keys, values, buffer, buffer, scene.loc, bounded=False)
    return _lost_rows(buffer, scene, keys, values, "k_buffer[0]")


def _lost_rows(buffer: Any, scene: Scene, keys: Any, values: Any, name: str) -> Judged:
    """Whether the rows that held K hold V now."""
    from kvlint.runtime import kernels

    found = kernels.gather_rows(buffer, scene.loc)
    if _same(found, keys):
        return Judged("refuted", "K survived the store of V")
    holds = "V" if _same(found, values) else "neither K nor V"
    rows = ", ".join(str(location) for location in scene.locations)
    return Judged("confirmed", f"K is lost: rows {rows} of {name} hold {holds}")


def _same(left: Any, right: Any) -> bool:
    import torch

    return bool(torch.equal(bits(left.contiguous()).flatten(), bits(right.contiguous()).flatten()))


def shared_buffer_value_store(site: Site) -> Judged:
    """V stored at the rows of K, in the packed layout of DeepSeek-V4's one buffer."""
    import torch

    from kvlint.runtime import kernels
    from kvlint.runtime.writers import dsv4_pack

    scene = _dsv4_scene(site)
    buffer = scene.pool.kv_buffer[0]
    nope, rope, scales = dsv4_pack(scene)
    keys = torch.cat([nope.view(torch.uint8), rope.view(torch.uint8)], dim=-1)
    other = Scene(scene.built, site, 0, seed=2)
    nope_v, rope_v, scales_v = dsv4_pack(other)
    values = torch.cat([nope_v.view(torch.uint8), rope_v.view(torch.uint8)], dim=-1)
    page = scene.pool.page_size
    kernels.scatter_paged_pair(keys, scales, buffer, scene.loc, page, 8)
    if not _same(_packed(buffer, scene, page), keys):
        return Judged("broken", "the packed K rows are not read back as they were stored")
    kernels.scatter_paged_pair(values, scales_v, buffer, scene.loc, page, 8)
    found = _packed(buffer, scene, page)
    if _same(found, keys):
        return Judged("refuted", "K survived the store of V")
    changed = int((found != keys).sum())
    slots = ", ".join(str(location) for location in scene.locations)
    total = keys.numel()
    return Judged("confirmed", f"K is lost: {changed} of {total} bytes of slots {slots} hold V")


def _dsv4_scene(site: Site) -> Scene:
    cls = pool_module("deepseek_v4_memory_pool").DeepSeekV4SingleKVPool
    return Scene(build(cls, site), site, 0)


def _packed(buffer: Any, scene: Scene, page: int) -> Any:
    import torch

    data = buffer.view(torch.uint8).view(buffer.shape[0], -1)
    pairs = (divmod(location, page) for location in scene.locations)
    return torch.stack([data[at, slot * 576 : slot * 576 + 576] for at, slot in pairs])


def paged_buffer_row_store(site: Site) -> Judged:
    """A backend that takes DeepSeek-V4's pages for token rows: `base + loc * stride(0)`."""
    import torch

    from kvlint.runtime import kernels

    built = _dsv4_scene(site).built
    scene = Scene(replace(built, slots=(5, 9, 7)), site, 0)
    holder = scene.pool.kv_buffer
    stride = int(holder[0].stride(0))
    paths = {"kv_buffer[0]": (holder, 0)}
    arena = _arena(scene, paths, stride * (max(scene.locations) + 2))
    buffer = scene.pool.get_key_buffer(0).view(torch.uint8)
    rows = scene.rows((584,), salt=31).float().abs().mul(40).to(torch.uint8)
    page = scene.pool.page_size
    kernels.scatter_paged_pair(rows[:, :576], rows[:, 576:], buffer, scene.loc, page, 8)
    if arena.strays() or not _same(_packed(buffer, scene, page), rows[:, :576].contiguous()):
        return Judged("broken", "the paged store went astray")
    kernels.scatter_rows(rows, buffer, scene.loc, bounded=False)
    strays = arena.strays()
    if not strays:
        return Judged("refuted", "every byte fell inside the buffer")
    pages = buffer.shape[0]
    total = sum(stray.count for stray in strays)
    return Judged(
        "confirmed",
        f"{total} bytes outside the buffer: dimension 0 counts {pages} pages, not tokens",
        tuple(str(stray) for stray in strays),
    )


def raw_buffer_other_layer(site: Site) -> Judged:
    """`pool.k_buffer[layer.layer_id]` on a pipeline stage that starts at layer 1."""
    from kvlint.runtime import kernels

    site = Site(site.device, site.triton, start_layer=1)
    cls = pool_module("memory_pool").MHATokenToKVPool
    scene = Scene(build(cls, site), site, 1)
    before = Snapshot(views_of(scene.pool))
    k_buffer, v_buffer = scene.pool.get_kv_buffer(1)
    kernels.scatter_kv(scene.k, scene.v, k_buffer, v_buffer, scene.loc)
    broken = _control_differs(scene, before)
    if broken:
        return Judged("broken", f"the store through the getters is not layer 1's: {broken}")
    scene = Scene(build(cls, site), site, 1)
    raw = scene.layer_id
    return _strays_of(
        scene,
        lambda: kernels.scatter_kv(
            scene.k, scene.v, scene.pool.k_buffer[raw], scene.pool.v_buffer[raw], scene.loc
        ),
        lambda snapshot: put_kv(snapshot, scene, scene.k, scene.v),
        "layer 1",
    )


def _strays_of(
    scene: Scene,
    misuse: Callable[[], Any],
    reference: Callable[[Snapshot], None],
    meant: str,
) -> Judged:
    """Judge a misuse by what it wrote beside (or instead of) the reference's bytes."""
    call = observe(scene.pool, misuse, scene.built.keep)
    if call.error is not None:
        if scene.site.device == "cpu" and wants_gpu(call.error):
            return Judged("needs-cuda", wants_gpu(call.error))
        if call.changed:
            text = f"wrote, then raised {error_text(call.error)}: {call.changed}"
            return Judged("confirmed", text, frames_of(call.error))
        # A refusal is what keeps this misuse from harm; where SGLang has it, say so.
        return Judged("refuted", f"SGLang refuses it: {error_text(call.error)}")
    expected = call.before.copy()
    reference(expected)
    wrong = against(expected, call.after)
    if not wrong:
        return Judged("refuted", f"the bytes are those of {meant}: no harm")
    return Judged("confirmed", f"silent; meant for {meant}: {call.changed}")


def k_only_global_layer(site: Site) -> Judged:
    """`index_k_pool.set_k_buffer` with the model's layer id: the sub-pool counts from 0."""
    cls = pool_module("memory_pool").MiniMaxSparseKVPool
    control = Scene(build(cls, site), site, 1)
    rows = control.index_k
    done = observe(
        control.pool,
        lambda: control.pool.set_index_k_buffer(control.layer, control.loc, rows.clone()),
    )
    expected = done.before.copy()
    put_index_k(expected, control, rows)
    if done.error is not None or against(expected, done.after):
        return Judged("broken", f"the parent's writer {done.text}")
    scene = Scene(build(cls, site), site, 1)
    sub_pool = scene.pool.index_k_pool

    def misuse() -> None:
        # 0.5.16's sub-pool has no setter: there its key buffer is stored into.
        if hasattr(sub_pool, "set_k_buffer"):
            sub_pool.set_k_buffer(1, scene.loc, rows.clone())
        else:
            sub_pool.get_key_buffer(1)[scene.loc] = rows

    return _strays_of(
        scene,
        misuse,
        lambda snapshot: put_index_k(snapshot, scene, rows),
        "the index keys of layer 1",
    )


def _parent_control(scene: Scene) -> str:
    """Why the parent's own writer fails, "" where it writes exactly the reference."""
    call = observe(
        scene.pool,
        lambda: scene.pool.set_kv_buffer(
            scene.layer, scene.write_loc, scene.k.clone(), scene.v.clone()
        ),
        scene.built.keep,
    )
    if call.error is not None:
        return f"raised {error_text(call.error)}"
    expected = call.before.copy()
    put_kv(expected, scene, scene.k, scene.v)
    wrong = against(expected, call.after)
    return str(wrong) if wrong else ""


def hybrid_global_layer(site: Site) -> Judged:
    """`full_kv_pool.set_kv_buffer` with the model's layer id."""
    cls = pool_module("memory_pool").HybridLinearKVPool
    broken = _parent_control(Scene(build(cls, site), site, 1))
    if broken:
        return Judged("broken", f"the parent's writer {broken}")
    scene = Scene(build(cls, site), site, 1)
    return _strays_of(
        scene,
        lambda: scene.pool.full_kv_pool.set_kv_buffer(
            scene.layer, scene.loc, scene.k.clone(), scene.v.clone()
        ),
        lambda snapshot: put_kv(snapshot, scene, scene.k, scene.v),
        "layer 1",
    )


def swa_untranslated_location(site: Site) -> Judged:
    """`swa_kv_pool.set_kv_buffer` with locations of the full pool."""
    cls = pool_module("swa_memory_pool").SWAKVPool
    broken = _parent_control(Scene(build(cls, site), site, 0))
    if broken:
        return Judged("broken", f"the parent's writer {broken}")
    scene = Scene(build(cls, site), site, 0)
    return _strays_of(
        scene,
        lambda: scene.pool.swa_kv_pool.set_kv_buffer(
            scene.layer, scene.loc, scene.k.clone(), scene.v.clone(), layer_id_override=0
        ),
        lambda snapshot: put_kv(snapshot, scene, scene.k, scene.v),
        "window slots 5, 21, 9 of layer 0",
    )


def unified_untranslated_location(site: Site) -> Judged:
    """A Triton store into a unified sub-pool's raw buffer with ids that were not translated.

    The `swa` sub-pool owns the low end of the shared buffer, `full` the high end: a `full` slot
    id that is still virtual addresses the low end, where the window's rows live.
    """
    from kvlint.runtime import kernels

    cls = pool_module("unified_memory_pool").UnifiedMHATokenToKVPool
    scene = Scene(build(cls, site), site, 0)
    sibling = next(one for one in scene.built.keep if type(one) is cls)
    held = scene.rows(tuple(scene.k.shape[1:]), salt=32)
    window_k, window_v = sibling.get_kv_buffer(0)
    kernels.scatter_kv(held, held, window_k, window_v, scene.loc)
    high = scene.loc + (scene.pool.get_key_buffer(0).shape[0] - PAGE - int(scene.loc.max()))
    k_buffer, v_buffer = scene.pool.get_kv_buffer(0)
    kernels.scatter_kv(scene.k, scene.v, k_buffer, v_buffer, high)
    if not _same(kernels.gather_rows(window_k, scene.loc), held):
        return Judged("broken", "the store at the high end reached the window's rows")
    kernels.scatter_kv(scene.k, scene.v, k_buffer, v_buffer, scene.loc)
    found = kernels.gather_rows(window_k, scene.loc)
    if _same(found, held):
        return Judged("refuted", "the window's rows survived")
    lost = int((bits(found).flatten() != bits(held).flatten()).sum()) * held.element_size()
    slots = ", ".join(str(location) for location in scene.locations)
    return Judged("confirmed", f"{lost} bytes of the `swa` sub-pool's slots {slots} are lost")


NECESSITY: dict[str, Callable[[Site], Judged]] = {
    "no-op-placeholder": no_op_placeholder,
    "k-only-value-store": k_only_value_store,
    "k-only-global-layer": k_only_global_layer,
    "shared-buffer-value-store": shared_buffer_value_store,
    "paged-buffer-row-store": paged_buffer_row_store,
    "raw-buffer-other-layer": raw_buffer_other_layer,
    "hybrid-global-layer": hybrid_global_layer,
    "swa-untranslated-location": swa_untranslated_location,
    "unified-untranslated-location": unified_untranslated_location,
}
