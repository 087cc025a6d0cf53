"""Random programs that read and write pools, and stand-ins for the pools that record."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from itertools import chain, cycle
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st

NAMES = ("k", "v", "w", "_")
names = st.sampled_from(NAMES)
layers = st.integers(0, 9)
_comments = st.sampled_from(["", "  # kept: pool.get_kv_buffer(0)", "\t# ünïcode 鍵", "   "])

_calls = st.sampled_from(
    [
        "pool.get_kv_buffer({})",
        "pool.get_kv_buffer(layer_id={})",
        "pool.get_kv_buffer(emit({}))",
        "(pool.get_kv_buffer({}))",
        "pool . get_kv_buffer( {} )",
        "pool.get_kv_buffer(\n  {},  # the layer\n)",
        "(  # read\n  pool\n  # here\n  .get_kv_buffer({})\n)",
        "pool \\\n  .get_kv_buffer({})",
        "make(pool).get_kv_buffer({})",
        "pool.get_kv_buffer(pool.get_kv_buffer({})[0])",
    ]
)
_targets = st.sampled_from(
    [
        "{}, {}",
        "{},{}",
        "({}, {})",
        "[{}, {}]",
        "{}, {},",
        "( # two\n  {}, # first\n  {} # second\n)",
        "{}, \\\n  {}",
        "box.{}, {}",
        "{}, box.{}",
        "box.{}, box.{}",
        "store[emit('{}')], {}",
        "store[emit('{}')], store[emit('{}')]",
    ]
)
_reads_of_pairs = st.sampled_from(
    [
        "{name} = {call}[0]",
        "{name} = {call}[1]",
        "{name} = {call}[-1]",
        "{name} = ({call}\n  [0])",
        "emit({call}[0])",
        "emit(lambda: {call}[0])",
        "emit(f'{{pool.get_kv_buffer(3)[0]}}')",
        "emit(pool.get_value_buffer(7))",
        "emit({call})",
        "{name}, *store['rest'] = {call}",
        "pair = {call}; emit(pair)",
        "a = {name}, b = {call}; emit(a, b)",
        "{call}",
    ]
)
_writes = st.sampled_from(
    [
        "pool.index_k_pool.set_kv_buffer(emit(1), 2, {0}, {1})",
        "pool.index_k_pool.set_kv_buffer(1, 2, {0}, {1}, k_scale=emit(3), v_scale={0})",
        "pool.index_k_pool.set_kv_buffer(1, 2, {0}, {1}, emit(3), {0})",
        "pool.index_k_pool.set_kv_buffer(cache_v={1}, layer=emit(1), loc=emit(2), cache_k={0})",
        "pool.index_k_pool.set_kv_buffer(\n  1,\n  2,  # loc\n  {0},  # k\n  {1},  # v\n)",
        "(pool # the pool\n  .index_k_pool # its part\n  .set_kv_buffer)(1, 2, emit({0}), {1})",
        "make(pool).index_k_pool.set_kv_buffer(1, 2, {0}, {1})",
        "pool.index_k_pool.set_kv_buffer(*(1, 2, {0}, {1}))",
        "pool.full_kv_pool.set_kv_buffer(1, 2, emit({0}), {1})",
    ]
)
_uses = st.sampled_from(
    [
        "emit({0})",
        "emit({0}, {1})",
        "{0} = emit(5)",
        "{0}, x = emit(6), {1}",
        "{0} = {0}, 1",
        "{0} += ''",
        "if turn(): del {0}",
        "emit([{0} for x in (1, 2)])",
        "emit([{0} for {0} in (1, 2)])",
        "emit(list({0} for x in (1, {1})))",
        "later.append(lambda: {0})",
        "later.append(lambda {0}=1: {0})",
        "later.append({0} for x in (1,))",
        "for call in later: emit(call() if callable(call) else list(call))",
        "emit(sorted(map(str, locals())))",
        "emit(eval('{0}'))",
        "emit(f'{{{0}}}')",
        "emit(({0} := 7))",
        "{0}: int = 8",
        "boom()",
        "return {0}",
        "box.{0} = 9",
        "from math import pi as {0}",
    ]
)


@st.composite
def _simple(draw: st.DrawFn) -> list[str]:
    kind = draw(st.integers(0, 5))
    if kind <= 1:
        call = draw(_calls).format(draw(layers))
        return [f"{draw(_targets).format(draw(names), draw(names))} = {call}"]
    if kind == 2:
        call = draw(_calls).format(draw(layers))
        return [draw(_reads_of_pairs).format(name=draw(names), call=call)]
    if kind == 3:
        return [draw(_writes).format(draw(names), draw(names))]
    return [draw(_uses).format(draw(names), draw(names))]


def _block(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.lists(inner, min_size=1, max_size=3).map(
        lambda parts: list(chain.from_iterable(parts))
    )


def _indented(lines: list[str]) -> list[str]:
    return [f"\0{line}" for line in lines]


@st.composite
def _compound(draw: st.DrawFn, inner: st.SearchStrategy[list[str]]) -> list[str]:
    first, second = (_indented(draw(_block(inner))) for _ in range(2))
    name = draw(names)
    escape = draw(st.sampled_from(["break", "continue", "pass"]))
    return draw(
        st.sampled_from(
            [
                ["if turn():", *first],
                ["if turn():", *first, "else:", *second],
                ["for turning in (1, 2):", *first, f"\0if turn(): {escape}", *second],
                [f"for {name} in (1, 2):", *first],
                ["try:", *first, "\0boom()", "except Boom:", *second],
                ["try:", *first, "finally:", *second],
                ["try:", *first, f"except Boom as {name}:", "\0pass", "else:", *second],
                ["with forgiving:", *first, "\0boom()", *second],
                ["def inner():", *first, "emit(inner())"],
                ["def inner():", f"\0nonlocal {name}", *first, "inner()"],
                [f"def inner({name}=1):", *first, "emit(inner())"],
                ["class Inner:", *[line for line in first if "return" not in line], "\0pass"],
                [f"match {name}:", "\0case 1:", *_indented(first), "\0case _:", *_indented(second)],
            ]
        )
    )


_statements = st.recursive(_simple(), lambda inner: _compound(inner) | inner, max_leaves=6)


@st.composite
def programs(draw: st.DrawFn) -> bytes:
    """A module with a function `program`, in some encoding and layout."""
    indent = draw(st.sampled_from(["    ", "\t", "  "]))
    start = ["k = v = w = _ = None", "later = []"]
    lines = [*start, *draw(_block(_statements)), "return k, later"]
    module = draw(_simple())
    text = "def program():\n"
    for line in lines:
        depth = 1 + line.count("\0")
        text += indent * depth + line.replace("\0", "")
        text += draw(_comments) + "\n"
    if not any(word in module[0] for word in ("return", "boom", "later")):
        text += f"k = v = w = _ = None\n{module[0]}\n"
    return _encoded(draw, text)


def _encoded(draw: st.DrawFn, text: str) -> bytes:
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "euc-jp"]))
    text = f"# coding: {encoding}\n{text}"
    if encoding == "euc-jp":
        text = text.replace("ünïcode", "コード")
    if draw(st.booleans()):
        text = text[:-1]
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    mark = codecs.BOM_UTF8 if encoding == "utf-8" and draw(st.booleans()) else b""
    return mark + text.encode(encoding)


class Boom(Exception):
    pass


class Forgiving:
    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is Boom


class RecordingPool:
    """Has K and V of a layer in one buffer, and gives it as both."""

    def __init__(self, record: Callable[..., Any]) -> None:
        self.record = record
        self.index_k_pool = SimpleNamespace(set_kv_buffer=self._write_index)
        self.full_kv_pool = SimpleNamespace(set_kv_buffer=self.set_kv_buffer)

    def get_key_buffer(self, layer_id: object) -> str:
        self.record("read", layer_id)
        return f"buffer {layer_id}"

    get_value_buffer = get_key_buffer

    def get_kv_buffer(self, layer_id: object) -> tuple[str, str]:
        return (self.get_key_buffer(layer_id),) * 2

    def _write_index(
        self,
        layer: object,
        loc: object,
        cache_k: object,
        cache_v: object,
        k_scale: object = None,
        v_scale: object = None,
    ) -> None:
        self.set_index_k_buffer(layer, loc, cache_k, k_scale)

    def set_index_k_buffer(
        self, layer: object, loc: object, cache_idx_k: object, k_scale: object = None
    ) -> None:
        self.record("write K", layer, loc, cache_idx_k, k_scale)

    def set_kv_buffer(self, *arguments: object) -> None:
        self.record("write", *arguments)


def behaviour(program: bytes, turns: list[bool]) -> list[str]:
    """Everything that others see of a program: calls of the pool, what it emits, its result."""
    log: list[str] = []
    chance: Iterator[bool] = cycle(turns)

    def record(*values: object) -> object:
        log.append(" ".join(map(_shown, values)))
        return values[0]

    def boom() -> None:
        if next(chance):
            raise Boom

    box = SimpleNamespace()
    store: dict[str, object] = {}
    world: dict[str, Any]
    pool = RecordingPool(record)
    world = {
        "pool": pool,
        "emit": record,
        "make": lambda value: record("made") and value,
        "turn": lambda: next(chance),
        "boom": boom,
        "Boom": Boom,
        "forgiving": Forgiving(),
        "box": box,
        "store": store,
    }
    try:
        exec(compile(program, "program.py", "exec"), world)
        record("result", world["program"]())
    except Exception as error:
        record("raised", type(error).__name__)
    record("left", sorted(vars(box).items()), sorted(store.items()))
    record("module", [(name, world.get(name)) for name in NAMES[:3]])
    return log


def _shown(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{' '.join(map(_shown, value))}]"
    return value if isinstance(value, str) else f"{type(value).__name__} {_plain(value)}"


def _plain(value: object) -> str:
    return repr(value) if isinstance(value, (int, float, type(None))) else ""
