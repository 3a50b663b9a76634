"""Mitigation operations: stored queries in, one answer per presented ordering out (Section 6, D.1).

An operation is named by its steps joined with `+`: corrections (`pride`, `batch`) in the order in
which they are applied, then at most one aggregation (`reversal`, `vote`); `none` is no step.
Each correction's prior is estimated on the calibration queries as the steps before it left them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.design import Design
from optionbias.factors import contents_of, histograms, positions_of
from optionbias.priors import ESTIMATORS, Prior, divide_out
from optionbias.shifted_choices import shifted_choices
from optionbias.short_axis import last_max, last_sum, log_softmax

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
        logp: (N, M, K) letter log-probabilities in presented order, as stored (float32) or
            renormalised: a constant of the query matters to no operation and no prior. None for
            generated answers.
        reversed_logp: (N, M, K) the same under the reversal of each ordering, in the reversal's
            own letter order; None where it was not queried (always for K = 2).
        calibration: (N,) mask of the items that priors are estimated on.
    """

    orderings: NDArray[np.int64]
    choice: NDArray[np.int8]
    logp: NDArray[np.floating] | None = None
    reversed_logp: NDArray[np.floating] | None = None
    calibration: NDArray[np.bool_] | None = None


@dataclass(frozen=True)
class Answers:
    """What an operation answers.

    Attributes:
        positions: (N, M) chosen position in each presented ordering.
        tied: (N,) how many of an item's answers were decided by the tie rule.
        priors: name -> prior that was divided out, in order (`pride`, `batch-after-pride`, ...).
        base: (N, M, K) log scores before the correction: the queries' own or the product's; None
            for the majority vote and for generated answers.
        shift: (K,) what the corrections subtract from the letters' scores.
    """

    positions: NDArray[np.int64]
    tied: NDArray[np.int64]
    priors: dict[str, Prior]
    base: NDArray[np.floating] | None
    shift: NDArray[np.float64]

    @property
    def ties(self) -> int:
        """How many answers were decided by the tie rule."""
        return int(self.tied.sum())

    @property
    def logp(self) -> NDArray[np.float64] | None:
        """(N, M, K) the operation's log-probabilities, renormalised; None without scores."""
        return None if self.base is None else _renormalised(self.base - self.shift)


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


def product_scores(logp: ArrayLike, reversed_logp: ArrayLike) -> NDArray[np.float64]:
    """Log-probability of each content under an ordering plus under its reversal, not renormalised.

    Both arguments and the result are in letter order of their own presentation: the content at
    position r is at position K-1-r in the reversal, so the second is read backwards (D.2).
    """
    return np.add(logp, np.asarray(reversed_logp)[..., ::-1], dtype=np.float64)


def mirrored_shift(shift: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a shift of every query takes from the product's scores: a letter's and its mirror's."""
    return shift + shift[..., ::-1]


def reversal_product(logp: ArrayLike, reversed_logp: ArrayLike) -> NDArray[np.float64]:
    """`product_scores` renormalised: the log of the product of the two probabilities (D.1)."""
    return _renormalised(product_scores(logp, reversed_logp))


def _renormalised(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-softmax; certain queries that contradict each other rule out all contents alike."""
    impossible = np.isneginf(last_max(scores))[..., None]
    return log_softmax(np.where(impossible, 0.0, scores))


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


def correction_shift(
    corrections: Sequence[str], calibration: ArrayLike, alpha: float = 1.0
) -> tuple[NDArray[np.float64], dict[str, Prior]]:
    """What corrections subtract from the letters' log scores, and the priors they divide out.

    Dividing a prior out and renormalising subtracts alpha times its log from every query, and a
    constant of the query that no argmax and no product sees; so corrections in turn subtract the
    sum of what each of them does.

    Args:
        corrections: names of ESTIMATORS in the order in which they are applied.
        calibration: (n, M, K) log-probabilities of the calibration items; each prior is estimated
            on them as the corrections before it leave them.
        alpha: strength.

    Returns:
        (K,), and name -> prior.
    """
    queries = np.asarray(calibration, dtype=np.float64)
    shift, priors = np.zeros(queries.shape[-1]), {}
    for i, correction in enumerate(corrections):
        prior = ESTIMATORS[correction](queries)
        priors["-after-".join([correction, *reversed(corrections[:i])])] = prior
        shift = shift + alpha * np.log(prior)
        queries = divide_out(queries, prior, alpha)
    return shift, priors


def apply(operation: str, queries: Queries, alpha: float = 1.0) -> Answers:
    """Carry out an operation on every item of a cell.

    Args:
        operation: a name as described at the top of this module.
        queries: the cell's stored queries.
        alpha: strength of the corrections (1 divides the whole prior out).

    Raises:
        OperationError: unknown operation, or queries it needs that are not there.
    """
    return apply_all([operation], queries, alpha)[operation]


def apply_all(
    operations: Iterable[str], queries: Queries, alpha: float = 1.0
) -> dict[str, Answers]:
    """`apply` of several operations, the queries gone through once for all of them."""
    found: dict[str, Answers] = {}
    # base ("presented" or "product") -> (operation, shift, priors)
    asked: dict[str, list[tuple[str, NDArray[np.float64], dict[str, Prior]]]] = {}
    for operation in operations:
        corrections, aggregation = steps(operation)
        if not is_available(operation, queries):
            raise OperationError(
                f"operation {operation!r} needs queries that this cell does not have"
            )
        if not corrections and aggregation != "reversal":
            found[operation] = _stored(aggregation, queries)
            continue
        shift = np.zeros(queries.orderings.shape[-1])
        priors: dict[str, Prior] = {}
        if corrections:
            if queries.logp is None or queries.calibration is None or not queries.calibration.any():
                raise OperationError(f"operation {operation!r} needs calibration items")
            shift, priors = correction_shift(corrections, queries.logp[queries.calibration], alpha)
        if aggregation == "reversal":
            asked.setdefault("product", []).append((operation, mirrored_shift(shift), priors))
        else:
            asked.setdefault("presented", []).append((operation, shift, priors))
    for base, members in asked.items():
        if queries.logp is None:
            continue  # nothing is asked of generated answers
        scores: NDArray[np.floating] = queries.logp
        if base == "product" and queries.reversed_logp is not None:
            scores = product_scores(scores, queries.reversed_logp)
        positions, tied = shifted_choices(scores, [shift for _, shift, _ in members])
        for (operation, shift, priors), chosen, ties in zip(members, positions, tied, strict=True):
            answers = chosen.T.astype(np.int64), ties.sum(axis=0, dtype=np.int64)
            found[operation] = Answers(*answers, priors, scores, shift)
    for operation, answered in found.items():
        corrections, aggregation = steps(operation)
        if aggregation == "vote" and corrections:
            found[operation] = _vote(answered, queries)
    return found


def _stored(aggregation: str | None, queries: Queries) -> Answers:
    """The stored answers, or the majority vote over them."""
    nothing = np.zeros(queries.orderings.shape[-1])
    positions = queries.choice.astype(np.int64)
    answers = Answers(positions, np.zeros(len(positions), np.int64), {}, queries.logp, nothing)
    return _vote(answers, queries) if aggregation == "vote" else answers


def _vote(answers: Answers, queries: Queries) -> Answers:
    """The majority vote over answers."""
    positions, tied = majority_vote(answers.positions, queries.orderings)
    return Answers(positions, tied.astype(np.int64), answers.priors, None, answers.shift)
