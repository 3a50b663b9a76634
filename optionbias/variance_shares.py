"""How the two factors share the variance of the log pooled SD across cells (C.2, Table 8).

On cells with positive pooled SD the identity gives log std(f) = log FL + log std(g), so

    var(log std f) = var(log FL) + var(log std g) + 2 cov(log FL, log std g),

natural logs and population moments over the same cells. A share is a term over the left side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from optionbias.block_draws import BlockDraws, Vector
from optionbias.resampling import Estimate, percentile_interval

LEVEL = 0.975
# The logs of equal pooled SDs may differ in their last digits: no share of such a variance.
LEAST_VARIANCE = 1e-12


@dataclass(frozen=True)
class Shares:
    """The three shares, which sum to one."""

    flip_rate: Estimate
    skew: Estimate
    covariance: Estimate


def log_factors(cells: pd.DataFrame) -> Vector:
    """Logs of flip rate, skew and pooled SD, (cells, 3); NaN on cells without positive pooled SD."""
    values = cells[["flip_rate", "skew", "pooled_sd"]].to_numpy(dtype=np.float64)
    logs = np.full(values.shape, np.nan)
    positive = values[:, 2] > 0
    logs[positive] = np.log(values[positive])
    return logs


def shares_in_draws(logs: Vector, draws: BlockDraws) -> Vector:
    """Shares of the flip rate, the skew and twice their covariance, (draws, 3).

    Args:
        logs: (n, 3) as `log_factors` gives them; rows of NaN are left out.
        draws: draws of the n cells.

    Returns:
        NaN in draws whose log pooled SD does not vary.
    """
    keep = np.asarray(~np.isnan(logs).any(axis=1))
    x, y, s = (logs[keep] - logs[keep].mean(axis=0)).T if keep.any() else np.empty((3, 0))
    moments = np.column_stack([np.ones_like(x), x, y, s, x * x, y * y, x * y, s * s])
    sums = draws.take(keep).sums(moments)
    with np.errstate(invalid="ignore", divide="ignore"):
        mx, my, ms, xx, yy, xy, ss = (sums[:, 1:] / sums[:, :1]).T
        terms = np.column_stack([xx - mx * mx, yy - my * my, 2 * (xy - mx * my)])
        total = ss - ms * ms
        return np.where((total > LEAST_VARIANCE)[:, None], terms / total[:, None], np.nan)


def variance_shares(cells: pd.DataFrame, draws: BlockDraws) -> Shares:
    """The shares over some cells, with 97.5% intervals over `draws`; n is the cells that count."""
    logs = log_factors(cells)
    values = shares_in_draws(logs, BlockDraws.whole(len(logs)))[0]
    drawn = shares_in_draws(logs, draws)
    n = int((~np.isnan(logs[:, 2])).sum())
    return Shares(
        *(
            Estimate(float(value), percentile_interval(column, LEVEL), n)
            for value, column in zip(values, drawn.T, strict=True)
        )
    )


def skew_share(cells: pd.DataFrame) -> float:
    """The skew's share over some cells, NaN where it is undefined."""
    logs = log_factors(cells)
    return float(shares_in_draws(logs, BlockDraws.whole(len(logs)))[0, 1])


def skew_and_accuracy(cells: pd.DataFrame, draws: BlockDraws) -> Estimate:
    """Spearman correlation of the skew with accuracy, 95% interval; n is the cells with a skew."""
    skew = cells["skew"].to_numpy(dtype=np.float64)
    accuracy = cells["accuracy"].to_numpy(dtype=np.float64)
    value = BlockDraws.whole(len(skew)).spearman(skew[None], accuracy)[0, 0]
    drawn = draws.spearman(skew[None], accuracy)[0]
    return Estimate(float(value), percentile_interval(drawn), int((~np.isnan(skew)).sum()))
