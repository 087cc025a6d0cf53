"""kvlint's own Triton kernels: the writes a backend makes, and the red zones' canary.

The same source runs interpreted (`TRITON_INTERPRET=1`, set before triton is imported) and
compiled. Rules that keep it alike on triton 3.6 to 3.9: offsets are int64, every access is
masked, masks are built by comparing offsets with a limit chosen by `tl.where` (3.9's interpreter
refuses `block & scalar`), values move as integers of their size, so that no cast rounds.

Shapes: `rows` is a buffer's `shape[0]`, never `pool.size`; strides are elements of dimension 0.
"""

# No `from __future__ import annotations`: triton reads `tl.constexpr` from the signature.
import os
from typing import Any

import torch
import triton
import triton.language as tl

_INTEGERS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_BLOCK = 1024
# Compiled, a block is registers; interpreted, it is one numpy array and every program costs.
_CANARY_BLOCK = 4096 if os.environ.get("TRITON_INTERPRET", "0") != "1" else 1 << 16


@triton.jit
def _scatter_kv(
    k_ptr,
    v_ptr,
    k_buffer_ptr,
    v_buffer_ptr,
    loc_ptr,
    k_stride,
    v_stride,
    k_buffer_stride,
    v_buffer_stride,
    rows,
    K_ROW: tl.constexpr,
    V_ROW: tl.constexpr,
    BOUNDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    offs = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    loc = tl.load(loc_ptr + token).to(tl.int64)
    ok = (loc >= 0) & (loc < rows)
    if not BOUNDED:
        ok = loc == loc
    k_mask = offs < tl.where(ok, K_ROW, 0)
    v_mask = offs < tl.where(ok, V_ROW, 0)
    k = tl.load(k_ptr + token * k_stride + offs, mask=k_mask)
    tl.store(k_buffer_ptr + loc * k_buffer_stride + offs, k, mask=k_mask)
    v = tl.load(v_ptr + token * v_stride + offs, mask=v_mask)
    tl.store(v_buffer_ptr + loc * v_buffer_stride + offs, v, mask=v_mask)


@triton.jit
def _scatter_rows(
    src_ptr,
    buffer_ptr,
    loc_ptr,
    src_stride,
    buffer_stride,
    rows,
    ROW: tl.constexpr,
    BOUNDED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    offs = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    loc = tl.load(loc_ptr + token).to(tl.int64)
    ok = (loc >= 0) & (loc < rows)
    if not BOUNDED:
        ok = loc == loc
    mask = offs < tl.where(ok, ROW, 0)
    row = tl.load(src_ptr + token * src_stride + offs, mask=mask)
    tl.store(buffer_ptr + loc * buffer_stride + offs, row, mask=mask)


@triton.jit
def _scatter_two_parts(
    first_ptr,
    second_ptr,
    buffer_ptr,
    loc_ptr,
    first_stride,
    second_stride,
    buffer_stride,
    rows,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    offs = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    loc = tl.load(loc_ptr + token).to(tl.int64)
    ok = (loc >= 0) & (loc < rows)
    first_mask = offs < tl.where(ok, FIRST, 0)
    second_mask = offs < tl.where(ok, SECOND, 0)
    first = tl.load(first_ptr + token * first_stride + offs, mask=first_mask)
    tl.store(buffer_ptr + loc * buffer_stride + offs, first, mask=first_mask)
    second = tl.load(second_ptr + token * second_stride + offs, mask=second_mask)
    tl.store(buffer_ptr + loc * buffer_stride + FIRST + offs, second, mask=second_mask)


@triton.jit
def _scatter_paged_pair(
    data_ptr,
    scale_ptr,
    buffer_ptr,
    loc_ptr,
    data_stride,
    scale_stride,
    page_bytes,
    pages,
    PAGE: tl.constexpr,
    DATA: tl.constexpr,
    SCALE: tl.constexpr,
    SLOT_SCALE: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    offs = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    loc = tl.load(loc_ptr + token).to(tl.int64)
    ok = (loc >= 0) & (loc < pages * PAGE)
    safe = tl.where(ok, loc, 0)
    page_start = (safe // PAGE) * page_bytes
    in_page = safe % PAGE
    data_mask = offs < tl.where(ok, DATA, 0)
    scale_mask = offs < tl.where(ok, SCALE, 0)
    data = tl.load(data_ptr + token * data_stride + offs, mask=data_mask)
    tl.store(buffer_ptr + page_start + in_page * DATA + offs, data, mask=data_mask)
    scale = tl.load(scale_ptr + token * scale_stride + offs, mask=scale_mask)
    scales = page_start + PAGE * DATA + in_page * SLOT_SCALE
    tl.store(buffer_ptr + scales + offs, scale, mask=scale_mask)


@triton.jit
def _gather_rows(
    buffer_ptr,
    out_ptr,
    loc_ptr,
    buffer_stride,
    out_stride,
    rows,
    ROW: tl.constexpr,
    BLOCK: tl.constexpr,
):
    token = tl.program_id(0).to(tl.int64)
    offs = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    loc = tl.load(loc_ptr + token).to(tl.int64)
    ok = (loc >= 0) & (loc < rows)
    inside = offs < tl.where(ok, ROW, 0)
    row = tl.load(buffer_ptr + loc * buffer_stride + offs, mask=inside, other=0)
    tl.store(out_ptr + token * out_stride + offs, row, mask=offs < ROW)


@triton.jit
def _fill_canary(ptr, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    canary = ((offs * 131 + (offs >> 8) * 17 + 89) & 255).to(tl.uint8)
    tl.store(ptr + offs, canary, mask=offs < size)


@triton.jit
def _scan_canary(ptr, broken_ptr, size, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    canary = ((offs * 131 + (offs >> 8) * 17 + 89) & 255).to(tl.uint8)
    found = tl.load(ptr + offs, mask=offs < size, other=0)
    tl.store(broken_ptr + offs, (found != canary).to(tl.uint8), mask=offs < size)


def as_bits(tensor: Any) -> Any:
    """The tensor as integers of the same size: bf16 as int16, FP8 as uint8."""
    return tensor.view(_INTEGERS[tensor.element_size()])


def _flat(rows: Any) -> Any:
    """Source rows as a contiguous matrix of integers."""
    return as_bits(rows.reshape(rows.shape[0], -1).contiguous())


def _row(buffer: Any) -> int:
    return int(buffer[0].numel()) if buffer.shape[0] else 0


def _grid(tokens: int, row: int) -> tuple[int, int]:
    return tokens, max(1, triton.cdiv(row, _BLOCK))


def scatter_kv(
    k: Any, v: Any, k_buffer: Any, v_buffer: Any, loc: Any, bounded: bool = True
) -> None:
    """`k_buffer[loc] = k; v_buffer[loc] = v` for buffers with their own row sizes.

    Bounded, locations outside `0 <= loc < rows` are skipped. Not bounded, the address is computed
    from the location whatever it is, as a backend's store does.
    """
    if not loc.numel():
        return
    k_rows, v_rows = _flat(k), _flat(v)
    _scatter_kv[_grid(loc.numel(), max(k_rows.shape[1], v_rows.shape[1]))](
        k_rows,
        v_rows,
        as_bits(k_buffer),
        as_bits(v_buffer),
        loc,
        k_rows.stride(0),
        v_rows.stride(0),
        k_buffer.stride(0),
        v_buffer.stride(0),
        min(k_buffer.shape[0], v_buffer.shape[0]),
        K_ROW=k_rows.shape[1],
        V_ROW=v_rows.shape[1],
        BOUNDED=bounded,
        BLOCK=_BLOCK,
    )


def scatter_rows(src: Any, buffer: Any, loc: Any, bounded: bool = True) -> None:
    """`buffer[loc] = src`: K rows, index-K rows, FP8 rows as uint8."""
    if not loc.numel():
        return
    rows = _flat(src)
    _scatter_rows[_grid(loc.numel(), rows.shape[1])](
        rows,
        as_bits(buffer),
        loc,
        rows.stride(0),
        buffer.stride(0),
        buffer.shape[0],
        ROW=rows.shape[1],
        BOUNDED=bounded,
        BLOCK=_BLOCK,
    )


def scatter_latent(latent: Any, rope: Any, buffer: Any, loc: Any) -> None:
    """MLA: row `loc` becomes the latent part followed by the rope part, of one element size."""
    if not loc.numel():
        return
    first, second = _flat(latent), _flat(rope)
    _scatter_two_parts[_grid(loc.numel(), max(first.shape[1], second.shape[1]))](
        first,
        second,
        as_bits(buffer),
        loc,
        first.stride(0),
        second.stride(0),
        buffer.stride(0),
        buffer.shape[0],
        FIRST=first.shape[1],
        SECOND=second.shape[1],
        BLOCK=_BLOCK,
    )


def scatter_paged_pair(
    data: Any, scale: Any, buffer: Any, loc: Any, page_size: int, slot: int
) -> None:
    """A paged layout of bytes: a page holds `page_size` data rows, then as many scale slots of
    `slot` bytes. DeepSeek-V4 packs 576 + 8 bytes a token so, the DSA index cache 128 + 4."""
    if not loc.numel():
        return
    rows, scales = _flat(data.view(torch.uint8)), _flat(scale.view(torch.uint8))
    flat = buffer.view(torch.uint8).view(buffer.shape[0], -1)
    _scatter_paged_pair[_grid(loc.numel(), max(rows.shape[1], scales.shape[1]))](
        rows,
        scales,
        flat,
        loc,
        rows.stride(0),
        scales.stride(0),
        flat.stride(0),
        flat.shape[0],
        PAGE=page_size,
        DATA=rows.shape[1],
        SCALE=scales.shape[1],
        SLOT_SCALE=slot,
        BLOCK=_BLOCK,
    )


def gather_rows(buffer: Any, loc: Any) -> Any:
    """`buffer[loc]`, zeros for locations outside the buffer."""
    out = torch.empty((loc.numel(), *buffer.shape[1:]), dtype=buffer.dtype, device=buffer.device)
    if not loc.numel():
        return out
    flat = as_bits(out.view(loc.numel(), -1))
    _gather_rows[_grid(loc.numel(), _row(buffer))](
        as_bits(buffer),
        flat,
        loc,
        buffer.stride(0),
        flat.stride(0),
        buffer.shape[0],
        ROW=_row(buffer),
        BLOCK=_BLOCK,
    )
    return out


def fill_canary(data: Any) -> None:
    """Fill a uint8 vector with the position-dependent canary."""
    grid = (max(1, triton.cdiv(data.numel(), _CANARY_BLOCK)),)
    _fill_canary[grid](data, data.numel(), BLOCK=_CANARY_BLOCK)


def broken_canary(data: Any) -> Any:
    """1 for each byte of a uint8 vector that is not its canary, else 0."""
    broken = torch.zeros_like(data)
    grid = (max(1, triton.cdiv(data.numel(), _CANARY_BLOCK)),)
    _scan_canary[grid](data, broken, data.numel(), BLOCK=_CANARY_BLOCK)
    return broken
