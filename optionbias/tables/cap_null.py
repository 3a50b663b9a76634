"""Table 11: the flip rate's correlation with accuracy against what its cap alone would give."""

from __future__ import annotations

from math import isnan

import pandas as pd

from optionbias.block_draws import BlockDraws
from optionbias.nulls import STRATA, CapNull, cap_null, stratum
from optionbias.resampling import Estimate, percentile_interval
from optionbias.tables import undefined
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

OBSERVED, NULL_MEDIAN, P, CELLS = "observed spearman", "null median", "P", "cells"
SPEARMAN = "spearman"
LEVEL = 0.975
CAPTION = (
    "The cap null. The scaled flip rate is FL / min(1, K(1 - A)); the null permutes it across the cells of "
    "one option count, and within one cap subset for the rows where the cap binds (is below one) and "
    "where it equals one, multiplies it by each cell's own cap, and correlates that with accuracy. Null "
    "ranges are 2.5th to 97.5th percentiles; P is the share of permutations, with a plus-one correction, "
    "whose correlation reaches the observed one in magnitude. Bottom: the scaled flip rate's own "
    "correlation with accuracy, 97.5% intervals that resample checkpoints. Cells whose answers are all "
    "correct have no scaled flip rate and are left out."
)


def cap_nulls(inputs: Inputs) -> dict[tuple[int, str], CapNull]:
    """(K, stratum) -> its cap null, over the first-token cells; as many permutations as draws."""
    cells = inputs.first_token
    return {
        (k, name): cap_null(
            stratum(cells, k, name),
            inputs.draws,
            inputs.seed,
            f"table11/permutations/K={k}, {name}",
        )
        for k in sorted(int(k) for k in cells["K"].unique())
        for name in STRATA
    }


def table11(inputs: Inputs) -> Table:
    """Table 11 from the uncorrected first-token cells."""
    cells = inputs.first_token
    top = [
        entry
        for (k, name), null in cap_nulls(inputs).items()
        for entry in _null(f"K={k}, {name}", null)
    ]
    groups = {"all cells": cells}
    groups |= {f"K={k}": cells[cells["K"] == k] for k in sorted(cells["K"].unique())}
    bottom = [_scaled(inputs, label, rows) for label, rows in groups.items()]
    blocks = [Block("Cap null", top)] if top else []
    blocks.append(Block("Scaled flip rate", bottom))
    decimals = {OBSERVED: 3, NULL_MEDIAN: 3, P: 4, CELLS: 0, SPEARMAN: 3}
    return Table("11", CAPTION, blocks, decimals, corner="Cells")


def _null(row: str, null: CapNull) -> list[Entry]:
    reason = "no such cell" if null.n == 0 else undefined.why(null.observed, undefined.CORRELATION)
    interval = null.interval
    ranged = "" if isnan(null.median) else "null 95% range"
    missing = "" if isnan(null.median) else interval.note.replace("draws", "permutations")
    notes = [reason, ranged, missing]
    return [
        Entry(row, OBSERVED, null.observed, n=null.n, note=reason),
        Entry(
            row,
            NULL_MEDIAN,
            null.median,
            interval.low,
            interval.high,
            n=null.n,
            note="; ".join(filter(None, notes)),
        ),
        Entry(row, P, null.p, n=null.n, note=reason),
        Entry(row, CELLS, null.n),
    ]


def _scaled(inputs: Inputs, label: str, cells: pd.DataFrame) -> Entry:
    """Correlation of the scaled flip rate with accuracy over some cells."""
    blocks = cells["checkpoint"].to_list()
    draws = BlockDraws.of(blocks, inputs.draws, inputs.seed, "table11/checkpoints/draws")
    scaled, accuracy = (
        cells[name].to_numpy(dtype=float) for name in ("scaled_flip_rate", "accuracy")
    )
    value = BlockDraws.whole(len(cells)).spearman(scaled[None], accuracy)[0, 0]
    interval = percentile_interval(draws.spearman(scaled[None], accuracy)[0], LEVEL)
    estimate = Estimate(float(value), interval, int(cells["scaled_flip_rate"].notna().sum()))
    few = inputs.few_checkpoints_note(blocks)
    notes = [undefined.why(estimate.value, undefined.CORRELATION), few, "97.5% interval"]
    row = f"scaled flip rate and accuracy, {label}"
    return Entry.of(row, SPEARMAN, estimate, note="; ".join(filter(None, notes)))
