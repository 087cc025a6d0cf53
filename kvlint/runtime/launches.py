"""Launch probes: SGLang's own validation of server arguments, run for real.

Up to 0.5.16 the checks are methods of `ServerArgs`; from 0.5.19 they are functions of
sglang/srt/arg_groups/kv_cache_hook.py. Runs only in child processes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from kvlint.runtime.builders import CannotBuild
from kvlint.runtime.outcome import Judged, error_text

_VALID = {
    "is_embedding": True,
    "chunked_prefill_size": -1,
    "disable_radix_cache": True,
    "prefill_only_disable_kv_cache": True,
    "attention_backend": "fa3",
}
# What each precondition of KV303 looks like when it is not met.
_VIOLATIONS: dict[str, dict[str, Any]] = {
    "is_embedding": {"is_embedding": False},
    "chunked_prefill_size": {"chunked_prefill_size": 2048},
    "disable_radix_cache": {"disable_radix_cache": False},
    "kv_cache_dtype=nvfp4": {"kv_cache_dtype": "nvfp4"},
    "kv_cache_dtype=fp4_mx_block16": {"kv_cache_dtype": "fp4_mx_block16"},
    "kv_cache_dtype=mxfp8": {"kv_cache_dtype": "mxfp8"},
    "attn_cp_size": {"attn_cp_size": 2},
    "enable_prefill_cp": {"enable_prefill_cp": True},
    "enable_hisparse": {"enable_hisparse": True},
}


def judge_launch(name: str, data: Mapping[str, Any]) -> Judged:
    return {
        "prefill-backend": _judge_backends,
        "prefill-backend-wins": _judge_precedence,
        "preconditions": _judge_preconditions,
        "valid-backends": _judge_choices,
    }[name](data)


def _server_args(**values: Any) -> Any:
    """ServerArgs with these values, nothing resolved. Raises CannotBuild for unknown names."""
    cls = importlib.import_module("sglang.srt.server_args").ServerArgs
    arguments = cls(model_path="dummy")
    for name, value in values.items():
        if not hasattr(arguments, name):
            raise CannotBuild(f"this release's ServerArgs has no {name}")
        _assign(arguments, name, value)
    return arguments


def _assign(arguments: Any, name: str, value: Any) -> None:
    """Plain assignment, or past the guard that 0.5.23 puts on it."""
    try:
        setattr(arguments, name, value)
    except (AttributeError, RuntimeError, TypeError):
        importlib.import_module("msgspec").Struct.__setattr__(arguments, name, value)


def _checks() -> list[Callable[[Any], Any]]:
    """The two validations, in the order in which SGLang runs them."""
    names = ("validate_prefill_only_disable_kv_cache_args", "handle_prefill_only_disable_kv_cache")
    try:
        hook = importlib.import_module("sglang.srt.arg_groups.kv_cache_hook")
        return [getattr(hook, name) for name in names]
    except (ModuleNotFoundError, AttributeError):
        cls = importlib.import_module("sglang.srt.server_args").ServerArgs
        found = [getattr(cls, f"_{name}", None) or getattr(cls, name, None) for name in names]
        checks = [check for check in found if check is not None]
        if len(checks) < len(names):
            raise CannotBuild("this release has no validation of the no-op pool") from None
        return checks


def _refusal(values: Mapping[str, Any]) -> str:
    """What SGLang says to these arguments, "" where it accepts them."""
    arguments = _server_args(**values)
    for check in _checks():
        try:
            check(arguments)
        except ValueError as error:
            return error_text(error)
    return ""


def _control() -> Judged | None:
    refusal = _refusal(_VALID)
    return (
        Judged("broken", f"the documented combination is refused: {refusal}") if refusal else None
    )


def _judge_backends(data: Mapping[str, Any]) -> Judged:
    """Accepted as the prefill backend: fa3 and fa4 only."""
    wrong, lines = [], []
    for backend in data["backends"]:
        refusal = _refusal({**_VALID, "attention_backend": backend})
        lines.append(f"{backend}: {refusal or 'accepted'}")
        if (not refusal) != (backend in ("fa3", "fa4")):
            wrong.append(backend)
    broken = _control()
    if broken:
        return broken
    if wrong:
        return Judged("drift", f"not as the rule says: {', '.join(wrong)}", tuple(lines))
    refused = len(lines) - 2
    return Judged("confirmed", f"fa3 and fa4 accepted, {refused} others refused", tuple(lines))


def _judge_precedence(data: Mapping[str, Any]) -> Judged:
    wins = _refusal({**_VALID, "prefill_attention_backend": "triton"})
    saved = _refusal({**_VALID, "attention_backend": "triton", "prefill_attention_backend": "fa3"})
    if wins and not saved:
        return Judged("confirmed", "prefill_attention_backend wins over attention_backend", (wins,))
    return Judged(
        "drift", f"triton over fa3: {wins or 'accepted'}; fa3 over triton: {saved or 'ok'}"
    )


def _judge_preconditions(data: Mapping[str, Any]) -> Judged:
    """Each precondition, violated alone."""
    broken = _control()
    if broken:
        return broken
    accepted, lines = [], []
    for name, change in _VIOLATIONS.items():
        try:
            refusal = _refusal({**_VALID, **change})
        except CannotBuild as reason:
            lines.append(f"{name}: {reason}")
            continue
        lines.append(f"{name}: {refusal or 'accepted'}")
        if not refusal:
            accepted.append(name)
    expected = set(data.get("accepted", ()))
    if set(accepted) != expected:
        return Judged("drift", f"accepted although a precondition: {accepted}", tuple(lines))
    refused = sum(1 for line in lines if "ValueError" in line)
    return Judged(
        "confirmed", f"{refused} violations refused, the valid form accepted", tuple(lines)
    )


def _judge_choices(data: Mapping[str, Any]) -> Judged:
    """The names that --attention-backend takes, and the ones in the catalogue."""
    module = importlib.import_module("sglang.srt.server_args")
    choices = list(getattr(module, "ATTENTION_BACKEND_CHOICES", ()))
    if not choices:
        raise CannotBuild("this release keeps no ATTENTION_BACKEND_CHOICES")
    lines = (f"runtime: {', '.join(sorted(choices))}",)
    if set(choices) != set(data["backends"]):
        only = sorted(set(choices) ^ set(data["backends"]))
        return Judged("drift", f"catalogue and SGLang differ in {', '.join(only)}", lines)
    if "fa" in choices:
        return Judged("refuted", "`fa` is a valid backend", lines)
    return Judged("confirmed", f"{len(choices)} names, and `fa` is none of them", lines)
