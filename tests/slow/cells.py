"""The cells of a run, read from its sweeps answer by answer (spec section 0; paper 3.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from .factors import statistics
from .orderings import cyclic


@dataclass(frozen=True)
class Cell:
    """The answers of one sweep: per usable item its contents under each ordering of interest."""

    checkpoint: str
    benchmark: str
    K: int
    fallback: float
    sweep_items: int
    places: list[int]
    contents: list[list[int]]
    other_contents: list[list[int]]
    gold: list[int]
    found: dict[str, Any]

    @property
    def name(self) -> tuple[str, str]:
        """Checkpoint and benchmark."""
        return self.checkpoint, self.benchmark

    @property
    def flip_rate(self) -> Fraction:
        """Share of items whose content changes."""
        return Fraction(sum(len(set(z)) > 1 for z in self.contents), len(self.contents))

    @property
    def accuracy(self) -> Fraction:
        """Share of answers that are correct."""
        return correct_share(self.contents, self.gold)


def correct_share(contents: Sequence[Sequence[int]], gold: Sequence[int]) -> Fraction:
    """Share of the answers that are the gold content."""
    right = sum(z == c for row, c in zip(contents, gold, strict=True) for z in row)
    return Fraction(right, sum(len(row) for row in contents))


def cells_of(run: Any, readout: str, every_ordering: bool = False) -> list[Cell]:
    """The cells of a readout, sorted, of items answered under the orderings that are read."""
    found = []
    for sweep in run.sweeps:
        about = sweep.metadata
        if about["readout"] != readout:
            continue
        stored = [tuple(pi) for pi in sweep.orderings.tolist()]
        pis = cyclic(sweep.k)
        columns = [stored.index(pi) for pi in pis]
        others = [s for s, pi in enumerate(stored) if pi not in pis] if every_ordering else []
        places, contents, other_contents, gold = [], [], [], []
        for q, chosen in enumerate(sweep.choice.tolist()):
            if min(chosen[s] for s in columns + others) < 0:
                continue
            places.append(q)
            contents.append([stored[s].index(chosen[s]) for s in columns])
            other_contents.append([stored[s].index(chosen[s]) for s in others])
            gold.append(int(sweep.gold[q]))
        if len(places) < 2:
            continue
        found.append(
            Cell(
                str(about["checkpoint"]),
                str(about["benchmark"]),
                int(sweep.k),
                float(about.get("fallback_share") or 0.0),
                len(sweep.items),
                places,
                contents,
                other_contents,
                gold,
                statistics(contents, [pis] * len(places), gold, sweep.k),
            )
        )
    return sorted(found, key=lambda cell: cell.name)
