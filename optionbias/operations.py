"""Mitigation operations: stored queries in, one answer per presented ordering out (Section 6, D.1).

An operation is named by its steps joined with `+`: corrections (`pride`, `batch`) in the order in
which they are applied, then at most one aggregation (`reversal`, `vote`); `none` is no step.
Each correction's prior is estimated on the calibration queries as the steps before it left them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.design import Design
from optionbias.factors import contents_of, histograms, positions_of
from optionbias.priors import ESTIMATORS, Prior, divide_out
from optionbias.short_axis import last_max, last_sum, log_softmax

TIE_TOLERANCE = 1e-9
AGGREGATIONS = ("reversal", "vote")
OPERATIONS = (
    "none",
    "pride",
    "batch",
    "reversal",
    "pride+reversal",
    "batch+reversal",
    "pride+batch",
    "vote",
)


class OperationError(ValueError):
    """An operation that does not exist, or that these queries cannot carry out."""


@dataclass(frozen=True)
class Queries:
    """The stored queries of a cell: what an operation may read.

    Attributes:
        orderings: (M, K) presented orderings; the K cyclic ones for the main analyses.
        choice: (N, M) stored chosen positions under them.
        logp: (N, M, K) float64 letter log-probabilities in presented order, each row
            renormalised (`normalised`); None for generated answers.
        reversed_logp: (N, M, K) the same under the reversal of each ordering, in the reversal's
            own letter order; None where it was not queried (always for K = 2).
        calibration: (N,) mask of the items that priors are estimated on.
    """

    orderings: NDArray[np.int64]
    choice: NDArray[np.int8]
    logp: NDArray[np.float64] | None = None
    reversed_logp: NDArray[np.float64] | None = None
    calibration: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Answers:
    """What an operation answers.

    Attributes:
        positions: (N, M) chosen position in each presented ordering.
        scores: (N, M, K) log scores of the letters in presented order (float64), up to a constant
            of the query; None for the majority vote and for generated answers.
        tied: (N,) how many of an item's answers were decided by the tie rule.
        priors: name -> prior that was divided out, in order (`pride`, `batch-after-pride`, ...).
    """

    positions: NDArray[np.int64]
    scores: NDArray[np.float64] | None
    tied: NDArray[np.int64]
    priors: dict[str, Prior] = field(default_factory=dict)

    @property
    def logp(self) -> NDArray[np.float64] | None:
        """The scores renormalised: the operation's log-probabilities."""
        return None if self.scores is None else log_softmax(self.scores)

    @property
    def ties(self) -> int:
        """How many answers were decided by the tie rule."""
        return int(self.tied.sum())


def normalised(stored: ArrayLike) -> NDArray[np.float64]:
    """Stored float32 log-probabilities as float64 rows that sum to one exactly."""
    return log_softmax(np.asarray(stored, dtype=np.float64))


def steps(operation: str) -> tuple[list[str], str | None]:
    """Split an operation's name into its corrections and its aggregation, or raise."""
    if operation == "none":
        return [], None
    parts = operation.split("+")
    aggregation = parts.pop() if parts[-1] in AGGREGATIONS else None
    unknown = [part for part in parts if part not in ESTIMATORS]
    if unknown:
        raise OperationError(
            f"operation {operation!r}: {unknown[0]!r} is not a correction ({', '.join(ESTIMATORS)}) "
            f"or is an aggregation before the last step"
        )
    return parts, aggregation


def needs_prior(operation: str) -> bool:
    """Whether the operation estimates a prior on calibration items."""
    return bool(steps(operation)[0])


def is_available(operation: str, queries: Queries) -> bool:
    """Whether these queries can carry out `operation` (log-probabilities, reversals at hand)."""
    corrections, aggregation = steps(operation)
    if (corrections or aggregation == "reversal") and queries.logp is None:
        return False
    return aggregation != "reversal" or queries.reversed_logp is not None


def choose(scores: ArrayLike) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The lowest letter among scores within 1e-9 of the row's largest, and which rows tied.

    Args:
        scores: (..., K) log scores.
    """
    values = np.asarray(scores)
    close = values >= last_max(values)[..., None] - TIE_TOLERANCE
    return close.argmax(axis=-1), last_sum(close) > 1


def reversal_sum(logp: ArrayLike, reversed_logp: ArrayLike) -> NDArray[np.float64]:
    """Log-probability of each content under an ordering plus under its reversal.

    Both arguments and the result are in letter order of their own presentation: the content at
    position r is at position K-1-r in the reversal, so the second is read backwards (D.2).
    """
    total = np.asarray(logp) + np.asarray(reversed_logp)[..., ::-1]
    # Certain queries that contradict each other rule out every content alike: all are tied.
    total[np.isneginf(last_max(total))] = 0.0
    return total


def reversal_product(logp: ArrayLike, reversed_logp: ArrayLike) -> NDArray[np.float64]:
    """`reversal_sum` renormalised: the log of the product of the two probabilities (D.1)."""
    return log_softmax(reversal_sum(logp, reversed_logp))


def majority_vote(
    positions: ArrayLike, orderings: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """One content per item, its most frequent over the pool, ties to the lowest content index.

    Returns the position of that content in every presented ordering (N, M), and which items
    were decided by the tie rule.
    """
    pi = np.asarray(orderings)
    z = contents_of(positions, pi)
    votes = histograms(z, Design(pi))
    winner = votes.argmax(axis=1)
    tied = last_sum(votes == last_max(votes)[:, None]) > 1
    return positions_of(np.repeat(winner[:, None], z.shape[1], axis=1), pi), tied


@dataclass(frozen=True)
class Corrected:
    """Queries after some corrections, and the priors these divided out."""

    logp: NDArray[np.float64]
    reversed_logp: NDArray[np.float64] | None
    priors: dict[str, Prior]


# (corrections, alpha) -> what they make of a cell's queries
Done = dict[tuple[tuple[str, ...], float], Corrected]


def corrected(
    corrections: tuple[str, ...], queries: Queries, alpha: float, done: Done
) -> Corrected:
    """Queries after `corrections`, each prior estimated on what the corrections before it left.

    What is already in `done` is not computed again, and what is computed is put there.
    """
    key = (corrections, alpha)
    if key not in done:
        *earlier, last = corrections
        if queries.logp is None or queries.calibration is None or not queries.calibration.any():
            raise OperationError(
                f"operation {'+'.join(corrections)!r} needs log-probabilities of calibration items"
            )
        before = (
            corrected(tuple(earlier), queries, alpha, done)
            if earlier
            else Corrected(queries.logp, queries.reversed_logp, {})
        )
        prior = ESTIMATORS[last](before.logp[queries.calibration])
        name = "-after-".join([last, *reversed(earlier)])
        mirrored = before.reversed_logp
        done[key] = Corrected(
            divide_out(before.logp, prior, alpha),
            None if mirrored is None else divide_out(mirrored, prior, alpha),
            {**before.priors, name: prior},
        )
    return done[key]


def apply(
    operation: str, queries: Queries, alpha: float = 1.0, done: Done | None = None
) -> Answers:
    """Carry out an operation on every item of a cell.

    Args:
        operation: a name as described at the top of this module.
        queries: the cell's stored queries.
        alpha: strength of the corrections (1 divides the whole prior out).
        done: corrections of these queries that are already computed; new ones are added.

    Raises:
        OperationError: unknown operation, or queries it needs that are not there.
    """
    corrections, aggregation = steps(operation)
    if not is_available(operation, queries):
        raise OperationError(f"operation {operation!r} needs queries that this cell does not have")
    scores, mirrored, priors = queries.logp, queries.reversed_logp, {}
    if corrections:
        after = corrected(tuple(corrections), queries, alpha, {} if done is None else done)
        scores, mirrored, priors = after.logp, after.reversed_logp, after.priors
    if aggregation == "reversal" and scores is not None and mirrored is not None:
        scores = reversal_sum(scores, mirrored)
    if scores is not None and (corrections or aggregation == "reversal"):
        positions, ties = choose(scores)
        tied = ties.sum(axis=-1)
    else:
        positions = queries.choice.astype(np.int64)
        tied = np.zeros(len(positions), dtype=np.int64)
    if aggregation == "vote":
        positions, vote_ties = majority_vote(positions, queries.orderings)
        tied, scores = vote_ties.astype(np.int64), None
    return Answers(positions, scores, tied, priors)
