"""From files to raw results: reads, asks the cache, and splits large runs over processes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from kvlint.engine.analysis import RawResult, Request, check_files, pool_files
from kvlint.engine.cache import Cache, Entry, Home, run_key
from kvlint.engine.screen import MENTION, THOROUGH_LIMIT, Progress, Relevant, read_all, read_bytes
from kvlint.engine.seen import SeenFiles
from kvlint.source.index import digest
from kvlint.source.kept import prepare
from kvlint.source.text import SourceError, decode_source

SHARES = 3
"""Parts of a large run for each process: files alike in size take very different times."""
PARALLEL_BYTES = 1_500_000
"""Below this much text to analyse, starting processes costs more than it gains."""


def check(request: Request, home: Home | None, jobs: int, progress: Progress) -> list[RawResult]:
    """Results of all files that have something to say: findings, an error, or a comment that may
    be a suppression. Sorted by path. `home` is where results are kept, if they are."""
    large = len(request.files) > THOROUGH_LIMIT
    known = SeenFiles(home.folder / "seen", home.reader_key).load() if home and large else None
    results, relevants = read_all(request, known, progress)
    definers = _definers(request, relevants, known, home)
    if known is not None:
        known.save()
    request = replace(request, pool_files=definers)
    cache = _open(home, relevants, definers) if home else None
    pending: list[Relevant] = []
    for item in relevants:
        result = _kept(item, request, cache) if cache else None
        if result is None:
            pending.append(item)
        else:
            results.append(result)
    results.extend(_analysed(request, cache, jobs, pending, progress))
    return sorted(filter(_speaks, results), key=lambda result: str(result.path))


def _definers(
    request: Request, relevants: Sequence[Relevant], known: SeenFiles | None, home: Home | None
) -> tuple[Path, ...]:
    """The project's files that define pool classes."""
    asked = [item for item in relevants if _may_define(item)]

    def find() -> tuple[Path, ...]:
        return pool_files([item.path for item in asked], request.catalogue)

    if known is None or home is None:
        return find()
    contents = (f"{item.path} {item.content}" for item in asked)
    return known.definers(run_key([home.release, *contents]), find)


def _may_define(item: Relevant) -> bool:
    return item.seen is not None and item.seen.may_define


def _open(home: Home, relevants: Sequence[Relevant], definers: Sequence[Path]) -> Cache:
    """The cache for these pool classes of the project, on which every result rests."""
    with suppress(OSError):  # before there are several processes, which would each make it
        prepare(home.folder)
    contents = {str(item.path): item.content for item in relevants if item.content}
    own = [f"{path} {contents[str(path)]}" for path in definers]
    return home.open(own, contents)


def _kept(item: Relevant, request: Request, cache: Cache) -> RawResult | None:
    """The result that is kept of a file. Its text is read only where something is to be said."""
    entry = cache.get(item.path, item.content)
    if entry is None or item.seen is None:
        return None
    if not entry.findings and entry.error is None and not item.seen.mentions:
        return RawResult(item.path, None)
    data = read_bytes(item.path, request)
    if data is None or digest(data) != item.content:
        return None
    try:
        source = decode_source(item.path, data)
    except SourceError:
        source = None
    return RawResult(item.path, source, entry.findings, entry.error)


def _speaks(result: RawResult) -> bool:
    source = result.source
    mentions = source is not None and MENTION in source.data
    return bool(result.findings or result.error or mentions)


def _analysed(
    request: Request,
    cache: Cache | None,
    jobs: int,
    pending: Sequence[Relevant],
    progress: Progress,
) -> list[RawResult]:
    workers = min(jobs, len(pending))
    if workers < 2 or sum(item.size for item in pending) < PARALLEL_BYTES:
        return analyse(request, cache, [item.path for item in pending])
    from kvlint.engine.processes import in_processes  # small runs do not pay for the import

    batches = _batches(pending, workers * SHARES)
    work = partial(analyse, request, cache)
    return in_processes(work, batches, workers, len(request.files), progress)


def analyse(request: Request, cache: Cache | None, files: Sequence[Path]) -> list[RawResult]:
    """Check files in this process, keep what was found, and return what has something to say."""
    if not files:
        return []
    texts = dict(request.texts)
    for path in files:
        data = read_bytes(path, request)
        if data is not None:
            texts[path] = data
    results = check_files(replace(request, files=tuple(files), texts=texts))
    for result in results:
        if cache is not None and result.path in texts:
            entry = Entry(result.findings, result.error, result.depends_on)
            cache.put(result.path, digest(texts[result.path]), entry)
    return list(filter(_speaks, results))


def _batches(pending: Sequence[Relevant], parts: int) -> list[list[Path]]:
    """Runs of neighbouring files, alike in size: neighbours import the same modules."""
    share = sum(item.size for item in pending) / parts
    batches: list[list[Path]] = [[]]
    filled = 0
    for item in pending:
        if filled >= share * len(batches) and len(batches) < parts:
            batches.append([])
        batches[-1].append(item.path)
        filled += item.size
    return batches
