"""Bootstrap draws as integer weights, and the statistics recomputed under them (Section A.5).

A draw takes its units (checkpoints, cells or items) with replacement; a unit that is taken w
times has weight w. Every weighted statistic here equals the plain statistic of the literally
replicated sample, and is vectorised over draws: weights have shape (draws, n).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.seeds import generator

DRAWS = 10_000
CACHED = 60_000  # weights worked on at a time
REPORT_LEFT_OUT_ABOVE = 0.01

Weights = NDArray[np.int64]


def draw_weights(n: int, draws: int, seed: int, name: str) -> Weights:
    """How often each of `n` units (in sorted order) is taken in each draw, shape (draws, n)."""
    taken = generator(seed, name).integers(0, n, size=(draws, n))
    cells = taken + np.arange(draws)[:, None] * n
    return np.bincount(cells.ravel(), minlength=draws * n).reshape(draws, n)


def block_weights(blocks: Sequence[str], draws: int, seed: int, name: str) -> Weights:
    """Checkpoint-block weights: every cell gets the multiplicity of its block, (draws, cells).

    Args:
        blocks: the checkpoint of each cell.
        name: the draw's name; analyses that compare statistics share one array of weights.
    """
    names, index = np.unique(np.asarray(blocks), return_inverse=True)
    return draw_weights(len(names), draws, seed, name)[:, index]


def weighted_mean(values: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Mean of the replicated sample; NaN values (cells without the statistic) are left out.

    Returns shape (draws,), NaN in draws that hold no value.
    """
    x, w = (
        np.asarray(values, dtype=np.float64),
        np.atleast_2d(weights).astype(np.float64, copy=False),
    )
    defined = ~np.isnan(x)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((w @ np.where(defined, x, 0.0)) / (w @ defined.astype(np.float64)))


def weighted_median(values: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Median of the replicated sample (the mean of the two middle values if even); NaN left out."""
    x, w = _defined(np.asarray(values, dtype=np.float64), np.atleast_2d(weights))
    order = np.argsort(x, kind="stable")
    x, cumulative = x[order], np.cumsum(w[:, order], axis=1)
    out = np.full(len(w), np.nan)
    if x.size == 0:
        return out
    total = cumulative[:, -1]
    some = total > 0
    # The replicated sample's k-th value (0-based) is at the first cell whose cumulative weight
    # exceeds k.
    low = (cumulative > ((total - 1) // 2)[:, None]).argmax(axis=1)
    high = (cumulative > (total // 2)[:, None]).argmax(axis=1)
    out[some] = ((x[low] + x[high]) / 2)[some]
    return out


def weighted_ranks(values: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Average ranks (from 1) of each cell in the replicated sample, shape (draws, n)."""
    x, w = np.asarray(values, dtype=np.float64), np.atleast_2d(weights)
    if x.size == 0:
        return np.zeros(w.shape)
    order = np.argsort(x, kind="stable")
    # Equal values share a level, whose copies share the mean of the ranks they cover.
    first = np.concatenate([[True], np.diff(x[order]) != 0])
    level = np.cumsum(first) - 1
    copies = np.add.reduceat(w[:, order], np.flatnonzero(first), axis=1)
    at_level = np.cumsum(copies, axis=1, dtype=np.float64) - (copies - 1) / 2
    ranks = np.empty(w.shape)
    ranks[:, order] = at_level[:, level]
    return ranks


def _blocks(
    statistic: Callable[[NDArray[np.float64]], NDArray[np.float64]], weights: ArrayLike
) -> NDArray[np.float64]:
    """A statistic of each draw, computed for as many draws at once as a core's cache holds."""
    w = np.atleast_2d(weights)
    step = max(1, CACHED // max(1, w.shape[1]))
    out = np.empty(len(w))
    for start in range(0, len(w), step):
        block = w[start : start + step].astype(np.float64)
        out[start : start + step] = statistic(block)
    return out


def weighted_spearman(x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Spearman correlation of the replicated sample, average ranks for ties.

    Cells where x or y is NaN are left out. NaN in draws where either has constant ranks.
    """
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    keep = ~(np.isnan(a) | np.isnan(b))
    a, b = a[keep], b[keep]

    def in_block(w: NDArray[np.float64]) -> NDArray[np.float64]:
        kept = w[:, keep]
        return weighted_pearson(weighted_ranks(a, kept), weighted_ranks(b, kept), kept)

    return _blocks(in_block, weights)


def weighted_pearson(x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> NDArray[np.float64]:
    """Pearson correlation per draw of x and y (each (n,) or (draws, n)) under weights (draws, n)."""
    w = np.asarray(weights, dtype=np.float64)
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    total = w.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        dx = a - (w * a).sum(axis=1, keepdims=True) / total
        dy = b - (w * b).sum(axis=1, keepdims=True) / total
        xx, yy = (w * dx * dx).sum(axis=1), (w * dy * dy).sum(axis=1)
        r = (w * dx * dy).sum(axis=1) / np.sqrt(xx * yy)
    # Ranks are multiples of one half: a spread below this is rounding, so ranks are constant.
    scale = 1e-9 * np.maximum(total[:, 0], 1)
    r[~((xx > scale) & (yy > scale))] = np.nan
    return np.clip(r, -1, 1)


def weighted_partial_spearman(
    x: ArrayLike, y: ArrayLike, given: ArrayLike, weights: ArrayLike
) -> NDArray[np.float64]:
    """Partial correlation of the ranks of x and y given the rank of a third, per draw.

    The correlation of what is left of both ranks after removing their linear association with the
    rank of `given` (Appendix C.3), all ranks of the replicated sample. Cells where any of the three
    is NaN are left out; NaN in draws where it is undefined.
    """
    columns = np.array([np.asarray(v, dtype=np.float64) for v in (x, y, given)])
    keep = ~np.isnan(columns).any(axis=0)

    def in_block(whole: NDArray[np.float64]) -> NDArray[np.float64]:
        w = whole[:, keep]
        a, b, c = (weighted_ranks(v, w) for v in columns[:, keep])
        ab, ac, bc = (weighted_pearson(u, v, w) for u, v in ((a, b), (a, c), (b, c)))
        left = (1 - ac**2) * (1 - bc**2)
        out = np.full(len(w), np.nan)
        # Nothing is left of a rank that the third determines.
        some = left > 1e-18
        out[some] = np.clip((ab - ac * bc)[some] / np.sqrt(left[some]), -1, 1)
        return out

    return _blocks(in_block, weights)


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman correlation of a sample; NaN pairs left out, NaN where undefined."""
    return float(weighted_spearman(x, y, np.ones((1, len(np.asarray(x))), dtype=np.int64))[0])


def spearman_brown(r: float) -> float:
    """Reliability of the whole from the correlation of two halves: 2 r / (1 + r)."""
    return 2 * r / (1 + r) if r > -1 else float("nan")


@dataclass(frozen=True)
class Interval:
    """A percentile interval and the share of draws in which the statistic was undefined."""

    low: float
    high: float
    left_out: float

    @property
    def note(self) -> str:
        """What a table says of draws left out: nothing up to 1%."""
        if self.left_out <= REPORT_LEFT_OUT_ABOVE:
            return ""
        return f"undefined in {100 * self.left_out:.1f}% of draws"


def percentile_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Central percentile interval of the draws (numpy `linear` quantiles), undefined draws left out."""
    x = np.asarray(values, dtype=np.float64)
    defined = x[~np.isnan(x)]
    left_out = (len(x) - len(defined)) / len(x) if len(x) else 1.0
    if len(defined) == 0:
        return Interval(float("nan"), float("nan"), left_out)
    tail = (1 - level) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return Interval(float(low), float(high), left_out)


@dataclass(frozen=True)
class Estimate:
    """A statistic, its interval, and how many cells (or pairs) it rests on."""

    value: float
    interval: Interval
    n: int


def _defined(x: NDArray[np.float64], w: NDArray[np.int64]) -> tuple[NDArray[np.float64], Weights]:
    keep = ~np.isnan(x)
    return x[keep], w[:, keep]
