"""What Figure 9 draws: every base checkpoint against its release on a benchmark."""

from __future__ import annotations

import pandas as pd

from optionbias.opposite import both_resolved, log_change, opposite, post_training_pairs
from optionbias.tables.inputs import Inputs

COLUMNS = ["base", "release", "benchmark", "x", "y", "opposite", "resolved"]


def data(inputs: Inputs) -> pd.DataFrame:
    """What is drawn: per pair the log-changes from base to release.

    Columns: base, release, benchmark, x (log flip rate), y (log pooled SD; NaN where a factor is
    zero on a side), opposite (the two changes differ in sign), resolved (both item-bootstrap
    intervals exclude zero).
    """
    pairs = post_training_pairs(inputs.read("changes"), inputs.cohort)
    return pd.DataFrame(
        {
            "base": pairs["checkpoint"], "release": pairs["other"], "benchmark": pairs["benchmark"],
            "x": log_change(pairs, "flip_rate"), "y": log_change(pairs, "pooled_sd"),
            "opposite": opposite(pairs, "pooled_sd"), "resolved": both_resolved(pairs),
        },
        columns=COLUMNS,
    )  # fmt: skip
