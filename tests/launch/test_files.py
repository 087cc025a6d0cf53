"""Shell scripts, Dockerfiles, YAML, JSON and TOML: where each kind says what a server is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlint.launch import is_candidate, is_launch_file
from kvlint.source.text import SourceError
from tests.launch.asking import findings, places

START = "python3 -m sglang.launch_server"
READY = (
    "--model-path m --is-embedding --prefill-only-disable-kv-cache --chunked-prefill-size -1"
    " --disable-radix-cache"
)
SCRIPTS = {
    "one line": (f"{START} {READY} --attention-backend triton\n", [(1, "KV302")]),
    "sglang serve": (f"sglang serve {READY} --attention-backend=triton\n", [(1, "KV302")]),
    "continuation lines": (
        f"{START} {READY} \\\n  --attention-backend \\\n  'triton' \\\n  --port 1\n",
        [(2, "KV302")],
    ),
    "prefixes and redirection": (
        f"CUDA_VISIBLE_DEVICES=0 nohup {START} {READY} --attention-backend triton >log 2>&1 &\n",
        [(1, "KV302")],
    ),
    "a variable": (
        f'BACKEND=triton\n{START} {READY} --attention-backend "$BACKEND"\n',
        [(2, "KV302")],
    ),
    "an array": (
        f'ARGS=({READY}\n  --attention-backend triton)\n{START} "${{ARGS[@]}}"\n',
        [(2, "KV302")],
    ),
    "an array that grows": (
        f'ARGS=({READY})\nARGS+=(--attention-backend triton)\n{START} "${{ARGS[@]}}"\n',
        [(2, "KV302")],
    ),
    "words in a variable": (
        f'ARGS="{READY} --attention-backend triton"\n{START} $ARGS\n',
        [(1, "KV302")],
    ),
    "a whole command in a variable": (
        f'CMD="{START} --model $MODEL --is-embedding --attention-backend fa"\neval "$CMD"\n',
        [(1, "KV305")],
    ),
    "in a substitution": (f"out=$({START} --model m --attention-backend fa)\n", [(1, "KV305")]),
    "bash -c": (f'bash -c "{START} {READY} --attention-backend triton"\n', [(1, "KV302")]),
    "docker run": (
        f"docker run --gpus all lmsysorg/sglang {START} {READY} --attention-backend triton\n",
        [(1, "KV302")],
    ),
    "a function": (
        f"serve() {{\n  {START} {READY} --attention-backend triton\n}}\nserve\n",
        [(2, "KV302")],
    ),
    "in a branch": (
        f"if true; then\n  {START} {READY} --attention-backend triton\nfi\n",
        [(2, "KV302")],
    ),
    "a wrapper": (f"./serve.sh {READY} --attention-backend triton\n", [(1, "KV302")]),
    "a script that is written": (
        f"cat > run.sh <<EOF\n{START} {READY} --attention-backend triton\nEOF\n",
        [(2, "KV302")],
    ),
    "missing": (
        f"{START} --model m --is-embedding \\\n  --prefill-only-disable-kv-cache\n",
        [(2, "KV303")],
    ),
    "contradicted": (
        f"{START} {READY} --chunked-prefill-size 4096\n",
        [(1, "KV303")],
    ),
    "what else is given is not visible": (
        f'{START} {READY} --attention-backend triton "$@"\n',
        [(1, "KV302")],
    ),
    "unknown name": (f"{START} --model m --attention-backend fa\n", [(1, "KV305")]),
}


@pytest.mark.parametrize("form", SCRIPTS)
def test_shell(form: str) -> None:
    text, expected = SCRIPTS[form]
    assert places("run.sh", "#!/bin/bash\n" + text) == [(n + 1, code) for n, code in expected]


SILENT_SCRIPTS = {
    "the variable comes from outside": f'{START} {READY} --attention-backend "$BACKEND"\n',
    "the default may be overridden": (
        f"BACKEND=${{1:-triton}}\n{START} {READY} --attention-backend $BACKEND\n"
    ),
    "a part of the variable comes from outside": (
        f'ARGS="{READY} --attention-backend $BACKEND"\n{START} $ARGS\n'
    ),
    "an option of the script sets it": (
        "BACKEND=triton\nwhile getopts b: o; do\n  case $o in b) BACKEND=$OPTARG;; esac\ndone\n"
        f"{START} {READY} --attention-backend $BACKEND\n"
    ),
    "what is missing may be in the rest": f'{START} --prefill-only-disable-kv-cache "$@"\n',
    "what is missing may be in a file": (
        f"{START} --config server.yaml --prefill-only-disable-kv-cache\n"
    ),
    "a comment": f"# {START} {READY} --attention-backend triton\necho\n",
    "it is only shown": f'echo "{START} {READY} --attention-backend triton"\n',
    "it is looked for": "grep -e '--prefill-only-disable-kv-cache --attention-backend fa' log\n",
    "it is a message": (
        "git commit -m 'sglang: no --prefill-only-disable-kv-cache --attention-backend triton'\n"
    ),
    "another tool": "vllm serve m --attention-backend fa\n",
    "a diffusion server": "sglang serve black-forest/model --attention-backend fa\n",
    "the last one counts": f"{START} {READY} --attention-backend triton --attention-backend fa3\n",
}


@pytest.mark.parametrize("reason", SILENT_SCRIPTS)
def test_shell_is_silent_because(reason: str) -> None:
    assert places("run.sh", SILENT_SCRIPTS[reason]) == []


DOCKERFILES = {
    "exec form": (
        'FROM x\nCMD ["python3", "-m", "sglang.launch_server", "--model", "m", \\\n'
        '     "--attention-backend", "fa"]\n',
        [(3, "KV305")],
    ),
    "entrypoint and command": (
        'FROM x\nENTRYPOINT ["python3", "-m", "sglang.launch_server"]\n'
        'CMD ["--model", "m", "--attention-backend", "fa"]\n',
        [(3, "KV305")],
    ),
    "shell form": (
        f"FROM x\nCMD {START} {READY} \\\n    # which backend\n    --attention-backend triton\n",
        [(4, "KV302")],
    ),
    "shell in exec form": (
        f'FROM x\nCMD ["bash", "-c", "{START} {READY} --attention-backend triton"]\n',
        [(2, "KV302")],
    ),
    "the last command of a stage counts": (
        'FROM x\nCMD ["sglang", "serve", "m", "--is-embedding", "--attention-backend", "fa"]\n'
        'CMD ["bash"]\n',
        [],
    ),
    "a value from the environment": (
        f"FROM x\nENV BACKEND=triton\nCMD {START} {READY} --attention-backend $BACKEND\n",
        [],
    ),
    "a comment": (f"FROM x\n# CMD {START} {READY} --attention-backend triton\n", []),
}


@pytest.mark.parametrize("form", DOCKERFILES)
@pytest.mark.parametrize("name", ["Dockerfile", "serve.dockerfile", "Dockerfile.gpu"])
def test_dockerfile(name: str, form: str) -> None:
    text, expected = DOCKERFILES[form]
    assert places(name, text) == expected


YAML = {
    "config file": (
        "model-path: m\nis-embedding: true\nprefill-only-disable-kv-cache: true\n"
        "chunked-prefill-size: -1\ndisable-radix-cache: true\nattention-backend: triton\n",
        [(6, "KV302")],
    ),
    "config file with underscores": (
        "model_path: m\nis_embedding: yes\nprefill_only_disable_kv_cache: on\n"
        "chunked_prefill_size: 4096  # tokens\ndisable_radix_cache: true\n",
        [(4, "KV303")],
    ),
    "config file without a model": (
        "prefill-only-disable-kv-cache: true\nattention-backend: triton\n",
        [(2, "KV302")],
    ),
    "unknown name in a config file": ("model-path: m\nattention-backend: fa\n", [(2, "KV305")]),
    "options below another key": (
        "engine:\n  prefill_only_disable_kv_cache: true\n  attention_backend: triton\n",
        [(3, "KV302")],
    ),
    "kubernetes": (
        "kind: Pod\nspec:\n  containers:\n    - image: x\n"
        '      command: ["python3", "-m", "sglang.launch_server"]\n      args:\n'
        '        - "--model-path=m"\n        - --attention-backend\n        - fa\n',
        [(8, "KV305")],
    ),
    "kubernetes with a shell": (
        'kind: Pod\nspec:\n  containers:\n    - command: ["/bin/sh", "-c"]\n      args:\n'
        f"        - |\n          set -e\n          exec {START} {READY} \\\n"
        "            --attention-backend triton\n",
        [(9, "KV302")],
    ),
    "kubernetes with the image's entrypoint": (
        "kind: Pod\nspec:\n  containers:\n    - image: lmsysorg/sglang\n"
        '      args: ["--prefill-only-disable-kv-cache", "--attention-backend", "triton"]\n',
        [(5, "KV302")],
    ),
    "configuration map": (
        "kind: ConfigMap\ndata:\n  server.yaml: |\n    model-path: m\n    attention-backend: fa\n",
        [(5, "KV305")],
    ),
    "compose string": (
        f"services:\n  e:\n    command: {START} {READY} --attention-backend triton\n",
        [(3, "KV302")],
    ),
    "compose folded": (
        f"services:\n  e:\n    command: >\n      {START}\n      {READY}\n"
        "      --attention-backend triton\n",
        [(6, "KV302")],
    ),
    "compose list": (
        "services:\n  e:\n    command:\n      - sglang\n      - serve\n      - m\n"
        "      - --is-embedding\n      - --attention-backend=fa\n",
        [(8, "KV305")],
    ),
    "compose entrypoint and command": (
        f"services:\n  e:\n    entrypoint: {START}\n"
        "    command: --model m --attention-backend fa\n",
        [(4, "KV305")],
    ),
    "workflow": (
        "jobs:\n  a:\n    steps:\n      - run: |\n          pip install sglang\n"
        f"          {START} --model ${{{{ matrix.model }}}} --attention-backend fa\n",
        [(6, "KV305")],
    ),
    "pipeline script": (
        "serve:\n  script:\n    - pip install sglang\n"
        f"    - {START} --model m --attention-backend fa\n",
        [(4, "KV305")],
    ),
    "several documents": (
        f"a: 1\n---\nservices:\n  e:\n    command: {START} --model m --attention-backend fa\n",
        [(5, "KV305")],
    ),
    "an option's value is a template": (
        f"services:\n  e:\n    command: {START} {READY} --attention-backend ${{BACKEND:-triton}}\n",
        [],
    ),
    "an argument is a template": (
        'args: ["--prefill-only-disable-kv-cache", "--attention-backend", "$(BACKEND)"]\n',
        [],
    ),
    "a matrix decides": (
        "jobs:\n  a:\n    steps:\n"
        f"      - run: {START} {READY} --attention-backend ${{{{ matrix.backend }}}}\n",
        [],
    ),
    "somebody else's keys": (
        "training:\n  attention-backend: fa\n  is-embedding: true\n",
        [],
    ),
    "not every key is SGLang's": ("model-path: m\nattention-backend: fa\nepochs: 3\n", []),
    "a description": (f"description: {START} {READY} --attention-backend fa\n", []),
    "the flag is off": (
        "model-path: m\nprefill-only-disable-kv-cache: false\nattention-backend: triton\n",
        [],
    ),
}


@pytest.mark.parametrize("form", YAML)
@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["lf", "crlf"])
def test_yaml(newline: str, form: str) -> None:
    text, expected = YAML[form]
    assert places("serve.yaml", text.replace("\n", newline)) == expected


STRUCTURED = {
    "launch.json": (
        '{\n  // how to debug\n  "configurations": [\n    {"module": "sglang.launch_server",\n'
        '     "args": ["--model", "m",\n       "--attention-backend", "fa"]}\n  ]\n}\n',
        [(6, "KV305")],
    ),
    "commands.json": (
        '{"command": "python", "args": ["-m", "sglang.launch_server", "--model", "é",\n'
        '"--attention-backend", "fa"]}\n',
        [(2, "KV305")],
    ),
    "package.json": (
        f'{{"scripts": {{\n  "serve": "{START} --model \\"m\\" --attention-backend fa"}}}}\n',
        [(2, "KV305")],
    ),
    "engine.json": (
        '{"prefill_only_disable_kv_cache": true,\n "attention_backend": "triton"}\n',
        [(2, "KV302")],
    ),
    "serve.toml": (
        '[run]\ncommand = ["sglang", "serve", "m", "--is-embedding",\n'
        '  "--attention-backend", "fa"]\n',
        [(3, "KV305")],
    ),
    "tasks.toml": (
        f'[tasks]\nserve = """\n{START} --model m \\\\\n  --attention-backend fa\n"""\n',
        [(4, "KV305")],
    ),
    "engine.toml": (
        "[engine]\nprefill_only_disable_kv_cache = true\nattention_backend = 'triton'\n",
        [(3, "KV302")],
    ),
    "other.toml": ('[train]\nattention_backend = "fa"\nis_embedding = true\n', []),
    "other.json": ('{"model": "m", "attention_backend": "fa"}\n', []),
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_json_and_toml(name: str) -> None:
    text, expected = STRUCTURED[name]
    assert places(name, text) == expected


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "is-embedding: [\n"),
        ("a.yaml", "{{- if .x }}\nprefill-only-disable-kv-cache: true\n{{- end }}\na: [\n"),
        ("a.json", "is_embedding"),
        ("a.toml", "is_embedding = \n"),
        ("a.sh", "python -m sglang.launch_server --is-embedding 'unclosed\n"),
        ("Dockerfile", 'CMD ["sglang", "--is-embedding"\n'),
        ("a.yaml", "attention-backend: &a [*a]\n"),
        ("a.yaml", "attention-backend: " + "[" * 3000 + "\n"),
    ],
)
def test_a_malformed_file_that_may_be_anyones_is_silent(name: str, text: str) -> None:
    assert findings(name, text) == []


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.yaml", "a: [\nprefill-only-disable-kv-cache\n", 3),
        ("a.toml", "prefill_only_disable_kv_cache = \n", None),
    ],
)
def test_a_malformed_launch_file_is_named(name: str, text: str, line: int | None) -> None:
    with pytest.raises(SourceError) as caught:
        findings(name, text)
    assert caught.value.error.path == Path(name)
    assert caught.value.error.line == line


@pytest.mark.parametrize(
    "name",
    ["a.sh", "a.bash", "Dockerfile", "Dockerfile.x", "x.dockerfile", "a.yml", "a.yaml", "a.json"],
)
def test_launch_files_are_known_by_name(name: str) -> None:
    assert is_launch_file(Path(name))
    assert is_candidate(Path(name), b"--attention-backend fa3")
    assert not is_candidate(Path(name), b"nothing of the kind")


@pytest.mark.parametrize("name", ["a.py", "README.md", "Makefile", "mydockerfile"])
def test_other_files_are_no_launch_files(name: str) -> None:
    assert not is_launch_file(Path(name))
