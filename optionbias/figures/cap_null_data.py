"""What Figure 8 draws: each stratum's observed correlation and its cap null."""

from __future__ import annotations

import pandas as pd

from optionbias.tables.cap_null import cap_nulls
from optionbias.tables.inputs import Inputs

COLUMNS = ["K", "stratum", "observed", "null_median", "null_low", "null_high", "n"]


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: one row per option count and cap stratum that holds a cell."""
    rows = [
        {
            "K": k, "stratum": name, "observed": null.observed, "null_median": null.median,
            "null_low": null.interval.low, "null_high": null.interval.high, "n": null.n,
        }
        for (k, name), null in cap_nulls(inputs).items()
        if null.n
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)
