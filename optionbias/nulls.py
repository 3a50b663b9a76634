"""The cap null: could the flip rate follow accuracy only because accuracy caps it? (C.4, Table 11)

A cell's flip rate is at most its cap min(1, K(1 - A)) (Equation 3). The null permutes the scaled
flip rates FL / cap across cells of one option count (or one cap subset of it); each, times the cap
of the cell it lands on, is a flip rate that is feasible there. The permuted flip rates are correlated
with accuracy as the observed ones are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from optionbias.block_draws import TIED_WITHIN, Vector, rank_correlation, tied
from optionbias.resampling import Interval, percentile_interval
from optionbias.seeds import generator

STRATA = ("all", "binding", "cap equal to one")
REACHES = 1e-12
AT_ONCE = 1000


@dataclass(frozen=True)
class CapNull:
    """The observed correlation against its null.

    Attributes:
        observed: Spearman correlation of flip rate and accuracy.
        median: of the null.
        interval: central 95% of the null.
        p: (1 + permutations whose |r| reaches the observed) / (1 + permutations).
        n: cells.
    """

    observed: float
    median: float
    interval: Interval
    p: float
    n: int


def stratum(cells: pd.DataFrame, k: int, name: str) -> pd.DataFrame:
    """The cells of one option count, or those of them whose cap binds or equals one.

    Cells whose cap is zero (every answer correct) have no scaled flip rate and belong to none.
    """
    rows = cells[(cells["K"] == k) & cells["scaled_flip_rate"].notna()]
    # The cap binds where K (1 - A) < 1, by more than the rounding of A.
    binds = rows["flip_cap"].to_numpy(dtype=np.float64) < 1 - TIED_WITHIN
    kept = {"all": np.ones(len(rows), dtype=bool), "binding": binds, "cap equal to one": ~binds}
    return rows[kept[name]].reset_index(drop=True)


def cap_null(cells: pd.DataFrame, permutations: int, seed: int, name: str) -> CapNull:
    """Test the cells of one stratum, sorted by checkpoint and benchmark, against the cap null."""
    flip_rate, scaled, cap, accuracy = (
        cells[column].to_numpy(dtype=np.float64)
        for column in ("flip_rate", "scaled_flip_rate", "flip_cap", "accuracy")
    )
    observed = rank_correlation(flip_rate, accuracy)
    null = permuted_correlations(scaled, cap, accuracy, permutations, seed, name)
    interval = percentile_interval(null)
    defined = null[~np.isnan(null)]
    median = float(np.median(defined)) if len(defined) else float("nan")
    p = permutation_p(observed, defined) if len(defined) else float("nan")
    return CapNull(observed, median, interval, p, len(cells))


def permutation_p(observed: float, null: ArrayLike) -> float:
    """(1 + #{|r_perm| >= |r_obs| - 1e-12}) / (1 + permutations); NaN where r_obs is undefined."""
    r = np.abs(np.asarray(null, dtype=np.float64))
    if np.isnan(observed):
        return float("nan")
    return float((1 + (r >= abs(observed) - REACHES).sum()) / (1 + len(r)))


def permuted_correlations(
    scaled: Vector, cap: Vector, accuracy: Vector, permutations: int, seed: int, name: str
) -> Vector:
    """Spearman correlation with accuracy of permuted scaled flip rates times each cell's own cap.

    Args:
        scaled: (n,) scaled flip rates.
        cap: (n,) caps.
        accuracy: (n,) accuracies.
        permutations: how many.
        seed: the configured seed.
        name: the name of the permutations' stream.

    Returns:
        (permutations,), NaN where ranks are constant.
    """
    n = len(scaled)
    if n == 0:
        return np.full(permutations, np.nan)
    orders = generator(seed, name).permuted(np.tile(np.arange(n), (permutations, 1)), axis=1)
    (accuracy_ranks,), _ = _sorted_ranks(tied(accuracy)[None])
    by_cell = np.empty(n)
    by_cell[np.argsort(tied(accuracy), kind="stable")] = accuracy_ranks - (n + 1) / 2
    out = np.empty(permutations)
    for start in range(0, permutations, AT_ONCE):
        flip_rates = scaled[orders[start : start + AT_ONCE]] * cap
        ranks, order = _sorted_ranks(flip_rates)
        ranks -= (n + 1) / 2
        xy = np.einsum("pn,pn->p", ranks, by_cell[order])
        xx = np.einsum("pn,pn->p", ranks, ranks)
        square = xx * (by_cell @ by_cell)
        with np.errstate(invalid="ignore", divide="ignore"):
            r = np.clip(xy / np.sqrt(square), -1, 1)
        out[start : start + AT_ONCE] = np.where(square > 0, r, np.nan)
    return out


def _sorted_ranks(rows: Vector) -> tuple[Vector, NDArray[np.int64]]:
    """Average ranks of each row (p, n) in ascending order, and the order; values within 1e-12 tie.

    A product of a scaled flip rate and a cap may equal another but for its last digit.
    """
    order = np.argsort(rows, axis=1)
    ordered = np.take_along_axis(rows, order, axis=1)
    place = np.broadcast_to(np.arange(rows.shape[1]), rows.shape)
    starts = np.ones(rows.shape, dtype=bool)
    starts[:, 1:] = np.diff(ordered, axis=1) > TIED_WITHIN
    ends = np.ones(rows.shape, dtype=bool)
    ends[:, :-1] = starts[:, 1:]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    last = np.where(ends, place, rows.shape[1])
    last = np.minimum.accumulate(last[:, ::-1], axis=1)[:, ::-1]
    return (first + last) / 2 + 1, order
