"""What a correct write leaves behind, computed with torch indexing on copies of the bytes.

Runs only in child processes. The layouts are those that the pools document: rows by slot for K
and V (sglang/srt/mem_cache/memory_pool.py), pages of packed rows for DeepSeek-V4
(sglang/srt/mem_cache/deepseek_v4_memory_pool.py) and the DSA index cache.
"""

from __future__ import annotations

from typing import Any

from kvlint.runtime.builders import Target
from kvlint.runtime.call_values import Scene
from kvlint.runtime.storage import Difference, Snapshot, difference


class NoReference(Exception):
    """No independent layout is known for this pool: nothing is claimed about its bytes."""


def bits(tensor: Any) -> Any:
    import torch

    sizes = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
    return tensor.view(sizes[tensor.element_size()])


def put_rows(snapshot: Snapshot, path: str, rows: list[int], values: Any) -> None:
    """`mirror[rows] = values`, in the buffer's own dtype, as bytes."""
    if not snapshot.has(path):
        raise NoReference(f"the pool has no tensor {path}")
    mirror = snapshot.mirror(path)
    stored = values.to(mirror.dtype) if mirror.dtype.is_floating_point else values
    target = bits(mirror)
    target[rows] = bits(stored.contiguous()).reshape(len(rows), *target.shape[1:])


def put_kv(snapshot: Snapshot, scene: Scene, k: Any, v: Any) -> None:
    target = _target(scene.built.targets, scene)
    rows = target.rows(scene.locations)
    put_rows(snapshot, target.k, rows, k)
    if target.v:
        put_rows(snapshot, target.v, rows, v)


def put_index_k(snapshot: Snapshot, scene: Scene, index_k: Any) -> None:
    target = _target(scene.built.index_targets, scene)
    put_rows(snapshot, target.k, target.rows(scene.locations), index_k)


def _target(targets: dict[int, Target], scene: Scene) -> Target:
    target = targets.get(scene.layer_id)
    if target is None:
        raise NoReference(f"no layout is known for layer {scene.layer_id} of this pool")
    return target


def put_paged_pair(
    snapshot: Snapshot, path: str, scene: Scene, data: Any, scale: Any, page: int, slot: int
) -> None:
    """Data rows first, then one scale slot of `slot` bytes for each token of the page."""
    import torch

    if not snapshot.has(path):
        raise NoReference(f"the pool has no tensor {path}")
    mirror = snapshot.mirror(path).view(torch.uint8)
    mirror = mirror.view(mirror.shape[0], -1)
    rows, scales = data.view(torch.uint8), scale.view(torch.uint8)
    rows, scales = rows.reshape(len(scene.locations), -1), scales.reshape(len(scene.locations), -1)
    for index, location in enumerate(scene.locations):
        at, inside = divmod(location, page)
        width = rows.shape[1]
        mirror[at, inside * width : (inside + 1) * width] = rows[index]
        start = page * width + inside * slot
        mirror[at, start : start + scales.shape[1]] = scales[index]


def against(expected: Snapshot, observed: Snapshot) -> Difference:
    return difference(expected, observed)
