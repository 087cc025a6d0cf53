"""How the cost of a check grows: forty shapes of input at n, 2n and 4n.

python3 benchmarks/growth.py [--bound 3] [--scale 1] [SHAPE ...]

Cost is processor time of a child process, less that of an empty check. A shape is linear where
four times the input costs about four times as much; more than `bound` times that (and more than
half a second in all) is a failure, measured again before it is believed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

HEAD = (
    "from sglang.srt.mem_cache.deepseek_v4_memory_pool import DeepSeekV4SingleKVPool\n"
    "from sglang.srt.mem_cache.memory_pool import KVCache, MHATokenToKVPool\n"
    "import torch\n"
)
BAD = "    pool.get_value_buffer(0)\n"
DEF = "def f(pool: DeepSeekV4SingleKVPool, x=None, y=None):\n"
LAUNCH = "python -m sglang.launch_server --model-path m --is-embedding "
LAUNCH += "--prefill-only-disable-kv-cache --attention-backend triton"
Shape = Callable[[int], dict[str, str]]


def _python(body: Callable[[int], str], head: str = HEAD) -> Shape:
    return lambda n: {"a.py": head + body(n)}


def _lines(line: str, head: str = "") -> Shape:
    return _python(lambda n: head + "".join(line.replace("@", str(i)) for i in range(n)))


def _file(name: str, body: Callable[[int], str]) -> Shape:
    return lambda n: {name: body(n), "a.py": HEAD + DEF + BAD}


def _settings(body: Callable[[int], str]) -> Shape:
    return lambda n: {"kvlint.toml": body(n), "a.py": HEAD + DEF + BAD}


def _nested(opening: str, closing: str, inside: str) -> Callable[[int], str]:
    return lambda n: opening * n + inside + closing * n


SHAPES: dict[str, tuple[int, Shape]] = {
    "findings": (200, _lines(BAD, DEF)),
    "findings in functions": (200, _lines(DEF.replace("f(", "f@(") + BAD)),
    "findings in one f-string": (
        300,
        _python(lambda n: DEF + '    s = f"' + "{pool.get_value_buffer(0)}" * n + '"\n'),
    ),
    "findings in one call": (
        400,
        _python(lambda n: DEF + "    g(" + ", ".join(["pool.get_value_buffer(0)"] * n) + ")\n"),
    ),
    "suppressions": (200, _lines(BAD[:-1] + "  # kvlint: ignore[KV102] meant\n", DEF)),
    "unused suppressions": (800, _lines("x = @  # kvlint: ignore[KV102] meant\n")),
    "suppressions on one statement": (
        400,
        _python(
            lambda n: (
                DEF
                + "    g(\n"
                + "        pool.get_value_buffer(0),  # kvlint: ignore[KV102] x\n" * n
                + "    )\n"
            )
        ),
    ),
    "comments": (8000, _lines("# pool @\n")),
    "functions": (2000, _lines("def f@(pool: KVCache):\n    return pool\n")),
    "functions that call the next": (
        300,
        _lines("def f@(pool):\n    return f@0(pool)\n", DEF + BAD),
    ),
    "classes": (
        1000,
        _lines("class C@:\n    def __init__(self, pool: KVCache):\n        self.p = pool\n"),
    ),
    "pool classes": (300, _lines("class P@(MHATokenToKVPool):\n    pass\n")),
    "a chain of pool classes": (
        100,
        _python(
            lambda n: (
                "class P0(MHATokenToKVPool): pass\n"
                + "".join(f"class P{i}(P{i - 1}): pass\n" for i in range(1, n))
            )
        ),
    ),
    "attributes of a class": (
        400,
        _python(
            lambda n: (
                "class C:\n    def __init__(self, pool: DeepSeekV4SingleKVPool):\n"
                + "".join(f"        self.a{i} = pool\n" for i in range(n))
                + "    def g(self):\n"
                + "".join(f"        self.a{i}.get_value_buffer(0)\n" for i in range(n))
            )
        ),
    ),
    "methods of a class": (
        300,
        _python(
            lambda n: (
                "class C:\n    def __init__(self, pool: DeepSeekV4SingleKVPool):\n        self.p = pool\n"
                + "".join(
                    f"    def m{i}(self):\n        self.p.get_value_buffer(0)\n" for i in range(n)
                )
            )
        ),
    ),
    "match cases": (
        300,
        _python(
            lambda n: (
                DEF
                + "    match x:\n"
                + "".join(
                    f"        case {i}:\n            pool.get_value_buffer(0)\n" for i in range(n)
                )
            )
        ),
    ),
    "elif": (
        100,
        _python(
            lambda n: (
                DEF
                + "    if x == 0:\n        pass\n"
                + "".join(
                    f"    elif x == {i}:\n        pool.get_value_buffer(0)\n" for i in range(1, n)
                )
            )
        ),
    ),
    "isinstance in turn": (
        300,
        _python(
            lambda n: (
                "def f(pool: KVCache):\n"
                + "    if isinstance(pool, DeepSeekV4SingleKVPool):\n        pool.get_value_buffer(0)\n"
                * n
            )
        ),
    ),
    "terms of a sum": (
        150,
        _python(lambda n: "x = " + " + ".join(["pool"] * n) + "\n" + DEF + BAD),
    ),
    "terms of an or": (
        400,
        _python(lambda n: DEF + "    g(" + " or ".join(["x"] * n) + ")\n" + BAD),
    ),
    "a chain of calls": (100, _python(lambda n: DEF + "    x" + ".a(1)" * n + "\n" + BAD)),
    "nested calls": (20, _python(lambda n: DEF + "    " + "g(" * n + ")" * n + "\n" + BAD)),
    "nested functions": (
        20,
        _python(
            lambda n: (
                "".join("    " * i + f"def f{i}(pool: DeepSeekV4SingleKVPool):\n" for i in range(n))
                + "    " * n
                + "pool.get_value_buffer(0)\n"
            )
        ),
    ),
    "with items": (
        200,
        _python(
            lambda n: (
                DEF + "".join(f"    with g({i}) as a{i}:\n        pass\n" for i in range(n)) + BAD
            )
        ),
    ),
    "handlers": (
        300,
        _python(
            lambda n: (
                DEF
                + "".join(
                    f"    try:\n        pool.get_value_buffer({i})\n    except ValueError:\n        pass\n"
                    for i in range(n)
                )
            )
        ),
    ),
    "loops": (
        300,
        _python(lambda n: DEF + "    for i in range(3):\n        pool.get_value_buffer(i)\n" * n),
    ),
    "nested loops": (
        5,
        _python(
            lambda n: (
                DEF
                + "".join("    " * (i + 1) + f"for a{i} in x:\n" for i in range(n))
                + "    " * (n + 1)
                + "pool.get_value_buffer(0)\n"
            )
        ),
    ),
    "comprehensions": (
        300,
        _python(lambda n: DEF + "    y = [pool.get_value_buffer(i) for i in x]\n" * n),
    ),
    "unions": (
        200,
        _python(lambda n: "def f(pool: " + " | ".join(["MHATokenToKVPool"] * n) + "):\n" + BAD),
    ),
    "names joined by branches": (
        200,
        _python(lambda n: DEF + "".join(f"    a{i} = pool if x else y\n" for i in range(n)) + BAD),
    ),
    "aliases": (
        400,
        _python(
            lambda n: (
                DEF
                + "    a0 = pool\n"
                + "".join(f"    a{i} = a{i - 1}\n" for i in range(1, n))
                + f"    a{n - 1}.get_value_buffer(0)\n"
            )
        ),
    ),
    "aliases of types": (
        100,
        _python(
            lambda n: (
                "T0 = DeepSeekV4SingleKVPool\n"
                + "".join(f"T{i} = T{i - 1} | None\n" for i in range(1, n))
                + f"def f(pool: T{n - 1}):\n"
                + BAD
            )
        ),
    ),
    "elements of a list": (
        1000,
        _python(
            lambda n: (
                DEF + "    y = [" + ", ".join(["pool"] * n) + "]\n    y[0].get_value_buffer(0)\n"
            )
        ),
    ),
    "appended": (
        400,
        _python(
            lambda n: (
                DEF + "    z = []\n" + "    z.append(pool)\n" * n + "    z[0].get_value_buffer(0)\n"
            )
        ),
    ),
    "concatenated texts": (
        300,
        _python(
            lambda n: (
                "import subprocess\nc = 'python -m sglang.launch_server '\n"
                + "c += '--tp 1 '\n" * n
                + "subprocess.run(c, shell=True)\n"
            )
        ),
    ),
    "class heads that do not end": (2000, _lines("class A@(Pool\n", "x = '''\n")),
    "imports": (1000, _lines("import m@.pool as p@\n")),
    "modules": (
        100,
        lambda n: {
            f"m{i}.py": HEAD + f"from m{i + 1} import pool\ndef f(pool: KVCache): return pool\n"
            for i in range(n)
        },
    ),
    "launch configurations in Python": (
        200,
        _lines(
            "subprocess.run(['python', '-m', 'sglang.launch_server', '--is-embedding', '--prefill-only-disable-kv-cache', '--attention-backend', 'triton'])\n",
            "import subprocess\n",
        ),
    ),
    "words of a command": (2000, _file("a.sh", lambda n: LAUNCH + " --x y" * n + "\n")),
    "commands": (200, _file("a.sh", lambda n: (LAUNCH + "\n") * n)),
    "nested $()": (10, _file("a.sh", lambda n: _nested("$(", ")", LAUNCH)(n) + "\n")),
    "nested backquotes and quotes": (
        10,
        _file("a.sh", lambda n: 'x="' + '$(echo "' * n + LAUNCH + '")' * n + '"\n'),
    ),
    "nested sh -c": (3, _file("a.sh", lambda n: _shells(min(n, 8)) + "\n" + LAUNCH + "\n")),
    "here documents": (200, _file("a.sh", lambda n: f"cat <<E\n{LAUNCH}\nE\n" * n)),
    "Dockerfile lines": (
        300,
        _file("Dockerfile", lambda n: "FROM lmsysorg/sglang:v0.5.23\n" + f"RUN {LAUNCH}\n" * n),
    ),
    "$() in a Dockerfile": (
        10,
        _file("Dockerfile", lambda n: "FROM x\nRUN " + _nested("$(", ")", LAUNCH)(n) + "\n"),
    ),
    "$() in YAML": (
        10,
        _file("a.yaml", lambda n: "command: [sh, -c, '" + _nested("$(", ")", LAUNCH)(n) + "']\n"),
    ),
    "YAML items": (
        300,
        _file(
            "a.yaml",
            lambda n: "jobs:\n" + "".join(f"  j{i}:\n    command: {LAUNCH}\n" for i in range(n)),
        ),
    ),
    "YAML aliases": (
        4,
        _file(
            "a.yaml",
            lambda n: (
                "a0: &a0 {command: "
                + LAUNCH
                + "}\n"
                + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}, *a{i - 1}]\n" for i in range(1, n))
            ),
        ),
    ),
    "nested YAML": (
        20,
        _file("a.yaml", lambda n: "x: " + "[" * n + "'" + LAUNCH + "'" + "]" * n + "\n"),
    ),
    "JSON items": (
        300,
        _file("a.json", lambda n: '{"commands": [' + ", ".join([f'"{LAUNCH}"'] * n) + "]}\n"),
    ),
    "nested JSON": (
        20,
        _file("a.json", lambda n: '{"command": ' + "[" * n + f'"{LAUNCH}"' + "]" * n + "}\n"),
    ),
    "TOML tables": (
        300,
        _file("a.toml", lambda n: "".join(f'[t{i}]\ncommand = "{LAUNCH}"\n' for i in range(n))),
    ),
    "stars in a pattern": (10, _file(".gitignore", lambda n: "*a" * n + "b\n" + "**/" * n + "x\n")),
    "patterns": (500, _file(".gitignore", lambda n: "".join(f"x{i}*y\n" for i in range(n)))),
    "requirements": (
        1000,
        _file("requirements.txt", lambda n: "".join(f"p{i}==1\n" for i in range(n))),
    ),
    "exclude": (
        300,
        _settings(lambda n: "extend-exclude = [" + ", ".join(f'"x{i}*"' for i in range(n)) + "]\n"),
    ),
    "baseline entries": (
        2000,
        lambda n: {
            "known.json": '{"version": 1, "entries": ['
            + ", ".join(f'{{"path": "a.py", "code": "KV102", "id": "{i:016x}"}}' for i in range(n))
            + "]}",
            "kvlint.toml": 'baseline = "known.json"\n',
            "a.py": HEAD + DEF + BAD,
        },
    ),
}


def _shells(depth: int) -> str:
    text = LAUNCH
    for _ in range(depth):
        quoted = text.replace("'", "'\\''")
        text = f"sh -c '{quoted}'"
    return text


def cost(files: dict[str, str], extra: tuple[str, ...] = ()) -> tuple[float, str]:
    """Seconds of processor time of one check, and how it ended."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, ".git").mkdir()
        for name, text in files.items():
            Path(folder, name).write_text(text)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [
            sys.executable,
            "-m",
            "kvlint",
            "check",
            ".",
            "--no-cache",
            "--jobs",
            "1",
            "--sglang",
            "0.5.23",
            *extra,
        ]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20)
            end = str(done.returncode)
            if "internal error" in done.stderr or "nested too deeply" in done.stderr + done.stdout:
                end += " " + done.stderr.strip().splitlines()[0][:70]
        except subprocess.TimeoutExpired:
            end = "timeout"
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, end


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*")
    parser.add_argument("--bound", type=float, default=3.0)
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--with", dest="extra", action="append", default=[])
    options = parser.parse_args()
    empty = min(cost({"a.py": HEAD + DEF + BAD})[0] for _ in range(3))
    failed = []
    for name in options.shapes or SHAPES:
        size, shape = SHAPES[name]
        size = max(1, int(size * options.scale))
        for _ in range(3):
            runs = [cost(shape(size * k), tuple(options.extra)) for k in (1, 2, 4)]
            seconds = [max(run[0] - empty, 0.0) for run in runs]
            ratio = seconds[2] / max(seconds[0], 0.1)
            fits = seconds[2] < 0.5 or ratio < 4 * options.bound
            if fits and all(end[:1] in "012" and len(end) == 1 for _, end in runs):
                break
        else:
            failed.append(name)
        shown = " ".join(f"{each:6.2f}" for each in seconds)
        print(
            f"{name:34} {size:6} {shown}  x{ratio:5.1f} {runs[2][1]} {'' if fits else 'GROWS'}",
            flush=True,
        )
    print(f"{len(failed)} of {len(options.shapes or SHAPES)} shapes grow too fast: {failed}")
    return 1 if failed else 0


if __name__ == "__main__":
    os.environ.pop("KVLINT_TRACEBACK", None)
    raise SystemExit(main())
