"""The noise floor: flip rates beside the answers that change when nothing but the reading does."""

from __future__ import annotations

import pandas as pd

from optionbias.tables.inputs import Inputs
from optionbias.tables.names import READOUT_NAMES
from optionbias.tables.table import Block, Entry, Table

FLIP_RATE = "flip rate"
NEAR_TIES = "near ties"
CHANGE = ", largest change"
HOW = {
    "alone": "pass of its own",
    "float32": "float32",
    "bfloat16": "bfloat16",
    "vllm": "vLLM",
}
NOTHING = "no first-token cell was read again"
CAPTION = (
    "The noise floor. A sample of each cell is read again with nothing changed but the batch (every prompt "
    "in a pass of its own), the dtype or the backend: the share of answers that differ (repeat "
    "disagreement) and the largest change of a log-probability, beside the flip rate of all items. Near "
    "ties are queries of the whole cell whose two largest log-probabilities are closer than the largest "
    "change of that gap in a pass of its own."
)


def table_noise(inputs: Inputs) -> Table:
    """The table `noise`: a row a cell that was read again."""
    rereads, cells = inputs.read("noise"), inputs.cells
    plain = cells[
        (cells["design"] == "cyclic") & (cells["operation"] == "none") & (cells["subset"] == "all")
    ]
    key = ["checkpoint", "benchmark", "readout"]
    by_cell = {tuple(r[k] for k in key): r for r in plain.to_dict("records")}
    titles = {b["name"]: b.get("title", b["name"]) for b in inputs.cohort["benchmarks"]}
    entries = []
    for (checkpoint, benchmark, readout), again in rereads.groupby(key, sort=True):
        name = f"{checkpoint}, {titles[benchmark]}, {READOUT_NAMES[str(readout)]}"
        cell = by_cell.get((checkpoint, benchmark, readout))
        if cell is not None:
            entries.append(Entry(name, FLIP_RATE, cell["flip_rate"], n=int(cell["n_items"])))
        for r in again.to_dict("records"):
            how, n = HOW[r["variant"]], int(r["n_queries"])
            entries.append(Entry(name, how, r["repeat_disagreement"], n=n))
            entries.append(Entry(name, how + CHANGE, r["largest_change"], n=n))
        if cell is not None and not pd.isna(cell["near_ties"]):
            n = int(cell["n_items"]) * int(cell["K"])
            entries.append(Entry(name, NEAR_TIES, int(cell["near_ties"]), n=n))
    if not entries:
        entries = [Entry("cells", "read again", 0, note=NOTHING)]
    digits = {FLIP_RATE: 3, NEAR_TIES: 0, "read again": 0, **dict.fromkeys(HOW.values(), 3)}
    digits |= {how + CHANGE: 6 for how in HOW.values()}
    return Table("noise", CAPTION, [Block("", entries)], digits, corner="Cell")
