"""What Figure 3 draws: every first-token cell, its factors and its accuracy."""

from __future__ import annotations

import numpy as np
import pandas as pd

from optionbias.resampling import spearman
from optionbias.tables.inputs import Inputs

PANELS = {"flip_rate": "Flip rate", "skew": "Positional skew", "pooled_sd": "Pooled SD"}
EQUAL_WITHIN = 0.02


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: one row per first-token cell and panel, and one per correlation.

    Columns: panel (`plane`, `flip_rate`, `skew`, `pooled_sd`), series (`K=4`, or `spearman` with
    y its value), x, y, label (A and B for the two cells), cell, n.
    """
    cells = inputs.first_token
    pair = opposite_pair(cells)
    labels = {} if pair is None else {pair[0]: "A", pair[1]: "B"}
    rows = []
    for i, cell in enumerate(cells.to_dict("records")):
        common = {
            "series": f"K={cell['K']}",
            "label": labels.get(i, ""),
            "cell": f"{cell['checkpoint']}, {cell['benchmark']}",
            "n": len(cells),
        }
        rows.append({"panel": "plane", "x": cell["flip_rate"], "y": cell["skew"], **common})
        rows += [{"panel": s, "x": cell["accuracy"], "y": cell[s], **common} for s in PANELS]
    for statistic in PANELS:
        r = spearman(cells[statistic].to_numpy(dtype=float), cells["accuracy"].to_numpy(dtype=float))
        n = int(cells[statistic].notna().sum())
        rows.append({"panel": statistic, "series": "spearman", "x": np.nan, "y": r, "label": "", "cell": "", "n": n})
    columns = ["panel", "series", "x", "y", "label", "cell", "n"]
    return pd.DataFrame(rows, columns=columns)


def opposite_pair(cells: pd.DataFrame) -> tuple[int, int] | None:
    """Two cells of nearly equal pooled SD from opposite factors.

    The largest |difference of log FL| among pairs whose pooled SDs differ by less than 2% (of
    the larger); row positions, the cell with the smaller flip rate first. None where no pair is that close.
    """
    positions = np.flatnonzero((cells["flip_rate"] > 0) & (cells["skew"] > 0))
    if len(positions) < 2:
        return None
    usable = cells.iloc[positions]
    sd = usable["pooled_sd"].to_numpy(dtype=float)
    log_flip = np.log(usable["flip_rate"].to_numpy(dtype=float))
    close = np.abs(sd[:, None] - sd) < EQUAL_WITHIN * np.maximum(sd[:, None], sd)
    distance = np.where(np.triu(close, 1), np.abs(log_flip[:, None] - log_flip), -1.0)
    i, j = np.unravel_index(distance.argmax(), distance.shape)
    if distance[i, j] <= 0:
        return None
    low, high = sorted((i, j), key=lambda index: log_flip[index])
    return int(positions[low]), int(positions[high])
