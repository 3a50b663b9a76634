"""Changes of the bias statistics between two cells, and which of them items resolve (Section D.5).

Two kinds of change: between two checkpoints on a benchmark, on the items that both answered under
every cyclic ordering, and of one cell when PriDe is applied, on its evaluation items with the prior
held fixed. A change is resolved when its 95% item-bootstrap interval excludes zero; items are
resampled jointly for both sides of a change.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.cell import ScoredCell, answer_cell
from optionbias.design import Design
from optionbias.factors import contents_of, flipping, histograms, kl_to_uniform
from optionbias.item_draws import central_interval, resampled_totals
from optionbias.operations import normalised
from optionbias.priors import pride_prior
from optionbias.shifted_choices import shifted_choices
from optionbias.sweep import Sweep

# `kind` is `pair` (from `checkpoint` to `other`, the names in order) or `pride` (from `checkpoint`
# uncorrected to corrected; `other` is empty).
COLUMNS = (
    "benchmark", "kind", "checkpoint", "other", "n_items",
    "flip_rate_from", "flip_rate_to", "flip_rate_low", "flip_rate_high", "flip_rate_resolved",
    "pooled_sd_from", "pooled_sd_to", "pooled_sd_low", "pooled_sd_high", "pooled_sd_resolved",
    "per_item_kl_from", "per_item_kl_to",
)  # fmt: skip
# Pairs whose draws are held at once.
PAIRS = 16


@dataclass(frozen=True)
class Patterns:
    """What the items of a cell contribute under one operation.

    Attributes:
        flips: (N,) whether the item flips over the cyclic orderings.
        counts: (N, K) how many of its K answers are at each position.
    """

    flips: NDArray[np.bool_]
    counts: NDArray[np.int8]

    @classmethod
    def of(cls, positions: NDArray[np.int64], orderings: NDArray[np.int64]) -> Patterns:
        """The patterns of chosen positions (N, K) under the cyclic orderings."""
        design = Design(orderings)
        flips = flipping(contents_of(positions, orderings), design)
        return cls(flips, histograms(positions, design).astype(np.int8))

    def take(self, rows: NDArray[np.int64] | NDArray[np.bool_]) -> Patterns:
        """The patterns of some items."""
        return Patterns(self.flips[rows], self.counts[rows])


@dataclass(frozen=True)
class Factors:
    """Statistics of several cells on the same N items, and their item-bootstrap draws.

    Attributes:
        n: items.
        flips: (C,) flipping items.
        pooled_sd: (C,) pooled SD.
        per_item_kl: (C,) mean over items of KL(f_q || unif), in bits.
        drawn_flips: (C, draws) flipping items in each draw.
        drawn_pooled_sd: (C, draws) pooled SD in each draw.
    """

    n: int
    flips: NDArray[np.int32]
    pooled_sd: NDArray[np.float64]
    per_item_kl: NDArray[np.float64]
    drawn_flips: NDArray[np.int32]
    drawn_pooled_sd: NDArray[np.float64]


def analyse(
    benchmark: str, sweeps: Iterable[Sweep], settings: Settings
) -> list[dict[Hashable, Any]]:
    """Every checkpoint pair of a benchmark and every cell's change under PriDe.

    Cells with one usable item are left out, and cells without log-probabilities have no PriDe.
    """
    items: dict[str, tuple[str, ...]] = {}
    answered: dict[str, Patterns] = {}
    corrected: dict[tuple[str, ...], dict[str, tuple[Patterns, Patterns]]] = {}
    for sweep in sweeps:
        # Log-probabilities are read below, at a fraction of what renormalising all of them costs.
        cell = answer_cell(replace(sweep, logp=None), benchmark, settings.seed, ("none",))
        if cell is None:
            continue
        checkpoint, pi = str(sweep.metadata["checkpoint"]), cell.queries.orderings
        patterns = Patterns.of(cell.answers["none"].positions, pi)
        items[checkpoint], answered[checkpoint] = tuple(cell.items), patterns
        if sweep.logp is not None:
            evaluation = ~cell.calibration
            after = Patterns.of(_pride_positions(sweep, cell), pi)
            group = corrected.setdefault(tuple(cell.items[evaluation]), {})
            group[checkpoint] = patterns.take(evaluation), after
    rows = _pair_rows(benchmark, items, answered, settings)
    for sides in corrected.values():
        names = sorted(sides)
        # Draws are named by the benchmark and not by the cell: cells with the same items share
        # them, and a cell's interval does not depend on which other cells there are.
        name = f"table16/evaluation-items/{benchmark}/draws"
        cells = [side for checkpoint in names for side in sides[checkpoint]]
        factors = drawn_factors(cells, settings.draws, settings.seed, name)
        before = 2 * np.arange(len(names))
        key = {"benchmark": benchmark, "kind": "pride", "checkpoint": names, "other": ""}
        rows += _rows(key, factors, before, before + 1)
    return rows


def _pride_positions(sweep: Sweep, cell: ScoredCell) -> NDArray[np.int64]:
    """The positions that a cell's evaluation items choose once PriDe's prior is divided out."""
    presented = sweep.index_of(cell.queries.orderings)
    usable = (sweep.choice[:, presented] >= 0).all(axis=1)
    assert sweep.logp is not None
    logp = sweep.logp[usable][:, presented]
    prior = pride_prior(normalised(logp[cell.calibration]))
    positions, _ = shifted_choices(logp[~cell.calibration], np.log(prior)[None])
    return positions[0].T.astype(np.int64)


def _pair_rows(
    benchmark: str,
    items: dict[str, tuple[str, ...]],
    answered: dict[str, Patterns],
    settings: Settings,
) -> list[dict[Hashable, Any]]:
    """Every pair of checkpoints (in the order of their names) on the items that both answered.

    Pairs with the same items share one set of draws.
    """
    shared: dict[Hashable, tuple[str, ...]] = {}
    pairs: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    number = {group: i for i, group in enumerate(dict.fromkeys(items.values()))}
    belongs = {checkpoint: number[group] for checkpoint, group in items.items()}
    for a, b in combinations(sorted(items), 2):
        sets = frozenset((belongs[a], belongs[b]))
        if sets not in shared:
            inside = set(items[b])
            shared[sets] = tuple(item for item in items[a] if item in inside)
        pairs.setdefault(shared[sets], []).append((a, b))
    rows = []
    for common, members in pairs.items():
        names = sorted({checkpoint for pair in members for checkpoint in pair})
        cells = [_restricted(answered[c], items[c], common) for c in names]
        name = f"table16/items/{benchmark}/draws"
        factors = drawn_factors(cells, settings.draws, settings.seed, name)
        first, second = (np.array([names.index(pair[i]) for pair in members]) for i in (0, 1))
        key = {
            "benchmark": benchmark, "kind": "pair",
            "checkpoint": [a for a, _ in members], "other": [b for _, b in members],
        }  # fmt: skip
        rows += _rows(key, factors, first, second)
    return rows


def _restricted(patterns: Patterns, items: tuple[str, ...], common: tuple[str, ...]) -> Patterns:
    if len(items) == len(common):
        return patterns
    inside = set(common)
    return patterns.take(np.array([item in inside for item in items], dtype=bool))


def drawn_factors(cells: Sequence[Patterns], draws: int, seed: int, name: str) -> Factors:
    """Statistics of cells on the same items, and in each draw of those items by `name`.

    All undefined (and no draw) where there is no item.
    """
    n, k = cells[0].counts.shape
    if n == 0:
        nothing, drawn = np.full(len(cells), np.nan), np.full((len(cells), draws), np.nan)
        none = np.zeros(len(cells), dtype=np.int32)
        return Factors(0, none, nothing, nothing, np.zeros(drawn.shape, dtype=np.int32), drawn)
    # The answers at the last position are what the others leave of N K.
    features = [np.column_stack([cell.flips, cell.counts[:, :-1]]) for cell in cells]
    totals = resampled_totals(np.column_stack(features), draws, seed, name)
    totals = totals.reshape(len(cells), k, draws)
    counts = np.array([cell.counts.sum(axis=0, dtype=np.int64) for cell in cells])
    return Factors(
        n,
        np.array([cell.flips.sum() for cell in cells], dtype=np.int32),
        pooled_sd(counts[:, :-1, None], n, k)[:, 0],
        np.array([kl_to_uniform(cell.counts / k).mean() for cell in cells]),
        totals[:, 0].astype(np.int32),
        # Cell by cell, so that the squares of one are held at a time.
        np.concatenate([pooled_sd(cell[None, 1:], n, k) for cell in totals]),
    )


def pooled_sd(counts: NDArray[Any], n: int, k: int) -> NDArray[np.float64]:
    """std(f) from how many of the N K answers are at each position but the last.

    With T = N K answers, K^2 T^2 var(f) = K sum c_r^2 - T^2 is a whole number that float64 holds
    exactly, so cells with equal pooled SDs differ by exactly zero, whatever the order of letters.

    Args:
        counts: (..., K-1, draws) whole numbers.
        n: items.
        k: options.

    Returns:
        (..., draws).
    """
    total = n * k
    squares = np.zeros((*counts.shape[:-2], counts.shape[-1]))
    last = np.full(squares.shape, float(total))
    for position in range(k - 1):
        count = counts[..., position, :].astype(np.float64)
        squares += count * count
        last -= count
    squares += last * last
    sd: NDArray[np.float64] = np.sqrt(k * squares - float(total) ** 2) / (k * total)
    return sd


def _rows(
    key: dict[str, Any], factors: Factors, first: NDArray[np.int64], second: NDArray[np.int64]
) -> list[dict[Hashable, Any]]:
    """Rows of the changes from cells `first` to cells `second`, given by their indices."""
    # Without an item nothing is defined, and nothing resolved.
    n = np.float64(factors.n or np.nan)
    flips_low, flips_high = _intervals(factors.drawn_flips, first, second)
    columns: dict[str, Any] = {**key, "n_items": factors.n}
    for statistic, value, low, high in (
        ("flip_rate", factors.flips / n, flips_low / n, flips_high / n),
        ("pooled_sd", factors.pooled_sd, *_intervals(factors.drawn_pooled_sd, first, second)),
    ):
        columns[f"{statistic}_from"], columns[f"{statistic}_to"] = value[first], value[second]
        columns[f"{statistic}_low"], columns[f"{statistic}_high"] = low, high
        columns[f"{statistic}_resolved"] = (low > 0) | (high < 0)
    kl = factors.per_item_kl
    columns["per_item_kl_from"], columns["per_item_kl_to"] = kl[first], kl[second]
    return pd.DataFrame(columns).to_dict("records")


def _intervals(
    drawn: NDArray[np.float64] | NDArray[np.int32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Ends of the 95% intervals of the changes, a few pairs' draws at a time."""
    ends = [
        central_interval(drawn[second[i : i + PAIRS]] - drawn[first[i : i + PAIRS]])
        for i in range(0, len(first), PAIRS)
    ]
    low, high = (np.concatenate([end[side] for end in ends]) for side in (0, 1))
    return low, high
