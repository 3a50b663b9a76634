"""Is what the simulated cohort was made from recovered by the statistics?

Usage: python benchmarks/recovery.py RESULTS_FOLDER (of a run with --config cohort=simulated)
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from optionbias.seeds import DEFAULT_SEED  # noqa: E402
from optionbias.simulation import ability, known_prior, truth  # noqa: E402


def main(results: Path) -> None:
    cohort = json.loads((results / "cohort.json").read_text())
    checkpoints = {c["name"]: c for c in cohort["checkpoints"]}
    benchmarks = {b["name"]: b for b in cohort["benchmarks"]}
    priors = pd.read_parquet(results / "statistics" / "priors.parquet")
    mine = priors[(priors["readout"] == "first-token") & (priors["prior"] == "pride")]
    rows = []
    for row in mine.itertuples():
        known = truth(
            checkpoints[row.checkpoint], benchmarks[row.benchmark], "first-token", DEFAULT_SEED
        )
        estimated = np.array(row.values)
        log = np.log(estimated) - np.log(estimated).mean()
        rows.append(
            {
                "K": len(estimated),
                "correlation": np.corrcoef(log, known.preference)[0, 1],
                "distance": np.abs(estimated - known_prior(known, DEFAULT_SEED)).sum() / 2,
            }
        )
    frame = pd.DataFrame(rows)
    print(f"letter preferences and priors of {len(frame)} cells, PriDe on the calibration items:")
    told = frame.groupby("K").agg(
        cells=("K", "size"),
        preference_correlation_median=("correlation", "median"),
        prior_distance_median=("distance", "median"),
        prior_distance_largest=("distance", "max"),
    )
    print(told.round(4).to_string())
    cells = pd.read_parquet(results / "statistics" / "cells.parquet")
    plain = cells[
        (cells["readout"] == "first-token")
        & (cells["operation"] == "none")
        & (cells["subset"] == "all")
    ]
    accuracy = plain.pivot(index="checkpoint", columns="benchmark", values="accuracy")
    abilities = [ability(checkpoints[name], DEFAULT_SEED) for name in accuracy.index]
    mean = spearmanr(accuracy.mean(axis=1), abilities).statistic
    each = [spearmanr(accuracy[b], abilities).statistic for b in accuracy]
    print(
        f"abilities of {len(accuracy)} checkpoints: Spearman with mean accuracy {mean:.4f}, "
        f"with each benchmark's {min(each):.4f} to {max(each):.4f}"
    )


main(Path(sys.argv[1]))
