"""What Figure 5 draws: each operation's mean log-changes of the two factors."""

from __future__ import annotations

import pandas as pd

from optionbias.operation_effects import operation_effects
from optionbias.tables.inputs import Inputs

# operation -> the component its arrow starts from
PARENTS = {
    "pride": "none",
    "batch": "none",
    "reversal": "none",
    "pride+reversal": "pride",
    "batch+reversal": "batch",
    "pride+batch": "pride",
}
COLUMNS = ["operation", "parent", "x", "x_low", "x_high", "y", "y_low", "y_high", "n_x", "n_y", "checkpoints"]  # fmt: skip


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: per operation the mean log-changes (x flip rate, y skew) with intervals.

    `n_x` and `n_y` are the common cells behind each; empty where no cell has reversed queries.
    """
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    if effects is None:
        return pd.DataFrame(columns=COLUMNS)
    rows = []
    for operation, parent in PARENTS.items():
        x, y = effects.log_change("flip_rate", operation), effects.log_change("skew", operation)
        rows.append(
            {
                "operation": operation, "parent": parent,
                "x": x.value, "x_low": x.interval.low, "x_high": x.interval.high,
                "y": y.value, "y_low": y.interval.low, "y_high": y.interval.high,
                "n_x": x.n, "n_y": y.n, "checkpoints": len({c for c, _ in effects.cells}),
            }
        )  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)
