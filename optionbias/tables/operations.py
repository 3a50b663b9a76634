"""Table 2: what the operations do to the factors and to the harms they leave."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import nan

from optionbias.operation_effects import Effects, operation_effects
from optionbias.resampling import Estimate
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
