"""Tables 5 and 7 and the numbers of Sections 5.1 and 5.2: canonical margins, and the prior."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from optionbias.prior_alignment import aligned, cosines, partial_rank_correlation
from optionbias.resampling import (
    Estimate,
    block_weights,
    draw_weights,
    percentile_interval,
    spearman,
    weighted_median,
    weighted_spearman,
)
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

AUC = "canonical-order AUC, flipping against stable"
ESTIMATE = "estimate"
MEDIAN_AUC = "median AUC"
THIRDS = ("least", "middle", "most")
AUC_COLUMNS = ("auc_gap", "auc_entropy", "auc_stable_correct", "auc_stable_wrong")
VARIANTS = {
    "auc_gap": "All K answers",
    "auc_left_out": "Canonical answer left out",
    "auc_left_out_correct": "Left out; canonical answer correct",
    "auc_left_out_wrong": "Left out; canonical answer wrong",
    "auc_always_wrong": "All K answers; items wrong under every ordering",
    "auc_left_out_stratified": "Left out; stratified by own and peer accuracy",
}
TABLE_5_DRAWS = "table5/checkpoints/draws"
NO_BOTH = "no cell holds items of both kinds"
NO_STRATUM = "no stratum of a cell holds items of both kinds; it takes four checkpoints"
NO_DIRECTION = "no cell whose g and prior both differ from uniform"
NO_RANKS = "too few cells, or equal ranks"
CAPTION_5 = (
    "Canonical margins and the option-symbol prior, first-token cells. Top: AUC of the top-two gap "
    "(a smaller one marks flipping) or of the entropy under the canonical ordering, median over the "
    "cells that hold both kinds of items; thirds are of cells by accuracy. Bottom: partial Spearman "
    "correlation of the skew with the prior's SD given accuracy rank, and the median over cells of "
    "the cosine of g with the prior, each minus uniform; the prior is estimated on calibration "
    "items, skew and g are of the others. Intervals are 95% checkpoint-block intervals."
)
CAPTION_7 = (
    "AUC of the canonical top-two gap for flipping against stable items, median over the first-token "
    "cells with at least three options that hold both. Left out: an item flips if its other K-1 "
    "answers disagree. Last row: items compared only within strata of own canonical correctness and "
    "five bins of the other checkpoints' accuracy on the item, at least three of them. Intervals are "
    "95% checkpoint-block intervals."
)


def table5(inputs: Inputs) -> Table:
    """Table 5: AUCs of the canonical margin; the skew and g against PriDe's prior."""
    cells = _with_margins(inputs)
    weights = _blocks(cells, inputs, TABLE_5_DRAWS)
    gap, entropy, correct, wrong = (cells[c].to_numpy(dtype=np.float64) for c in AUC_COLUMNS)
    aucs = {"Top-two gap, all cells": gap}
    aucs |= {
        f"Top-two gap, {name} accurate third": np.where(third, gap, np.nan)
        for name, third in zip(THIRDS, accuracy_thirds(cells), strict=True)
    }
    aucs |= {
        "Entropy, all cells": entropy,
        "Top-two gap, flipping against stable-correct": correct,
        "Top-two gap, flipping against stable-wrong": wrong,
    }
    top = [_entry(row, AUC, _median(v, weights), NO_BOTH) for row, v in aucs.items()]

    frame = aligned(inputs.cells, inputs.read("priors"), "pride")
    plain, permuted = cosines(frame, inputs.seed)
    four = frame["K"].to_numpy(dtype=np.int64) == 4
    partial = partial_rank_correlation(frame, weights)
    bottom = [_entry("Partial Spearman, skew and std(prior)", ESTIMATE, partial, NO_RANKS)]
    for label, values in (("prior", plain), ("letter-permuted prior", permuted)):
        for group, members in (("all cells", values), ("K=4", np.where(four, values, np.nan))):
            row = f"Cosine of g and {label}, {group}"
            bottom.append(_entry(row, ESTIMATE, _median(members, weights), NO_DIRECTION))
    blocks = [Block("Canonical margin", top), Block("Prior", bottom)]
    note = inputs.few_checkpoints_note(cells["checkpoint"]) if len(cells) else ""
    return Table("5", CAPTION_5, blocks, {AUC: 3, ESTIMATE: 3}, corner="Statistic", note=note)


def table7(inputs: Inputs) -> Table:
    """Table 7: the gap's AUC with the canonical answer and accuracy taken out of the outcome."""
    cells = _with_margins(inputs)
    cells = cells[cells["K"] >= 3].reset_index(drop=True)
    weights = _blocks(cells, inputs, "table7/checkpoints/draws")
    entries = []
    for column, row in VARIANTS.items():
        why = NO_STRATUM if column == "auc_left_out_stratified" else NO_BOTH
        values = cells[column].to_numpy(dtype=np.float64)
        entries.append(_entry(row, MEDIAN_AUC, _median(values, weights), why))
    note = inputs.few_checkpoints_note(cells["checkpoint"]) if len(cells) else ""
    return Table("7", CAPTION_7, [Block("", entries)], {MEDIAN_AUC: 3}, corner="Outcome", note=note)


def text_5(inputs: Inputs) -> list[Block]:
    """The numbers of Sections 5.1 and 5.2, with the intervals of Tables 9 and 5."""
    cells = _with_margins(inputs)
    by_block = _blocks(cells, inputs, TABLE_5_DRAWS)
    by_cell = draw_weights(len(cells), inputs.draws, inputs.seed, "table9/cells/draws")
    flip_rate, accuracy, gap = (
        cells[c].to_numpy(dtype=np.float64) for c in ("flip_rate", "accuracy", "auc_gap")
    )
    correlation = Estimate(
        spearman(flip_rate, accuracy),
        percentile_interval(weighted_spearman(flip_rate, accuracy, by_cell)),
        len(cells),
    )
    auc = _median(gap, by_block)
    tracked = [
        _entry("all cells", "spearman(flip rate, accuracy)", correlation, NO_RANKS),
        _entry("all cells", "median AUC top-two gap, flipping vs stable", auc, NO_BOTH),
    ]
    frame = aligned(inputs.cells, inputs.read("priors"), "pride")
    four = frame["K"].to_numpy(dtype=np.int64) == 4
    leaning = [
        _entry(
            "K=4 cells",
            f"median centred cosine(g, {prior})",
            _median(np.where(four, values, np.nan), by_block),
            NO_DIRECTION,
        )
        for prior, values in zip(
            ("prior", "permuted prior"), cosines(frame, inputs.seed), strict=True
        )
    ]
    return [
        Block("5.1 Flips track accuracy and uncertainty", tracked, "text-5.1"),
        Block("5.2 The skew reflects option-symbol bias", leaning, "text-5.2"),
    ]


def accuracy_thirds(cells: pd.DataFrame) -> list[NDArray[np.bool_]]:
    """Masks of the least, middle and most accurate third of cells sorted by name.

    Equal thirds as `np.array_split` makes them: the first ones are one cell larger if need be.
    """
    order = np.argsort(cells["accuracy"].to_numpy(dtype=np.float64), kind="stable")
    return [np.isin(np.arange(len(cells)), third) for third in np.array_split(order, 3)]


def _with_margins(inputs: Inputs) -> pd.DataFrame:
    """The first-token cells with their AUCs beside them; NaN for cells without probabilities."""
    columns = ["checkpoint", "benchmark", *dict.fromkeys([*AUC_COLUMNS, *VARIANTS])]
    margins = inputs.read("margins")[columns].astype(
        {"checkpoint": "string", "benchmark": "string"}
    )
    return inputs.first_token.merge(margins, on=["checkpoint", "benchmark"], how="left")


def _blocks(cells: pd.DataFrame, inputs: Inputs, name: str) -> NDArray[np.int64]:
    return block_weights(cells["checkpoint"].tolist(), inputs.draws, inputs.seed, name)


def _median(values: NDArray[np.float64], weights: NDArray[np.int64]) -> Estimate:
    """Median over the cells where a statistic is defined, with its checkpoint-block interval."""
    defined = values[~np.isnan(values)]
    return Estimate(
        float(np.median(defined)) if len(defined) else float("nan"),
        percentile_interval(weighted_median(values, weights)),
        len(defined),
    )


def _entry(row: str, column: str, estimate: Estimate, why_undefined: str) -> Entry:
    if np.isnan(estimate.value):
        note = f"undefined: {why_undefined}"
        return Entry(row, column, estimate.value, n=estimate.n, note=note)
    return Entry.of(row, column, estimate)
