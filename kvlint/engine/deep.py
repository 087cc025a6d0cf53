"""Room for what is nested deeply: a thousand `elif`, or a sum of a thousand terms, are valid.

Python's own limit is a thousand calls, and the interpreter takes several for each level. Work that
meets it is done again in a thread with a stack of its own; the rest pays nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
_CALLS = 60_000
_STACK_BYTES = 480 * 1024 * 1024
"""Eight kilobytes for each call. Only what is used is ever taken from the machine."""


def with_deep_stack(work: Callable[[], T]) -> T:
    """What `work` gives. Raises what it raises: RecursionError where even this is too little."""
    results: list[T] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # raised again where it belongs
            failures.append(error)

    limit, size = sys.getrecursionlimit(), threading.stack_size()
    try:
        threading.stack_size(_STACK_BYTES)
        sys.setrecursionlimit(_CALLS)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        thread.join()
    except (RuntimeError, ValueError) as error:  # no such stack is to be had
        raise RecursionError(str(error)) from error
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    if failures:
        raise failures[0]
    return results[0]
