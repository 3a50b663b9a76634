"""What a published benchmark declares: its files, where they come from, and how rows are read.

A benchmark module defines `BENCHMARK`. Its readers turn upstream's files into `Row`s exactly as
published; `published` selects the rows with K options and applies the repairs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


class SourceError(ValueError):
    """Published files that do not hold what their benchmark declares."""


@dataclass(frozen=True)
class Row:
    """One question as its source has it, before any repair.

    Attributes:
        options: in the order of the source, without the letters it prints before them.
        answer: index of the gold letter among the letters A, B, C, ...; without printed letters,
            the index of the gold option; None where the source names no option.
        letters: the letter printed before each option, None where the source prints none; an entry
            is None where that option has lost its letter.
    """

    id: str
    question: str
    options: tuple[str, ...]
    answer: int | None
    passage: str | None = None
    split: str | None = None
    subject: str | None = None
    letters: tuple[str | None, ...] | None = None


@dataclass(frozen=True)
class Hub:
    """A file of a Hugging Face data set. `revision` is a branch until its commit is recorded."""

    dataset: str
    path: str
    revision: str = "main"


@dataclass(frozen=True)
class File:
    """A file of a source.

    Attributes:
        name: its path below `<benchmark>/raw/` in a mirror.
        sha256: of its content, None where nobody has recorded it yet.
        url: upstream's own address, with the commit.
        hub: instead of `url`.
        derive: turns what the address serves into the file, where upstream keeps it inside another.
    """

    name: str
    sha256: str | None = None
    url: str | None = None
    hub: Hub | None = None
    derive: Callable[[bytes], bytes] | None = None

    @property
    def address(self) -> str:
        """What people read as its origin."""
        if self.hub is not None:
            return f"{self.hub.dataset} on the Hugging Face hub: {self.hub.path}"
        return str(self.url)


@dataclass(frozen=True)
class Pool:
    """Where five-shot exemplars are drawn from."""

    files: tuple[File, ...]
    read: Callable[[Path], list[Row]]


@dataclass(frozen=True)
class Source:
    """One place and revision that a benchmark can be had from.

    Attributes:
        origin: place and revision, as Table 4 prints them.
        split: the split that is evaluated.
        files: what `read` reads.
        read: folder of the files -> every row of the split, K options or not.
        pool: of exemplars; None where the benchmark has no other split.
        count: items that this source is known to give; None where nobody has counted.
        sha256: digest of the items under the default repairs and seed, None if unknown.
        gold_first: the source lists the gold option first in every row.
    """

    origin: str
    split: str
    files: tuple[File, ...]
    read: Callable[[Path], list[Row]]
    pool: Pool | None = None
    count: int | None = None
    sha256: str | None = None
    gold_first: bool = False


@dataclass(frozen=True)
class Benchmark:
    """A published benchmark.

    Attributes:
        sources: variant -> source; the first is the default.
        restricted: terms that are shown before a download, where the licence restricts use.
        by_subject: exemplars are the five that the pool has of the item's own subject.
        of_subjects: the same benchmark with other subjects, where it has such.
    """

    name: str
    title: str
    k: int
    licence: str
    citation: str
    sources: Mapping[str, Source]
    restricted: str | None = None
    by_subject: bool = False
    of_subjects: Callable[[tuple[str, ...]], Benchmark] | None = None

    def source(self, variant: str | None = None) -> Source:
        """The source of a variant, the default one without a name."""
        return self.sources[variant or next(iter(self.sources))]


def github(repository: str, commit: str, path: str) -> str:
    """The address of a file of a repository at a commit."""
    return f"https://raw.githubusercontent.com/{repository}/{commit}/{path}"


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file.

    Raises:
        SourceError: naming the file and the line that is not a JSON object.
    """
    # Not `splitlines`: it also splits at separators that may stand in a text.
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    for number, line in enumerate(lines if lines != [""] else [], 1):
        try:
            value = json.loads(line)
        except ValueError as error:
            raise SourceError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(value, dict):
            raise SourceError(f"{path}, line {number}: not a JSON object")
        yield value


def parquet_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{path}: not Parquet: {str(error).splitlines()[0]}") from error
    return rows


def letter_index(letter: str, where: str) -> int:
    """0 for A (or 1), 1 for B (or 2), ...

    Raises:
        SourceError: naming `where`, for anything else.
    """
    text = letter.strip().upper()
    for first in "A1":
        if (
            len(text) == 1
            and text.isdigit() == first.isdigit()
            and 0 <= ord(text) - ord(first) < 26
        ):
            return ord(text) - ord(first)
    raise SourceError(f"{where}: the answer {letter!r} is not an option's letter")
