"""Does a cell choose positions unevenly at all? A conservative test of uniform choice (Section C.2).

The K answers of an item are one cluster and items are independent draws, so the share of answers at
a position is a mean of N independent values between 0 and 1, and Hoeffding's inequality bounds its
deviation from 1/K; a union bound takes care of the K positions and both sides. Items weigh equally.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

LEVEL = 0.05


def p_values(cells: pd.DataFrame) -> NDArray[np.float64]:
    """p = min(1, 2 K exp(-2 N t^2)) of each cell, t = max_r |f(r) - 1/K|.

    Args:
        cells: rows of `cells` (K, n_items and f are read).
    """
    k = cells["K"].to_numpy(dtype=np.float64)
    n = cells["n_items"].to_numpy(dtype=np.float64)
    t = np.array([np.abs(np.asarray(f, dtype=np.float64) - 1 / len(f)).max() for f in cells["f"]])
    p: NDArray[np.float64] = np.minimum(1, 2 * k * np.exp(-2 * n * t**2))
    return p


def holm(p: ArrayLike) -> NDArray[np.float64]:
    """Holm's adjusted p-values: a hypothesis is rejected at a level they do not exceed.

    The i-th smallest of m is multiplied by m - i + 1, and none is less than a smaller one's.
    """
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(1, np.maximum.accumulate(factors * values[order]))
    return adjusted
