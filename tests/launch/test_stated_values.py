"""Values that a program states in one place and a server is given in another."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent

import pytest

from tests.inference.programs import assert_as_marked, findings

HEAD = "import sys\nfrom sglang import Engine\n"
NOOP = (
    "prefill_only_disable_kv_cache=True, is_embedding=True, chunked_prefill_size=-1, "
    "disable_radix_cache=True"
)
COMMAND = (
    '"python", "-m", "sglang.launch_server", "--model-path", "m", '
    '"--prefill-only-disable-kv-cache", "--is-embedding", "--chunked-prefill-size", "-1", '
    '"--disable-radix-cache"'
)
SETTINGS = """
    import os
    BACKEND = "triton"
    GOOD: str = "fa3"
    LATE = os.environ.get("BACKEND", "triton")
    class Cfg:
        backend = "triton"
"""
PROGRAMS = {
    "a conditional of two constants": """
        def f(x):
            b = "triton" if x else "flashinfer"
            return Engine(model_path="m", NOOP, attention_backend=b)  # EXPECT KV302
        def g(x):
            b = "triton" if x else "fa3"
            return Engine(model_path="m", NOOP, attention_backend=b)
        def h(x):
            e = Engine(NOOP, attention_backend="triton" if x else "flashinfer")  # EXPECT KV302
    """,
    "branches that assign constants": """
        def f(x):
            if x:
                b = "triton"
            else:
                b = "flashinfer"
            return Engine(model_path="m", NOOP, attention_backend=b)  # EXPECT KV302
        def g(x):
            if x:
                b = "triton"
            else:
                b = "fa3"
            return Engine(model_path="m", NOOP, attention_backend=b)
        def h(x):
            b = "fa3"
            if x:
                b = "triton"
            elif x is None:
                b = "flashinfer"
            return Engine(model_path="m", NOOP, attention_backend=b)
    """,
    "a loop over a literal tuple": """
        for b in ("fa3", "triton"):
            Engine(model_path="m", NOOP, attention_backend=b)  # EXPECT KV302
        for b in ("fa3", "fa4"):
            Engine(model_path="m", NOOP, attention_backend=b)
        for b in ("fa3", "triton"):
            if b == "triton":
                continue
            Engine(model_path="m", NOOP, attention_backend=b)
    """,
    "a comprehension over a literal list": """
        BACKENDS = ["triton"]
        es = [Engine(model_path="m", NOOP, attention_backend=b) for b in BACKENDS]  # EXPECT KV302
        fs = [Engine(model_path="m", NOOP, attention_backend=b) for b in BACKENDS if ok(b)]
    """,
    "an attribute of a class": """
        class Cfg:
            backend = "triton"
            good: str = "fa3"
            bad: str = "triton"
        Engine(model_path="m", NOOP, attention_backend=Cfg.backend)  # EXPECT KV302
        Engine(model_path="m", NOOP, attention_backend=Cfg.good)
        Engine(model_path="m", NOOP, attention_backend=Cfg.bad)  # EXPECT KV302
    """,
    "an attribute of a class that is assigned later": """
        class Cfg:
            backend = "triton"
        Cfg.backend = "fa3"
        Engine(model_path="m", NOOP, attention_backend=Cfg.backend)
    """,
    "a constant of another file": """
        from settings import BACKEND, GOOD
        import settings
        from settings import Cfg
        Engine(model_path="m", NOOP, attention_backend=BACKEND)  # EXPECT KV302
        Engine(model_path="m", NOOP, attention_backend=GOOD)
        Engine(model_path="m", NOOP, attention_backend=settings.BACKEND)  # EXPECT KV302
        Engine(model_path="m", NOOP, attention_backend=settings.Cfg.backend)  # EXPECT KV302
        Engine(model_path="m", NOOP, attention_backend=Cfg.backend)  # EXPECT KV302
        Engine(model_path="m", NOOP, attention_backend=settings.LATE)
    """,
    "a helper that is called with constants": """
        def start(backend, embed=True):
            return Engine(model_path="m", NOOP, attention_backend=backend)  # EXPECT KV302
        start("fa3")
        start("triton")
        start("fa4")
    """,
    "a helper that is called with a good constant": """
        def start(backend):
            return Engine(model_path="m", NOOP, attention_backend=backend)
        start("fa3")
        start(sys.argv[1])
    """,
    "a helper whose arguments are changed later": """
        from sglang.srt.server_args import ServerArgs
        def make(backend):
            args = ServerArgs(model_path="m", NOOP, attention_backend=backend)
            return args
        a = make("triton")
        a.attention_backend = "fa3"
    """,
    "a helper that starts a command": """
        import subprocess
        def start(backend):
            subprocess.Popen([COMMAND, "--attention-backend", backend])  # EXPECT KV302
        start("triton")
    """,
    "a command with one of two constants": """
        import subprocess
        def start(x):
            b = "triton" if x else "flashinfer"
            subprocess.Popen([COMMAND, "--attention-backend", b])  # EXPECT KV302
    """,
    "the body of an except*": """
        def f():
            try:
                prepare()
            except* ValueError:
                Engine(model_path="m", NOOP, attention_backend="triton")  # EXPECT KV302
    """,
    "the body of a try with except*": """
        def f():
            try:
                Engine(model_path="m", NOOP, attention_backend="triton")  # EXPECT KV302
            except* KeyError:
                pass
    """,
    "after a branch that ends the program": """
        def f(x):
            b = "triton"
            if x:
                b = "fa3"
                sys.exit(1)
            Engine(model_path="m", NOOP, attention_backend=b)  # EXPECT KV302
        def g(x):
            b = "fa3"
            if x:
                b = "triton"
                sys.exit(1)
            Engine(model_path="m", NOOP, attention_backend=b)
    """,
    "a loop that assigns the same value": """
        def f(xs):
            b = "triton"
            for x in xs:
                b = "triton"
            Engine(model_path="m", NOOP, attention_backend=b)  # EXPECT KV302
        def g(xs):
            b = "triton"
            for x in xs:
                b = "fa3"
            Engine(model_path="m", NOOP, attention_backend=b)
        def h(xs):
            b = "triton"
            while xs:
                b = pick(xs)
            Engine(model_path="m", NOOP, attention_backend=b)
    """,
    "an attribute of self that is one of two": """
        class A:
            def __init__(self, x):
                self.backend = "triton" if x else "flashinfer"
            def run(self):
                return Engine(model_path="m", NOOP, attention_backend=self.backend)  # EXPECT KV302
    """,
    "a helper that is expected to raise": """
        import pytest
        def start(backend):
            return Engine(model_path="m", NOOP, attention_backend=backend)
        def test():
            with pytest.raises(ValueError):
                start("triton")
    """,
}
"""`NOOP` and `COMMAND` stand for the options of a no-op pool, `SETTINGS` is a module beside it."""


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_stated_values(program: str, tmp_path: Path) -> None:
    if "except*" in program and sys.version_info < (3, 11):
        pytest.skip("except* is newer than this Python")
    text = HEAD + dedent(program).lstrip("\n").replace("NOOP", NOOP).replace("COMMAND", COMMAND)
    assert_as_marked({"main.py": text, "settings.py": SETTINGS}, tmp_path)


BAD = f'from sglang import Engine\nEngine(model_path="m", {NOOP}, attention_backend="triton")'


@pytest.mark.parametrize("name", ["serve", "serve.pyw", "serve.py"])
def test_launch_rules_hold_for_every_kind_of_python_file(name: str, tmp_path: Path) -> None:
    text = f"#!/usr/bin/env python3\n{BAD}  # EXPECT KV302\n"
    assert_as_marked({name: text}, tmp_path)


def test_no_fix_where_the_encoding_cannot_be_trusted(tmp_path: Path) -> None:
    text = f'# coding: utf-7\nname = "+AGE-"\n{BAD}\n'
    [found] = findings({"serve.py": text}, tmp_path)
    assert (found.code, found.fix) == ("KV302", None)


def test_fix_where_the_encoding_is_plain(tmp_path: Path) -> None:
    text = f"# coding: latin-1\n{BAD}\n"
    [found] = findings({"serve.py": text}, tmp_path)
    assert found.fix is not None
