"""Writes past a parent pool: what each form becomes."""

from __future__ import annotations

import ast

import pytest

from kvlint.catalogue.model import Parameter
from kvlint.fixing.k_only import alternatives, fix_k_only_write
from kvlint.fixing.single_kv import COMMENT
from kvlint.source.text import decode_source
from tests.fixing.by_name import PATH, WITH_SCALE, becomes, findings_of, fixed, stays

WRITE, WRITTEN = "pool.index_k_pool.set_kv_buffer", "pool.set_index_k_buffer"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("layer, loc, k, v", "layer, loc, k"),
        ("layer, loc, k, v,", "layer, loc, k,"),
        ("layer, loc, k, (v)", "layer, loc, k"),
        ("layer, loc, (k), v", "layer, loc, (k)"),
        ("layer, loc, k[1, 2], v[1, 2]", "layer, loc, k[1, 2]"),
        ("layer, loc, f(k, 1), v * 2", "layer, loc, f(k, 1)"),
        ("layer,loc,k,v", "layer,loc,k"),
        ("layer, loc, k, cache_v=v", "layer, loc, k"),
        ("layer, loc, cache_k=k, cache_v=v", "layer, loc, cache_idx_k=k"),
        ("cache_v=v, layer=a, loc=b, cache_k=c", "layer=a, loc=b, cache_idx_k=c"),
        ("v_scale=s, cache_v=v, loc=b, layer=a, cache_k=c", "loc=b, layer=a, cache_idx_k=c"),
        ("layer, loc, k, v, k_scale=a.k, v_scale=a.v", "layer, loc, k, k_scale=a.k"),
        ("layer, loc, k, v, v_scale=a.v, k_scale=a.k", "layer, loc, k, k_scale=a.k"),
        ("layer, loc, k, v, v_scale=a.v", "layer, loc, k"),
        ("layer, loc, k, v, a.k_scale, a.v_scale", "layer, loc, k, a.k_scale"),
        ("layer, loc, k, v, None, None, None", "layer, loc, k, None"),
        ("layer, loc, k, v, layer_id_override=None", "layer, loc, k"),
        ("layer, loc, k", "layer, loc, k"),
        ("next(it), next(it), next(it), v", "next(it), next(it), next(it)"),
        ("\n    layer,\n    loc,\n    k,\n    v,\n    a.k,\n    a.v,\n",
         "\n    layer,\n    loc,\n    k,\n    a.k,\n"),
        ("\n    layer, loc,\n    # keys\n    k,  # k\n    # values\n    v,  # v\n    k_scale=1,\n",
         "\n    layer, loc,\n    # keys\n    k,  # k\n    # values\n    # v\n    k_scale=1,\n"),
        ("\n    layer,\n    loc,\n    k,  # the keys\n    v\n",
         "\n    layer,\n    loc,\n    k,  # the keys\n"),
        ("\n    cache_v=v,  # the values\n    layer=a,\n    loc=b,\n    cache_k=c\n",
         "\n    # the values\n    layer=a,\n    loc=b,\n    cache_idx_k=c\n"),
        ("layer, loc, k, f'v', k_scale='#'", "layer, loc, k, k_scale='#'"),
        ("layer, '(#,', k, v", "layer, '(#,', k"),
    ],
)  # fmt: skip
def test_the_value_is_dropped(before: str, after: str) -> None:
    if "f'v'" in before:  # formatting may call anything
        becomes(f"{WRITE}({before})\n", f"{WRITTEN}({after})\n", unsafe=True)
    else:
        becomes(f"{WRITE}({before})\n", f"{WRITTEN}({after})\n")


@pytest.mark.parametrize(
    "value", ["make()", "v.to(x)", "(v := x)", "await v", "[a for a in x]", "{**x}", "(yield)"]
)
def test_dropping_what_does_something_is_unsafe(value: str) -> None:
    code = "async def f():\n    {}\n"
    before = code.format(f"{WRITE}(layer, loc, k, {value})")
    becomes(before, code.format(f"{WRITTEN}(layer, loc, k)"), unsafe=True)
    (finding,) = findings_of(before.encode())
    assert finding.fix is not None
    assert finding.fix.reason.startswith("dropping ")


def test_a_comment_within_the_dropped_value_would_go() -> None:
    before = f"{WRITE}(layer, loc, k, v[  # rows\n    0])\n"
    becomes(before, f"{WRITTEN}(layer, loc, k)\n", unsafe=True)
    assert [each.fix and each.fix.reason for each in findings_of(before.encode())] == [COMMENT]


@pytest.mark.parametrize(
    "arguments",
    [
        "*args",
        "layer, loc, k, *rest",
        "layer, loc, k, v, **scales",
        "layer, loc, k, v, layer_id_override=3",
        "layer, loc, k, v, None, None, mapped",
        "layer, loc, k, v, dcp_kv_mask=m",
        "layer, loc, k, v, 1, 2, 3, 4",
        "layer, loc, cache_v=v",
        "layer, loc, k, v, loc=loc",
        "",
    ],
)
def test_arguments_that_have_no_counterpart(arguments: str) -> None:
    stays(f"{WRITE}({arguments})\n")


def test_an_unknown_parent() -> None:
    stays("sub_pool.set_kv_buffer(layer, loc, k, v)\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("self.pool.index_k_pool.set_kv_buffer", "self.pool.set_index_k_buffer"),
        ("get_pool(i).index_k_pool.set_kv_buffer", "get_pool(i).set_index_k_buffer"),
        ("(a or b).index_k_pool.set_kv_buffer", "(a or b).set_index_k_buffer"),
        ("(pool.index_k_pool).set_kv_buffer", "(pool).set_index_k_buffer"),
        ("(pool.index_k_pool.set_kv_buffer)", "(pool.set_index_k_buffer)"),
        ("pool . index_k_pool . set_kv_buffer", "pool . set_index_k_buffer"),
        ("pool \\\n    .index_k_pool \\\n    .set_kv_buffer", "pool \\\n    .set_index_k_buffer"),
        ("(\n    pool\n    .index_k_pool\n    .set_kv_buffer\n)",
         "(\n    pool\n    .set_index_k_buffer\n)"),
        ("(pool  # a.b\n    .index_k_pool  # c.d\n    .set_kv_buffer)",
         "(pool  # a.b\n      # c.d\n    .set_index_k_buffer)"),
        ("(pool.  # a.b\n    index_k_pool.set_kv_buffer)",
         "(pool  # a.b\n    .set_index_k_buffer)"),
    ],
)  # fmt: skip
def test_receivers(before: str, after: str) -> None:
    becomes(f"{before}(layer, loc, k, v)\n", f"{after}(layer, loc, k)\n")


def test_the_writer_of_a_release_without_a_scale() -> None:
    without_scale = WITH_SCALE[:3]
    for arguments in (
        "layer, loc, k, v",
        "layer, loc, k, v, None",
        "layer, loc, k, v, k_scale=None",
    ):
        outcome = fixed(f"{WRITE}({arguments})\n".encode(), writer_parameters=without_scale)
        assert outcome.data == f"{WRITTEN}(layer, loc, k)\n".encode()
    scaled = f"{WRITE}(layer, loc, k, v, k_scale=s)\n".encode()
    assert fixed(scaled, writer_parameters=without_scale).applied == ()
    outcome = fixed(scaled, unsafe=True, writer_parameters=without_scale)
    assert outcome.data == f"{WRITTEN}(layer, loc, k)\n".encode()


@pytest.mark.parametrize("names", [(), ("layer_id", "loc", "index_k")])
def test_another_writer_of_that_name(names: tuple[str, ...]) -> None:
    parameters = tuple(Parameter(name) for name in names)
    data = f"{WRITE}(layer, loc, k, v)\n".encode()
    assert fixed(data, True, parameters).data == data


def test_the_parameters_may_begin_with_self() -> None:
    outcome = fixed(
        f"{WRITE}(layer, loc, k, v)\n".encode(), writer_parameters=(Parameter("self"), *WITH_SCALE)
    )
    assert outcome.data == f"{WRITTEN}(layer, loc, k)\n".encode()


def test_a_write_past_a_hybrid_parent() -> None:
    becomes(
        "self.pool.full_kv_pool.set_kv_buffer(\n    layer, loc, f(k), v,  # both\n)\n",
        "self.pool.set_kv_buffer(\n    layer, loc, f(k), v,  # both\n)\n",
        unsafe=True,
    )


@pytest.mark.parametrize(
    "arguments",
    ["*args", "**words", "layer, loc, k, v, layer_id_override=1", "layer, loc, k, v, 1, 1, 3"],
)
def test_a_write_that_addresses_the_sub_pool(arguments: str) -> None:
    stays(f"pool.full_kv_pool.set_kv_buffer({arguments})\n")


def suggested(code: str) -> list[str]:
    source = decode_source(PATH, code.encode())
    tree = ast.parse(source.text)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert isinstance(call.func, ast.Attribute)
    return [each.code for each in alternatives(source, tree, call, ast.unparse(call.func.value))]


def test_alternatives_name_the_parent() -> None:
    main, caught = suggested("pools['a.b'].index_k_pool.set_kv_buffer(a, b, k, v, v_scale=s)\n")
    assert main == "pools['a.b'].set_kv_buffer(a, b, k, v, v_scale=s)"
    assert caught == (
        "try:\n"
        "    pools['a.b'].index_k_pool.set_kv_buffer(a, b, k, v, v_scale=s)\n"
        "except NotImplementedError as error:\n"
        '    raise RuntimeError("K-only layers are written by '
        'MiniMaxSparseKVPool.set_index_k_buffer") from error'
    )


def test_alternatives_where_the_parent_is_unknown_or_the_call_another() -> None:
    assert (
        suggested("sub.set_kv_buffer(a, b, k, v)\n")[0] == "sparse_pool.set_kv_buffer(a, b, k, v)"
    )
    assert suggested("pool.index_k_pool.get_kv_buffer(i)\n") == []


def test_another_accessor_of_the_sub_pool_is_not_rewritten() -> None:
    source = decode_source(PATH, b"pool.index_k_pool.get_kv_buffer(layer, loc, k)\n")
    tree = ast.parse(source.text)
    call = next(node for node in ast.walk(tree) if isinstance(node, ast.Call))
    assert fix_k_only_write(source, tree, call, True, WITH_SCALE) is None
