"""Refits that leave one checkpoint or one benchmark out (A.5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Refits:
    """A statistic of all cells, and its range over the refits in which it is defined.

    Attributes:
        value: over all cells.
        low, high: smallest and largest over the refits; NaN where none is defined.
        refits: refits made.
        defined: refits in which the statistic is defined.
    """

    value: float
    low: float
    high: float
    refits: int
    defined: int


def leave_one_out(
    cells: pd.DataFrame, by: str, statistic: Callable[[pd.DataFrame], float]
) -> Refits:
    """Refit a statistic without each value of the column `by` (`checkpoint` or `benchmark`)."""
    names = sorted(cells[by].unique())
    values = np.array([statistic(cells[cells[by] != name]) for name in names], dtype=np.float64)
    defined = values[~np.isnan(values)]
    low, high = (defined.min(), defined.max()) if len(defined) else (np.nan, np.nan)
    return Refits(statistic(cells), float(low), float(high), len(names), len(defined))
