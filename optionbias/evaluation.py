"""The evaluation items of a cell that every operation can answer (D.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from optionbias.cell import ScoredCell
from optionbias.design import Design


@dataclass(frozen=True)
class EvaluationItems:
    """The n evaluation items of a cell that are usable under the cyclic orderings and reversals.

    Attributes:
        design: the K cyclic orderings.
        gold: (n,) correct contents.
        choice: (n, K) stored chosen positions.
        logp: (n, K, K) log-probabilities in presented order, up to a constant of the query.
        reversed_logp: (n, K, K) the same under the reversal of each ordering, in its own order.
        calibration: (c, K, K) log-probabilities of the calibration items.
    """

    design: Design
    gold: NDArray[np.int64]
    choice: NDArray[np.int64]
    logp: NDArray[np.float64]
    reversed_logp: NDArray[np.float64]
    calibration: NDArray[np.float64]

    @classmethod
    def of(cls, cell: ScoredCell) -> EvaluationItems | None:
        """The evaluation items of a cell, None where none has reversed queries (always for K = 2)."""
        queries, kept = cell.queries, cell.reversed_usable & ~cell.calibration
        if queries.logp is None or queries.reversed_logp is None or not kept.any():
            return None
        return cls(
            Design.of(queries.orderings),
            cell.gold[kept].astype(np.int64),
            queries.choice[kept].astype(np.int64),
            *(
                stored.astype(np.float64)
                for stored in (
                    queries.logp[kept],
                    queries.reversed_logp[kept],
                    queries.logp[cell.calibration],
                )
            ),
        )
