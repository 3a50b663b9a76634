"""Mean effects of prior correction over cells, by strength and prior (Table 6, Figure 4, D.1, D.2).

Reads the rows of the analysis `strengths`: every first-token cell on its evaluation items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from optionbias.resampling import Estimate, block_weights, percentile_interval
from optionbias.strengths import ALPHAS, BATCH_VARIANTS

FACTORS = ("flip_rate", "skew")
PRIORS = ("estimated", "permuted", "difference")


@dataclass(frozen=True)
class StrengthEffects:
    """Changes of each cell from no correction.

    Attributes:
        checkpoints: the checkpoint of each cell, cells sorted by checkpoint and benchmark.
        changes: (statistic, prior of PRIORS) -> (cells, alphas); log-changes of a factor on the
            common cells of that factor and strength (NaN elsewhere), changes of the accuracy on
            all cells. `permuted` is the mean over a cell's permutations, `difference` estimated
            minus permuted.
        variants: factor -> (cells, BATCH_VARIANTS) log-changes on the cells where the factor is
            positive before and after every one of them.
        weights: (draws, cells) checkpoint-block weights.
    """

    checkpoints: list[str]
    changes: dict[tuple[str, str], NDArray[np.float64]]
    variants: dict[str, NDArray[np.float64]]
    weights: NDArray[np.int64]

    def by_strength(self, statistic: str, prior: str) -> dict[float, Estimate]:
        """Mean change at every strength of ALPHAS."""
        means = mean_estimates(self.changes[statistic, prior], self.weights)
        return dict(zip(ALPHAS, means, strict=True))

    def by_variant(self, factor: str) -> dict[str, Estimate]:
        """Mean log-change of a factor under every batch calibration of BATCH_VARIANTS."""
        means = mean_estimates(self.variants[factor], self.weights)
        return dict(zip(BATCH_VARIANTS, means, strict=True))


def strength_effects(rows: pd.DataFrame, draws: int, seed: int) -> StrengthEffects | None:
    """Gather the effects of every strength and prior; None where there is no cell."""
    if rows.empty:
        return None
    frame = rows.sort_values(["checkpoint", "benchmark"], kind="stable")
    changes: dict[tuple[str, str], NDArray[np.float64]] = {}
    for statistic in (*FACTORS, "accuracy"):
        pairs = [
            _changes(estimated, permuted, statistic != "accuracy")
            for estimated, permuted in zip(
                frame[f"estimated_{statistic}"], frame[f"permuted_{statistic}"], strict=True
            )
        ]
        estimated, permuted = (np.array(side) for side in zip(*pairs, strict=True))
        changes[statistic, "estimated"] = estimated
        changes[statistic, "permuted"] = permuted
        changes[statistic, "difference"] = estimated - permuted
    variants = {}
    for factor in FACTORS:
        # Lists of undefined skews alone come back from a file as lists of None: read as NaN.
        before = [[values[0]] for values in frame[f"estimated_{factor}"]]
        after = frame[f"batch_{factor}"].tolist()
        both = np.hstack([np.array(before, dtype=np.float64), np.array(after, dtype=np.float64)])
        variants[factor] = _log_changes(both)[:, 1:]
    checkpoints = frame["checkpoint"].tolist()
    weights = block_weights(checkpoints, draws, seed, "table6/checkpoints/draws")
    return StrengthEffects(checkpoints, changes, variants, weights)


def _changes(
    estimated: ArrayLike, permuted: ArrayLike, is_factor: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A cell's changes under the estimated prior and, averaged, under its permutations (alphas,).

    At every strength the cell is common, or both changes of a factor are NaN.
    """
    values = np.column_stack(
        [
            np.asarray(estimated, dtype=np.float64),
            np.asarray(permuted, dtype=np.float64).reshape(len(ALPHAS), -1),
        ]
    )
    before = np.full((len(values), 1), values[0, 0])
    changes = _log_changes(np.hstack([before, values]))[:, 1:] if is_factor else values - before
    return changes[:, 0], changes[:, 1:].mean(axis=1)


def _log_changes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-changes of each row from its first entry; NaN in rows that hold a non-positive entry."""
    logs = np.full(values.shape, np.nan)
    common = (values > 0).all(axis=1)
    logs[common] = np.log(values[common])
    return logs - logs[:, :1]


def mean_estimates(values: NDArray[np.float64], weights: ArrayLike) -> list[Estimate]:
    """Mean of each column with its interval; NaN (cells that do not count) are left out.

    Args:
        values: (cells, columns).
        weights: (draws, cells), shared by all columns.
    """
    counts = ~np.isnan(values)
    filled = np.where(counts, values, 0.0)
    w = np.asarray(weights, dtype=np.float64)
    n = counts.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = filled.sum(axis=0) / n
        draws = (w @ filled) / (w @ counts.astype(np.float64))
    return [
        Estimate(float(mean), percentile_interval(column), int(size))
        for mean, column, size in zip(means, draws.T, n, strict=True)
    ]
