"""The item bootstrap (Section A.5): items of one cell, or of two together, with replacement.

A draw takes as many items as there are, so an item has a multiplicity. Statistics of a cell that
are functions of totals over its items (flipping items, answers at each position) need nothing of a
draw but those totals, which for any number of cells on the same items are one matrix product of
multiplicities and per-item counts. Two cells that share the multiplicities are resampled together:
the totals are those of the counts of their joint answer patterns, since items with the same joint
pattern contribute the same and only the sum of their multiplicities matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.seeds import generator

# Draws whose multiplicities are held at once: 40 MB for 20,000 items.
BLOCK = 500
EXACT_FLOAT32 = 2**24


def multiplicity_blocks(n: int, draws: int, seed: int, name: str) -> Iterator[NDArray[np.float32]]:
    """Multiplicities of `n` items, block of draws by block, each (at most BLOCK, n).

    Together they are `resampling.draw_weights(n, draws, seed, name)`: a generator's whole numbers
    do not depend on how many are asked for at a time, or on their type.
    """
    rng = generator(seed, name)
    for start in range(0, draws, BLOCK):
        taken = rng.integers(0, n, size=(min(BLOCK, draws - start), n), dtype=np.int32)
        block = np.empty(taken.shape, dtype=np.float32)
        for row, items in zip(block, taken, strict=True):
            row[:] = np.bincount(items, minlength=n)
        yield block


def resampled_totals(
    features: ArrayLike, draws: int, seed: int, name: str
) -> NDArray[np.float32] | NDArray[np.float64]:
    """Totals of per-item whole numbers over the items of each draw.

    Args:
        features: (n, F) whole numbers, one row an item, items sorted by id.
        draws: bootstrap draws.
        seed: the configured seed.
        name: the draws' name; features of the same items and name share the draws.

    Returns:
        (F, draws), exact: float32 where it holds every partial sum exactly, so that neither the
        order of the sum nor the number of threads matters, else float64.
    """
    counts = np.asarray(features)
    n = len(counts)
    largest = n * int(np.abs(counts.astype(np.int64)).max(initial=0))
    kind = np.float32 if largest < EXACT_FLOAT32 else np.float64
    columns: NDArray[Any] = counts.astype(kind)
    totals: NDArray[Any] = np.empty((counts.shape[1], draws), dtype=kind)
    done = 0
    for block in multiplicity_blocks(n, draws, seed, name):
        totals[:, done : done + len(block)] = (block.astype(kind, copy=False) @ columns).T
        done += len(block)
    return totals


def central_interval(
    values: NDArray[np.float64] | NDArray[np.int32], level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Central percentile interval over the last axis, as `numpy.quantile` (`linear`) has it.

    Order statistics are selected one at a time, several times faster than a sort. No NaN.

    Returns:
        Lower and upper ends, the shape of `values` without its last axis.
    """
    tail = (1 - level) / 2
    low, high = _quantile(values, tail), _quantile(values, 1 - tail)
    return low, high


def _quantile(values: NDArray[np.float64] | NDArray[np.int32], q: float) -> NDArray[np.float64]:
    last = values.shape[-1] - 1
    place = last * q
    below = int(place)
    above = min(below + 1, last)
    parted = np.partition(values, above, axis=-1)
    # All before the selected one are no larger than it; the largest of them is its neighbour.
    upper = parted[..., above].astype(np.float64)
    lower = parted[..., : above + (above == below)].max(axis=-1).astype(np.float64)
    # As numpy interpolates, from the nearer end.
    step, share = upper - lower, place - below
    ends: NDArray[np.float64] = np.where(
        share < 0.5, lower + step * share, upper - step * (1 - share)
    )
    return ends
