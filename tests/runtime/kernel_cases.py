"""kvlint's kernels against torch references. Run by test_kernels.py in the runtime environment,
where torch and triton are."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed here")

from kvlint.runtime import kernels  # noqa: E402
from kvlint.runtime.arena import RedZoneArena  # noqa: E402

DTYPES = (torch.bfloat16, torch.float16, torch.float8_e4m3fn, torch.float32)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def rows(seed: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator).to(dtype).to(DEVICE)


def locations(seed: int, tokens: int, size: int) -> torch.Tensor:
    """Distinct slots, with negative and out-of-range ones among them."""
    generator = torch.Generator().manual_seed(seed)
    found = torch.randperm(size, generator=generator)[:tokens]
    found[::3] = torch.tensor([-1, -7, size, size + 100, 1 << 20])[
        torch.randint(5, (len(found[::3]),), generator=generator)
    ]
    return found.to(DEVICE)


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    return bool(torch.equal(kernels.as_bits(left), kernels.as_bits(right)))


def put(buffer: torch.Tensor, loc: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    kept = (loc >= 0) & (loc < buffer.shape[0])
    expected = buffer.clone()
    kernels.as_bits(expected)[loc[kept]] = kernels.as_bits(values)[kept]
    return expected


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_k_and_v_of_different_widths_are_scattered(seed: int, dtype: torch.dtype) -> None:
    size, heads, k_dim, v_dim = (
        40 + seed,
        1 + seed,
        (64, 96, 128, 80)[seed],
        (64, 32, 48, 128)[seed],
    )
    k_buffer, v_buffer = rows(1, (size, heads, k_dim), dtype), rows(2, (size, heads, v_dim), dtype)
    loc = locations(seed, 11, size)
    k, v = rows(3, (len(loc), heads, k_dim), dtype), rows(4, (len(loc), heads, v_dim), dtype)
    expected = put(k_buffer, loc, k), put(v_buffer, loc, v)
    kernels.scatter_kv(k, v, k_buffer, v_buffer, loc)
    assert same(k_buffer, expected[0])
    assert same(v_buffer, expected[1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_wider_than_a_block_are_scattered_and_gathered(dtype: torch.dtype) -> None:
    buffer = rows(1, (20, 3, 900), dtype)
    loc = locations(5, 9, 20)
    values = rows(2, (len(loc), 3, 900), dtype)
    expected = put(buffer, loc, values)
    kernels.scatter_rows(values, buffer, loc)
    assert same(buffer, expected)
    kept = (loc >= 0) & (loc < 20)
    found = kernels.gather_rows(buffer, loc)
    assert same(found[kept], values[kept])
    assert not kernels.as_bits(found[~kept]).any()


def test_a_strided_buffer_keeps_what_lies_between_its_rows() -> None:
    whole = rows(1, (30, 4, 16), torch.bfloat16)
    view = whole[:, 1]
    loc = torch.tensor([3, 29], device=DEVICE)
    values = rows(2, (2, 16), torch.bfloat16)
    expected = whole.clone()
    expected[loc, 1] = values
    kernels.scatter_rows(values, view, loc)
    assert same(whole, expected)


def test_duplicate_locations_leave_one_of_the_rows() -> None:
    buffer = torch.zeros(8, 2, 64, dtype=torch.bfloat16, device=DEVICE)
    values = rows(1, (3, 2, 64), torch.bfloat16)
    kernels.scatter_rows(values, buffer, torch.tensor([5, 5, 5], device=DEVICE))
    assert any(same(buffer[5], row) for row in values)
    assert not buffer[:5].any()
    assert not buffer[6:].any()


@pytest.mark.parametrize("index_type", [torch.int32, torch.int64])
def test_latent_and_rope_share_a_row(index_type: torch.dtype) -> None:
    buffer = rows(1, (50, 1, 576), torch.bfloat16)
    loc = torch.tensor([7, 49, -1, 50], dtype=index_type, device=DEVICE)
    latent, rope = rows(2, (4, 1, 512), torch.bfloat16), rows(3, (4, 1, 64), torch.bfloat16)
    expected = put(buffer, loc.long(), torch.cat([latent, rope], dim=-1))
    kernels.scatter_latent(latent, rope, buffer, loc)
    assert same(buffer, expected)


@pytest.mark.parametrize(
    ("page", "width", "scales", "slot", "padding"), [(64, 576, 7, 8, 64), (64, 128, 4, 4, 0)]
)
def test_packed_pages(page: int, width: int, scales: int, slot: int, padding: int) -> None:
    page_bytes = page * (width + slot) + padding
    buffer = torch.randint(0, 256, (3, page_bytes), dtype=torch.uint8).to(DEVICE)
    loc = torch.tensor([0, 63, 64, 130, 191, 192, -3], device=DEVICE)
    data = torch.randint(0, 256, (7, width), dtype=torch.uint8).to(DEVICE)
    scale = torch.randint(0, 256, (7, scales), dtype=torch.uint8).to(DEVICE)
    expected = buffer.clone()
    for token, location in enumerate(loc.tolist()):
        if 0 <= location < 3 * page:
            at, inside = divmod(location, page)
            expected[at, inside * width : (inside + 1) * width] = data[token]
            start = page * width + inside * slot
            expected[at, start : start + scales] = scale[token]
    kernels.scatter_paged_pair(data, scale, buffer, loc, page, slot)
    assert same(buffer, expected)


def test_no_location_writes_nothing() -> None:
    buffer = rows(1, (4, 8), torch.bfloat16)
    before = buffer.clone()
    none = torch.empty(0, dtype=torch.int64, device=DEVICE)
    kernels.scatter_rows(torch.empty(0, 8, dtype=torch.bfloat16, device=DEVICE), buffer, none)
    assert same(buffer, before)
    assert kernels.gather_rows(buffer, none).shape == (0, 8)


def test_the_red_zone_names_the_row_a_stray_store_would_have_been() -> None:
    names = {"k": rows(1, (16, 2, 64), torch.bfloat16), "v": rows(2, (16, 2, 64), torch.bfloat16)}
    arena = RedZoneArena(names, 1 << 15)
    assert arena.strays() == []
    k, v = rows(3, (2, 2, 64), torch.bfloat16), rows(4, (2, 2, 64), torch.bfloat16)
    loc = torch.tensor([3, 40], device=DEVICE)
    kernels.scatter_kv(k, v, arena.tensor("k"), arena.tensor("v"), loc, bounded=False)
    strays = arena.strays()
    assert [(stray.name, stray.row) for stray in strays] == [("k", 40), ("v", 40)]
    assert all(240 < stray.count <= 256 for stray in strays)
    assert same(arena.tensor("k")[3], k[0])


def test_a_store_before_the_buffer_is_seen_too() -> None:
    arena = RedZoneArena({"k": rows(1, (16, 2, 64), torch.bfloat16)}, 1 << 12)
    values = rows(2, (1, 2, 64), torch.bfloat16)
    loc = torch.tensor([-2], device=DEVICE)
    kernels.scatter_rows(values, arena.tensor("k"), loc, bounded=False)
    assert [stray.row for stray in arena.strays()] == [-2]
