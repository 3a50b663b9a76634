"""Bootstrap draws of whole blocks of cells, and Spearman correlations of many variables under them.

Ranks of a replicated sample are linear in the weights: a cell's average rank is the weight below it
plus half the weight that ties with it plus one half. With the weights of a few dozen checkpoints
that is one small matrix product per variable, where ranking every draw afresh is a sort of every
draw. All sums are of multiples of one quarter, so the correlations are those of
`resampling.weighted_spearman` on the replicated sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.resampling import draw_weights

Vector = NDArray[np.float64]

# Values that should be equal can differ in their last digits when they were summed in another
# order; none of the statistics that are ranked here has steps this small.
TIED_WITHIN = 1e-12
# Draws at a time: what is held stays in the processor's cache.
AT_ONCE = 500


@dataclass(frozen=True)
class BlockDraws:
    """Draws with replacement of blocks (checkpoints, or single cells).

    Attributes:
        block: (n,) the block of each cell.
        weights: (draws, blocks) how often each block is taken.
    """

    block: NDArray[np.int64]
    weights: Vector

    @classmethod
    def of(cls, blocks: Sequence[object], draws: int, seed: int, name: str) -> BlockDraws:
        """Draw from the distinct `blocks` (one entry a cell), which are sorted first."""
        names, block = np.unique(np.asarray(blocks), return_inverse=True)
        return cls(block, draw_weights(len(names), draws, seed, name).astype(np.float64))

    @classmethod
    def whole(cls, n: int) -> BlockDraws:
        """The one draw that takes every one of n cells once: the sample itself."""
        return cls(np.zeros(n, dtype=np.int64), np.ones((1, 1)))

    def take(self, cells: NDArray[np.bool_]) -> BlockDraws:
        """The same draws for some of the cells."""
        return BlockDraws(self.block[cells], self.weights)

    def by_block(self, values: Vector) -> Vector:
        """Sums of (n, v) values over the cells of each block, (blocks, v)."""
        member = np.zeros((self.weights.shape[1], len(self.block)))
        member[self.block, np.arange(len(self.block))] = 1
        return member @ values

    def sums(self, values: ArrayLike) -> Vector:
        """Sums of (n, v) values over the replicated cells, (draws, v)."""
        return self.weights @ self.by_block(np.asarray(values, dtype=np.float64))

    def spearman(self, xs: ArrayLike, y: ArrayLike) -> Vector:
        """Spearman correlation of each of several variables with y in every draw.

        Args:
            xs: (v, n) variables.
            y: (n,) what they are correlated with.

        Returns:
            (v, draws); NaN in draws where ranks are constant. Cells where any of the variables or
            y is NaN are left out of all; values within 1e-12 tie.
        """
        columns = np.vstack([np.asarray(y, dtype=np.float64), np.asarray(xs, dtype=np.float64)])
        keep = np.asarray(~np.isnan(columns).any(axis=0))
        kept = self.take(keep)
        shares = [kept.by_block(_weight_below(tied(column[keep]))) for column in columns]
        out = np.empty((len(columns) - 1, len(self.weights)))
        for chunk in _chunks(len(self.weights)):
            weights = self.weights[chunk]
            w = weights[:, kept.block]
            # The mean rank of t replicates is (t + 1) / 2; every rank has one half to add.
            middle = w.sum(axis=1, keepdims=True) / 2
            dy = weights @ shares[0] - middle
            wy = w * dy
            yy = _rows_dot(wy, dy)
            for i, share in enumerate(shares[1:]):
                dx = weights @ share - middle
                xy = _rows_dot(wy, dx)
                dx *= dx
                out[i, chunk] = _correlation(xy, _rows_dot(w, dx), yy)
        return out


def tied(values: ArrayLike) -> Vector:
    """Values (n,) with those that differ by rounding alone made equal."""
    x = np.asarray(values, dtype=np.float64)
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    first = np.concatenate([[0], np.cumsum(np.diff(ordered) > TIED_WITHIN)]) if len(x) else order
    starts = np.unique(first, return_index=True)[1]
    out = np.empty_like(x)
    out[order] = ordered[starts][first]
    return out


def rank_correlation(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman correlation of a sample; NaN pairs left out, values within 1e-12 tie."""
    columns = np.asarray(x, dtype=np.float64)
    return float(BlockDraws.whole(len(columns)).spearman(columns[None], y)[0, 0])


def mean_of_defined(values: ArrayLike) -> Vector:
    """Mean over the first axis of what is not NaN; NaN where nothing is defined."""
    x = np.asarray(values, dtype=np.float64)
    defined = ~np.isnan(x)
    counts = defined.sum(axis=0)
    total = np.where(defined, x, 0.0).sum(axis=0)
    return np.where(counts > 0, total / np.maximum(counts, 1), np.nan)


def _weight_below(x: Vector) -> Vector:
    """(n, n): what cell i (row) adds to the rank of cell j (column): 1 if below it, 1/2 if tied."""
    return (x[:, None] < x[None, :]) + (x[:, None] == x[None, :]) / 2


def _rows_dot(a: Vector, b: Vector) -> Vector:
    return np.einsum("dn,dn->d", a, b)


def _correlation(xy: Vector, xx: Vector, yy: Vector) -> Vector:
    out = np.full(len(xy), np.nan)
    some = (xx > 0) & (yy > 0)
    out[some] = np.clip(xy[some] / np.sqrt(xx[some] * yy[some]), -1, 1)
    return out


def _chunks(n: int) -> Iterator[slice]:
    for start in range(0, n, AT_ONCE):
        yield slice(start, min(start + AT_ONCE, n))
