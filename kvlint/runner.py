"""From files to raw results: reads, asks the cache, and splits large runs over processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path

from kvlint.analysis import RawResult, Request, check_files, pool_files, relevant
from kvlint.cache import Cache, Entry
from kvlint.errors import UsageError
from kvlint.source.files import is_python
from kvlint.source.index import ParseError, digest, parse
from kvlint.source.text import MAX_BYTES, SourceError, SourceFile, decode_source

THOROUGH_LIMIT = 100
"""In a run of up to this many files each is parsed, so that no syntax error goes unseen; in a
larger one only the files that can hold a pool are."""
PARALLEL_BYTES = 1_500_000
"""Below this much text to analyse, starting processes costs more than it gains."""
Progress = Callable[[int, int], None]
OpenCache = Callable[[Iterable[str]], Cache]


@dataclass(frozen=True, slots=True)
class _Relevant:
    """A file that can hold a pool: the digest of its content, its size in bytes, and whether it
    may define a pool class. One that cannot be read is left to the analysis, which says why."""

    path: Path
    content: str
    size: int
    may_define: bool


def check(
    request: Request, open_cache: OpenCache | None, jobs: int, progress: Progress
) -> list[RawResult]:
    """Results of all files that have something to say: findings, an error, or a comment that may
    be a suppression. Sorted by path.

    `open_cache` makes the cache for the digest of the project's own pool classes, on which every
    result rests.
    """
    results, relevants = _read_all(request, progress)
    definers = pool_files([r.path for r in relevants if r.may_define], request.catalogue)
    request = replace(request, pool_files=definers)
    cache = None
    if open_cache is not None:
        own = {item.path: item.content for item in relevants}
        cache = open_cache([part for path in definers for part in (str(path), own[path])])
    pending: list[_Relevant] = []
    for item in relevants:
        entry = cache.get(item.path, item.content) if cache else None
        if entry is None:
            pending.append(item)
        else:
            results.append(_from_entry(item.path, entry, request))
    results.extend(_analysed(request, cache, jobs, pending, progress))
    return sorted(filter(_speaks, results), key=lambda result: str(result.path))


def _read_all(request: Request, progress: Progress) -> tuple[list[RawResult], list[_Relevant]]:
    """Read every file once: the results that need no analysis, and the files that need it."""
    thorough = len(request.files) <= THOROUGH_LIMIT
    results: list[RawResult] = []
    relevants: list[_Relevant] = []
    for number, path in enumerate(request.files):
        progress(number, len(request.files))
        data = _read(path, request)
        if data is None:
            relevants.append(_Relevant(path, "", 0, False))
        elif relevant(path, data):
            may_define = b"Pool" in data or b"KVCache" in data
            relevants.append(_Relevant(path, digest(data), len(data), may_define))
        elif b"kvlint:" in data or (thorough and is_python(path)):
            results.append(_irrelevant(path, data))
    return results, relevants


def _read(path: Path, request: Request) -> bytes | None:
    """The bytes of a file, None where it cannot be read: the analysis says why."""
    if path in request.texts:
        return request.texts[path]
    try:
        with path.open("rb") as handle:
            data = handle.read(MAX_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= MAX_BYTES else None


def _irrelevant(path: Path, data: bytes) -> RawResult:
    """No pool can be in such a file, but an unused suppression or a syntax error can."""
    try:
        source = decode_source(path, data)
    except SourceError as error:
        return RawResult(path, None, error=error.error)
    try:
        if is_python(path):
            parse(source)
    except ParseError as error:
        return RawResult(path, source, error=error.error)
    return RawResult(path, source)


def _from_entry(path: Path, entry: Entry, request: Request) -> RawResult:
    data = _read(path, request)
    source: SourceFile | None = None
    if data is not None:
        try:
            source = decode_source(path, data)
        except SourceError:
            source = None
    return RawResult(path, source, entry.findings, entry.error, entry.depends_on)


def _speaks(result: RawResult) -> bool:
    source = result.source
    mentions = source is not None and b"kvlint:" in source.data
    return bool(result.findings or result.error or mentions)


def _analysed(
    request: Request,
    cache: Cache | None,
    jobs: int,
    pending: Sequence[_Relevant],
    progress: Progress,
) -> list[RawResult]:
    workers = min(jobs, len(pending))
    if workers < 2 or sum(item.size for item in pending) < PARALLEL_BYTES:
        return _analyse(request, cache, [item.path for item in pending])
    batches = _batches(pending, workers)
    return _in_processes(request, cache, batches, workers, progress)


def _analyse(request: Request, cache: Cache | None, files: Sequence[Path]) -> list[RawResult]:
    """Check files in this process, keep what was found, and return what has something to say."""
    if not files:
        return []
    texts = dict(request.texts)
    for path in files:
        data = _read(path, request)
        if data is not None:
            texts[path] = data
    results = check_files(replace(request, files=tuple(files), texts=texts))
    for result in results:
        if cache is not None and result.path in texts:
            entry = Entry(result.findings, result.error, result.depends_on)
            cache.put(result.path, digest(texts[result.path]), entry)
    return list(filter(_speaks, results))


def _batches(pending: Sequence[_Relevant], workers: int) -> list[list[Path]]:
    """Runs of neighbouring files, alike in size: neighbours import the same modules."""
    share = sum(item.size for item in pending) / workers
    batches: list[list[Path]] = [[]]
    filled = 0
    for item in pending:
        if filled >= share * len(batches) and len(batches) < workers:
            batches.append([])
        batches[-1].append(item.path)
        filled += item.size
    return batches


def _in_processes(
    request: Request,
    cache: Cache | None,
    batches: Sequence[list[Path]],
    workers: int,
    progress: Progress,
) -> list[RawResult]:
    total = len(request.files)
    waiting = sum(map(len, batches))
    results: list[RawResult] = []
    executor = ProcessPoolExecutor(workers, _context(), _ignore_interrupts)
    try:
        futures = {executor.submit(_analyse, request, cache, files): files for files in batches}
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
