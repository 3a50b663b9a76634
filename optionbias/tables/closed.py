"""Table 13 and the numbers of Sections C.2 and C.5: closed models, and uneven position choice."""

from __future__ import annotations

import math

import pandas as pd

from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table
from optionbias.uniformity import LEVEL, holm, p_values

STATISTICS = {
    "accuracy": "accuracy",
    "flip rate": "flip_rate",
    "skew": "skew",
    "pooled SD": "pooled_sd",
}
REPEAT = "repeat disagreement"
REORDER = "reorder disagreement"
DIFFERENCE = "reorder minus repeat"
UNIFORMITY = "uniformity P after Holm"
CLOSED = "closed models"
EXCLUDES_ZERO = "models whose reorder minus repeat interval excludes zero"
NO_CELL = "no closed model was asked"
NOT_REPEATED = "no ordering was asked twice"
NEVER_FLIPS = "undefined: no item flips"
CAPTION = (
    "Closed models under the cyclic orderings, one-letter reply. Repeat disagreement compares two "
    "calls on ordering 0, reorder disagreement ordering 0 with each other ordering, averaged; their "
    "difference has a 95% item-bootstrap interval. The last column tests uniform position choice, "
    "Holm-adjusted over the closed cells."
)


def table13(inputs: Inputs) -> Table:
    """Table 13 from the closed cells and their repeated ordering."""
    cells, asked = _closed(inputs), inputs.read("closed")
    adjusted = holm(p_values(cells))
    repeats = {(r["checkpoint"], r["benchmark"]): r for r in asked.to_dict("records")}
    titles = {b["name"]: b.get("title", b["name"]) for b in inputs.cohort["benchmarks"]}
    several = cells["benchmark"].nunique() > 1
    entries = []
    for cell, p in zip(cells.to_dict("records"), adjusted, strict=True):
        row = cell["checkpoint"]
        if several:
            row = f"{row}, {titles[cell['benchmark']]}"
        n = int(cell["n_items"])
        for column, name in STATISTICS.items():
            note = NEVER_FLIPS if math.isnan(cell[name]) else ""
            entries.append(Entry(row, column, cell[name], n=n, note=note))
        found = repeats.get((cell["checkpoint"], cell["benchmark"]))
        if found is None:
            entries += [
                Entry(row, column, None, note=NOT_REPEATED)
                for column in (REPEAT, REORDER, DIFFERENCE)
            ]
        else:
            n_asked = int(found["n_items"])
            low, high = found["difference_low"], found["difference_high"]
            entries += [
                Entry(row, REPEAT, found["repeat_disagreement"], n=n_asked),
                Entry(row, REORDER, found["reorder_disagreement"], n=n_asked),
                Entry(row, DIFFERENCE, found["difference"], low, high, n=n_asked),
            ]
        entries.append(Entry(row, UNIFORMITY, float(p), n=n))
    excludes = asked[(asked["difference_low"] > 0) | (asked["difference_high"] < 0)]
    models = asked["checkpoint"].nunique()
    note = "" if models else NO_CELL if cells.empty else NOT_REPEATED
    summary = Entry(
        CLOSED,
        EXCLUDES_ZERO,
        excludes["checkpoint"].nunique() if models else None,
        n=models,
        note=note,
    )
    blocks = [Block("", entries), Block("Over the models", [summary])]
    digits = {**dict.fromkeys([*STATISTICS, REPEAT, REORDER, DIFFERENCE, UNIFORMITY], 3)}
    digits |= {"pooled SD": 4, EXCLUDES_ZERO: 0}
    shown = [block for block in blocks if block.entries]
    return Table("13", CAPTION, shown, digits, corner="Model")


def text_c2(inputs: Inputs) -> list[Block]:
    """Sections C.2 and C.5: where the test of uniform position choice rejects, after Holm."""
    cells = inputs.first_token
    rejected = holm(p_values(cells)) <= LEVEL
    share = Entry(
        "first-token cells",
        "uniform position choice rejected after Holm",
        100 * float(rejected.mean()) if len(cells) else None,
        unit="%",
        n=len(cells),
        note="" if len(cells) else "no first-token cell",
    )
    closed = _closed(inputs)
    skewed = closed[holm(p_values(closed)) <= LEVEL]
    models = closed["checkpoint"].nunique()
    detected = Entry(
        CLOSED,
        "models with a detected positional skew",
        skewed["checkpoint"].nunique() if models else None,
        n=models,
        note="" if models else NO_CELL,
    )
    return [
        Block("C.2 Variation and reliability of the factors", [share], table="text-C.2"),
        Block("C.5 Closed models", [detected], table="text-C.5"),
    ]


def _closed(inputs: Inputs) -> pd.DataFrame:
    """The closed models' cells on all items, sorted by checkpoint and benchmark."""
    c = inputs.cells
    rows = c[(c["readout"] == "closed") & (c["design"] == "cyclic") & (c["subset"] == "all")]
    rows = rows[rows["operation"] == "none"]
    return rows.sort_values(["checkpoint", "benchmark"], kind="stable").reset_index(drop=True)
