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

    Single precision finds the letters that may be the largest; where that is more than one letter,
    double precision decides. So every answer is that of float64, at half the cost.

    Args:
        scores: (N, M, K) log scores in presented order, constants within a query left free.
        shifts: (C, K), what is subtracted from the letters.

    Returns:
        (C, M, N) the lowest letter within 1e-9 of the query's largest difference, and whether
        another letter is as close, so that the tie rule decided.
    """
    letters = np.asarray(scores).transpose(2, 1, 0)
    subtracted = np.asarray(shifts, dtype=np.float64)
    k, m, n = letters.shape
    step = max(1, BLOCK // (m * k))
    positions = np.empty((len(subtracted), m, n), dtype=np.uint8)
    tied = np.zeros(positions.shape, dtype=bool)
    letter = np.arange(k, dtype=np.uint8)[:, None, None]
    for start in range(0, n, step):
        exact = letters[:, :, start : start + step].astype(np.float64, order="C")
        block = exact.astype(np.float32)
        margin = np.float32(TIE_TOLERANCE) + _rounding(exact, subtracted)
        left, close = np.empty_like(block), np.empty(block.shape, dtype=bool)
        for c, row in enumerate(subtracted):
            np.subtract(block, row.astype(np.float32)[:, None, None], out=left)
            # Where every letter is impossible all are close: -inf is as large as -inf.
            np.greater_equal(left, np.maximum.reduce(left, axis=0) - margin, out=close)
            flags = close.view(np.uint8)
            chosen = positions[c, :, start : start + step]
            np.add.reduce(flags * letter, axis=0, dtype=np.uint8, out=chosen)
            unsure = np.add.reduce(flags, axis=0, dtype=np.uint8) != 1
            if unsure.any():
                choice, ties = _decide(exact[:, unsure] - row[:, None])
                chosen[unsure] = choice
                tied[c, :, start : start + step][unsure] = ties
    return positions, tied


def _rounding(scores: NDArray[np.float64], shifts: NDArray[np.float64]) -> np.float32:
    """How far float32 may move one difference of a score and a shift against another."""
    sizes = [np.abs(x[np.isfinite(x)]).max(initial=0.0) for x in (scores, shifts)]
    # Two roundings of the operands and one of the result, for each of the two differences.
    return np.float32(8 * np.finfo(np.float32).eps * (sum(sizes) + 1e-30))


def _decide(left: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The tie rule in float64 on differences (K, queries): the lowest close letter, and ties."""
    close = left >= left.max(axis=0) - TIE_TOLERANCE
    return close.argmax(axis=0), close.sum(axis=0) > 1
