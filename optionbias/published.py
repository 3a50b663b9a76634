"""Published benchmarks: from upstream's files to items and exemplars."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from optionbias import faults, repairs
from optionbias.benchmarks.source import Benchmark, File, Row, Source, SourceError
from optionbias.item import EXEMPLARS, Item
from optionbias.items import digest
from optionbias.seeds import DEFAULT_SEED, generator

NAMED_FILES = 3
# What readers raise on files of another form; an OSError is the decompressor's.
FORM_ERRORS = (
    *(KeyError, IndexError, TypeError, ValueError, AttributeError),
    *(EOFError, OSError, RecursionError, csv.Error),
)


@dataclass(frozen=True)
class Reading:
    """The items of a benchmark and what became of its rows.

    Attributes:
        rows: every row of the source.
        kept: those with K options and a gold among them, as published.
        items: the items, after the repairs that are switched on.
        dropped: reason -> ids of the rows that became no item.
        touched: repair -> ids that it touches (or would touch, switched off).
        pinned: the expected digest of the items is known and holds under these settings.
    """

    rows: Sequence[Row]
    kept: Sequence[Row]
    items: Sequence[Item]
    dropped: Mapping[str, Sequence[str]]
    touched: Mapping[str, Sequence[str]]
    pinned: bool


def read(
    benchmark: Benchmark,
    source: Source,
    folder: Path,
    switches: Mapping[str, bool],
    seed: int,
) -> Reading:
    """Read a benchmark's items from its files.

    Args:
        folder: holds the files of `source`.
        switches: repair -> whether it is applied.
        seed: of the shuffle, where the source lists the gold option first.

    Raises:
        SourceError: the files give other items than this source is known to give (their number
            or, under the default settings, their digest), or are not what the source declares.
    """
    where = f"{benchmark.name}: {folder}"
    rows = _rows(benchmark.name, source.origin, source.files, source.read, folder)
    ids = [row.id for row in rows]
    if len(set(ids)) < len(ids):
        twice = next(i for i in ids if ids.count(i) > 1)
        raise SourceError(f"{where}: two rows have the id {twice}")
    kept, dropped = usable(rows, benchmark.k)
    check_gold_first(kept, source.gold_first, where)
    context = repairs.Context(benchmark.name, source.gold_first, seed)
    after, touched = repairs.repaired(kept, switches, context)
    left = {row.id for row in after}
    # A row may have been changed by several repairs before the last of them dropped it.
    last = {i: name for name, ids in touched.items() if switches[name] for i in ids}
    for name, ids in touched.items():
        if lost := [i for i in ids if i not in left and last.get(i) == name]:
            dropped[name] = lost
    items = [item(row) for row in after]
    if not items:
        raise SourceError(f"{where}: no item with {benchmark.k} options is left")
    pinned = _check_pins(where, source, kept, items, dict(switches), seed)
    return Reading(rows, kept, items, dropped, touched, pinned)


def usable(rows: Sequence[Row], k: int) -> tuple[list[Row], dict[str, list[str]]]:
    """Rows with exactly K options and a gold among them, and the ids of the others by reason."""
    dropped: dict[str, list[str]] = {}
    kept = []
    for row in rows:
        if len(row.options) != k:
            dropped.setdefault(f"not {k} options", []).append(row.id)
        elif row.answer is None or not 0 <= row.answer < k:
            dropped.setdefault("the gold is no option", []).append(row.id)
        else:
            kept.append(row)
    return kept, dropped


def check_gold_first(kept: Sequence[Row], declared: bool, where: str) -> None:
    """A source lists the gold option first in every row exactly if it says so.

    Raises:
        SourceError: otherwise.
    """
    found = len(kept) > 1 and all(row.answer == 0 for row in kept)
    if found and not declared:
        raise SourceError(
            f"{where}: the gold option is the first of all {len(kept)} rows, which the source does "
            f"not declare (`gold_first`): positions would be measured on a constant"
        )
    if declared and not found:
        raise SourceError(f"{where}: the gold option is not always first, as the source declares")


def item(row: Row) -> Item:
    """The item of a usable row."""
    assert row.answer is not None
    return Item(
        row.id, row.question, row.options, row.answer, row.passage or None, row.split, row.subject
    )


def exemplars(
    benchmark: Benchmark,
    source: Source,
    folder: Path,
    switches: Mapping[str, bool],
    seed: int,
    items: Sequence[Item],
) -> tuple[list[Item], str]:
    """The exemplars of five-shot prompts, and the digest of the pool they were drawn from.

    Five of the pool, drawn without replacement by the stream `exemplars/{benchmark}`; with
    `by_subject`, the five that the pool has of each subject, in its order. Never an item that is
    evaluated. A pool that lists the gold first is shuffled as items are.

    Args:
        folder: holds the files of the pool.
        items: the evaluation items.

    Raises:
        SourceError: the source has no pool, or too few usable rows in it.
    """
    where = f"{benchmark.name}: {folder}"
    if source.pool is None:
        raise SourceError(
            f"{benchmark.name}: {source.origin} has no split to draw exemplars from: leave it out of "
            f"five-shot"
        )
    pool_rows = _rows(benchmark.name, source.origin, source.pool.files, source.pool.read, folder)
    kept, _ = usable(pool_rows, benchmark.k)
    first = len(kept) > 1 and all(row.answer == 0 for row in kept)
    context = repairs.Context(benchmark.name, first, seed)
    evaluated = {_content(i) for i in items}
    pool = [item(row) for row in repairs.repaired(kept, switches, context)[0]]
    pool = [exemplar for exemplar in pool if _content(exemplar) not in evaluated]
    if benchmark.by_subject:
        subjects = sorted({str(i.subject) for i in items})
        chosen = [e for s in subjects for e in [p for p in pool if p.subject == s][:EXEMPLARS]]
        wanted = EXEMPLARS * len(subjects)
    else:
        by_id = sorted(pool, key=lambda exemplar: exemplar.id)
        order = generator(seed, f"exemplars/{benchmark.name}").permutation(len(by_id))
        chosen = [by_id[i] for i in order[:EXEMPLARS]]
        wanted = EXEMPLARS
    if len(chosen) < wanted:
        raise SourceError(f"{where}: the pool gives {len(chosen)} exemplars, {wanted} are needed")
    return chosen, digest(pool)


def _content(i: Item) -> tuple[str, str, frozenset[str]]:
    options = frozenset(option.strip() for option in i.options)
    return (i.passage or "").strip(), i.question.strip(), options


def _rows(
    benchmark: str,
    origin: str,
    files: Sequence[File],
    read: Callable[[Path], list[Row]],
    folder: Path,
) -> list[Row]:
    """What a reader makes of its files; whatever it raises becomes one line that names them."""
    shown = [str(folder / file.name) for file in files[:NAMED_FILES]]
    more = len(files) - len(shown)
    named = " or ".join(shown) + (f" or {more} more" if more > 0 else "")
    try:
        rows = read(folder)
        for row in rows:
            if not all(isinstance(text, str) for text in (row.id, *faults.texts(row))):
                raise SourceError(f"{row.id}: a text is missing or is none")
    except SourceError as error:
        if str(folder) in str(error):
            raise
        raise SourceError(f"{benchmark}: {named}: {error}") from error
    except FORM_ERRORS as error:
        told = " ".join(str(error).split())
        raise SourceError(
            f"{benchmark}: {named}: not in the form of {origin} ({type(error).__name__}: {told})"
        ) from error
    return rows


def _check_pins(
    where: str,
    source: Source,
    kept: Sequence[Row],
    items: Sequence[Item],
    switches: dict[str, bool],
    seed: int,
) -> bool:
    if source.count is not None and len(kept) != source.count:
        raise SourceError(
            f"{where}: {len(kept)} items with the right number of options, {source.origin} gives "
            f"{source.count}"
        )
    seeded = source.gold_first and switches["shuffle_gold_first"]
    default = switches == repairs.DEFAULTS and (seed == DEFAULT_SEED or not seeded)
    if source.sha256 is None or not default:
        return False
    found = digest(items)
    if found != source.sha256:
        raise SourceError(
            f"{where}: the items have SHA-256 {found}, {source.origin} is known to give "
            f"{source.sha256}"
        )
    return True
