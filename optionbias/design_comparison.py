"""What other designs of orderings say against the cyclic one (Appendix E, Tables 17, 19 and 20).

Reads the rows of `designs`. Cells of different K are not pooled: those of four options are compared
where there are any. Correlations with accuracy use the accuracy under the same design.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.block_draws import BlockDraws, rank_correlation
from optionbias.design_evaluation import STATISTICS
from optionbias.resampling import Estimate, percentile_interval
from optionbias.variance_shares import shares_in_draws

PAPER_K = 4
LEAST_STD_B = 1e-12

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """The compared cells, sorted by checkpoint and benchmark, under every design.

    Attributes:
        k: their number of options.
        checkpoints: (cells,) the checkpoint of each.
        values: design -> statistic of `design_evaluation` -> (cells, sets or draws).
    """

    k: int
    checkpoints: list[str]
    values: dict[str, dict[str, Values]]

    @classmethod
    def of(cls, designs: pd.DataFrame) -> Comparison | None:
        """Gather the cells of one K: four, else the K of most cells (the least if several)."""
        if designs.empty:
            return None
        counts = designs["K"].value_counts().sort_index()
        k = (
            PAPER_K
            if PAPER_K in counts.index
            else int(counts.index.to_numpy()[counts.to_numpy().argmax()])
        )
        rows = designs[designs["K"] == k].sort_values(["checkpoint", "benchmark"], kind="stable")
        values = {
            str(design): {name: np.array(some[name].to_list(), dtype=float) for name in STATISTICS}
            for design, some in rows.groupby("design", sort=False)
        }
        one = rows[rows["design"] == "cyclic"]
        return cls(k, one["checkpoint"].astype(str).to_list(), values)

    @property
    def n(self) -> int:
        """How many cells are compared."""
        return len(self.checkpoints)

    def of_cells(self, design: str, statistic: str) -> Values:
        """A statistic per cell, the mean over the design's sets or draws."""
        return np.asarray(self.values[design][statistic].mean(axis=1))

    def correlations(self, design: str, statistic: str) -> Values:
        """Spearman correlation over cells with same-design accuracy, one per set or draw."""
        return np.array([rank_correlation(x, y) for x, y in self._with_accuracy(design, statistic)])

    def lead(self, design: str) -> Values:
        """Magnitude for the per-item SD minus that for the pooled SD, one per set or draw."""
        per_item, pooled = (
            np.abs(self.correlations(design, name)) for name in ("per_item_sd", "pooled_sd")
        )
        return np.asarray(per_item - pooled)

    def _with_accuracy(self, design: str, statistic: str) -> Iterator[tuple[Values, Values]]:
        found = self.values[design]
        return zip(found[statistic].T, found["accuracy"].T, strict=True)

    def in_draws(self, design: str, statistic: str, draws: BlockDraws) -> Values:
        """The correlation of a design of one set in every bootstrap draw."""
        found = self.values[design]
        return draws.spearman(found[statistic].T, found["accuracy"][:, 0])[0]

    def lead_in_draws(self, design: str, draws: BlockDraws) -> Values:
        """`lead` of a design of one set in every bootstrap draw."""
        per_item, pooled = (
            np.abs(self.in_draws(design, name, draws)) for name in ("per_item_sd", "pooled_sd")
        )
        return np.asarray(per_item - pooled)

    def relative_residuals(self, *designs: str) -> Values:
        """|std f - FL std g| / std f: each cell's median over the designs' sets and draws.

        Where std f = 0 a set or draw is left out; NaN for a cell with no other.
        """
        residual, pooled_sd = (
            np.concatenate([self.values[d][name] for d in designs], axis=1)
            for name in ("residual", "pooled_sd")
        )
        with np.errstate(invalid="ignore", divide="ignore"):
            relative = np.where(pooled_sd > 0, residual / pooled_sd, np.nan)
        return np.array([median(row) for row in relative])

    def residuals_over_bound(self, design: str) -> Values:
        """|std f - FL std g| / std(b) of every cell and draw with std(b) > 1e-12."""
        residual, std_b = (self.values[design][name] for name in ("residual", "std_b"))
        return np.asarray(residual[std_b > LEAST_STD_B] / std_b[std_b > LEAST_STD_B])

    def bound_holds(self) -> tuple[int, int]:
        """In how many designs of cells |std f - FL std g| <= std(b), and out of how many."""
        some = [
            found["residual"] <= found["std_b"] + LEAST_STD_B
            for design, found in self.values.items()
            if design != "expected"
        ]
        return sum(int(holds.sum()) for holds in some), sum(holds.size for holds in some)


@dataclass(frozen=True)
class SkewShares:
    """The skew's share of the variance of the log pooled SD, cyclic, over all K!, and their gap."""

    cyclic: Estimate
    all_orderings: Estimate
    gap: Estimate


def skew_shares(comparison: Comparison, draws: int, seed: int) -> SkewShares:
    """The shares on the cells with positive pooled SD under both designs; 95% checkpoint-block."""
    name = "text-E.3/checkpoints/draws"
    taken = BlockDraws.of(comparison.checkpoints, draws, seed, name)
    factors = np.array(
        [
            [
                comparison.values[design][factor][:, 0]
                for factor in ("flip_rate", "skew", "pooled_sd")
            ]
            for design in ("cyclic", "all")
        ]
    )
    both = (factors[:, 2] > 0).all(axis=0)
    logs = np.full(factors.shape, np.nan)
    logs[..., both] = np.log(factors[..., both])
    whole = BlockDraws.whole(comparison.n)
    values = [float(shares_in_draws(x.T, whole)[0, 1]) for x in logs]
    drawn = [shares_in_draws(x.T, taken)[:, 1] for x in logs]
    values.append(values[1] - values[0])
    drawn.append(drawn[1] - drawn[0])
    return SkewShares(
        *(
            Estimate(value, percentile_interval(some), int(both.sum()))
            for value, some in zip(values, drawn, strict=True)
        )
    )


def defined(values: Values) -> Values:
    """The values that are not NaN."""
    return np.asarray(values[~np.isnan(values)])


def mean(values: Values) -> float:
    """Mean of the defined values; NaN if there is none."""
    some = defined(values)
    return float(some.mean()) if len(some) else float("nan")


def median(values: Values) -> float:
    """Median of the defined values; NaN if there is none."""
    some = defined(values)
    return float(np.median(some)) if len(some) else float("nan")


def largest(values: Values) -> float:
    """Largest defined value; NaN if there is none."""
    some = defined(values)
    return float(some.max()) if len(some) else float("nan")
