"""A cell ready for analysis: the queries of its usable items, and what each operation answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optionbias.calibration import calibration_mask
from optionbias.operations import (
    OPERATIONS,
    Answers,
    Queries,
    apply_all,
    is_available,
)
from optionbias.orderings import cyclic, reversal
from optionbias.sweep import Sweep


class ScoringError(ValueError):
    """A sweep that cannot be scored; the message names it."""


@dataclass(frozen=True)
class ScoredCell:
    """The queries of a cell restricted to its usable items, and what each operation answered.

    Attributes:
        items: ids of the items usable under the K cyclic orderings.
        gold: their correct contents.
        queries: their queries under the cyclic orderings.
        reversed_usable: which of them also have valid answers under every reversal.
        calibration: which of them are calibration items.
        answers: operation -> its answers on all of them.
    """

    items: NDArray[np.object_]
    gold: NDArray[np.int8]
    queries: Queries
    reversed_usable: NDArray[np.bool_]
    calibration: NDArray[np.bool_]
    answers: dict[str, Answers]

    def usable(self, operation: str) -> NDArray[np.bool_]:
        """Items that count for an operation: those with reversed queries where it reads them."""
        if operation.endswith("reversal"):
            return self.reversed_usable
        return np.ones(len(self.items), dtype=bool)


def answer_cell(
    sweep: Sweep,
    benchmark: str,
    seed: int,
    operations: Iterable[str] = OPERATIONS,
    reversals: bool = True,
) -> ScoredCell | None:
    """Carry out the available ones of `operations` on a sweep's cyclic queries.

    Where `reversals` is false the reversed queries are left aside, whether stored or not.
    Returns None for a cell with fewer than two usable items (it is left out, section 3).

    Raises:
        ScoringError: the sweep lacks a cyclic ordering.
    """
    rotations = cyclic(sweep.k)
    presented = sweep.index_of(rotations)
    if (presented < 0).any():
        missing = int((presented < 0).argmax())
        raise ScoringError(f"{sweep.source}: the sweep lacks cyclic ordering {missing}")
    usable = (sweep.choice[:, presented] >= 0).all(axis=1)
    if usable.sum() < 2:
        return None
    items = sweep.items[usable]
    calibration = calibration_mask(seed, benchmark, items.tolist())
    logp = None if sweep.logp is None else sweep.logp[usable][:, presented]
    mirrored = None
    reversed_usable: NDArray[np.bool_] = np.zeros(len(items), dtype=bool)
    partners = sweep.index_of(reversal(rotations))
    if reversals and sweep.k > 2 and sweep.logp is not None and (partners >= 0).all():
        reversed_usable = np.asarray((sweep.choice[usable][:, partners] >= 0).all(axis=1))
        mirrored = sweep.logp[usable][:, partners]
        mirrored[~reversed_usable] = 0  # no answer of these counts, and NaN would spread
    queries = Queries(rotations, sweep.choice[usable][:, presented], logp, mirrored, calibration)
    answers = apply_all([op for op in operations if is_available(op, queries)], queries)
    return ScoredCell(items, sweep.gold[usable], queries, reversed_usable, calibration, answers)
