"""Comparisons in which a pooled statistic moves opposite to the flip rate (Section D.5, Table 16)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from optionbias.resampling import spearman

# Means of logarithms that differ by no more are equal but for rounding. Flip rates and pooled SDs are
# computed from whole numbers, so equal ones are equal exactly.
ROUNDING = 1e-12
LEAST_SIZES = 3


@dataclass(frozen=True)
class Share:
    """A share of comparisons, NaN where there are none, and how many there are."""

    value: float
    n: int

    @classmethod
    def of(cls, which: ArrayLike) -> Share:
        """The share of true entries."""
        chosen = np.asarray(which, dtype=bool)
        return cls(float(chosen.mean()) if chosen.size else float("nan"), chosen.size)


def moves_opposite(x: ArrayLike, y: ArrayLike) -> NDArray[np.bool_]:
    """Where two changes differ in sign; a change that is zero or undefined is not opposite."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    return ((a > 0) & (b < 0)) | ((a < 0) & (b > 0))


def change(changes: pd.DataFrame, statistic: str) -> NDArray[np.float64]:
    """The change of a statistic in rows of `changes`; the per-item KL's is zero where it is rounding."""
    ends = [changes[f"{statistic}_{end}"].to_numpy(dtype=np.float64) for end in ("from", "to")]
    difference: NDArray[np.float64] = ends[1] - ends[0]
    if statistic == "per_item_kl":
        difference[np.abs(difference) <= ROUNDING] = 0.0
    return difference


def opposite(changes: pd.DataFrame, statistic: str) -> NDArray[np.bool_]:
    """Which rows of `changes` move a statistic opposite to the flip rate."""
    return moves_opposite(change(changes, "flip_rate"), change(changes, statistic))


def both_resolved(changes: pd.DataFrame) -> NDArray[np.bool_]:
    """Which rows of `changes` have intervals of flip rate and pooled SD that exclude zero."""
    return np.logical_and(
        changes["flip_rate_resolved"].to_numpy(dtype=bool),
        changes["pooled_sd_resolved"].to_numpy(dtype=bool),
    )


def checkpoint_pairs(changes: pd.DataFrame) -> pd.DataFrame:
    """Every pair of checkpoints on a benchmark."""
    return changes[changes["kind"] == "pair"]


def corrected_cells(changes: pd.DataFrame) -> pd.DataFrame:
    """Every cell before and after PriDe."""
    return changes[changes["kind"] == "pride"]


def post_training_pairs(changes: pd.DataFrame, cohort: Mapping[str, Any]) -> pd.DataFrame:
    """Base checkpoints against their releases on a benchmark, from the base to the release.

    Rows of `changes` whose `checkpoint` is the base and `other` its release, sorted by release and
    benchmark.
    """
    pairs = checkpoint_pairs(changes)
    bases = {c["name"]: c["base"] for c in cohort["checkpoints"] if c.get("base")}
    base_of_other = pairs["other"].map(bases) == pairs["checkpoint"]
    base_of_first = pairs["checkpoint"].map(bases) == pairs["other"]
    both = pd.concat([pairs[base_of_other], reverse(pairs[base_of_first])])
    return both.sort_values(["other", "benchmark"], kind="stable", ignore_index=True)


def reverse(changes: pd.DataFrame) -> pd.DataFrame:
    """The same changes in the other direction."""
    turned = changes.copy()
    turned[["checkpoint", "other"]] = changes[["other", "checkpoint"]].to_numpy()
    for statistic in ("flip_rate", "pooled_sd", "per_item_kl"):
        turned[f"{statistic}_from"] = changes[f"{statistic}_to"]
        turned[f"{statistic}_to"] = changes[f"{statistic}_from"]
        if f"{statistic}_low" in changes:
            turned[f"{statistic}_low"] = -changes[f"{statistic}_high"]
            turned[f"{statistic}_high"] = -changes[f"{statistic}_low"]
    return turned


def scale_trends(cells: pd.DataFrame, cohort: Mapping[str, Any]) -> pd.DataFrame:
    """Rank correlations with the parameter count within a scale group, training and benchmark.

    A group needs three different sizes or more. Values that differ by rounding alone tie.

    Args:
        cells: uncorrected first-token cells on all items.
        cohort: its checkpoints say `params_b`, `training`, and `scale_group` or `family`.

    Returns:
        Columns group, training, benchmark, checkpoints, flip_rate, pooled_sd, per_item_kl (each
        the Spearman correlation, NaN where undefined).
    """
    statistics = ["flip_rate", "pooled_sd", "per_item_kl"]
    about = pd.DataFrame(
        [
            {
                "checkpoint": c["name"],
                "group": c.get("scale_group", c["family"]),
                "training": c["training"],
                "size": float(c["params_b"]),
            }
            for c in cohort["checkpoints"]
            if "params_b" in c
        ],
        columns=["checkpoint", "group", "training", "size"],
    )
    joined = cells.astype({"checkpoint": object}).merge(about, on="checkpoint")
    rows = []
    for key, members in joined.groupby(["group", "training", "benchmark"], sort=True):
        if members["size"].nunique() < LEAST_SIZES:
            continue
        row = dict(zip(("group", "training", "benchmark"), key, strict=True))
        row["checkpoints"] = len(members)
        for statistic in statistics:
            values = members[statistic].to_numpy(dtype=np.float64).round(12)
            row[statistic] = spearman(values, members["size"].to_numpy(dtype=np.float64))
        rows.append(row)
    return pd.DataFrame(
        rows, columns=["group", "training", "benchmark", "checkpoints", *statistics]
    )


def log_change(changes: pd.DataFrame, statistic: str) -> NDArray[np.float64]:
    """The change of a factor's natural logarithm, NaN where it is zero on either side."""
    ends = [changes[f"{statistic}_{end}"].to_numpy(dtype=np.float64) for end in ("from", "to")]
    logs = [np.log(np.where(end > 0, end, np.nan)) for end in ends]
    return logs[1] - logs[0]


def flip_rate_share(changes: pd.DataFrame) -> NDArray[np.float64]:
    """The flip rate's share of the log change of the pooled SD; the skew's is one minus it.

    By the pooling identity, log std(f) = log FL + log std(g). NaN where a logarithm is undefined or
    the pooled SD does not change.
    """
    whole = log_change(changes, "pooled_sd")
    share: NDArray[np.float64] = np.divide(
        log_change(changes, "flip_rate"), whole, where=whole != 0, out=np.full(len(whole), np.nan)
    )
    return share


def median(values: ArrayLike) -> float:
    """Median of the defined values, NaN without any."""
    x = np.asarray(values, dtype=np.float64)
    return float(np.median(x[~np.isnan(x)])) if (~np.isnan(x)).any() else float("nan")
