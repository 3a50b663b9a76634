"""Levels and changes over the balanced sets: means over cells, then over sets (Table 18, E.2).

Reads the rows of `balanced_sets`, whose lists hold the cyclic set first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.balanced_sets import STATISTICS
from optionbias.resampling import (
    Estimate,
    Interval,
    block_weights,
    percentile_interval,
    weighted_mean,
)

Values = NDArray[np.float64]


@dataclass(frozen=True)
class SetEffects:
    """One operation's cells over the balanced sets.

    Attributes:
        checkpoints: (cells,) the checkpoint of each, sorted.
        found: statistic -> (cells, sets), under the operation.
        uncorrected: the same of the uncorrected answers to the same items.
        kept: (cells,) share of the evaluation items that are certified.
    """

    checkpoints: list[str]
    found: dict[str, Values]
    uncorrected: dict[str, Values]
    kept: Values

    @classmethod
    def of(cls, rows: pd.DataFrame, operation: str, prior: str = "") -> SetEffects:
        """Gather the rows of one operation (`none` for the uncorrected answers) and prior."""
        mine = (rows["operation"] == operation) & (rows["prior"] == prior)
        some = rows[mine].sort_values(["checkpoint", "benchmark"], kind="stable")
        prefix = "" if operation == "none" else "uncorrected_"
        return cls(
            some["checkpoint"].astype(str).to_list(),
            {name: _matrix(some[name]) for name in STATISTICS},
            {name: _matrix(some[prefix + name]) for name in STATISTICS},
            (some["n_items"] / some["n_evaluation"].astype(float)).to_numpy(dtype=np.float64),
        )

    def level(self, statistic: str) -> Values:
        """Mean over cells on each set."""
        return _over_cells(self.found[statistic])

    def change(self, statistic: str) -> Values:
        """Mean over cells, on each set, of the change from the uncorrected answers."""
        return _over_cells(self.found[statistic] - self.uncorrected[statistic])

    def uncorrected_level(self, statistic: str) -> Values:
        """Mean over cells on each set of the uncorrected answers to the same items."""
        return _over_cells(self.uncorrected[statistic])

    def cells(self, statistic: str) -> int:
        """How many cells have the statistic."""
        return int((~np.isnan(self.found[statistic][:, -1])).sum())

    @property
    def share_kept(self) -> float:
        """Mean over cells of the share of evaluation items that are certified."""
        return float(_over_cells(self.kept[:, None])[0])

    def flips_elsewhere(self, draws: int, seed: int) -> Estimate:
        """Cyclic-stable items that flip on another set, with its checkpoint-block interval.

        A cell has the share on every other set or on none, so its mean over sets comes first.
        """
        shares = self.found["flips_elsewhere"][:, 1:].mean(axis=1)
        value = other_sets(self.level("flips_elsewhere")).value
        weights = block_weights(self.checkpoints, draws, seed, "table18/checkpoints/draws")
        interval = percentile_interval(weighted_mean(shares, weights))
        return Estimate(value, interval, self.cells("flips_elsewhere"))


def other_sets(by_set: Values) -> Estimate:
    """The mean over the sets other than the cyclic one and their range; `n` is the sets."""
    others = by_set[1:]
    interval = Interval(float(others.min()), float(others.max()), 0.0)
    return Estimate(float(others.mean()), interval, len(others))


def _matrix(lists: pd.Series[Any]) -> Values:
    """Lists of one length as rows; (0, 2) where there is none: no cell, the cyclic and another."""
    return np.array(lists.to_list(), dtype=np.float64) if len(lists) else np.empty((0, 2))


def _over_cells(values: Values) -> Values:
    """Mean over cells of each column, undefined cells left out; NaN where there is none."""
    some = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.where(some, values, 0.0).sum(axis=0) / some.sum(axis=0)
