"""Statistics and accuracy on disjoint items or disjoint orderings of one cell (C.4, Table 12).

A first-token cell gives each statistic on the four item folds left in each of five rotations, and
the accuracy on the fold left out. An all-orderings cell gives each statistic on the cyclic orderings,
the accuracy on the orderings that are not cyclic, and, to compare, on the cyclic ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from optionbias.analysis import Settings
from optionbias.cell import ScoringError
from optionbias.design import Design
from optionbias.factors import (
    cell_statistics,
    contents_of,
    flipping,
    histograms,
    kl_to_uniform,
    population_sd,
)
from optionbias.orderings import cyclic
from optionbias.seeds import generator
from optionbias.short_axis import last_sum
from optionbias.sweep import Sweep

FOLDS = 5
STATISTICS = (
    "flip_rate", "fluctuation_rate", "pairwise_disagreement", "choice_entropy", "per_item_kl",
    "per_item_sd", "kl", "pooled_sd",
)  # fmt: skip
# `kind` is "items" (lists of five, one entry a rotation) or "orderings" (lists of one).
# `accuracy` is on what the statistics do not read, `own_accuracy` on what they do read.
COLUMNS = ("checkpoint", "benchmark", "kind", "n_items", *STATISTICS, "accuracy", "own_accuracy")


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """One row per first-token and per all-orderings cell with at least two usable items.

    Raises:
        ScoringError: a sweep lacks a cyclic ordering.
    """
    rows = []
    for sweep in sweeps:
        if sweep.metadata["readout"] == "first-token":
            found = _item_folds(sweep, benchmark, settings.seed)
        else:
            found = _cyclic_against_others(sweep)
        if found is not None:
            key = {"checkpoint": str(sweep.metadata["checkpoint"]), "benchmark": benchmark}
            rows.append({**key, **found})
    return rows


def item_folds(n: int, seed: int, benchmark: str) -> NDArray[np.int64]:
    """The fold (0 to 4) of each of a benchmark's n items in order of id; sizes differ by at most one.

    Folds are of all items of the sweep, usable or not, so a cell's folds do not depend on which
    other cells exist.
    """
    folds = np.empty(n, dtype=np.int64)
    order = generator(seed, f"table12/folds/{benchmark}").permutation(n)
    folds[order] = np.arange(n) % FOLDS
    return folds


def _presented(sweep: Sweep) -> NDArray[np.int64]:
    """The columns of the cyclic orderings, in their order."""
    presented = sweep.index_of(cyclic(sweep.k))
    if (presented < 0).any():
        raise ScoringError(f"{sweep.source}: the sweep lacks a cyclic ordering")
    return presented


def _item_folds(sweep: Sweep, benchmark: str, seed: int) -> dict[str, Any] | None:
    """Statistics on the four folds left and accuracy on the fold left out, for five rotations.

    Every statistic is a function of sums over items, so all rotations come from one product of
    fold membership with the items' own terms.
    """
    k = sweep.k
    chosen = sweep.choice[:, _presented(sweep)]
    usable = (chosen >= 0).all(axis=1)
    if usable.sum() < 2:
        return None
    positions, gold = chosen[usable], sweep.gold[usable]
    member = np.zeros((FOLDS, len(gold)))
    member[item_folds(len(sweep.items), seed, benchmark)[usable], np.arange(len(gold))] = 1
    sums = member @ _item_terms(positions, gold, k)
    left = sums.sum(axis=0) - sums
    with np.errstate(invalid="ignore", divide="ignore"):
        means = left[:, 1:] / left[:, :1]
        # Position shares: K answers an item.
        f = means[:, 7:] / k
        accuracy = sums[:, 1] / (sums[:, 0] * k)
    defined = left[:, 0] > 0
    found = dict(zip(STATISTICS[:6], means[:, 1:7].T.tolist(), strict=True))
    # Whole answer pairs and not their share, so that equal counts are equal numbers.
    found["pairwise_disagreement"] = (means[:, 3] / (k * (k - 1))).tolist()
    found["kl"] = kl_to_uniform(f).tolist()
    found["pooled_sd"] = [
        population_sd(row) if some else np.nan for row, some in zip(f, defined, strict=True)
    ]
    own = (means[:, 0] / k).tolist()
    return {
        "kind": "items", "n_items": len(gold), **found, "accuracy": accuracy.tolist(),
        "own_accuracy": own,
    }  # fmt: skip


def _item_terms(positions: NDArray[np.int8], gold: NDArray[np.int8], k: int) -> NDArray[np.float64]:
    """What each item adds to the sums, (N, 8 + K).

    Columns: one, correct answers, flips, fluctuates, ordered pairs of answers that differ, entropy of
    contents, KL and SD of positions, then the answers at each position.
    """
    rotations = cyclic(k)
    design = Design.of(rotations)
    contents = contents_of(positions, rotations)
    by_content, by_position = histograms(contents, design), histograms(positions, design)
    # n log2 n of every count that an item can have.
    counts = np.arange(k + 1)
    count_bits = xlogy(counts, counts) / np.log(2)
    content_bits, position_bits = (
        last_sum(count_bits[h.astype(np.int64)]) for h in (by_content, by_position)
    )
    squares = last_sum(by_position * by_position)
    return np.column_stack(
        [
            np.ones(len(gold)),
            last_sum(contents == gold[:, None]),
            flipping(contents, design),
            contents[:, 0] != contents[:, k // 2],
            k * k - last_sum(by_content * by_content),
            np.log2(k) - content_bits / k,
            # sum f log2(K f) with f = n / K.
            position_bits / k,
            np.sqrt(squares / k - 1) / k,
            by_position,
        ]
    )


def _cyclic_against_others(sweep: Sweep) -> dict[str, Any] | None:
    """Statistics on the cyclic orderings of items answered under every ordering of the sweep."""
    rotations = cyclic(sweep.k)
    presented = _presented(sweep)
    others = [
        s for s in range(len(sweep.orderings)) if s not in presented and s not in sweep.repeats
    ]
    usable = (sweep.choice[:, [*presented, *others]] >= 0).all(axis=1)
    if usable.sum() < 2:
        return None
    choice, gold = sweep.choice[usable], sweep.gold[usable]
    statistics = cell_statistics(
        contents_of(choice[:, presented], rotations), gold, Design.of(rotations)
    )
    correct = contents_of(choice[:, others], sweep.orderings[others]) == gold[:, None]
    found = {name: [getattr(statistics, name)] for name in STATISTICS}
    accuracy = float(correct.sum() / correct.size) if correct.size else np.nan
    return {
        "kind": "orderings", "n_items": len(gold), **found, "accuracy": [accuracy],
        "own_accuracy": [statistics.accuracy],
    }  # fmt: skip
