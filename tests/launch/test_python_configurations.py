"""KV302, KV303, KV305 and KV306 in Python: each way of configuring a server."""

from __future__ import annotations

import pytest

from tests.launch.asking import findings, marked, places

IMPORTS = """\
import copy, dataclasses, functools, os, shlex, subprocess, sys
import pytest
import sglang as sgl
from sglang.srt.server_args import ServerArgs, prepare_server_args
from sglang.test.test_utils import popen_launch_server
READY = dict(is_embedding=True, prefill_only_disable_kv_cache=True, chunked_prefill_size=-1)
READY["disable_radix_cache"] = True
"""
FOUND = {
    "constructor": 'ServerArgs(model_path="m", **READY, attention_backend="triton")  # KV302',
    "engine": 'sgl.Engine(model_path="m", **READY, attention_backend="flashinfer")  # KV302',
    "runtime": 'sgl.Runtime(model_path="m", **READY, attention_backend="aiter")  # KV302',
    "renamed import": """\
from sglang import Engine as E
E(model_path="m", **READY, attention_backend="triton")  # KV302""",
    "module import": """\
import sglang.srt.server_args as sa
sa.ServerArgs(model_path="m", **READY, attention_backend="triton")  # KV302""",
    "guarded import": """\
try:
    import sglang
except ImportError:
    sglang = None
sglang.Engine(model_path="m", **READY, attention_backend="triton")  # KV302""",
    "prefill backend": (
        'sgl.Engine(model_path="m", **READY, attention_backend="fa3",\n'
        '    prefill_attention_backend="triton")  # KV302'
    ),
    "constant": """\
BACKEND = "triton"
def make():
    return sgl.Engine(model_path="m", **READY, attention_backend=BACKEND)  # KV302""",
    "dictionary entry": """\
options = {"model_path": "m", **READY}
options["attention_backend"] = "triton"  # KV302
sgl.Engine(**options)""",
    "dictionary update": """\
options = dict(model_path="m")
options.update(READY, attention_backend="triton")  # KV302
sgl.Engine(**options)""",
    "dictionary union": """\
options = READY | {"attention_backend": "triton"}  # KV302
sgl.Engine(model_path="m", **options)""",
    "dictionary for a wrapper": (
        'serve(engine_kwargs={"prefill_only_disable_kv_cache": True,'
        ' "attention_backend": "triton"})  # KV302'
    ),
    "later assignment": """\
def make():
    args = ServerArgs(model_path="m", **READY)
    args.attention_backend = "triton"  # KV302
    return args""",
    "setattr": """\
args = ServerArgs(model_path="m", **READY)
setattr(args, "attention_backend", "triton")  # KV302""",
    "attribute of self": """\
class Service:
    def __init__(self):
        self.args = ServerArgs(model_path="m", **READY)
        self.args.attention_backend = "triton"  # KV302""",
    "dataclasses.replace": """\
base = ServerArgs(model_path="m", **READY)
other = dataclasses.replace(base, attention_backend="triton")  # KV302""",
    "copy": """\
args = copy.deepcopy(ServerArgs(model_path="m", **READY))
args.attention_backend = "triton"  # KV302""",
    "partial": """\
make = functools.partial(sgl.Engine, **READY)
make(model_path="m", attention_backend="triton")  # KV302""",
    "subclass": """\
class Mine(sgl.Engine):
    pass
Mine(model_path="m", **READY, attention_backend="triton")  # KV302""",
    "default factory": """\
@dataclasses.dataclass
class Holder:
    args: ServerArgs = dataclasses.field(
        default_factory=lambda: ServerArgs(
            model_path="m", **READY, attention_backend="triton"  # KV302
        )
    )""",
    "other_args": """\
popen_launch_server("m", "u", timeout=9, other_args=[
    "--is-embedding", "--prefill-only-disable-kv-cache", "--chunked-prefill-size", "-1",
    "--disable-radix-cache", "--attention-backend=triton"])  # KV302""",
    "class attribute for other_args": """\
class TestEmbedding:
    extra = ["--is-embedding", "--prefill-only-disable-kv-cache", "--chunked-prefill-size=-1",
        "--disable-radix-cache", "--attention-backend", "triton"]  # KV302
    @classmethod
    def setUpClass(cls):
        cls.process = popen_launch_server("m", "u", timeout=9, other_args=cls.extra)""",
    "list put together": """\
def run(model):
    command = [sys.executable, "-m", "sglang.launch_server", "--model-path", model]
    command += ["--is-embedding", "--prefill-only-disable-kv-cache"]
    command.extend(["--chunked-prefill-size", "-1", "--disable-radix-cache"])
    command.append("--attention-backend")
    subprocess.Popen(command + ["triton"])""",
    "starred list": """\
BASE = ("--is-embedding", "--prefill-only-disable-kv-cache")
prepare_server_args(["--model-path", "m", *BASE, "--chunked-prefill-size", "-1",
    "--disable-radix-cache", "--attention-backend", "triton"])  # KV302""",
    "list for a wrapper": (
        'start(extra=["--prefill-only-disable-kv-cache", "--attention-backend", "triton"])  # KV302'
    ),
    "abbreviated option": (
        'start(["--prefill-only-disable-kv-cache", "--attention-back", "triton"])  # KV302'
    ),
    "split string": (
        'subprocess.run("python -m sglang.launch_server --model m --is-embedding '
        '--attention-backend fa".split())  # KV305'
    ),
    "shlex": (
        'subprocess.run(shlex.split("sglang serve m --is-embedding --attention-backend fa"))'
        "  # KV305"
    ),
    "joined list": (
        'os.system(" ".join(["sglang", "serve", "m", "--is-embedding",'
        ' "--attention-backend", "fa"]))  # KV305'
    ),
    "shell of a shell": (
        'subprocess.run(["bash", "-c", "python -m sglang.launch_server --model m'
        ' --attention-backend fa"])  # KV305'
    ),
    "f-string": """\
def run(model):
    os.system(f"python -m sglang.launch_server --model {model} --attention-backend fa")  # KV305""",
    "remote shell": """\
def run(host):
    host.run("python -m sglang.launch_server --model m --attention-backend fa")  # KV305""",
    "parser": """\
import argparse
def parse():
    parser = argparse.ArgumentParser()
    ServerArgs.add_cli_args(parser)
    args = parser.parse_args(["--model", "m", "--attention-backend", "fa"])  # KV305
    return ServerArgs.from_cli_args(args)""",
    "is_embedding contradicted": (
        'sgl.Engine(model_path="m", prefill_only_disable_kv_cache=True, is_embedding=False,'
        " chunked_prefill_size=-1, disable_radix_cache=True)  # KV303"
    ),
    "chunked prefill given as None": (
        'sgl.Engine(model_path="m", prefill_only_disable_kv_cache=True, is_embedding=True,'
        " chunked_prefill_size=None, disable_radix_cache=True)  # KV303"
    ),
    "cache dtype": 'sgl.Engine(model_path="m", **READY, kv_cache_dtype="mxfp8")  # KV303',
    "context parallelism": 'sgl.Engine(model_path="m", **READY, attn_cp_size=2)  # KV303',
    "prefill context parallelism": (
        'sgl.Engine(model_path="m", **READY, enable_prefill_cp=True)  # KV303'
    ),
    "hisparse": 'sgl.Engine(model_path="m", **READY, enable_hisparse=True)  # KV303',
    "all preconditions missing": (
        'ServerArgs(model_path="m", prefill_only_disable_kv_cache=True)  # KV303'
    ),
    "contradicted beside what is not visible": """\
def make(**more):
    return sgl.Engine(prefill_only_disable_kv_cache=True, is_embedding=False, **more)  # KV303""",
    "unknown decode backend": (
        'sgl.Engine(model_path="m", decode_attention_backend="flash_infer")  # KV305'
    ),
    "spelled with a dash": 'sgl.Engine(model_path="m", attention_backend="torch-native")  # KV305',
}


@pytest.mark.parametrize("form", FOUND)
def test_found_where_it_is_marked(form: str) -> None:
    text = IMPORTS + FOUND[form] + "\n"
    expected = marked(text)
    if form == "list put together":
        expected = {(text[: text.index('"--attention-backend"')].count("\n") + 1, "KV302")}
    assert set(places("app.py", text)) == expected


SILENT = {
    "a parameter is not known": """\
def make(backend):
    return sgl.Engine(model_path="m", **READY, attention_backend=backend)""",
    "a default may be overridden": """\
def make(backend="triton"):
    return sgl.Engine(model_path="m", **READY, attention_backend=backend)""",
    "the environment decides": (
        'sgl.Engine(model_path="m", **READY, attention_backend=os.environ.get("B", "triton"))'
    ),
    "one branch only": """\
def make(x):
    args = ServerArgs(model_path="m", **READY)
    if x:
        args.attention_backend = "triton"
    return args""",
    "corrected before it is used": """\
def make():
    args = ServerArgs(model_path="m", **READY, attention_backend="triton")
    args.attention_backend = "fa3"
    return args""",
    "the prefill backend wins": (
        'sgl.Engine(model_path="m", **READY, attention_backend="triton",'
        ' prefill_attention_backend="fa4")'
    ),
    "the prefill backend is not known": """\
def make(prefill):
    return sgl.Engine(model_path="m", **READY, attention_backend="triton",
        prefill_attention_backend=prefill)""",
    "decode may run on anything": (
        'sgl.Engine(model_path="m", **READY, attention_backend="fa3",'
        ' decode_attention_backend="triton")'
    ),
    "no backend is named": 'sgl.Engine(model_path="m", **READY)',
    "the flag is off": (
        'sgl.Engine(model_path="m", prefill_only_disable_kv_cache=False,'
        ' attention_backend="triton")'
    ),
    "the flag is not known": """\
def make(skip):
    return sgl.Engine(model_path="m", prefill_only_disable_kv_cache=skip,
        attention_backend="triton")""",
    "what is missing may come from elsewhere": """\
def make(**more):
    return sgl.Engine(model_path="m", prefill_only_disable_kv_cache=True, **more)""",
    "what is missing may be in the list": """\
def start(extra):
    popen_launch_server("m", "u", timeout=9,
        other_args=["--prefill-only-disable-kv-cache", *extra])""",
    "the last of an option counts": (
        'prepare_server_args(["--model-path", "m", "--attention-backend", "fa",'
        ' "--attention-backend", "fa3"])'
    ),
    "the refusal is what is tested": """\
def test_it():
    with pytest.raises(ValueError):
        ServerArgs(model_path="m", prefill_only_disable_kv_cache=True)""",
    "combinations are listed to be refused": """\
REFUSED = [{"prefill_only_disable_kv_cache": True, "attention_backend": "triton"}]
@pytest.mark.parametrize("options", REFUSED)
def test_it(options):
    with pytest.raises(ValueError):
        ServerArgs(model_path="m", **options)""",
    "the refusal of what a function makes is tested": """\
def make():
    return ServerArgs(model_path="m", prefill_only_disable_kv_cache=True)
def test_it():
    with pytest.raises(ValueError):
        make()""",
    "the refusal is handled": """\
try:
    ServerArgs(model_path="m", prefill_only_disable_kv_cache=True)
except ValueError as error:
    print(error)""",
    "another class of the same name": """\
from mylib import ServerArgs, Engine
ServerArgs(model_path="m", prefill_only_disable_kv_cache=True, attention_backend="fa")
Engine(model_path="m", attention_backend="fa")""",
    "a class of this file": """\
class ServerArgs:
    pass
ServerArgs(model_path="m", prefill_only_disable_kv_cache=True, attention_backend="fa")""",
    "diffusion servers have other backends": """\
from sglang.multimodal_gen.runtime.server_args import ServerArgs
ServerArgs(model_path="m", attention_backend="fa")
subprocess.run(["sglang", "serve", "some/diffusion-model", "--attention-backend", "fa"])""",
    "a backend that the file registers": """\
from sglang.srt.layers.attention.attention_registry import register_attention_backend
@register_attention_backend("mine")
def create(runner):
    return Backend(runner)
sgl.Engine(model_path="m", attention_backend="mine")""",
    "text that is only shown": (
        'print("python -m sglang.launch_server --prefill-only-disable-kv-cache'
        ' --attention-backend triton")'
    ),
    "a docstring": (
        '"""python -m sglang.launch_server --prefill-only-disable-kv-cache'
        ' --attention-backend fa"""'
    ),
    "a dummy model is not checked by SGLang": (
        'ServerArgs(model_path="dummy", prefill_only_disable_kv_cache=True,'
        ' attention_backend="triton")'
    ),
    "switched off": (
        'sgl.Engine(model_path="m", **READY, enable_hisparse=False, attn_cp_size=1,'
        ' kv_cache_dtype="auto")'
    ),
    "dead code": """\
if False:
    sgl.Engine(model_path="m", attention_backend="fa")""",
}


@pytest.mark.parametrize("reason", SILENT)
def test_silent_because(reason: str) -> None:
    assert places("app.py", IMPORTS + SILENT[reason] + "\n") == []


def test_an_embedding_server_without_fa_is_only_a_hint() -> None:
    text = IMPORTS + 'ServerArgs(model_path="m", is_embedding=True, attention_backend="triton")\n'
    (hint,) = findings("app.py", text, hints=True)
    assert (hint.code, hint.severity, hint.span.line) == ("KV306", "hint", text.count("\n"))


def test_a_backend_among_arguments_that_are_not_all_visible_is_a_warning() -> None:
    text = IMPORTS + 'def f(**k): sgl.Engine(**k, **READY, attention_backend="triton")\n'
    assert [found.severity for found in findings("app.py", text)] == ["warning"]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.5.12.post1", []), ("0.5.19", []), ("0.5.20", []), ("0.5.21", ["KV305"])],
)
def test_backends_are_those_of_the_release(version: str, expected: list[str]) -> None:
    text = IMPORTS + 'sgl.Engine(model_path="m", attention_backend="dual_chunk_flash_attn")\n'
    assert [found.code for found in findings("app.py", text, version)] == expected


@pytest.mark.parametrize(
    ("version", "dtype", "expected"),
    [
        ("0.5.12.post1", "fp4_e2m1", ["KV303"]),
        ("0.5.12.post1", "mxfp8", []),
        ("0.5.16", "fp4_mx_block16", ["KV303"]),
        ("0.5.23", "nvfp4", ["KV303"]),
        ("0.5.23", "fp8_e4m3", []),
    ],
)
def test_refused_cache_types_are_those_of_the_release(
    version: str, dtype: str, expected: list[str]
) -> None:
    text = IMPORTS + f'sgl.Engine(model_path="m", **READY, kv_cache_dtype="{dtype}")\n'
    assert [found.code for found in findings("app.py", text, version)] == expected


def test_the_older_name_of_prefill_context_parallelism() -> None:
    text = IMPORTS + 'sgl.Engine(model_path="m", **READY, enable_prefill_context_parallel=True)\n'
    assert [found.code for found in findings("app.py", text, "0.5.12.post1")] == ["KV303"]


def test_fa_is_named_with_what_it_may_mean() -> None:
    text = IMPORTS + 'sgl.Engine(model_path="m", attention_backend="fa")\n'
    (found,) = findings("app.py", text)
    assert "`fa3` or `fa4`" in found.message
    assert [suggestion.code for suggestion in found.suggestions] == ['"fa4"']


def test_a_finding_covers_its_statement_for_suppression() -> None:
    text = IMPORTS + 'x = sgl.Engine(\n    model_path="m",\n    attention_backend="fa",\n)\n'
    (found,) = findings("app.py", text)
    first = IMPORTS.count("\n") + 1
    assert found.statement_lines == (first, first + 3)
