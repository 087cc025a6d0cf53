"""Fix probes: both halves of a rule's example, executed on a real pool.

The bad half must go wrong as the rule says, the good half must have exactly the effect that a
torch reference has. Runs only in child processes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from kvlint.runtime.builders import Built, CannotBuild, Site, build, pool_class
from kvlint.runtime.call_values import Scene, value_for
from kvlint.runtime.outcome import Call, Judged, error_text, frames_of, observe, wants_gpu
from kvlint.runtime.references import NoReference, against, put_index_k, put_kv
from kvlint.runtime.storage import Snapshot

# The method that does the writing in a good half -> what it leaves behind.
_EFFECTS = {
    "set_kv_buffer": "kv",
    "set_mla_kv_buffer": "kv",
    "set_index_k_buffer": "index-k",
    "set_key_buffer": "latent",
    "set_key_buffer_fused": "latent",
}


def judge_fix(site: Site, data: Mapping[str, Any]) -> Judged:
    """`data`: the example's `bad` and `good`, the rule's `exception` and `message`, `pool`."""
    bad, good = _function(data["bad"]), _function(data["good"])
    cls = _example_class(good, data)
    site = Site(site.device, site.triton, start_layer=_stage(cls))
    control = _scene(build(cls, site), site, data)
    control_call = _run(good, control)
    if control_call.error is not None:
        reason = wants_gpu(control_call.error) if site.device == "cpu" else ""
        if reason:
            return Judged("needs-cuda", f"the good half {reason}")
        text = f"the good half raised {error_text(control_call.error)}"
        return Judged("broken", text, frames_of(control_call.error))
    try:
        expected = _expected(control, control_call.before, data["good"])
    except NoReference as reason:
        return Judged("cannot-build", str(reason))
    wrong = against(expected, control_call.after)
    if wrong:
        lines = (f"against the reference: {wrong}", f"the call: {control_call.changed}")
        return Judged("broken", "the good half has another effect than the reference", lines)
    return _with_misuse(bad, build(cls, site), site, data, control_call)


def _with_misuse(
    bad: Callable[..., Any], built: Built, site: Site, data: Mapping[str, Any], good: Call
) -> Judged:
    mutant = _scene(built, site, data)
    call = _run(bad, mutant)
    lines = (f"bad: {call.text}", f"good: {good.text}")
    if data.get("exception"):
        if call.error is None:
            return Judged("refuted", f"the bad half {call.text}", lines)
        if not _as_the_rule_says(call.error, data):
            return Judged("drift", f"the bad half raised {error_text(call.error)}", lines)
        return Judged("confirmed", _summary(call, good), lines)
    if call.error is not None:
        return Judged("confirmed", _summary(call, good), lines)
    if not against(_expected(mutant, call.before, data["good"]), call.after):
        return Judged("refuted", "both halves have the same effect", lines)
    return Judged("confirmed", f"bad: {call.changed}; good: {good.changed}", lines)


def _summary(bad: Call, good: Call) -> str:
    return f"bad raised {type(bad.error).__name__}; good {good.text}"


def _as_the_rule_says(error: BaseException, data: Mapping[str, Any]) -> bool:
    if type(error).__name__ != data["exception"]:
        return False
    pattern = data.get("message")
    return pattern is None or re.search(pattern, str(error)) is not None


def _function(source: str) -> Callable[..., Any]:
    """The last function that an example defines."""
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    if not names:
        raise CannotBuild("the example defines no function to run")
    scope: dict[str, Any] = {"__name__": "example"}
    # The examples are those of kvlint's own rules.
    exec(compile(source, "<example>", "exec"), scope)
    function = scope[names[-1]]
    if not callable(function):
        raise CannotBuild(f"{names[-1]} of the example is no function")
    return function  # type: ignore[no-any-return]


def _example_class(function: Callable[..., Any], data: Mapping[str, Any]) -> type:
    """The class to build: the first parameter's annotation, else a class the example imports,
    else the one the rule's probe names."""
    root = importlib.import_module("sglang.srt.mem_cache.memory_pool").KVCache
    candidates = [parameter.annotation for parameter in _parameters(function)]
    candidates += list(function.__globals__.values())
    for candidate in candidates:
        is_pool = isinstance(candidate, type) and issubclass(candidate, root)
        if is_pool and not getattr(candidate, "__abstractmethods__", None):
            return candidate  # type: ignore[no-any-return]
    return pool_class(data["pool"])  # type: ignore[no-any-return]


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function, eval_str=True).parameters.values())


def _stage(cls: type) -> int:
    """A later pipeline stage where the class takes one: there a raw index is another layer."""
    names = {owner.__name__ for owner in cls.__mro__}
    plain = names & {"MHATokenToKVPool", "MLATokenToKVPool"} and not names & {
        "NoOpMHATokenToKVPool",
        "UnifiedMHATokenToKVPool",
    }
    return 1 if plain else 0


def _scene(built: Built, site: Site, data: Mapping[str, Any]) -> Scene:
    layers = list(built.index_targets) if _writes(data["good"]) == "index-k" else list(built.layers)
    return Scene(built, site, layers[0])


def _run(function: Callable[..., Any], scene: Scene) -> Call:
    values = [
        scene.pool if index == 0 else value_for(parameter.name, scene)
        for index, parameter in enumerate(_parameters(function))
    ]
    return observe(scene.pool, lambda: function(*values), scene.built.keep)


def _writes(source: str) -> str:
    """ "kv", "index-k", "latent" or "nothing", by the accessors that the source calls."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            effect = _EFFECTS.get(node.func.attr)
            if effect:
                return effect
    return "nothing"


def _expected(scene: Scene, before: Snapshot, good: str) -> Snapshot:
    expected = before.copy()
    effect = _writes(good)
    if effect == "kv" and type(scene.pool).__name__ != "NoOpMHATokenToKVPool":
        put_kv(expected, scene, scene.k, scene.v)
    elif effect == "index-k":
        put_index_k(expected, scene, scene.index_k)
    elif effect == "latent":
        raise NoReference("no bit-exact reference is known for the packed quantization")
    return expected
