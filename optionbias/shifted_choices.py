"""What queries choose once the letters' scores are shifted: the one place where answers are chosen.

Dividing a prior out subtracts one amount per letter, the log prior, from every query; renormalising
moves all scores of a query alike, which no argmax and no sum of two queries sees. So every
operation chooses the largest of `scores - shift`, where the scores are the queries' own or the
reversal product's. Holding letters first, whole columns are worked on at once, for many shifts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

TIE_TOLERANCE = 1e-9
# Log scores worked on at a time: what fits a core's cache.
BLOCK = 50_000

Positions = NDArray[np.uint8]


def shifted_choices(scores: ArrayLike, shifts: ArrayLike) -> tuple[Positions, NDArray[np.bool_]]:
    """The position that each query chooses after each of several shifts is subtracted.

    Args:
        scores: (N, M, K) log scores in presented order, constants within a query left free.
        shifts: (C, K), what is subtracted from the letters.

    Returns:
        (C, M, N) the lowest letter within 1e-9 of the query's largest difference, and whether
        another letter is as close, so that the tie rule decided.
    """
    letters = np.asarray(scores, dtype=np.float64).transpose(2, 1, 0)
    subtracted = np.asarray(shifts, dtype=np.float64)
    k, m, n = letters.shape
    step = max(1, BLOCK // (m * k))
    positions = np.empty((len(subtracted), m, n), dtype=np.uint8)
    tied = np.empty(positions.shape, dtype=bool)
    for start in range(0, n, step):
        block = np.ascontiguousarray(letters[:, :, start : start + step])
        left, close = np.empty_like(block), np.empty(block.shape, dtype=bool)
        for c, row in enumerate(subtracted):
            np.subtract(block, row[:, None, None], out=left)
            # Where every letter is impossible all are tied: -inf is as large as -inf.
            np.greater_equal(left, left.max(axis=0) - TIE_TOLERANCE, out=close)
            within = close.view(np.uint8).sum(axis=0, dtype=np.uint8)
            np.greater(within, 1, out=tied[c, :, start : start + step])
            for letter in range(1, k):
                np.logical_or(close[letter], close[letter - 1], out=close[letter])
            # A letter now says whether it or an earlier one is close: the first is K minus these.
            after = close.view(np.uint8).sum(axis=0, dtype=np.uint8)
            np.subtract(np.uint8(k), after, out=positions[c, :, start : start + step])
    return positions, tied
