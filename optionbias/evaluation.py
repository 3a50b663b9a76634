"""The evaluation items of a cell, and what operations answer on them at little cost (D.1, D.2).

Dividing a prior out subtracts one amount per letter, the log prior, from every query. Renormalising
moves all scores of a query alike, which neither a sum of two queries nor an argmax sees. So an
operation answers the largest of `scores - shift`, where `scores` are the query's own
log-probabilities or, for the reversal product, their sum with the mirrored ones. That is the answer
of `operations.apply` for a fraction of its work, which counts where many operations or many
variants of a cell's queries are answered.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.cell import ScoredCell
from optionbias.design import Design
from optionbias.operations import choose
from optionbias.priors import Prior, batch_prior, divide_out, pride_prior


@dataclass(frozen=True)
class EvaluationItems:
    """The n evaluation items of a cell that are usable under the cyclic orderings and reversals.

    Attributes:
        design: the K cyclic orderings.
        gold: (n,) correct contents.
        choice: (n, K) stored chosen positions.
        logp: (n, K, K) renormalised log-probabilities in presented order.
        reversed_logp: (n, K, K) the same under the reversal of each ordering, in its own order.
        calibration: (c, K, K) renormalised log-probabilities of the calibration items.
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
            queries.logp[kept],
            queries.reversed_logp[kept],
            queries.logp[cell.calibration],
        )


@dataclass(frozen=True)
class Priors:
    """The priors of a cell's calibration items, each a vector over the K letters (D.1).

    Attributes:
        pride: PriDe's prior.
        batch: batch calibration's prior.
        batch_after_pride: batch calibration's prior of the queries that PriDe has corrected.
    """

    pride: Prior
    batch: Prior
    batch_after_pride: Prior

    @classmethod
    def of(cls, calibration: ArrayLike) -> Priors:
        """Estimate the priors; `calibration` (c, K, K) are renormalised log-probabilities."""
        pride = pride_prior(calibration)
        second = batch_prior(divide_out(calibration, pride))
        return cls(pride, batch_prior(calibration), second)

    def shift(self, corrections: str) -> NDArray[np.float64]:
        """What `pride`, `batch` or `pride+batch` subtract from the letters' scores, (K,)."""
        if corrections == "pride+batch":
            return np.log(self.pride) + np.log(self.batch_after_pride)
        return np.log({"pride": self.pride, "batch": self.batch}[corrections])


def product_scores(logp: ArrayLike, reversed_logp: ArrayLike) -> NDArray[np.float64]:
    """The reversal product's scores (..., K) in presented order, not renormalised (D.2)."""
    return np.asarray(logp) + np.asarray(reversed_logp)[..., ::-1]


def mirrored_shift(shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a shift of every query takes from the product's scores: a letter's and its mirror's."""
    return shift + shift[..., ::-1]


def shifted_answers(
    scores: NDArray[np.float64], shift: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Chosen positions (..., n, M) under `scores - shift`, and which of them the tie rule decided.

    Args:
        scores: (..., n, M, K) log scores in presented order.
        shift: (..., K), one vector per cell or variant of it.
    """
    return choose(scores - shift[..., None, None, :])
