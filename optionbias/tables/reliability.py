"""Table 9: how reliably the flip rate and the skew rank cells."""

from __future__ import annotations

from optionbias.reliability import over_cells, within_benchmarks
from optionbias.tables import names, undefined
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

FEW_CELLS = 30
CAPTION = (
    "Reliability over the first-token cells: Spearman correlation with accuracy (95% intervals that "
    "resample cells), and split-half Spearman correlation over random item halves, uncorrected and "
    "Spearman-Brown corrected. The last row is the median over benchmarks of the values within one "
    "benchmark, cells resampled within it."
)


def table9(inputs: Inputs) -> Table:
    """Table 9 from the uncorrected first-token cells and their random item halves."""
    cells, halves = inputs.first_token, inputs.halves
    arguments = (cells, halves)
    rows = {
        names.FLIP_RATE: over_cells(*arguments, "flip_rate", inputs.draws, inputs.seed),
        names.SKEW: over_cells(*arguments, "skew", inputs.draws, inputs.seed),
        f"{names.SKEW}, median within a benchmark": within_benchmarks(
            *arguments, "skew", inputs.draws, inputs.seed
        ),
    }
    entries = []
    for row, r in rows.items():
        low, high = r.interval.low, r.interval.high
        note = _undefined(r.with_accuracy) or r.interval.note
        entries += [
            Entry(row, names.SPEARMAN_ACCURACY, r.with_accuracy, low, high, n=r.n, note=note),
            Entry(row, names.SPLIT_HALF, r.split_half, n=r.n, note=_undefined(r.split_half)),
            Entry(
                row,
                names.SPEARMAN_BROWN,
                r.spearman_brown,
                n=r.n,
                note=_undefined(r.spearman_brown),
            ),
        ]
    decimals = dict.fromkeys((names.SPEARMAN_ACCURACY, names.SPLIT_HALF, names.SPEARMAN_BROWN), 3)
    few = f"rests on {len(cells)} cell{'s' * (len(cells) != 1)}" if len(cells) < FEW_CELLS else ""
    return Table("9", CAPTION, [Block("", entries)], decimals, corner="Statistic", note=few)


def _undefined(correlation: float) -> str:
    return undefined.why(correlation, undefined.CORRELATION)
