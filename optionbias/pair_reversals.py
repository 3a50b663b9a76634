"""Rank reversals with every pair of checkpoints on the items those two share (Appendix D.1).

Table 2 counts a pair on the evaluation items shared by all checkpoints of a benchmark; here each
pair has its own: the evaluation items that both of its checkpoints answered under the cyclic
orderings and their reversals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.comparison import ComparedCell
from optionbias.operations import OPERATIONS
from optionbias.resampling import Estimate, draw_weights, percentile_interval

# One row a benchmark and operation. `shared_items` and `reversing` hold one entry a pair (i, j),
# i < j in row order, of the sorted `checkpoints`; pairs that share no item do not reverse.
COLUMNS = ("benchmark", "operation", "checkpoints", "shared_items", "reversing")


def pair_rows(benchmark: str, cells: dict[str, ComparedCell]) -> list[dict[str, Any]]:
    """A row of COLUMNS an operation, for the checkpoints (name -> cell) of a benchmark."""
    checkpoints = sorted(cells)
    if not checkpoints:
        return []
    items = [cells[c].items.tolist() for c in checkpoints]
    correct = [np.array([cells[c].correct[op] for op in OPERATIONS]) for c in checkpoints]
    shared, reversing = pairs(items, correct)
    above = np.triu_indices(len(checkpoints), 1)
    return [
        {
            "benchmark": benchmark,
            "operation": operation,
            "checkpoints": checkpoints,
            "shared_items": shared[above].tolist(),
            "reversing": reverses[above].tolist(),
        }
        for operation, reverses in zip(OPERATIONS, reversing, strict=True)
    ]


def pairs(
    items: list[list[str]], correct: list[NDArray[np.bool_]]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Items shared by each pair of C checkpoints, and whether the pair reverses on them.

    A pair reverses if the sign of its difference of correct counts takes both signs over the
    presented orderings; zero counts as neither.

    Args:
        items: each checkpoint's item ids.
        correct: (operations, M, items) of each checkpoint.

    Returns:
        (C, C) counts of shared items, (operations, C, C) reversing pairs, symmetric.
    """
    index = {item: i for i, item in enumerate(sorted(set().union(*items)))}
    present = np.zeros((len(items), len(index)), dtype=np.float32)
    columns = [np.array([index[item] for item in own]) for own in items]
    for row, own in zip(present, columns, strict=True):
        row[own] = 1
    # Most checkpoints answered the same items: counts are needed once per distinct set of them.
    # In float32 they are exact up to 2**24 items.
    firsts: dict[tuple[str, ...], int] = {}
    which = [firsts.setdefault(tuple(own), len(firsts)) for own in items]
    sets = present[[which.index(i) for i in range(len(firsts))]]
    counts = np.array(
        [c.astype(np.float32) @ sets[:, own].T for c, own in zip(correct, columns, strict=True)]
    )
    # (C, operations, M, sets) -> (C, C, operations, M): of the first on the items of the second.
    own = np.moveaxis(counts[..., which], -1, 1)
    difference = own - np.swapaxes(own, 0, 1)
    reversing = (difference > 0).any(axis=-1) & (difference < 0).any(axis=-1)
    return (present @ present.T).astype(np.int64), np.moveaxis(reversing, -1, 0)


@dataclass(frozen=True)
class PairReversals:
    """Reversing pairs of each operation, summed over benchmarks.

    Attributes:
        reversing: operation -> (C, C) symmetric, in how many benchmarks a pair reverses.
        counted: (C, C) symmetric, in how many benchmarks a pair shares items.
        weights: (draws, C) checkpoint weights.
    """

    reversing: dict[str, NDArray[np.float64]]
    counted: NDArray[np.float64]
    weights: NDArray[np.float64]

    def level(self, operation: str, minus: str | None = None) -> Estimate:
        """Share of pairs that reverse, pooled over benchmarks (difference of two if `minus`).

        In a draw, pair (i, j) has weight w_i w_j and copies of one checkpoint make no pair.
        """
        matrix = self.reversing[operation]
        if minus is not None:
            matrix = matrix - self.reversing[minus]
        total = self.counted.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = self._weighted(matrix) / self._weighted(self.counted)
        value = float(matrix.sum() / total) if total else float("nan")
        return Estimate(value, percentile_interval(draws), int(total) // 2)

    def _weighted(self, matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(((self.weights @ matrix) * self.weights).sum(axis=1))


def pair_reversals(rows: pd.DataFrame, draws: int, seed: int) -> PairReversals | None:
    """Gather the rows of `pair_rows`; None where there are none.

    The draws are those of Table 2, whose levels these are compared with.
    """
    if rows.empty:
        return None
    checkpoints = sorted({str(c) for names in rows["checkpoints"] for c in names})
    size = (len(checkpoints), len(checkpoints))
    reversing = {operation: np.zeros(size) for operation in OPERATIONS}
    counted = np.zeros(size)
    for row in rows.to_dict("records"):
        members = np.array([checkpoints.index(c) for c in row["checkpoints"]])
        i, j = (members[side] for side in np.triu_indices(len(members), 1))
        shares = np.asarray(row["shared_items"], dtype=np.float64) > 0
        where = reversing[row["operation"]]
        where[i, j] += np.asarray(row["reversing"], dtype=np.float64)
        if row["operation"] == OPERATIONS[0]:
            counted[i, j] += shares
    both = {operation: upper + upper.T for operation, upper in reversing.items()}
    weights = draw_weights(len(checkpoints), draws, seed, "table2/checkpoints/draws")
    return PairReversals(both, counted + counted.T, weights.astype(np.float64))
