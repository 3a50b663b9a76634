"""What each operation does to the factors and harms, on the same cells (Table 2, Figure 5).

Reads the `comparison` rows of `scoring`: first-token cells with K >= 3, each operation on the
evaluation items usable under all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.resampling import (
    Estimate,
    block_weights,
    draw_weights,
    percentile_interval,
    weighted_mean,
)

FACTORS = ("flip_rate", "skew")
# One set of common cells per factor for these; PriDe then batch has its own; the vote has none.
COMMON = ("none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal")
COMMON_TWO_CORRECTIONS = ("none", "pride", "batch", "pride+batch")
LEVELS = ("placement_range", "accuracy", "stable_wrong")


@dataclass(frozen=True)
class Effects:
    """Per-cell effects of every operation, with the checkpoint-block weights they share.

    Attributes:
        cells: (checkpoint, benchmark) of each cell, sorted.
        values: statistic -> operation -> (cells,) value; `flip_rate` and `skew` hold log-changes
            from none on that factor's common cells (NaN elsewhere), the others levels
            (`level_flip_rate` the flip rate's).
        weights: (draws, cells) checkpoint-block weights.
        reversing: benchmark -> operation -> (C, C) matrix of reversing pairs.
        checkpoint_weights: (draws, checkpoints) the same draws, one column a checkpoint.
        members: benchmark -> indices of its checkpoints.
        levels: operation -> level, draws and pairs of `rank_reversals`, once they were asked for.
    """

    cells: list[tuple[str, str]]
    values: dict[str, dict[str, NDArray[np.float64]]]
    weights: NDArray[np.float64]
    reversing: dict[str, dict[str, NDArray[np.bool_]]]
    checkpoint_weights: NDArray[np.int64]
    members: dict[str, NDArray[np.int64]]
    levels: dict[str, tuple[float, NDArray[np.float64], int]] = field(default_factory=dict)

    def mean(self, statistic: str, operation: str, minus: str | None = None) -> Estimate:
        """Mean over cells of a statistic under an operation (paired difference if `minus`)."""
        values = self.values[statistic][operation]
        if minus is not None:
            values = values - self.values[statistic][minus]
        defined = values[~np.isnan(values)]
        return Estimate(
            float(defined.mean()) if len(defined) else float("nan"),
            percentile_interval(weighted_mean(values, self.weights)),
            len(defined),
        )

    def log_change(self, factor: str, operation: str, minus: str | None = None) -> Estimate:
        """Mean log-change of a factor from none; `minus` gives the paired difference of two."""
        label = f"{factor}/two corrections" if "pride+batch" in (operation, minus) else factor
        return self.mean(label, operation, minus)

    def rank_reversals(self, operation: str, minus: str | None = None) -> Estimate:
        """Share of checkpoint pairs that reverse, pooled over benchmarks; n is the pairs.

        In a draw, pair (i, j) has weight w_i w_j and copies of one checkpoint make no pair.
        """
        level, draws, pairs = self._reversal_level(operation)
        if minus is not None:
            other, other_draws, _ = self._reversal_level(minus)
            level, draws = level - other, draws - other_draws
        return Estimate(level, percentile_interval(draws), pairs)

    def _reversal_level(self, operation: str) -> tuple[float, NDArray[np.float64], int]:
        if operation not in self.levels:
            self.levels[operation] = self._weighted_level(operation)
        return self.levels[operation]

    def _weighted_level(self, operation: str) -> tuple[float, NDArray[np.float64], int]:
        reversing_draws = pair_draws = np.zeros(len(self.checkpoint_weights))
        reversing = pairs = 0
        for benchmark, members in self.members.items():
            matrix = self.reversing[benchmark][operation]
            w = self.checkpoint_weights[:, members].astype(np.float64)
            reversing += int(np.triu(matrix, 1).sum())
            pairs += len(members) * (len(members) - 1) // 2
            reversing_draws = reversing_draws + ((w @ matrix) * w).sum(axis=1) / 2
            pair_draws = pair_draws + (w.sum(axis=1) ** 2 - (w * w).sum(axis=1)) / 2
        with np.errstate(invalid="ignore", divide="ignore"):
            draws = reversing_draws / pair_draws
        return reversing / pairs if pairs else float("nan"), draws, pairs


def reversing_pairs(correct: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which pairs of checkpoints reverse: the sign of their difference takes both signs.

    Args:
        correct: (C, M) correct answers of each checkpoint under each presented ordering.

    Returns:
        (C, C), symmetric.
    """
    difference = correct[:, None, :] - correct[None, :, :]
    return np.asarray((difference > 0).any(axis=-1) & (difference < 0).any(axis=-1))


def operation_effects(comparison: pd.DataFrame, draws: int, seed: int) -> Effects | None:
    """Gather the effects of every operation; None where no cell has reversed queries."""
    if comparison.empty:
        return None
    frame = comparison.sort_values(["checkpoint", "benchmark"], kind="stable")
    pivots = {
        s: frame.pivot(index=["checkpoint", "benchmark"], columns="operation", values=s)
        for s in (*FACTORS, *LEVELS)
    }
    cells = list(pivots["flip_rate"].index)
    values: dict[str, dict[str, NDArray[np.float64]]] = {}
    for factor in FACTORS:
        for label, group in (
            (factor, COMMON),
            (f"{factor}/two corrections", COMMON_TWO_CORRECTIONS),
        ):
            values[label] = _log_changes(pivots[factor], group)
    for level in (*LEVELS, "flip_rate"):
        values[level if level in LEVELS else f"level_{level}"] = {
            str(op): pivots[level][op].to_numpy(dtype=np.float64) for op in pivots[level]
        }
    checkpoints = sorted({c for c, _ in cells})
    name = "table2/checkpoints/draws"
    reversing, members = _reversals(frame, checkpoints)
    return Effects(
        cells,
        values,
        block_weights([c for c, _ in cells], draws, seed, name).astype(np.float64),
        reversing,
        draw_weights(len(checkpoints), draws, seed, name),
        members,
    )


def _log_changes(pivot: pd.DataFrame, group: Sequence[str]) -> dict[str, NDArray[np.float64]]:
    """Log-change from none on the cells where the factor is positive under the whole group."""
    factor = pivot[list(group)].to_numpy(dtype=np.float64)
    common = (factor > 0).all(axis=1)
    logs = np.full(factor.shape, np.nan)
    logs[common] = np.log(factor[common])
    base = logs[:, [list(group).index("none")]]
    return {op: logs[:, i] - base[:, 0] for i, op in enumerate(group)}


def _reversals(
    frame: pd.DataFrame, checkpoints: list[str]
) -> tuple[dict[str, dict[str, NDArray[np.bool_]]], dict[str, NDArray[np.int64]]]:
    reversing: dict[str, dict[str, NDArray[np.bool_]]] = {}
    members: dict[str, NDArray[np.int64]] = {}
    for benchmark, rows in frame.groupby("benchmark", sort=True):
        if (rows["n_shared"] == 0).any():
            continue  # checkpoints that share no item cannot be compared
        names = sorted(rows["checkpoint"].unique())
        members[str(benchmark)] = np.array([checkpoints.index(n) for n in names])
        reversing[str(benchmark)] = {}
        for operation, group in rows.groupby("operation"):
            correct = np.array(group.sort_values("checkpoint")["shared_correct"].to_list())
            reversing[str(benchmark)][str(operation)] = reversing_pairs(correct)
    return reversing, members
