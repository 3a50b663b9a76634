"""The noise floor: flip rates beside the answers that change when nothing but the reading does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from optionbias.tables.inputs import Inputs
from optionbias.tables.names import READOUT_NAMES
from optionbias.tables.table import Block, Entry, Table

FLIP_RATE = "flip rate"
NEAR_TIES = "near ties"
LARGEST = "largest change of a log-probability"
HOW = {
    "alone": "every prompt in a pass of its own",
    "float32": "in float32",
    "bfloat16": "in bfloat16",
    "vllm": "by vLLM",
}
NOT_MEASURED = "`noise_floor` is not set"
CAPTION = (
    "The noise floor. A sample of each cell is read again with nothing changed but the batch, the dtype "
    "or the backend: the share of answers that differ (repeat disagreement), beside the flip rate of all "
    "items. Near ties are queries of the whole cell whose two largest log-probabilities are closer than "
    "the largest change of that gap in a re-read."
)


def table_noise(inputs: Inputs) -> Table:
    """The table `noise`: a row a cell that was read again, a block a readout."""
    rereads, cells = inputs.read("noise"), inputs.cells
    plain = cells[
        (cells["design"] == "cyclic") & (cells["operation"] == "none") & (cells["subset"] == "all")
    ]
    by_cell = {(r["checkpoint"], r["benchmark"], r["readout"]): r for r in plain.to_dict("records")}
    titles = {b["name"]: b.get("title", b["name"]) for b in inputs.cohort["benchmarks"]}
    blocks = []
    for readout, rows in rereads.groupby("readout", sort=True):
        entries = []
        for (checkpoint, benchmark), again in rows.groupby(["checkpoint", "benchmark"], sort=True):
            cell = by_cell.get((checkpoint, benchmark, readout))
            name = f"{checkpoint}, {titles[benchmark]}"
            if cell is not None:
                n = int(cell["n_items"])
                entries.append(Entry(name, FLIP_RATE, cell["flip_rate"], n=n))
            for r in again.to_dict("records"):
                entries.append(_entry(name, HOW[r["variant"]], r, "repeat_disagreement"))
            worst = max(again.to_dict("records"), key=lambda r: r["largest_change"])
            entries.append(_entry(name, LARGEST, worst, "largest_change"))
            if cell is not None and not pd.isna(cell["near_ties"]):
                entries.append(Entry(name, NEAR_TIES, int(cell["near_ties"]), n=n * int(cell["K"])))
        name = READOUT_NAMES[str(readout)]
        blocks.append(Block(f"{name[0].upper()}{name[1:]}", entries))
    if not blocks:
        blocks = [Block("", [Entry("cells", "read again", 0, note=NOT_MEASURED)])]
    digits = {
        FLIP_RATE: 3,
        NEAR_TIES: 0,
        "read again": 0,
        LARGEST: 5,
        **dict.fromkeys(HOW.values(), 3),
    }
    return Table("noise", CAPTION, blocks, digits, corner="Cell")


def _entry(row: str, column: str, reread: Mapping[Any, Any], value: str) -> Entry:
    note = f"{reread['changed']} of {reread['n_queries']} answers differ, dtype {reread['dtype']}"
    return Entry(row, column, reread[value], n=int(reread["n_queries"]), note=note)
