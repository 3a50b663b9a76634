"""Table 10: the mean letter profile, a second prior, against the skew."""

from __future__ import annotations

from math import isnan

from optionbias.prior_alignment import aligned, partial_rank_correlation, rank_correlation
from optionbias.resampling import draw_weights
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

FEW_CELLS = 30
UNDEFINED = "undefined: too few cells, or equal ranks"
ROWS = ("Prior and skew, Spearman", "Prior and skew, given accuracy")
CAPTION = (
    "The SD over letters of the mean letter profile of a cell's calibration items against the skew "
    "of its other items, first-token cells: Spearman correlation, and the partial one given accuracy "
    "rank, over all cells and by option count. Intervals are 95% and resample the cells of their "
    "column."
)


def table10(inputs: Inputs) -> Table:
    """Table 10 from the batch-calibration prior, which is the mean letter profile."""
    frame = aligned(inputs.cells, inputs.read("priors"), "batch")
    groups = {"All": (frame, "table10/cells/draws")}
    for k, rows in frame.groupby("K", sort=True):
        groups[f"K={k}"] = (rows, f"table10/cells/K{k}/draws")
    entries: list[list[Entry]] = [[], []]
    for column, (rows, name) in groups.items():
        weights = draw_weights(len(rows), inputs.draws, inputs.seed, name)
        estimates = rank_correlation(rows, weights), partial_rank_correlation(rows, weights)
        for found, row, estimate in zip(entries, ROWS, estimates, strict=True):
            if isnan(estimate.value):
                found.append(Entry(row, column, estimate.value, n=estimate.n, note=UNDEFINED))
            else:
                found.append(Entry.of(row, column, estimate))
    n = len(frame)
    few = f"rests on {n} cell{'s' * (n != 1)}" if n < FEW_CELLS else ""
    return Table(
        "10",
        CAPTION,
        [Block("", [*entries[0], *entries[1]])],
        dict.fromkeys(groups, 3),
        corner="Statistic",
        note=few,
    )
