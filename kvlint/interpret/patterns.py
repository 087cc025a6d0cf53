"""What a `match` case tells of its subject, and what it binds."""

from __future__ import annotations

import ast

from kvlint.interpret.access import attribute
from kvlint.interpret.assignment import assign, forget, keep, path_of
from kvlint.interpret.class_sets import class_tuple, narrow_away, narrow_to
from kvlint.interpret.context import Env, Frame
from kvlint.interpret.narrowing import value_of
from kvlint.interpret.recording import record_test
from kvlint.interpret.remarks import NOT, remark
from kvlint.interpret.values import NOTHING, UNKNOWN, Value, item_of, join, without_none

Branches = tuple[Env | None, Env | None]


def narrow_case(
    frame: Frame, env: Env, subject: ast.expr, known: Value, pattern: ast.pattern
) -> Branches:
    """(environment inside the case, environment for the cases after it)."""
    path = path_of(subject)
    current = env.get(path, known) if path is not None else known
    matched, rest = _match(frame, env, current, pattern)
    inside: Env | None = dict(env)
    after: Env | None = dict(env)
    if inside is not None and path is not None and after is not None:
        keep(inside, path, matched)
        keep(after, path, rest)
    if inside is not None:
        if isinstance(subject, ast.Tuple) and isinstance(pattern, ast.MatchSequence):
            _narrow_parts(frame, inside, subject, pattern)
        _bind_pattern(frame, inside, pattern, matched)
    if after is not None and isinstance(pattern, ast.MatchClass):
        names = class_tuple(value_of(frame, env, pattern.cls))
        record_test(frame, env, pattern.cls, subject, names)
        for cls in () if pattern.patterns or pattern.kwd_patterns else names:
            remark(after, path, NOT, cls)
    if _is_irrefutable(pattern):
        after = None
    return inside, after


def _narrow_parts(frame: Frame, env: Env, subject: ast.Tuple, pattern: ast.MatchSequence) -> None:
    """`match a, b: case A(), B()` says of each what its own pattern says."""
    if len(subject.elts) != len(pattern.patterns):
        return
    for part, inner in zip(subject.elts, pattern.patterns, strict=True):
        path = path_of(part)
        if path is not None and not isinstance(inner, ast.MatchStar):
            keep(env, path, _match(frame, env, value_of(frame, env, part), inner)[0])


def _match(frame: Frame, env: Env, known: Value, pattern: ast.pattern) -> tuple[Value, Value]:
    if isinstance(pattern, ast.MatchClass):
        names = class_tuple(value_of(frame, env, pattern.cls))
        step = frame.condition(f"matches `{ast.unparse(pattern.cls)}(...)`", pattern)
        plain = not pattern.patterns and not pattern.kwd_patterns
        rest = narrow_away(frame.ctx, known, names) if plain else known
        return narrow_to(frame.ctx, known, names, step), rest
    if isinstance(pattern, ast.MatchOr):
        parts, rest = [], known
        for alternative in pattern.patterns:
            found, rest = _match(frame, env, rest, alternative)
            parts.append(found)
        step = frame.condition(f"matches `{ast.unparse(pattern)}`", pattern)
        found = join(parts)
        return (found if found == known else found.because(step)), rest
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is not None:
        return _match(frame, env, known, pattern.pattern)
    if isinstance(pattern, ast.MatchSingleton) and pattern.value is None:
        return NOTHING, without_none(known)
    return known, known


def _bind_pattern(frame: Frame, env: Env, pattern: ast.pattern, matched: Value) -> None:
    """Bind the names of a pattern to the parts of what it matched."""
    if isinstance(pattern, ast.MatchAs) and pattern.name is not None:
        assign(frame, env, ast.Name(pattern.name, ast.Store()), matched, None)
        if pattern.pattern is not None:
            _bind_pattern(frame, env, pattern.pattern, matched)
        return
    if isinstance(pattern, (ast.MatchSequence, ast.MatchMapping, ast.MatchClass)):
        for inner, part in _parts(frame, pattern, matched):
            _bind_pattern(frame, env, inner, _match(frame, env, part, inner)[0])
        if isinstance(pattern, ast.MatchMapping) and pattern.rest is not None:
            assign(frame, env, ast.Name(pattern.rest, ast.Store()), UNKNOWN, None)
        return
    for node in ast.walk(pattern):
        name = getattr(node, "name", None) or getattr(node, "rest", None)
        if isinstance(name, str):
            forget(env, name)
            env[name] = UNKNOWN


def _parts(
    frame: Frame, pattern: ast.MatchSequence | ast.MatchMapping | ast.MatchClass, matched: Value
) -> list[tuple[ast.pattern, Value]]:
    if isinstance(pattern, ast.MatchSequence):
        starred = any(isinstance(inner, ast.MatchStar) for inner in pattern.patterns)
        return [
            (inner, item_of(matched, None if starred else index))
            for index, inner in enumerate(pattern.patterns)
        ]
    if isinstance(pattern, ast.MatchMapping):
        keys = [key.value if isinstance(key, ast.Constant) else None for key in pattern.keys]
        places = [key if isinstance(key, (str, int)) else None for key in keys]
        return [
            (inner, item_of(matched, place))
            for inner, place in zip(pattern.patterns, places, strict=True)
        ]
    named = zip(pattern.kwd_patterns, pattern.kwd_attrs, strict=True)
    parts = [(inner, attribute(frame.ctx, matched, name)) for inner, name in named]
    return parts + [(inner, UNKNOWN) for inner in pattern.patterns]


def _is_irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and (
        pattern.pattern is None or _is_irrefutable(pattern.pattern)
    )
