"""Operations of a cell on the same evaluation items: what Table 2 and its kin compare (D.1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.cell import ScoredCell
from optionbias.design import Design
from optionbias.factors import CellStatistics, cell_statistics, contents_of
from optionbias.operations import OPERATIONS


@dataclass(frozen=True)
class ComparedCell:
    """What the comparison of operations keeps of a cell: a bit an answer, no probabilities.

    Attributes:
        items: ids of the evaluation items that are usable under cyclic and reversed queries.
        correct: operation -> (K, items), whether it answers correctly under each ordering.
        statistics: operation -> its statistics on these items.
    """

    items: NDArray[np.object_]
    correct: dict[str, NDArray[np.bool_]]
    statistics: dict[str, CellStatistics]

    @classmethod
    def of(cls, cell: ScoredCell, evaluated: dict[str, CellStatistics]) -> ComparedCell | None:
        """Keep the items that every operation can be scored on; None where there are none.

        Args:
            cell: a cell with all operations carried out.
            evaluated: each operation's statistics on its own evaluation items, which are those of
                the comparison where every item was answered under the reversals.
        """
        kept, pi = cell.reversed_usable & ~cell.calibration, cell.queries.orderings
        if not kept.any():
            return None
        gold, correct, statistics = cell.gold[kept], {}, dict(evaluated)
        for operation in OPERATIONS:
            contents = contents_of(cell.answers[operation].positions[kept], pi)
            correct[operation] = (contents == gold[:, None]).T
            if not cell.reversed_usable.all():
                statistics[operation] = cell_statistics(contents, gold, Design.of(pi))
        return cls(cell.items[kept], correct, statistics)


def comparison_rows(benchmark: str, cells: dict[str, ComparedCell]) -> list[dict[str, Any]]:
    """A row per cell and operation, for the checkpoints (name -> cell) of a benchmark.

    `shared_correct` counts correct answers per presented ordering on the `n_shared` evaluation
    items that all checkpoints of the benchmark share: what rank reversals compare.
    """
    rows = []
    shared = [set(cell.items) for cell in cells.values()]
    in_all: set[str] = set.intersection(*shared) if shared else set()
    for name, cell in cells.items():
        in_shared = np.array([item in in_all for item in cell.items], dtype=bool)
        for operation in OPERATIONS:
            s, counts = (
                cell.statistics[operation],
                cell.correct[operation][:, in_shared].sum(axis=1),
            )
            rows.append(
                {
                    "checkpoint": name, "benchmark": benchmark, "operation": operation, "K": s.K,
                    "n_items": s.n_items, "accuracy": s.accuracy, "flip_rate": s.flip_rate,
                    "skew": s.skew, "pooled_sd": s.pooled_sd,
                    "placement_range": s.placement_range, "stable_wrong": s.stable_wrong,
                    "n_shared": int(in_shared.sum()), "shared_correct": counts.tolist(),
                }
            )  # fmt: skip
    return rows
