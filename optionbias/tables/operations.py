"""Table 2 and the prose of Section 6: what the operations do to the factors and the harms left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import isnan, nan

import numpy as np
import pandas as pd

from optionbias.operation_effects import COMMON_TWO_CORRECTIONS, Effects, operation_effects
from optionbias.resampling import Estimate, block_weights, percentile_interval, weighted_mean
from optionbias.tables import names
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

PAIRS = (
    ("reversal", "pride"),
    ("reversal", "batch"),
    ("pride+reversal", "pride"),
    ("pride+reversal", "reversal"),
    ("batch+reversal", "batch"),
    ("batch+reversal", "reversal"),
    ("pride+batch", "pride"),
    ("pride+batch", "batch"),
)
CAPTION = (
    "Operations on the cells with at least three options, on shared held-out items. Top: mean "
    "log-changes of the factors from the baseline, placement range and rank reversals as levels, "
    "and changes in accuracy and stable-wrong share. Bottom: paired differences. Intervals are 95% "
    "checkpoint-block intervals."
)
# How the prose of Section 6 calls them.
BALANCED_RSTD_OF = {"none": "baseline", "pride": "PriDe", "reversal": "reversal product"}
CORRECTIONS = {
    "pride": "PriDe",
    "batch": "batch calibration",
    "pride+batch": "PriDe then batch",
}
FACTORS = {"flip_rate": names.D_LOG_FLIP_RATE, "skew": names.D_LOG_SKEW}


def table2(inputs: Inputs) -> Table:
    """Table 2 from the `comparison` rows of every first-token cell with K >= 3."""
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    if effects is None:
        note = "no first-token cell with at least three options and reversed orderings"
        return Table(
            "2", CAPTION, [Block("", [Entry("Baseline", names.D_LOG_FLIP_RATE, None, note=note)])]
        )
    few = inputs.few_checkpoints_note({c for c, _ in effects.cells})
    top = [
        entry
        for operation in names.OPERATION_NAMES
        for entry in _row(names.OPERATION_NAMES[operation], effects, operation, None)
    ]
    bottom = [
        entry
        for operation, minus in PAIRS
        for entry in _row(
            f"{names.OPERATION_NAMES[operation]} minus {names.OPERATION_NAMES[minus]}",
            effects, operation, minus,
        )
    ]  # fmt: skip
    decimals = dict.fromkeys(
        (names.PLACEMENT_RANGE, names.RANK_REVERSALS, names.D_ACCURACY, names.D_STABLE_WRONG), 1
    )
    blocks = [Block("Operations", top), Block("Paired differences", bottom)]
    return Table("2", CAPTION, blocks, decimals, corner="Operation", note=few)


def _row(row: str, effects: Effects, operation: str, minus: str | None) -> list[Entry]:
    # Changes are from the baseline, so the baseline's own are zero and need no subtraction there.
    from_baseline = minus if minus is not None else "none"
    columns: list[tuple[str, str, float, Callable[[], Estimate]]] = [
        (names.D_LOG_FLIP_RATE, "", 1, lambda: effects.log_change("flip_rate", operation, minus)),
        (names.D_LOG_SKEW, "", 1, lambda: effects.log_change("skew", operation, minus)),
        (
            names.PLACEMENT_RANGE,
            "pp",
            100,
            lambda: effects.mean("placement_range", operation, minus),
        ),
        (names.RANK_REVERSALS, "% of pairs", 100, lambda: effects.rank_reversals(operation, minus)),
        (names.D_ACCURACY, "pp", 100, lambda: effects.mean("accuracy", operation, from_baseline)),
        (
            names.D_STABLE_WRONG,
            "pp",
            100,
            lambda: effects.mean("stable_wrong", operation, from_baseline),
        ),
    ]
    entries = []
    for column, unit, scale, estimate in columns:
        if operation == "vote" and column in (names.D_LOG_FLIP_RATE, names.D_LOG_SKEW):
            entries.append(Entry(row, column, None, unit=unit, note=""))
            continue
        entry = Entry.of(row, column, estimate(), unit, scale)
        if operation == "none" and column.startswith("d"):
            entry = replace(entry, ci_low=nan, ci_high=nan)  # zero by definition
        entries.append(entry)
    return entries


def text_6(inputs: Inputs) -> Block:
    """Section 6: balanced RStd alone, and the corrections alone on all first-token cells.

    Both on the evaluation items of `cells`; the second with two-option cells and log-changes on
    the cells where the statistic is positive under none, PriDe, batch and PriDe then batch.
    """
    cells = inputs.cells
    rows = cells[(cells["readout"] == "first-token") & (cells["subset"] == "evaluation")]
    mirrored = _complete(rows[rows["K"] >= 3], "balanced_rstd", tuple(BALANCED_RSTD_OF))
    # The draws of Table 2, and of Table 6 below: the same cells have the same intervals there.
    draws = "table2/checkpoints/draws"
    entries = [
        _or_note(
            "K>=3 cells",
            f"balanced RStd, {called}",
            _block_mean(mirrored[operation], inputs, draws),
            "no cell with at least three options and reversed orderings",
        )
        for operation, called in BALANCED_RSTD_OF.items()
    ]
    draws = "table6/checkpoints/draws"
    for statistic, called in FACTORS.items():
        changes = _log_changes(rows, statistic)
        for operation, correction in CORRECTIONS.items():
            estimate = _block_mean(changes[operation], inputs, draws)
            entries.append(_or_note("all first-token cells", f"{called}, {correction}", estimate))
    pooled = _log_changes(rows, "pooled_sd")
    estimate = _block_mean(pooled["pride+batch"] - pooled["batch"], inputs, draws)
    column = "dlog pooled SD, PriDe then batch minus batch calibration"
    entries.append(_or_note("all first-token cells", column, estimate))
    return Block("Section 6", entries, table="text-6")


def _complete(rows: pd.DataFrame, statistic: str, operations: tuple[str, ...]) -> pd.DataFrame:
    """A statistic of the cells (rows, sorted) on which all of `operations` (columns) ran."""
    cell = ["checkpoint", "benchmark"]
    ran = rows[rows["operation"].isin(operations)]
    everywhere = ran.groupby(cell)["operation"].transform("size") == len(operations)
    pivot = ran[everywhere].pivot(index=cell, columns="operation", values=statistic)
    return pivot.reindex(columns=list(operations)).astype(np.float64)


def _log_changes(rows: pd.DataFrame, statistic: str) -> pd.DataFrame:
    """Log-changes from none of a statistic on its common cells; NaN elsewhere."""
    values = _complete(rows, statistic, COMMON_TWO_CORRECTIONS)
    logs = values.where((values > 0).all(axis=1)).transform(np.log)
    return logs.sub(logs["none"], axis=0)


def _block_mean(values: pd.Series[float], inputs: Inputs, draws: str) -> Estimate:
    """Mean over cells with its checkpoint-block interval under `draws`; NaN left out."""
    defined = values.dropna()
    if defined.empty:
        return Estimate(nan, percentile_interval([]), 0)
    checkpoints = values.index.get_level_values("checkpoint").tolist()
    weights = block_weights(checkpoints, inputs.draws, inputs.seed, draws)
    interval = percentile_interval(weighted_mean(values.to_numpy(), weights))
    return Estimate(float(defined.mean()), interval, len(defined))


def _or_note(row: str, column: str, e: Estimate, note: str = "no common cell") -> Entry:
    return Entry(row, column, None, n=0, note=note) if isnan(e.value) else Entry.of(row, column, e)
