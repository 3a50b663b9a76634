"""What Figure 4 draws: mean log-changes of the factors against the strength of the correction."""

from __future__ import annotations

import pandas as pd

from optionbias.strength_effects import strength_effects
from optionbias.tables.inputs import Inputs

PANELS = ("skew", "flip_rate")
SERIES = ("estimated", "permuted")
COLUMNS = ["panel", "series", "x", "y", "y_low", "y_high", "n", "checkpoints"]


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: a row per panel (factor), series (prior) and strength x.

    y is the mean log-change from no correction with its 95% checkpoint-block interval, `n` the
    common cells of that factor and strength; NaN where there is none. No row without a cell.
    """
    effects = strength_effects(inputs.read("strengths"), inputs.draws, inputs.seed)
    if effects is None:
        return pd.DataFrame(columns=COLUMNS)
    checkpoints = len(set(effects.checkpoints))
    rows = [
        {
            "panel": panel, "series": series, "x": alpha, "y": e.value,
            "y_low": e.interval.low, "y_high": e.interval.high, "n": e.n,
            "checkpoints": checkpoints,
        }
        for panel in PANELS
        for series in SERIES
        for alpha, e in effects.by_strength(panel, series).items()
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)
