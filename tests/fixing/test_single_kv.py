"""Reads of K and V on a pool with one buffer: what each form becomes."""

from __future__ import annotations

import ast

import pytest

from kvlint.fixing.single_kv import COMMENT, SHARED, alternatives
from kvlint.source.text import decode_source
from tests.fixing.by_name import PATH, becomes, body, findings_of, fixed, stays

READ, FIXED = "pool.get_kv_buffer(i)", "pool.get_key_buffer(i)"


@pytest.mark.parametrize(
    ("target", "after"),
    [
        ("k, v", "k"),
        ("(k, v)", "k"),
        ("[k, v]", "k"),
        ("k, v,", "k"),
        ("(k), (v)", "k"),
        ("k, _", "k"),
        ("_, _", "_"),
        ("k,v", "k"),
        ("self.k, v", "self.k"),
        ("self.ks[i], _", "self.ks[i]"),
        ("k, \\\n        v", "k"),
        ("(\n        k,\n        v,\n    )", "k"),
        ("(\n        self.\n        k,\n        v,\n    )", "(self.\n        k)"),
    ],
)
def test_unused_value_is_dropped(target: str, after: str) -> None:
    becomes(
        body(f"{target} = {READ}", "return k.shape"), body(f"{after} = {FIXED}", "return k.shape")
    )


@pytest.mark.parametrize(
    ("target", "after"),
    [
        ("k, v", "k = v"),
        ("(k, v)", "k = v"),
        ("[k, v]", "k = v"),
        ("k, v,", "k = v"),
        ("_, v", "v"),
        ("k, self.v", "k = self.v"),
        ("self.k, self.v", "self.k = self.v"),
        ("_, self.v", "self.v"),
        ("ks[i], vs[i]", "ks[i] = vs[i]"),
        ("ks[f()], ks[f()]", "ks[f()] = ks[f()]"),
        ("v, v", "v"),
        (
            "(\n        self.k[\n            0\n        ],\n        v\n    )",
            "(self.k[\n            0\n        ]) = v",
        ),
    ],
)
def test_used_value_is_bound_to_the_shared_buffer(target: str, after: str) -> None:
    becomes(
        body(f"{target} = {READ}", "return k, v"),
        body(f"{after} = {FIXED}", "return k, v"),
        unsafe=True,
    )


def test_an_unsafe_fix_says_why() -> None:
    (finding,) = findings_of(body(f"k, v = {READ}", "return k, v").encode())
    assert finding.fix is not None
    assert finding.fix.reason == SHARED


@pytest.mark.parametrize(
    "use",
    [
        "print(v)",
        "del v",
        "v += 1",
        "print(f'{v}')",
        "print(f'{i:{v}}')",
        "return lambda: v",
        "return [v for x in xs]",
        "return (x for x in xs if v)",
        "return [v for v in v]",
        "return locals()",
        "return vars()",
        "return eval('v')",
        "exec(i)",
        "call = locals; return call()",
        "return sys._getframe().f_locals",
        "return inspect.stack()",
        "return ne.evaluate('k + v')",
        "def g(): return v",
        "def g(x=v): pass",
        "def g(x: v): pass",
        "async def g(): await v",
        "def g():\n        nonlocal v\n        v = 1",
        "def g():\n        def h(): return v",
        "class C: x = v",
        "class C(v): pass",
        "class C:\n        def m(self): return v",
        "with v: pass",
        "for x in v: pass",
        "match v:\n        case 1: pass",
        "match i:\n        case v.x: pass",
        "match i:\n        case x if v: pass",
        "if (x := v): pass",
        "xs[v] = 1",
        "v.x = 1",
        "v[0] = 1",
        "x: v = 1",
        "assert v",
        "raise v",
        "yield v",
        "print(*v)",
        "@v\n    def g(): pass",
    ],
)
def test_a_use_of_the_value_counts(use: str) -> None:
    becomes(body(f"k, v = {READ}", use), body(f"k = v = {FIXED}", use), unsafe=True)


@pytest.mark.parametrize(
    "line",
    [
        "return k",
        "return lambda v: v",
        "return [v for v in xs]",
        "return {v: v for v in xs}",
        "return k.v, pool.f(v=1), 'v'",
        "def g(v): return v",
        "def g():\n        v = 1\n        return v",
        "def g():\n        for v in xs: print(v)",
        "def g():\n        import v\n        print(v)",
        "def g():\n        with i as v: print(v)",
        "def g():\n        try: pass\n        except E as v: print(v)",
        "def g():\n        match i:\n            case [*v]: print(v)",
        "v = 1",
        "v = 1; return v",
        "v = 1\n    return v",
        "v, x = xs\n    return v",
        "v: int = 1\n    return v",
        "for v in xs: pass",
        "self.query(k); self.evaluate('k')",
        "if i:\n        v = 1\n    else:\n        v = 2\n    return v",
        "if i:\n        return k\n    else:\n        v = 2\n    return v",
        "return k\n    v = v",
        "raise E\n    v = v",
    ],
)
def test_what_is_no_use_of_the_value(line: str) -> None:
    becomes(body(f"k, v = {READ}", line), body(f"k = {FIXED}", line))


@pytest.mark.parametrize(
    "before",
    [
        "for x in xs:\n        print(v)\n        k, v = {}",
        "while v:\n        k, v = {}",
        "for x in xs:\n        k, v = {}\n        if x: continue\n        v = 1\n    print(v)",
        "for x in xs:\n        k, v = {}\n        if x: break\n        v = 1\n    print(v)",
        "for x in xs:\n        k, v = {}\n        break\n    print(v)",
        "try:\n        k, v = {}\n    finally:\n        print(v)",
        "try:\n        k, v = {}\n        v = g()\n    except E:\n        print(v)",
        "try:\n        k, v = {}\n        v = g()\n    except E:\n        pass\n    print(v)",
        "try:\n        k, v = {}\n        return k\n    finally:\n        print(v)",
        "with other:\n        k, v = {}\n        v = g()\n    print(v)",
        "if i:\n        k, v = {}\n    print(v)",
        "k, v = {}\n    if i: v = 1\n    print(v)",
        "k, v = {}\n    if i: v = 1\n    else: v.x = 1",
        "k, v = {}\n    for v in xs: pass\n    print(v)",
        "k, v = {}\n    v = g(v)",
        "global v\n    k, v = {}",
        "print(v)\n    k, v = {}",
    ],
)
def test_a_value_that_may_still_be_read_is_used(before: str) -> None:
    code = body(before.format(READ))
    becomes(code, code.replace("k, v =", "k = v =").replace(READ, FIXED), unsafe=True)


@pytest.mark.parametrize(
    "before",
    [
        "v = other\n    print(v)\n    k, v = {}",
        "for x in xs:\n        k, v = {}\n        v = g()\n        print(v)",
        "for v in xs: print(v)\n    k, v = {}",
        "if i:\n        v = xs\n        print(v)\n    else:\n        k, v = {}",
        "v = i\n    k, v = {}\n    v = g()\n    print(v)",
        "while i:\n        k, v = {}\n        if k: return k\n        v = 1\n        print(v)",
    ],
)
def test_a_value_that_is_never_read_again_is_unused(before: str) -> None:
    code = body(before.format(READ))
    becomes(code, code.replace("k, v =", "k =").replace(READ, FIXED))


def test_a_value_that_its_own_arguments_read_was_another_one() -> None:
    becomes(
        "def f(pool, v):\n    k, v = pool.get_kv_buffer(v)\n    return k\n",
        "def f(pool, v):\n    k = pool.get_key_buffer(v)\n    return k\n",
    )


@pytest.mark.parametrize("place", ["{}\n", "class C:\n    {}\n", "if x:\n    {}\n"])
def test_names_of_a_module_or_class_may_be_read_from_elsewhere(place: str) -> None:
    becomes(place.format(f"k, v = {READ}"), place.format(f"k = v = {FIXED}"), unsafe=True)
    becomes(place.format(f"k, _ = {READ}"), place.format(f"k = {FIXED}"))


@pytest.mark.parametrize("use", ["print(_)", "__all__ = ['_']", "print(globals())"])
def test_an_underscore_of_a_module_can_be_used_too(use: str) -> None:
    becomes(f"k, _ = {READ}\n{use}\n", f"k = _ = {FIXED}\n{use}\n", unsafe=True)


def test_nested_function_and_outer_variable() -> None:
    outer = "def f(pool, i):\n    v = 1\n    def g():\n        {}k, v = {}\n    g()\n    return v\n"
    becomes(outer.format("", READ), outer.format("", FIXED).replace("k, v", "k"))
    shared = outer.format("nonlocal v; ", READ)
    becomes(shared, shared.replace("k, v", "k = v").replace(READ, FIXED), unsafe=True)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("return {}[0]", "return {}"),
        ("return {}[-2]", "return {}"),
        ("return {} [ 0 ]", "return {}"),
        ("return ({})[0]", "return ({})"),
        ("return ({}\n        [0])", "return ({})"),
        ("return {} \\\n        [0].shape", "return {}.shape"),
        ("return {}[0][1]", "return {}[1]"),
        ("{}[0][i] = xs", "{}[i] = xs"),
        ("{}[0].copy_(other)", "{}.copy_(other)"),
        ("for row in {}[0]: pass", "for row in {}: pass"),
        ("if (k := {}[0]) is None: pass", "if (k := {}) is None: pass"),
        ("return [{}[0] for x in xs]", "return [{} for x in xs]"),
        ("return lambda: {}[0]", "return lambda: {}"),
        ("print(f'{{{}[0]}}')", "print(f'{{{}}}')"),
        ("return (\n        {}  # the keys\n        [0]\n    )",
         "return (\n        {}  # the keys\n        \n    )"),
    ],
)  # fmt: skip
def test_the_key_by_subscript(before: str, after: str) -> None:
    becomes(body(before.format(READ)), body(after.format(FIXED)))


@pytest.mark.parametrize("index", ["[1]", "[-1]"])
def test_the_value_by_subscript_is_the_shared_buffer(index: str) -> None:
    becomes(body(f"return {READ}{index}"), body(f"return {FIXED}"), unsafe=True)


def test_a_comment_inside_the_brackets_would_go() -> None:
    before = body(f"return {READ}[  # the keys\n        0\n    ]")
    becomes(before, body(f"return {FIXED}"), unsafe=True)
    assert [each.fix and each.fix.reason for each in findings_of(before.encode())] == [COMMENT]


@pytest.mark.parametrize(
    "line",
    [
        "return {}",
        "print({})",
        "print(*{})",
        "pair = {}",
        "pair: tuple = {}",
        "k, *rest = {}",
        "*ks, v = {}",
        "k, (a, b) = {}",
        "(k, w), v = {}",
        "k, v, w = {}",
        "(k,) = {}",
        "pair = k, v = {}",
        "k, v = pair = {}",
        "(k, v), x = {}, other",
        "k, v = {} if i else other",
        "k, v = {} or other",
        "k, v = await_({})",
        "for k, v in [{}]: pass",
        "for k in {}: pass",
        "with {} as (k, v): pass",
        "return [k for k, v in ({},)]",
        "if (pair := {}): pass",
        "return {}[:1]",
        "return {}[i]",
        "return {}[True]",
        "return {}[2]",
        "return {}[0, 1]",
        "{}[0] = xs",
        "{}[0] += xs",
        "del {}[0]",
        "return {}.to(i)",
        "return lambda: {}",
        "yield {}",
        "xs += {}",
        "match {}:\n        case (k, v): pass",
        "k, v = pool.get_kv_buffer(i, 2)",
        "k, v = pool.get_kv_buffer(i, scale=2)",
    ],
)
def test_only_a_person_can_decide(line: str) -> None:
    stays(body(line.replace("{}", READ)))


def test_a_pair_that_nobody_takes() -> None:
    becomes(body(READ), body(FIXED))


def test_comments_around_the_dropped_name_stay() -> None:
    becomes(
        body(
            "(",
            "    k,  # the keys",
            "    v,  # the values",
            f") = {READ}  # both",
            "return k",
        ),
        body(
            "(",
            "    k  # the keys",
            "    # the values",
            f") = {FIXED}  # both",
            "return k",
        ),
    )
    becomes(
        body("[  # two", "    k, v", f"] = {READ}", "return k"),
        body("(  # two", "    k ", f") = {FIXED}", "return k"),
    )


def test_comments_and_layout_of_the_call_stay() -> None:
    becomes(
        body(
            "k, v = (  # read",
            "    pool",
            "    # the accessor",
            "    .get_kv_buffer(",
            "        layer_id=i,  # this layer",
            "    )",
            ")",
            "return k",
        ),
        body(
            "k = (  # read",
            "    pool",
            "    # the accessor",
            "    .get_key_buffer(",
            "        layer_id=i,  # this layer",
            "    )",
            ")",
            "return k",
        ),
    )


def test_comments_between_two_used_names_would_go() -> None:
    before = body("(", "    k,  # the keys", "    v,", f") = {READ}", "return k, v")
    becomes(before, body(f"k = v = {FIXED}", "return k, v"), unsafe=True)
    (finding,) = findings_of(before.encode())
    assert finding.fix is not None
    assert finding.fix.reason == f"{SHARED}; {COMMENT}"


@pytest.mark.parametrize("receiver", ["pool", "self.pool", "pools[i]", "get_pool()", "(a or b)"])
def test_receivers_keep_their_text(receiver: str) -> None:
    becomes(
        body(f"k, v = {receiver}.get_kv_buffer(*xs)", "return k"),
        body(f"k = {receiver}.get_key_buffer(*xs)", "return k"),
    )


def test_value_reads_become_key_reads() -> None:
    becomes(
        body("return pool . get_value_buffer(", "    layer_id=3,  # third", ").to(i)"),
        body("return pool . get_key_buffer(", "    layer_id=3,  # third", ").to(i)"),
        unsafe=True,
    )


def test_one_read_inside_of_another() -> None:
    becomes(
        body("k, v = pool.get_kv_buffer(pool.get_kv_buffer(i)[0])", "return k"),
        body("k = pool.get_key_buffer(pool.get_key_buffer(i))", "return k"),
    )
    becomes(
        body("k = pool.get_kv_buffer(pool.get_kv_buffer(i)[0])[0]"),
        body("k = pool.get_key_buffer(pool.get_key_buffer(i))"),
    )


def test_a_safe_and_an_unsafe_one_in_one_file() -> None:
    before = body(f"k, v = {READ}", f"return k, {READ}[1]").encode()
    careful, all_of_them = fixed(before), fixed(before, unsafe=True)
    assert careful.data == body(f"k = {FIXED}", f"return k, {READ}[1]").encode()
    assert (len(careful.applied), len(careful.remaining)) == (1, 1)
    assert careful.more_with_unsafe == 1
    assert all_of_them.data == body(f"k = {FIXED}", f"return k, {FIXED}").encode()
    assert all_of_them.more_with_unsafe == 0


def suggested(code: str, receiver: str) -> list[str]:
    source = decode_source(PATH, code.encode())
    tree = ast.parse(source.text)
    call = next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    )
    return [each.code for each in alternatives(source, tree, call, receiver)]


def test_alternatives_have_the_receiver_and_the_arguments() -> None:
    guard, fallback = suggested("keys, vals = self.pool.get_kv_buffer(layer_id=3)\n", "self.pool")
    assert guard == (
        "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
        "\n"
        "if isinstance(self.pool, DeepSeekV4SingleKVPool):\n"
        "    keys = vals = self.pool.get_key_buffer(layer_id=3)\n"
        "else:\n"
        "    keys, vals = self.pool.get_kv_buffer(layer_id=3)"
    )
    assert fallback == (
        "try:\n"
        "    keys, vals = self.pool.get_kv_buffer(layer_id=3)\n"
        "except NotImplementedError:\n"
        "    keys = vals = self.pool.get_key_buffer(layer_id=3)"
    )


@pytest.mark.parametrize(
    ("code", "line"),
    [
        ("print(pool.get_value_buffer(i))\n", "    v = pool.get_value_buffer(i)"),
        ("x = pool.get_value_buffer(i)\n", "    x = pool.get_value_buffer(i)"),
        ("pair = pool.get_kv_buffer(i)\n", "    k, v = pool.get_kv_buffer(i)"),
        ("k, *v = pool.get_kv_buffer(*i)\n", "    k, v = pool.get_kv_buffer(*i)"),
    ],
)
def test_alternatives_are_programs(code: str, line: str) -> None:
    codes = suggested(code.replace("print(", "(print)("), "pool")
    for each in codes:
        ast.parse(each)
        assert line in each
