"""What every readout shares: the cell that a job reads, its chunks, and what a sweep says of its origin."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optionbias import items as items_module
from optionbias.item import Item
from optionbias.orderings import Orderings
from optionbias.prompts import exemplars_of, template_digest

# On a GPU a chunk holds at least this many prompts, so that it is busy.
PROMPTS_ON_GPU = 512


class ContextError(ValueError):
    """Prompts that a checkpoint's context cannot hold."""


@dataclass(frozen=True)
class Cell:
    """What one job reads: a checkpoint on a benchmark under one readout."""

    checkpoint: str
    benchmark: str
    readout: str
    items: Sequence[Item]
    exemplars: Sequence[Item]
    orderings: Orderings
    chunk_items: int

    @property
    def label(self) -> str:
        """How progress and errors name it."""
        return f"{self.readout} {self.benchmark} {self.checkpoint}"

    @property
    def sorted_items(self) -> list[Item]:
        """The items in the order in which they are read: that of their ids, but those that share a
        passage beside each other."""
        by_passage: dict[str, list[Item]] = {}
        for item in sorted(self.items, key=lambda item: item.id):
            by_passage.setdefault(item.passage or f"\0{item.id}", []).append(item)
        return [item for mates in by_passage.values() for item in mates]

    def chunks(self) -> Iterator[tuple[int, list[Item]]]:
        """Fixed groups of the sorted items, numbered: what the journal keeps as one entry.

        Items that share a passage stay together as far as that does not double a group, so that
        the passage is read once.
        """
        number, chunk = 0, list[Item]()
        for item in self.sorted_items:
            mates = bool(chunk) and item.passage is not None and chunk[-1].passage == item.passage
            if len(chunk) >= self.chunk_items * (2 if mates else 1):
                yield number, chunk
                number, chunk = number + 1, []
            chunk.append(item)
        if chunk:
            yield number, chunk


def chunk_items(asked: int, orderings: int, device: str) -> int:
    """Items of a chunk: what is asked for, and on a GPU at least `PROMPTS_ON_GPU` prompts."""
    return max(asked, PROMPTS_ON_GPU // orderings) if device == "cuda" else asked


def check_context(
    cell: Cell, lengths: Mapping[str, int], limit: int | None, answer: int = 0
) -> None:
    """Refuse a cell whose prompts (item id -> tokens of its longest) exceed the model's context.

    `answer` is the room that generated answers take after a prompt.

    Raises:
        ContextError: naming the cell, how many items and the longest.
    """
    if limit is None:
        return
    long = sorted(item for item, length in lengths.items() if length + answer > limit)
    if long:
        one = len(long) == 1
        generated = f", and {answer} for the answer" if answer else ""
        lower = f"lower `max_tokens.{cell.readout}`, " if answer else ""
        raise ContextError(
            f"checkpoint {cell.checkpoint} on {cell.benchmark}: {len(long)} item{'' if one else 's'} "
            f"need{'s' if one else ''} more tokens than the {limit} of its context "
            f"({', '.join(long[:5])}; longest prompt {max(lengths.values())}{generated}): {lower}leave "
            f"{'it' if one else 'them'} out of the benchmark, or the cell out with `except`"
        )


def provenance(
    cell: Cell, manifest: Mapping[str, Any], engine: Mapping[str, Any]
) -> dict[str, Any]:
    """What a sweep's metadata says of its origin; also what its journal is keyed by.

    It names nothing that changes between two runs of the same cell: no time, no host.

    Args:
        cell: the cell.
        manifest: of its checkpoint: `source` and `revision`.
        engine: what answered: `backend`, `dtype`, `device`, `versions`, ...
    """
    items = cell.sorted_items
    versions = {"python": platform.python_version(), **engine.get("versions", {})}
    return {
        "checkpoint": cell.checkpoint,
        "benchmark": cell.benchmark,
        "readout": cell.readout,
        "orderings": np.asarray(cell.orderings).tolist(),
        "source": manifest["source"],
        "revision": manifest["revision"],
        "chunk_items": cell.chunk_items,
        "prompt_sha256": template_digest(),
        "items_sha256": items_module.digest(sorted(items, key=lambda item: item.id)),
        "exemplars_sha256": hashlib.sha256(
            items_module.canonical_json(cell.exemplars).encode()
        ).hexdigest(),
        "n_exemplars": len(exemplars_of(items[0], cell.exemplars)),
        **engine,
        "versions": versions,
    }
