"""Guard and facts probes: the catalogue's claims against real instances.

Runs only in child processes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from typing import Any

from kvlint.runtime.call_values import Scene, arguments_for
from kvlint.runtime.outcome import Call, Judged, frames_of, observe
from kvlint.runtime.storage import restore


def call_accessor(scene: Scene, name: str) -> Call:
    """Use `name` on the pool with arguments that would work if it were no guard."""

    def action() -> Any:
        method = getattr(scene.pool, name)
        if not callable(method):
            return method
        positional, keywords = arguments_for(method, name, scene)
        return method(*positional, **keywords)

    return observe(scene.pool, action, scene.built.keep)


def judge_guard(scene: Scene, accessor: str, data: Mapping[str, Any]) -> Judged:
    """Confirmed when the call raises what the catalogue says and no byte of storage changed."""
    call = call_accessor(scene, accessor)
    if call.changed:
        restore(call.before)
    if call.error is None:
        return Judged("drift", f"{call.text}: the guard is gone")
    if type(call.error).__name__ != data["exception"]:
        return Judged("drift", call.text, frames_of(call.error))
    if not message_agrees(str(call.error), data):
        return Judged("drift", f"{call.text}: another message", frames_of(call.error))
    if call.changed:
        return Judged("drift", f"{call.text}: it writes before it raises")
    return Judged("confirmed", f"{call.text}, no byte changed")


def message_agrees(message: str, data: Mapping[str, Any]) -> bool:
    """Whether the raised text is the catalogue's: `{}` stands for an f-string's value."""
    if not data.get("has_message"):
        return message == ""
    expected = data.get("message")
    if expected is None:
        return True
    pattern = ".*".join(re.escape(part) for part in expected.split("{}"))
    return re.fullmatch(pattern, message, re.S) is not None


def judge_facts(scene: Scene, data: Mapping[str, Any]) -> tuple[Judged, dict[str, dict[str, str]]]:
    """Presence and defining class of every accessor, and the observed matrix."""
    wrong: list[str] = list(data.get("changed", ()))
    for name, fact in data["accessors"].items():
        complaint = _disagreement(scene.pool, name, fact)
        if complaint:
            wrong.append(complaint)
    matrix = {}
    for name in data["called"]:
        fact = data["accessors"].get(name, {"kind": "absent"})
        if fact["kind"] == "absent":
            continue
        call = call_accessor(scene, name)
        if call.changed:
            restore(call.before)
        matrix[name] = {"catalogue": fact["kind"], "observed": call.text}
        if _works_only_on_paper(scene, fact, name, call):
            wrong.append(f"{name}: the catalogue says that it works, it {call.text}")
    if wrong:
        return Judged("drift", f"{len(wrong)} disagree", tuple(wrong)), matrix
    total = len(data["accessors"])
    return Judged(
        "confirmed", f"{total} accessors and attributes are as the catalogue says"
    ), matrix


def _disagreement(pool: Any, name: str, fact: Mapping[str, Any]) -> str:
    there = _has(pool, name)
    if fact["kind"] == "absent":
        return f"{name}: absent in the catalogue, present on the instance" if there else ""
    owner = fact.get("defining_class")
    if not there:
        return f"{name}: {fact['kind']} in the catalogue, absent on the instance"
    found = _owner(type(pool), name)
    if owner and found and found != owner:
        return f"{name}: defined by {owner} in the catalogue, by {found} on the instance"
    return ""


def _has(pool: Any, name: str) -> bool:
    """hasattr without running a property."""
    missing = object()
    return inspect.getattr_static(pool, name, missing) is not missing


def _owner(cls: type, name: str) -> str | None:
    for owner in cls.__mro__:
        if name in owner.__dict__:
            return f"{owner.__module__}.{owner.__qualname__}"
    return None


def _works_only_on_paper(scene: Scene, fact: Mapping[str, Any], name: str, call: Call) -> bool:
    """A NotImplementedError out of the accessor itself, where the catalogue has no guard. One out
    of a sub-pool's accessor depends on which sub-pool it is."""
    error = call.error
    if fact["kind"] != "works" or not isinstance(error, NotImplementedError):
        return False
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    if last is None or last.tb_frame.f_code.co_name != name:
        return False
    return last.tb_frame.f_locals.get("self") is scene.pool
