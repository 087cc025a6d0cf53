"""Reads what one SGLang release says of its server arguments, from its source, never importing it.

`python -m kvlint.launch.from_source TREE...` writes `releases/<version>.json` for each tree: a
folder that holds an unpacked SGLang wheel (`sglang/` beside its `.dist-info`).

Sources: `srt/server_args.py`; from 0.5.14 on the `A[...]` fields; from 0.5.21 on
`srt/arg_groups/fields/*.py`, `choices.py` and the hooks under `srt/arg_groups/`.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from kvlint.catalogue.embed import fingerprint
from kvlint.source.reading import MAX_BYTES, read_regular

RELEASES = Path(__file__).parent / "releases"
_FLAG_ACTIONS = {"store_true", "store_false", "store_const", "DeprecatedStoreTrueAction"}
_BACKEND_FIELDS = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")
_VALIDATOR = "validate_prefill_only_disable_kv_cache_args"
_BACKEND_CHECK = "handle_prefill_only_disable_kv_cache"


class ExtractionError(ValueError):
    """A tree that does not say what kvlint needs. The text starts with the tree."""


def release_facts(tree: Path) -> dict[str, Any]:
    """The facts of one tree, as they are stored. Raises ExtractionError."""
    package = tree / "sglang"
    files = argument_files(package)
    if not files:
        raise ExtractionError(f"{tree}: holds no sglang/srt/server_args.py")
    facts = facts_of(package, files)
    if not facts["attention_backends"]:
        raise ExtractionError(f"{tree}: --attention-backend has no list of choices")
    if not facts["noop_pool"]["prefill_backends"]:
        raise ExtractionError(f"{tree}: no function {_VALIDATOR} or {_BACKEND_CHECK}")
    return {"version": _version(tree), "fingerprint": fingerprint(files), **facts}


def argument_files(package: Path) -> dict[str, bytes]:
    """The files in which server arguments are declared and checked, by their path in `package`."""
    groups = package / "srt/arg_groups"
    places = [package / "srt/server_args.py", *sorted(groups.rglob("*.py"))]
    return {
        path.relative_to(package).as_posix(): read_regular(path)
        for path in places
        if path.is_file() and path.stat().st_size <= MAX_BYTES
    }


def facts_of(package: Path, files: Mapping[str, bytes]) -> dict[str, Any]:
    """What a tree says of its server arguments: nothing of what it does not have, or has in a way
    that is not understood. A file that does not parse says nothing: its own check reports it."""
    modules = list(_parsed(files))
    constants = _string_lists(modules)
    fields = {name for module in modules for name in _annotated_names(module)}
    options: dict[str, tuple[str, str]] = {}
    defaults: dict[str, Any] = {}
    choices: dict[str, list[str]] = {}
    for module in modules:
        for name, kind, field, values in _declared_options(module, constants, fields):
            options[name] = (field, kind)
            if field in _BACKEND_FIELDS and values:
                choices[field] = values
        defaults.update(_field_defaults(module))
    preconditions, backends = _preconditions(modules)
    kept = {*preconditions["requires"], *preconditions["refuses"], *preconditions["at_most"]}
    return {
        "attention_backends": choices.get("attention_backend", []),
        "backend_options": sorted(choices),
        "noop_pool": {
            "prefill_backends": backends,
            **preconditions,
            "checked_for_dummy_models": _checked_for_dummy_models(modules),
            "defaults": {name: defaults[name] for name in sorted(kept) if name in defaults},
        },
        "diffusion_backends": _diffusion_backends(package),
        "options": {name: list(options[name]) for name in sorted(options)},
    }


def _parsed(files: Mapping[str, bytes]) -> Iterator[ast.Module]:
    for data in files.values():
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            yield ast.parse(data)


def _version(tree: Path) -> str:
    for folder in sorted(tree.glob("sglang-*.dist-info")):
        return folder.name.removeprefix("sglang-").removesuffix(".dist-info")
    raise ExtractionError(f"{tree}: holds no sglang-*.dist-info, which names the release")


def _string_lists(modules: Iterable[ast.Module]) -> dict[str, list[str]]:
    """Module-level names bound to a list of strings, as `ATTENTION_BACKEND_CHOICES`."""
    lists: dict[str, list[str]] = {}
    for module in modules:
        for node in module.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                values = _strings(node.value, lists)
                if values is not None:
                    lists[node.targets[0].id] = values
    return lists


def _strings(node: ast.expr | None, known: dict[str, list[str]]) -> list[str] | None:
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.List | ast.Tuple) and node.elts:
        values = [item.value for item in node.elts if isinstance(item, ast.Constant)]
        if len(values) == len(node.elts) and all(isinstance(value, str) for value in values):
            return [str(value) for value in values]
    return None


def _annotated_names(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _declared_options(
    module: ast.Module, constants: dict[str, list[str]], fields: set[str]
) -> Iterator[tuple[str, str, str, list[str] | None]]:
    """(option name, kind, field, choices) of each command-line option that the module declares."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "add_argument":
                yield from _added_argument(node, constants, fields)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield from _annotated_field(node.target.id, node.annotation, constants)


def _added_argument(
    call: ast.Call, constants: dict[str, list[str]], fields: set[str]
) -> Iterator[tuple[str, str, str, list[str] | None]]:
    literals = [_literal(argument) for argument in call.args]
    names = [name for name in literals if isinstance(name, str) and name.startswith("--")]
    if not names:
        return
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    spelled = [name[2:].replace("-", "_") for name in names]
    field = str(_literal(keywords.get("dest")) or "") or next(
        (name for name in spelled if name in fields), spelled[0]
    )
    new_flag = _literal(keywords.get("new_flag"))
    if isinstance(new_flag, str) and new_flag.startswith("--") and new_flag[2:].islower():
        field = new_flag[2:].replace("-", "_")
    kind = _kind(_name_of(keywords.get("action")), _literal(keywords.get("nargs")))
    values = _strings(keywords.get("choices"), constants)
    for name in names:
        yield name, kind, field, values
        if kind == "switch":
            yield "--no-" + name[2:], kind, field, None


def _annotated_field(
    field: str, annotation: ast.expr, constants: dict[str, list[str]]
) -> Iterator[tuple[str, str, str, list[str] | None]]:
    match annotation:
        case ast.Subscript(value=ast.Name(id="A"), slice=ast.Tuple(elts=[declared, *metadata])):
            pass
        case _:
            return
    calls = [item for item in metadata if _name_of(item) == "Arg" and isinstance(item, ast.Call)]
    keywords = {keyword.arg: keyword.value for keyword in calls[0].keywords} if calls else {}
    if _literal(keywords.get("no_cli")) is True:
        return
    name = _literal(keywords.get("cli_name")) or "--" + field.replace("_", "-")
    aliases = _strings(keywords.get("aliases"), constants) or []
    kind = _kind(_name_of(keywords.get("action")), _literal(keywords.get("nargs")))
    if kind == "value" and "action" not in keywords and "type_parser" not in keywords:
        text = ast.unparse(declared)
        if text in ("bool", "Optional[bool]", "bool | None"):
            kind = "flag"
        elif text.removeprefix("Optional[").lower().startswith("list["):
            kind = "values"
    values = _strings(keywords.get("choices"), constants)
    for option in (str(name), *aliases):
        yield option, kind, field, values
        if kind == "switch":
            yield "--no-" + option[2:], kind, field, None


def _kind(action: str | None, nargs: object) -> str:
    """How an option is written: `flag`, `switch` (with a `--no-` form), `value` or `values`."""
    if action == "BooleanOptionalAction":
        return "switch"
    if action in _FLAG_ACTIONS or (action == "DeprecatedStoreConstAction" and nargs is None):
        return "flag"
    return "value" if nargs is None else "values"


def _name_of(node: ast.expr | None) -> str | None:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return name
        case ast.Call(func=function):
            return _name_of(function)
    return None


def _literal(node: ast.expr | None) -> Any:
    try:
        return ast.literal_eval(node) if node is not None else None
    except ValueError:
        return None


def _field_defaults(module: ast.Module) -> dict[str, Any]:
    defaults: dict[str, Any] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            value = node.value
            if isinstance(value, (ast.Constant, ast.UnaryOp)):
                defaults[node.target.id] = _literal(value)
    return defaults


def _preconditions(modules: list[ast.Module]) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """What the release demands of the no-op pool, read from the tests its validator raises on."""
    functions = {
        node.name.lstrip("_"): node
        for module in modules
        for node in ast.walk(module)
        if isinstance(node, ast.FunctionDef)
    }
    facts: dict[str, dict[str, Any]] = {"requires": {}, "refuses": {}, "at_most": {}}
    if _VALIDATOR not in functions or _BACKEND_CHECK not in functions:
        return facts, []
    for test in _raising_tests(functions[_VALIDATOR]):
        match test:
            case ast.UnaryOp(op=ast.Not(), operand=ast.Attribute(attr=field)):
                facts["requires"][field] = True
            case ast.Attribute(attr=field):
                facts["refuses"][field] = [True]
            case ast.Compare(left=ast.Attribute(attr=field), ops=[op], comparators=[value]):
                _compared(facts, field, op, _literal(value))
    for test in _raising_tests(functions[_BACKEND_CHECK]):
        match test:
            case ast.Compare(ops=[ast.NotIn()], comparators=[value]):
                return facts, _strings(value, {}) or []
    return facts, []


def _compared(facts: dict[str, dict[str, Any]], field: str, op: ast.cmpop, value: Any) -> None:
    match op:
        case ast.NotEq():
            facts["requires"][field] = value
        case ast.Gt():
            facts["at_most"][field] = value
        case ast.Eq():
            facts["refuses"].setdefault(field, []).append(value)
        case ast.In():
            facts["refuses"].setdefault(field, []).extend(value)


def _raising_tests(function: ast.FunctionDef) -> Iterator[ast.expr]:
    for node in function.body:
        if isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise):
            yield node.test


def _checked_for_dummy_models(modules: list[ast.Module]) -> bool:
    """Whether the validator runs before SGLang leaves early for `model_path` "none" and "dummy"."""
    for module in modules:
        for function in ast.walk(module):
            if isinstance(function, ast.FunctionDef):
                nodes = list(ast.walk(function))
                calls = [n.lineno for n in nodes if isinstance(n, ast.Call) and _calls_validator(n)]
                exits = [n.lineno for n in nodes if isinstance(n, ast.If) and _tests_dummy(n)]
                if calls and exits:
                    return bool(min(calls) < min(exits))
    return False


def _calls_validator(node: ast.Call) -> bool:
    named = [_name_of(node.func), *(_name_of(argument) for argument in node.args)]
    return any(name is not None and name.lstrip("_") == _VALIDATOR for name in named)


def _tests_dummy(node: ast.If) -> bool:
    return "'dummy'" in ast.unparse(node.test)


def _diffusion_backends(package: Path) -> list[str]:
    """Backend names of SGLang's diffusion servers, which `sglang serve` starts as well."""
    path = package / "multimodal_gen/runtime/platforms/interface.py"
    try:
        modules = _parsed({path.name: read_regular(path)})
    except OSError:
        return []
    for node in (node for module in modules for node in ast.walk(module)):
        if isinstance(node, ast.ClassDef) and node.name == "AttentionBackendEnum":
            targets = [item.targets[0] for item in node.body if isinstance(item, ast.Assign)]
            return sorted(item.id.lower() for item in targets if isinstance(item, ast.Name))
    return []


def main(trees: list[str]) -> int:
    for tree in trees:
        facts = release_facts(Path(tree))
        target = RELEASES / f"{facts['version']}.json"
        target.write_text(stored(facts), encoding="utf-8")
        print(f"{target.name}: {len(facts['options'])} options")
    return 0


def stored(facts: dict[str, Any]) -> str:
    """One option a line, so that a new release is reviewed as a diff."""
    options = ",\n".join(
        f"    {json.dumps(name)}: {json.dumps(value)}" for name, value in facts["options"].items()
    )
    rest = {key: value for key, value in facts.items() if key != "options"}
    return json.dumps(rest, indent=2)[:-2] + ',\n  "options": {\n' + options + "\n  }\n}\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
