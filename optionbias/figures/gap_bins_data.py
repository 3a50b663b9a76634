"""What Figure 7 draws: what becomes of items, by their canonical top-two gap."""

from __future__ import annotations

import numpy as np
import pandas as pd

from optionbias.margins import GAP_BINS, STATES
from optionbias.tables.inputs import Inputs

COLUMNS = ["low", "high", "state", "share", "items", "cells"]


def data(inputs: Inputs) -> pd.DataFrame:
    """One row per bin of the gap and state of the items, all first-token cells weighted equally.

    Columns: low, high (the bin), state, share (of the bin's items; each item has weight 1/N of its
    cell; NaN in an empty bin), items (the bin's share of all items), cells.
    """
    margins = inputs.read("margins")
    if margins.empty:
        return pd.DataFrame(columns=COLUMNS)
    # (states, bins): sums over cells of the share of the cell's items in that state and bin.
    sums = np.array([np.sum(np.stack(margins[state].to_list()), axis=0) for state in STATES])
    total = sums.sum(axis=0)
    with np.errstate(invalid="ignore"):
        shares = sums / total
    rows = [
        {
            "low": b / GAP_BINS, "high": (b + 1) / GAP_BINS, "state": state.replace("_", "-"),
            "share": shares[i, b], "items": total[b] / len(margins), "cells": len(margins),
        }
        for b in range(GAP_BINS)
        for i, state in enumerate(STATES)
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)
