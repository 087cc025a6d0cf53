"""A buffer between red zones: stray writes land in memory that is ours, and are seen.

`place` moves pool buffers into one allocation, each with a zone of canary bytes before and after.
The canary depends on the position, so that a write of a constant cannot look like it.
Runs only in child processes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_ALIGN = 256


@dataclass(frozen=True)
class Placed:
    """One buffer in the arena. `start` and `stop` are its bytes in the arena."""

    name: str
    tensor: Any
    start: int
    stop: int
    row_stride: int


@dataclass(frozen=True)
class Stray:
    """Bytes written outside every buffer, told from the buffer they lie nearest after."""

    name: str
    row: int
    count: int

    def __str__(self) -> str:
        return f"{self.count} bytes where {self.name} would have row {self.row}, past its end"


class RedZoneArena:
    def __init__(self, tensors: dict[str, Any], zone: int) -> None:
        """`tensors` are copied in, in order; `zone` is bytes of canary around each."""
        import torch

        from kvlint.runtime import kernels

        self.zone = _aligned(zone)
        device = next(iter(tensors.values())).device
        total = self.zone
        starts = {}
        for name, tensor in tensors.items():
            starts[name] = total
            total += _aligned(tensor.numel() * tensor.element_size()) + self.zone
        self.bytes = torch.empty(total, dtype=torch.uint8, device=device)
        kernels.fill_canary(self.bytes)
        self.placed = [self._place(name, t, starts[name]) for name, t in tensors.items()]

    def _place(self, name: str, tensor: Any, start: int) -> Placed:
        size = tensor.numel() * tensor.element_size()
        inside = self.bytes[start : start + size].view(tensor.dtype).view(tensor.shape)
        inside.copy_(tensor)
        stride = inside.stride(0) * inside.element_size()
        return Placed(name, inside, start, start + size, stride)

    def tensor(self, name: str) -> Any:
        return next(placed.tensor for placed in self.placed if placed.name == name)

    def strays(self) -> list[Stray]:
        """Canary bytes that were overwritten, by the buffer before them and the row they would be
        in if that buffer went on."""
        from kvlint.runtime import kernels

        inside = self.bytes.new_zeros(self.bytes.shape)
        for placed in self.placed:
            inside[placed.start : placed.stop] = 1
        broken = kernels.broken_canary(self.bytes) * (1 - inside)
        offsets = broken.nonzero().flatten().tolist()
        return _strays(self.placed, offsets)


def _strays(placed: list[Placed], offsets: list[int]) -> list[Stray]:
    counts: dict[tuple[str, int], int] = {}
    for offset in offsets:
        before = [one for one in placed if one.start <= offset]
        owner = before[-1] if before else placed[0]
        key = (owner.name, (offset - owner.start) // owner.row_stride)
        counts[key] = counts.get(key, 0) + 1
    return [Stray(name, row, count) for (name, row), count in sorted(counts.items())]


def _aligned(size: int) -> int:
    return (size + _ALIGN - 1) // _ALIGN * _ALIGN
