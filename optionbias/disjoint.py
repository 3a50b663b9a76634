"""Does the flip rate follow accuracy that is measured on something else? (C.4, Table 12)

Each scope correlates every statistic with accuracy on items, benchmarks or orderings that the
statistic does not read. A correlation may be a mean over rotations (item folds) or benchmarks; one
that is undefined in a rotation or benchmark is left out of the mean. All statistics of a scope share the
checkpoint-block draws.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.block_draws import BlockDraws, Vector, mean_of_defined
from optionbias.folds import STATISTICS
from optionbias.resampling import Estimate, percentile_interval
from optionbias.simultaneous import simultaneous_intervals

# (more item by item, more pooled): magnitude gaps |r_s(a)| - |r_s(b)|.
PER_ITEM_GAPS = (("per_item_kl", "kl"), ("per_item_sd", "pooled_sd"))
FLIP_RATE_GAPS = (("flip_rate", "kl"), ("flip_rate", "pooled_sd"))

# Which of a scope's cells take part (a mask), their statistics (v, cells), and the accuracy.
_Rotation = tuple[NDArray[np.bool_], Vector, Vector]


@dataclass(frozen=True)
class Scope:
    """Correlations with accuracy measured on one kind of disjoint data.

    Attributes:
        correlations: statistic -> Spearman correlation, 95% interval; n is the cells.
        gaps: (a, b) -> |r_s(a)| - |r_s(b)|, intervals simultaneous over the scope's gaps.
        checkpoints: the checkpoints that are resampled.
    """

    correlations: dict[str, Estimate]
    gaps: dict[tuple[str, str], Estimate]
    checkpoints: list[str]


def item_disjoint(folds: pd.DataFrame, draws: int, seed: int) -> Scope:
    """First-token cells, statistics on four item folds and accuracy on the fifth, mean of five rotations."""
    cells = _sorted(folds[folds["kind"] == "items"])
    rotations = [_rotation(cells, "accuracy", turn) for turn in range(_turns(cells))]
    return _scope(cells, rotations, PER_ITEM_GAPS, draws, seed)


def ordering_disjoint(folds: pd.DataFrame, draws: int, seed: int) -> Scope:
    """All-orderings cells, statistics on the cyclic orderings and accuracy on the others."""
    cells = _sorted(folds[folds["kind"] == "orderings"])
    return _scope(cells, [_rotation(cells, "accuracy", 0)], PER_ITEM_GAPS, draws, seed)


def own_orderings(folds: pd.DataFrame, draws: int, seed: int) -> Scope:
    """The same cells, statistics and accuracy on the same cyclic orderings."""
    cells = _sorted(folds[folds["kind"] == "orderings"])
    return _scope(cells, [_rotation(cells, "own_accuracy", 0)], PER_ITEM_GAPS, draws, seed)


def benchmark_disjoint(cells: pd.DataFrame, draws: int, seed: int) -> Scope:
    """Each benchmark run on every checkpoint against the mean accuracy on the others.

    Args:
        cells: uncorrected first-token cells.
        draws: bootstrap draws.
        seed: the configured seed.

    Returns:
        Correlations over checkpoints within a benchmark, averaged over benchmarks. Undefined with
        fewer than two such benchmarks.
    """
    accuracy = cells.pivot(index="checkpoint", columns="benchmark", values="accuracy").sort_index()
    accuracy = accuracy.dropna(axis=1).astype(np.float64)
    used = _sorted(cells[cells["benchmark"].isin(accuracy.columns)])
    rotations = []
    for benchmark in accuracy.columns if accuracy.shape[1] > 1 else []:
        # One row a checkpoint, sorted as the rows of `accuracy` are.
        rows = (used["benchmark"] == benchmark).to_numpy()
        values = used.loc[rows, list(STATISTICS)].to_numpy(dtype=np.float64).T
        others = accuracy.drop(columns=benchmark).mean(axis=1).to_numpy()
        rotations.append((rows, values, others))
    return _scope(used, rotations, FLIP_RATE_GAPS, draws, seed)


def _sorted(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.sort_values(["checkpoint", "benchmark"], kind="stable").reset_index(drop=True)


def _turns(cells: pd.DataFrame) -> int:
    return len(cells["accuracy"].iloc[0]) if len(cells) else 0


def _rotation(cells: pd.DataFrame, accuracy: str, turn: int) -> _Rotation:
    """One entry of the lists that a `folds` row holds."""
    taken = np.array(
        [[row[turn] for row in cells[name]] for name in (*STATISTICS, accuracy)], dtype=np.float64
    ).reshape(len(STATISTICS) + 1, len(cells))
    return np.ones(len(cells), dtype=bool), taken[:-1], taken[-1]


def _scope(
    cells: pd.DataFrame,
    rotations: list[_Rotation],
    pairs: tuple[tuple[str, str], ...],
    draws: int,
    seed: int,
) -> Scope:
    checkpoints = cells["checkpoint"].astype(str).to_list()
    drawn_blocks = BlockDraws.of(checkpoints, draws, seed, "table12/checkpoints/draws")
    whole = BlockDraws.whole(len(cells))
    values = _mean_correlations(rotations, whole)[:, 0]
    drawn = _mean_correlations(rotations, drawn_blocks)
    n = len(cells) if rotations else 0
    correlations = {
        name: Estimate(float(value), percentile_interval(row), n)
        for name, value, row in zip(STATISTICS, values, drawn, strict=True)
    }
    place = STATISTICS.index
    sizes, drawn_sizes = np.abs(values), np.abs(drawn)
    gaps = [float(sizes[place(a)] - sizes[place(b)]) for a, b in pairs]
    drawn_gaps = np.array([drawn_sizes[place(a)] - drawn_sizes[place(b)] for a, b in pairs]).T
    intervals = simultaneous_intervals(gaps, drawn_gaps)
    return Scope(
        correlations,
        {
            pair: Estimate(gap, interval, n)
            for pair, gap, interval in zip(pairs, gaps, intervals, strict=True)
        },
        sorted(set(checkpoints)),
    )


def _mean_correlations(rotations: list[_Rotation], draws: BlockDraws) -> Vector:
    """Mean over rotations of every statistic's correlation in every draw, (statistics, draws)."""
    if not rotations:
        return np.full((len(STATISTICS), len(draws.weights)), np.nan)
    return mean_of_defined(
        np.array([draws.take(rows).spearman(xs, y) for rows, xs, y in rotations])
    )
