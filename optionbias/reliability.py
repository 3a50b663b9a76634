"""How reliably the factors rank cells (Table 9): correlation with accuracy, random item halves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.resampling import (
    Interval,
    draw_weights,
    percentile_interval,
    spearman,
    spearman_brown,
    weighted_spearman,
)


@dataclass(frozen=True)
class Reliability:
    """One row of Table 9; `n` is the cells, or the benchmarks in the within-benchmark row."""

    with_accuracy: float
    interval: Interval
    split_half: float
    spearman_brown: float
    n: int


def split_half(halves: pd.DataFrame, factor: str) -> float:
    """Mean over repetitions of the Spearman correlation over cells of the two halves' values.

    A cell whose factor is undefined in a half is left out of that repetition.
    """
    values = [
        spearman(rows[f"{factor}_a"].to_numpy(), rows[f"{factor}_b"].to_numpy())
        for _, rows in halves.groupby("repetition")
    ]
    defined = [v for v in values if not np.isnan(v)]
    return float(np.mean(defined)) if defined else float("nan")


def over_cells(
    cells: pd.DataFrame, halves: pd.DataFrame, factor: str, draws: int, seed: int
) -> Reliability:
    """A factor over all first-token cells, the cell as the resampling unit."""
    frame = cells.sort_values(["checkpoint", "benchmark"], kind="stable")
    x, y = frame[factor].to_numpy(dtype=float), frame["accuracy"].to_numpy(dtype=float)
    weights = draw_weights(len(frame), draws, seed, "table9/cells/draws")
    half = split_half(halves, factor)
    return Reliability(
        spearman(x, y),
        percentile_interval(weighted_spearman(x, y, weights)),
        half,
        spearman_brown(half),
        int((~np.isnan(x)).sum()),
    )


def within_benchmarks(
    cells: pd.DataFrame, halves: pd.DataFrame, factor: str, draws: int, seed: int
) -> Reliability:
    """Median over benchmarks of each within-benchmark value, cells resampled within a benchmark."""
    values: list[tuple[float, float, float]] = []
    draws_by_benchmark: list[NDArray[np.float64]] = []
    for benchmark, rows in cells.groupby("benchmark", sort=True):
        frame = rows.sort_values("checkpoint", kind="stable")
        x, y = frame[factor].to_numpy(dtype=float), frame["accuracy"].to_numpy(dtype=float)
        weights = draw_weights(len(frame), draws, seed, f"table9/cells/{benchmark}/draws")
        draws_by_benchmark.append(weighted_spearman(x, y, weights))
        half = split_half(halves[halves["benchmark"] == benchmark], factor)
        values.append((spearman(x, y), half, spearman_brown(half)))
    if not values:
        return Reliability(float("nan"), percentile_interval([]), float("nan"), float("nan"), 0)
    table = np.array(values)
    stacked = np.array(draws_by_benchmark)
    some = ~np.isnan(stacked).all(axis=0)
    medians = np.full(stacked.shape[1], np.nan)
    medians[some] = np.nanmedian(stacked[:, some], axis=0)
    middle = [float(np.nanmedian(c)) if not np.isnan(c).all() else float("nan") for c in table.T]
    return Reliability(middle[0], percentile_interval(medians), middle[1], middle[2], len(table))
