"""Option-symbol priors: estimated from calibration queries, divided out of every query (D.1).

Log-probabilities are arrays (N, M, K): items, the K cyclic orderings, letters in presented
order. A prior is a vector over the K letters that sums to one. No gold label enters one.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.seeds import generator
from optionbias.short_axis import log_softmax

FLOOR = 1e-12
PERMUTATIONS_ABOVE_FOUR = 24

Prior = NDArray[np.float64]


def floored(logp: ArrayLike) -> NDArray[np.float64]:
    """Letter probabilities in float64, floored at 1e-12 and renormalised."""
    p = np.maximum(np.exp(np.asarray(logp, dtype=np.float64)), FLOOR)
    return p / p.sum(axis=-1, keepdims=True)


def pride_prior(logp: ArrayLike) -> Prior:
    """PriDe's prior: per item the normalised geometric mean over its cyclic orderings, then the mean.

    Args:
        logp: (n, K, K) log-probabilities of the calibration items.
    """
    geometric = np.exp(np.log(floored(logp)).mean(axis=1))
    return (geometric / geometric.sum(axis=-1, keepdims=True)).mean(axis=0)


def batch_prior(logp: ArrayLike) -> Prior:
    """Batch calibration's prior: the arithmetic mean over calibration items and cyclic orderings."""
    return floored(logp).mean(axis=(0, 1))


ESTIMATORS = {"pride": pride_prior, "batch": batch_prior}


def divide_out(logp: ArrayLike, prior: ArrayLike, alpha: float = 1.0) -> NDArray[np.float64]:
    """Log-probabilities with `alpha` times the log prior subtracted, renormalised in float64."""
    return log_softmax(np.asarray(logp, dtype=np.float64) - alpha * np.log(prior))


def letter_permutations(k: int, seed: int) -> NDArray[np.int64]:
    """The non-identity letter permutations of the permuted-prior control, one a row.

    All K! - 1 for K <= 4; for K >= 5, 24 distinct ones drawn uniformly by the name
    `permuted-prior/K{K}`, so every cell of one K shares them.
    """
    if k <= 4:
        return np.array(list(itertools.permutations(range(k)))[1:], dtype=np.int64)
    rng = generator(seed, f"permuted-prior/K{k}")
    chosen: dict[tuple[int, ...], None] = {}
    while len(chosen) < PERMUTATIONS_ABOVE_FOUR:
        permutation = tuple(int(i) for i in rng.permutation(k))
        if permutation != tuple(range(k)):
            chosen[permutation] = None
    return np.array(list(chosen), dtype=np.int64)


def permuted_priors(prior: ArrayLike, seed: int) -> NDArray[np.float64]:
    """The prior under each of `letter_permutations`, shape (permutations, K)."""
    values = np.asarray(prior, dtype=np.float64)
    return values[letter_permutations(len(values), seed)]
