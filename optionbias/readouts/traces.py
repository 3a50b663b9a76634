"""Traces: the texts behind generated answers, kept so that anyone can extract them anew.

One JSON object a line, sorted as the sweep is: `item`, `ordering`, `choice` (-1 for none), `kind`
(of the extraction), `finish` (`stop` or `length`), `tokens` and `text`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from optionbias.atomic import atomic_path


def write_traces(path: str | Path, traces: Iterable[Mapping[str, Any]]) -> None:
    """Write traces to a gzipped file of JSON lines, atomically; equal traces are equal bytes."""
    with (
        atomic_path(path) as temporary,
        open(temporary, "wb") as raw,
        # No name and no time in the header: a repeated run writes the same file.
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as file,
    ):
        for trace in traces:
            file.write(json.dumps(trace).encode() + b"\n")


def read_traces(path: str | Path) -> Iterator[dict[str, Any]]:
    """The traces of a file, one by one."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)
