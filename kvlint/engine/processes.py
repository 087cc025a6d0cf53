"""Splits the analysis of a large run over processes, and leaves none behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from kvlint.engine.analysis import RawResult
from kvlint.engine.screen import Progress
from kvlint.errors import UsageError

Work = Callable[[Sequence[Path]], list[RawResult]]


def in_processes(
    work: Work, batches: Sequence[list[Path]], workers: int, total: int, progress: Progress
) -> list[RawResult]:
    """The results of all batches, worked on by so many processes.

    Raises UsageError where a process is ended from outside. Whatever else ends this, ctrl-C
    included, ends the processes too.
    """
    waiting = sum(map(len, batches))
    results: list[RawResult] = []
    executor = ProcessPoolExecutor(min(workers, len(batches)), _context(), _ignore_interrupts)
    try:
        futures = {executor.submit(work, files): files for files in batches}
        for future in as_completed(futures):
            results.extend(future.result())
            waiting -= len(futures[future])
            progress(total - waiting, total)
    except BrokenProcessPool as error:
        raise UsageError(
            "a worker process was ended from outside (out of memory?); try again with --jobs 1"
        ) from error
    except BaseException:
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    finally:
        executor.shutdown(wait=True, cancel_futures=True)
    return results


def _context() -> multiprocessing.context.BaseContext:
    """Forked workers start at once and have the catalogue already; elsewhere they are spawned."""
    methods = multiprocessing.get_all_start_methods()
    forks = "fork" in methods and os.uname().sysname != "Darwin"
    return multiprocessing.get_context("fork" if forks else "spawn")


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole process group; the parent ends the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
