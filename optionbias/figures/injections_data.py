"""What Figure 6 draws: the change in placement range against the strength of an added preference."""

from __future__ import annotations

import numpy as np
import pandas as pd

from optionbias.injections import ALPHAS, OPERATIONS, SHAPES
from optionbias.resampling import block_weights, percentile_interval
from optionbias.tables.inputs import Inputs

COLUMNS = [
    "shape", "operation", "alpha", "y", "y_low", "y_high", "ties", "n", "checkpoints", "mmlu",
]  # fmt: skip


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: a row per shape, operation and alpha.

    `y` is the mean over cells of the change in placement range from the same operation at alpha 0
    (pp), with its 95% checkpoint-block interval; `ties` the answers of all cells that the tie rule
    decided; `n` the cells. MMLU cells alone where there are any (`mmlu`), else all cells.
    """
    frame = inputs.read("injections")
    mmlu = frame["mmlu"].astype(bool)
    frame = frame[mmlu] if mmlu.any() else frame
    if frame.empty:
        return pd.DataFrame(columns=COLUMNS)
    frame = frame.sort_values(["checkpoint", "benchmark"], kind="stable")
    groups = {
        (shape, operation): frame[(frame["shape"] == shape) & (frame["operation"] == operation)]
        for shape in SHAPES
        for operation in OPERATIONS
    }
    checkpoints = next(iter(groups.values()))["checkpoint"].tolist()
    weights = block_weights(checkpoints, inputs.draws, inputs.seed, "figure6/checkpoints/draws")
    shares = weights / weights.sum(axis=1, keepdims=True)
    rows = []
    for (shape, operation), cells in groups.items():
        ranges = np.array(cells["placement_range"].tolist(), dtype=np.float64)
        change = 100 * (ranges - ranges[:, [ALPHAS.index(0.0)]])
        ties = np.array(cells["ties"].tolist(), dtype=np.int64).sum(axis=0)
        drawn = shares @ change
        for i, alpha in enumerate(ALPHAS):
            band = percentile_interval(drawn[:, i])
            rows.append(
                {
                    "shape": shape, "operation": operation, "alpha": alpha,
                    "y": float(change[:, i].mean()), "y_low": band.low, "y_high": band.high,
                    "ties": int(ties[i]), "n": len(cells), "checkpoints": len(set(checkpoints)),
                    "mmlu": bool(mmlu.any()),
                }
            )  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)
