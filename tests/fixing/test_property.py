"""Fixing a random program is stable and changes nothing else that it does."""

from __future__ import annotations

import io
import tokenize

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tests.fixing.by_name import findings_of, fixed
from tests.fixing.programs import behaviour, programs

several = settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


def comments(program: bytes) -> list[str]:
    tokens = tokenize.tokenize(io.BytesIO(program).readline)
    return [token.string for token in tokens if token.type == tokenize.COMMENT]


def compiles(program: bytes) -> bool:
    """A random program may bind a name of an outer scope in a way that Python does not have."""
    try:
        compile(program, "program.py", "exec")
    except SyntaxError:
        return False
    return True


@several
@given(programs(), st.lists(st.booleans(), min_size=1, max_size=5))
def test_safe_fixes(program: bytes, turns: list[bool]) -> None:
    assume(compiles(program))
    before = behaviour(program, turns)
    assume("raised UnboundLocalError" not in before)  # of a value that the fix drops
    outcome = fixed(program)
    assert outcome.undone == ()
    assert behaviour(outcome.data, turns) == before
    assert comments(outcome.data) == comments(program)
    assert fixed(outcome.data).applied == ()
    assert list(outcome.remaining) == findings_of(outcome.data)


@several
@given(programs(), st.lists(st.booleans(), min_size=1, max_size=5))
def test_all_fixes(program: bytes, turns: list[bool]) -> None:
    """The stand-in gives one buffer as K and V, as the unsafe fixes suppose."""
    assume(compiles(program))
    before = behaviour(program, turns)
    assume("raised UnboundLocalError" not in before)  # of a value that the fix drops
    outcome = fixed(program, unsafe=True)
    assert outcome.undone == ()
    assert behaviour(outcome.data, turns) == before
    assert all(finding.fix is None for finding in outcome.remaining)
    careful = fixed(program)
    assert careful.more_with_unsafe == len(outcome.applied) - len(careful.applied)
