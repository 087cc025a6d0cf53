"""What the fixes write: the file's own style, and not a character elsewhere."""

from __future__ import annotations

import pytest

from tests.launch.asking import findings, fixed

HEAD = "from sglang.srt.server_args import ServerArgs\n\n"
READY = "is_embedding=True, prefill_only_disable_kv_cache=True"
START = "python -m sglang.launch_server"

PYTHON = {
    "quotes": (
        "ServerArgs(model_path='m', attention_backend='fa')\n",
        "ServerArgs(model_path='m', attention_backend='fa3')\n",
    ),
    "one line": (
        f"ServerArgs({READY})\n",
        f"ServerArgs({READY}, chunked_prefill_size=-1, disable_radix_cache=True)\n",
    ),
    "one line with a last comma": (
        f"ServerArgs({READY},)\n",
        f"ServerArgs({READY}, chunked_prefill_size=-1, disable_radix_cache=True,)\n",
    ),
    "no last comma": (
        f"ServerArgs(\n    {READY},\n    model_path='m'\n)\n",
        f"ServerArgs(\n    {READY},\n    model_path='m',\n    chunked_prefill_size=-1,\n"
        "    disable_radix_cache=True\n)\n",
    ),
    "bracket behind the last argument": (
        f"ServerArgs(\n    {READY},\n    model_path='m')\n",
        f"ServerArgs(\n    {READY},\n    model_path='m',\n    chunked_prefill_size=-1,\n"
        "    disable_radix_cache=True)\n",
    ),
    "comment behind the last argument": (
        f"ServerArgs(\n    {READY},\n    model_path='m',  # which\n)\n",
        f"ServerArgs(\n    {READY},\n    model_path='m',  # which\n    chunked_prefill_size=-1,\n"
        "    disable_radix_cache=True,\n)\n",
    ),
    "comment and no last comma": (
        f"ServerArgs(\n    {READY},\n    model_path='m'  # which\n)\n",
        f"ServerArgs(\n    {READY},\n    model_path='m',  # which\n    chunked_prefill_size=-1,\n"
        "    disable_radix_cache=True,\n)\n",
    ),
    "windows line ends": (
        f"ServerArgs(\r\n    {READY},\r\n    chunked_prefill_size=-1,\r\n)\r\n",
        f"ServerArgs(\r\n    {READY},\r\n    chunked_prefill_size=-1,\r\n"
        "    disable_radix_cache=True,\r\n)\r\n",
    ),
    "values": (
        f"ServerArgs({READY}, chunked_prefill_size=4096, disable_radix_cache=False)\n",
        f"ServerArgs({READY}, chunked_prefill_size=-1, disable_radix_cache=True)\n",
    ),
    "refused": (
        f"ServerArgs({READY}, chunked_prefill_size=-1, disable_radix_cache=True,"
        " enable_hisparse=True, attn_cp_size=4, kv_cache_dtype='mxfp8')\n",
        f"ServerArgs({READY}, chunked_prefill_size=-1, disable_radix_cache=True,"
        " enable_hisparse=False, attn_cp_size=1, kv_cache_dtype='auto')\n",
    ),
    "a constant": (
        "B = 'fa'\nServerArgs(model_path='m', attention_backend=B)\n",
        "B = 'fa'\nServerArgs(model_path='m', attention_backend=\"fa3\")\n",
    ),
    "a list": (
        "prepare(['-m', 'x'])\nimport subprocess\nsubprocess.run(\n    [\n        'sglang',\n"
        "        'serve',\n        '--is-embedding',\n"
        "        '--prefill-only-disable-kv-cache',  # the pool\n"
        "        '--chunked-prefill-size',\n        '-1',\n    ]\n)\n",
        "prepare(['-m', 'x'])\nimport subprocess\nsubprocess.run(\n    [\n        'sglang',\n"
        "        'serve',\n        '--is-embedding',\n"
        "        '--prefill-only-disable-kv-cache',  # the pool\n"
        "        '--chunked-prefill-size',\n        '-1',\n        '--disable-radix-cache',\n"
        "    ]\n)\n",
    ),
    "a list with values beside options": (
        "import subprocess\nsubprocess.run([\n    'sglang', 'serve', 'm',\n"
        "    '--is-embedding', '--prefill-only-disable-kv-cache', '--disable-radix-cache',\n"
        "    '--port', '1',\n])\n",
        "import subprocess\nsubprocess.run([\n    'sglang', 'serve', 'm',\n"
        "    '--is-embedding', '--prefill-only-disable-kv-cache', '--disable-radix-cache',\n"
        "    '--port', '1',\n    '--chunked-prefill-size', '-1',\n])\n",
    ),
    "joined options": (
        "import subprocess\nsubprocess.run(['sglang', 'serve', '--model-path=é',"
        " '--is-embedding', '--prefill-only-disable-kv-cache', '--disable-radix-cache'])\n",
        "import subprocess\nsubprocess.run(['sglang', 'serve', '--model-path=é',"
        " '--is-embedding', '--prefill-only-disable-kv-cache', '--disable-radix-cache',"
        " '--chunked-prefill-size=-1'])\n",
    ),
    "a flag of a list": (
        "start(['--prefill-only-disable-kv-cache', '--enable-hisparse', '--port', '1'])\n",
        "start(['--prefill-only-disable-kv-cache', '--port', '1'])\n",
    ),
}


@pytest.mark.parametrize("form", PYTHON)
def test_python(form: str) -> None:
    before, after = PYTHON[form]
    assert fixed("app.py", HEAD + before) == HEAD + after


FILES = {
    "quoted word": (
        "run.sh",
        f'{START} --model m --attention-backend "fa" # which\n',
        f'{START} --model m --attention-backend "fa3" # which\n',
    ),
    "option with its value": (
        "run.sh",
        f"{START} --model m --attention-backend='fa' >log\n",
        f"{START} --model m --attention-backend='fa3' >log\n",
    ),
    "continuation lines": (
        "run.sh",
        f"{START} \\\n    --is-embedding \\\n    --prefill-only-disable-kv-cache > log 2>&1 &\n",
        f"{START} \\\n    --is-embedding \\\n    --prefill-only-disable-kv-cache \\\n"
        "    --chunked-prefill-size -1 \\\n    --disable-radix-cache > log 2>&1 &\n",
    ),
    "one line": (
        "run.sh",
        f"{START} --is-embedding --prefill-only-disable-kv-cache\n",
        f"{START} --is-embedding --prefill-only-disable-kv-cache"
        " --chunked-prefill-size -1 --disable-radix-cache\n",
    ),
    "a flag that is refused": (
        "run.sh",
        f"{START} --prefill-only-disable-kv-cache \\\n  --enable-hisparse \\\n  $REST\n",
        f"{START} --prefill-only-disable-kv-cache \\\n  $REST\n",
    ),
    "a variable": (
        "run.sh",
        f"B=fa\n{START} --model m --attention-backend $B\n",
        f"B=fa3\n{START} --model m --attention-backend $B\n",
    ),
    "exec form": (
        "Dockerfile",
        'CMD ["sglang", "serve", "--is-embedding", "--prefill-only-disable-kv-cache"]\n',
        'CMD ["sglang", "serve", "--is-embedding", "--prefill-only-disable-kv-cache",'
        ' "--chunked-prefill-size", "-1", "--disable-radix-cache"]\n',
    ),
    "items of a block": (
        "k.yaml",
        "args:\n  - sglang\n  - serve\n  - '--is-embedding'\n"
        "  - '--prefill-only-disable-kv-cache'\n"
        "# end\n",
        "args:\n  - sglang\n  - serve\n  - '--is-embedding'\n"
        "  - '--prefill-only-disable-kv-cache'\n"
        "  - '--chunked-prefill-size'\n  - '-1'\n  - '--disable-radix-cache'\n# end\n",
    ),
    "an item with a comment is removed": (
        "k.yaml",
        "args:\n  - --prefill-only-disable-kv-cache # one\n  - --enable-hisparse # two\n  - x\n",
        "args:\n  - --prefill-only-disable-kv-cache # one\n  # two\n  - x\n",
    ),
    "settings": (
        "c.yaml",
        "model_path: m\nis_embedding: false # no\nprefill_only_disable_kv_cache: true\n"
        'chunked_prefill_size: "4096"\nattention_backend: "triton"   # one\n',
        "model_path: m\nis_embedding: true # no\nprefill_only_disable_kv_cache: true\n"
        'chunked_prefill_size: "-1"\nattention_backend: "fa3"   # one\n'
        "disable_radix_cache: true\n",
    ),
    "a script in a block": (
        "w.yml",
        f"run: |\n  {START} \\\n    --is-embedding \\\n    --prefill-only-disable-kv-cache\n",
        f"run: |\n  {START} \\\n    --is-embedding \\\n    --prefill-only-disable-kv-cache \\\n"
        "    --chunked-prefill-size -1 \\\n    --disable-radix-cache\n",
    ),
    "json": (
        "l.json",
        '{"module": "sglang.launch_server", "args": [\n  "--is-embedding",\n'
        '  "--prefill-only-disable-kv-cache"\n]}\n',
        '{"module": "sglang.launch_server", "args": [\n  "--is-embedding",\n'
        '  "--prefill-only-disable-kv-cache",\n  "--chunked-prefill-size",\n  "-1",\n'
        '  "--disable-radix-cache"\n]}\n',
    ),
    "toml": (
        "s.toml",
        "command = ['sglang', 'serve', '--is-embedding', '--attention-backend', 'fa'] # x\n",
        "command = ['sglang', 'serve', '--is-embedding', '--attention-backend', 'fa3'] # x\n",
    ),
}


@pytest.mark.parametrize("form", FILES)
def test_files(form: str) -> None:
    name, before, after = FILES[form]
    assert fixed(name, before) == after


@pytest.mark.parametrize("form", [*PYTHON, *FILES])
def test_nothing_is_left_to_fix(form: str) -> None:
    name, after = ("app.py", HEAD + PYTHON[form][1]) if form in PYTHON else FILES[form][::2]
    assert fixed(name, after) == after


def test_every_fix_is_unsafe_and_says_why() -> None:
    (found,) = findings("app.py", HEAD + "ServerArgs(model_path='m', attention_backend='fa')\n")
    assert found.fix is not None
    assert found.fix.applicability == "unsafe"
    assert found.fix.reason == "changes what the server runs"
