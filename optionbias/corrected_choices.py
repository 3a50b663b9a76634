"""What many priors at many strengths answer, without renormalising a single query.

The renormalisation of `operations.apply` moves all letters of a query alike, so it does not change
which letter is chosen; leaving it out, and holding letters first so that whole columns are worked
on, makes an answer some ten times cheaper. The answers are those of `operations.apply`: the same
subtraction, the same tie rule.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.operations import TIE_TOLERANCE

# Log scores worked on at a time: what fits a core's cache.
BLOCK = 50_000

Positions = NDArray[np.uint8]


def corrected_positions(logp: ArrayLike, log_priors: ArrayLike) -> Positions:
    """The position that each query chooses after each of several log priors is subtracted.

    Args:
        logp: (N, M, K) log scores in presented order, constants within a query left free.
        log_priors: (C, K), what is subtracted (a strength times a log prior).

    Returns:
        (C, M, N): the lowest letter within 1e-9 of the query's largest difference.
    """
    letters = np.asarray(logp, dtype=np.float64).transpose(2, 1, 0)
    subtracted = np.asarray(log_priors, dtype=np.float64)
    k, m, n = letters.shape
    step = max(1, BLOCK // (m * k))
    positions = np.empty((len(subtracted), m, n), dtype=np.uint8)
    for start in range(0, n, step):
        block = np.ascontiguousarray(letters[:, :, start : start + step])
        scores, close = np.empty_like(block), np.empty(block.shape, dtype=bool)
        for c, row in enumerate(subtracted):
            np.subtract(block, row[:, None, None], out=scores)
            np.greater_equal(scores, scores.max(axis=0) - TIE_TOLERANCE, out=close)
            for letter in range(1, k):
                np.logical_or(close[letter], close[letter - 1], out=close[letter])
            # A letter now says whether it or an earlier one is close: the first is K minus these.
            after = close.view(np.uint8).sum(axis=0, dtype=np.uint8)
            np.subtract(np.uint8(k), after, out=positions[c, :, start : start + step])
    return positions
