"""What a pool keeps: every tensor it owns, snapshots of their bytes, and named differences.

Runs only in child processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_OWN_MODULES = ("sglang.srt.mem_cache", "sglang.srt.hardware_backend")
_MAX_NAMED = 8


@dataclass(frozen=True)
class View:
    """One tensor of a pool by its path (`index_k_pool.k_buffer[0]`) and where its bytes lie."""

    path: str
    tensor: Any
    storage: int
    start: int
    """Offset of its first byte in the storage."""

    @property
    def row_stride(self) -> int:
        """Bytes from one row (index of dimension 0) to the next."""
        if self.tensor.dim() == 0 or self.tensor.shape[0] == 0:
            return self.row_bytes
        return int(self.tensor.stride(0)) * int(self.tensor.element_size())

    @property
    def row_bytes(self) -> int:
        shape = self.tensor.shape[1:] if self.tensor.dim() else ()
        count = 1
        for extent in shape:
            count *= int(extent)
        return count * int(self.tensor.element_size())

    @property
    def rows(self) -> int:
        return int(self.tensor.shape[0]) if self.tensor.dim() else 1


def views_of(pool: Any, extra: tuple[Any, ...] = ()) -> list[View]:
    """All tensors reachable from a pool (and from `extra`) through SGLang's own objects."""
    found: list[View] = []
    seen: set[int] = set()
    for index, root in enumerate((pool, *extra)):
        prefix = "" if index == 0 else f"beside{index}."
        for path, tensor in _tensors(root, prefix, seen):
            if tensor.numel() and tensor.device.type != "meta":
                storage = tensor.untyped_storage().data_ptr()
                start = tensor.data_ptr() - storage
                found.append(View(path, tensor, storage, start))
    return found


def _tensors(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    import torch

    if isinstance(value, torch.Tensor):
        yield path.rstrip("."), value
        return
    if id(value) in seen:
        return
    seen.add(id(value))
    bare = path.rstrip(".")
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _tensors(item, f"{bare}[{index}].", seen)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors(item, f"{bare}[{key!r}].", seen)
    elif type(value).__module__.startswith(_OWN_MODULES) and not isinstance(value, type):
        for name, item in _public_first(_attributes(value)):
            yield from _tensors(item, f"{path}{name}.", seen)


def _public_first(attributes: dict[str, Any]) -> list[tuple[str, Any]]:
    """A list that has two names is known by its public one."""
    return sorted(attributes.items(), key=lambda item: (item[0].startswith("_"), item[0]))


def _attributes(value: Any) -> dict[str, Any]:
    found = dict(getattr(value, "__dict__", {}))
    for name in getattr(type(value), "__struct_fields__", ()):
        found[name] = getattr(value, name)
    return found


class Snapshot:
    """The bytes of every storage that a list of views lies in, at one moment."""

    def __init__(self, views: list[View]) -> None:
        self.views = views
        self.bytes: dict[int, Any] = {}
        for view in views:
            if view.storage not in self.bytes:
                self.bytes[view.storage] = storage_bytes(view.tensor).clone()

    def mirror(self, path: str) -> Any:
        """The tensor of that path as it lies in this snapshot: what references write to."""
        view = next(view for view in self.views if view.path == path)
        tensor = view.tensor
        raw = self.bytes[view.storage].view(tensor.dtype)
        return raw.as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())

    def has(self, path: str) -> bool:
        return any(view.path == path for view in self.views)

    def copy(self) -> Snapshot:
        other = Snapshot.__new__(Snapshot)
        other.views = self.views
        other.bytes = {key: value.clone() for key, value in self.bytes.items()}
        return other


def storage_bytes(tensor: Any) -> Any:
    """The whole storage of a tensor as a uint8 tensor that shares it."""
    import torch

    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(
        storage, 0, (storage.nbytes(),), (1,)
    )


def restore(snapshot: Snapshot) -> None:
    """Write the snapshot's bytes back into the living pool."""
    done: set[int] = set()
    for view in snapshot.views:
        if view.storage not in done:
            done.add(view.storage)
            storage_bytes(view.tensor).copy_(snapshot.bytes[view.storage])


@dataclass(frozen=True)
class Difference:
    """Bytes that differ: how many, and the rows they lie in as `path row N: B bytes`."""

    count: int
    rows: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.count > 0

    def __str__(self) -> str:
        if not self.count:
            return "no byte changed"
        more = len(self.rows) - _MAX_NAMED
        named = "; ".join(self.rows[:_MAX_NAMED]) + (f"; and {more} more rows" if more > 0 else "")
        return f"{self.count} bytes changed: {named}"


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """Where two snapshots of the same views differ. Bytes that only rebound pointers moved to are
    not seen; buffers that are replaced while a probe runs do not exist in SGLang's pools."""
    count = 0
    rows: list[str] = []
    for storage, old in before.bytes.items():
        new = after.bytes[storage]
        places = (old != new).nonzero().flatten()
        count += int(places.numel())
        if places.numel():
            rows.extend(_named_rows(before.views, storage, places))
    return Difference(count, tuple(rows))


def _named_rows(views: list[View], storage: int, places: Any) -> list[str]:
    named: list[str] = []
    for view in views:
        if view.storage != storage or not view.row_stride:
            continue
        relative = places - view.start
        row = relative.div(view.row_stride, rounding_mode="floor")
        inside = (row >= 0) & (row < view.rows) & (relative % view.row_stride < view.row_bytes)
        rows, counts = row[inside].unique(return_counts=True)
        pairs = zip(rows.tolist(), counts.tolist(), strict=True)
        named.extend(f"{view.path} row {index}: {total} bytes" for index, total in pairs)
    return named or [f"storage {storage:#x}: {places.numel()} bytes that no tensor of it names"]
