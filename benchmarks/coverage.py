"""Do 95% checkpoint-block intervals cover the truth, and is the cap null's P uniform under the null?

Simulates cohorts of checkpoints that are independent draws from one population, on benchmarks and
items held fixed (as the intervals hold them fixed), and counts how often the interval of a contrast
covers the population's value: the mean over all checkpoints simulated.

Usage: python benchmarks/coverage.py [--cohorts 500] [--checkpoints 41]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from optionbias.cell import answer_cell  # noqa: E402
from optionbias.design import Design  # noqa: E402
from optionbias.factors import cell_statistics, contents_of  # noqa: E402
from optionbias.nulls import permutation_p, permuted_correlations  # noqa: E402
from optionbias.progress import Progress  # noqa: E402
from optionbias.resampling import (  # noqa: E402
    block_weights,
    percentile_interval,
    spearman,
    weighted_mean,
    weighted_spearman,
)
from optionbias.seeds import DEFAULT_SEED, generator  # noqa: E402
from optionbias.simulation import simulated_sweep  # noqa: E402

BENCHMARKS = [
    {"name": "easy", "K": 4, "size": 120, "difficulty": -0.6},
    {"name": "hard", "K": 4, "size": 120, "difficulty": 0.4},
]
OPERATIONS = ("none", "pride", "reversal", "pride+reversal")
DRAWS = 2_000
CONTRASTS = (
    "d log flip rate, reversal minus PriDe",
    "placement range, PriDe then reversal minus reversal",
    "Spearman with accuracy, flip rate minus skew",
)


def checkpoint(index: int) -> dict[str, Any]:
    """A checkpoint of the population: its own family, any size from 0.5 to 70 billion."""
    size = 10 ** generator(DEFAULT_SEED, f"coverage/size/{index}").uniform(-0.3, 1.85)
    name = f"S{index:06d}"
    return {"name": name, "family": name, "params_b": size, "training": "base"}


def cell_values(index: int, benchmark: dict[str, Any]) -> list[float]:
    """Accuracy, flip rate and skew without an operation; the two paired differences of the cell."""
    cell = answer_cell(
        simulated_sweep(checkpoint(index), benchmark, "first-token", DEFAULT_SEED),
        benchmark["name"],
        DEFAULT_SEED,
        OPERATIONS,
    )
    assert cell is not None
    kept, pi = ~cell.calibration, cell.queries.orderings
    s = {
        operation: cell_statistics(
            contents_of(cell.answers[operation].positions, pi)[kept], cell.gold[kept], Design.of(pi)
        )
        for operation in OPERATIONS
    }
    with np.errstate(divide="ignore"):
        change = np.log(s["reversal"].flip_rate) - np.log(s["pride"].flip_rate)
    return [
        s["none"].accuracy,
        s["none"].flip_rate,
        s["none"].skew,
        change if np.isfinite(change) else np.nan,
        s["pride+reversal"].placement_range - s["reversal"].placement_range,
    ]


def coverage(values: NDArray[np.float64], checkpoints: int) -> None:
    """Cut the population into cohorts and print the share of intervals that cover each contrast."""
    cohorts = len(values) // checkpoints
    names = [f"{i:03d}" for i in range(checkpoints) for _ in BENCHMARKS]
    whole = values.reshape(-1, 5)
    truths = (
        np.nanmean(whole[:, 3]),
        np.nanmean(whole[:, 4]),
        spearman(whole[:, 1], whole[:, 0]) - spearman(whole[:, 2], whole[:, 0]),
    )
    covered = np.zeros((cohorts, 3), dtype=bool)
    for i in range(cohorts):
        accuracy, flip_rate, skew, change, fall = (
            values[i * checkpoints : (i + 1) * checkpoints].reshape(-1, 5).T
        )
        w = block_weights(names, DRAWS, DEFAULT_SEED, f"coverage/{checkpoints}/{i}")
        draws = (
            weighted_mean(change, w),
            weighted_mean(fall, w),
            weighted_spearman(flip_rate, accuracy, w) - weighted_spearman(skew, accuracy, w),
        )
        for j, drawn in enumerate(draws):
            interval = percentile_interval(drawn)
            covered[i, j] = interval.low <= truths[j] <= interval.high
    print(f"{cohorts} cohorts of {checkpoints} checkpoints on {len(BENCHMARKS)} benchmarks:")
    for name, share, truth in zip(CONTRASTS, covered.mean(axis=0), truths, strict=True):
        error = np.sqrt(share * (1 - share) / cohorts)
        print(f"  {name}: truth {truth:.4f}, covered {100 * share:.1f}% (+- {100 * error:.1f})")


def cap_null_uniformity(cohorts: int, cells: int = 60, permutations: int = 999) -> None:
    """Cells whose scaled flip rates know nothing of accuracy: the P must be uniform."""
    found = []
    for i in range(cohorts):
        rng = generator(DEFAULT_SEED, f"coverage/cap-null/{i}")
        accuracy = rng.uniform(0.25, 1, cells)
        cap = np.minimum(1, 4 * (1 - accuracy))
        scaled = rng.beta(2, 2, cells)
        null = permuted_correlations(scaled, cap, accuracy, permutations, DEFAULT_SEED, f"null/{i}")
        # Without a tie at the observed value P is one of 1000 equally likely ranks.
        found.append(permutation_p(spearman(scaled * cap, accuracy), null))
    test = kstest(found, "uniform")
    print(
        f"cap null under the null, {cohorts} cohorts of {cells} cells: Kolmogorov-Smirnov "
        f"D {test.statistic:.4f}, P {test.pvalue:.3f}; share of P at most .05: "
        f"{np.mean(np.array(found) <= 0.05):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cohorts", type=int, default=500)
    parser.add_argument("--checkpoints", type=int, default=41)
    args = parser.parse_args()
    cap_null_uniformity(args.cohorts)
    n = args.cohorts * args.checkpoints
    values = np.empty((n, len(BENCHMARKS), 5))
    with Progress("population", n, "checkpoints") as progress:
        for i in range(n):
            values[i] = [cell_values(i, benchmark) for benchmark in BENCHMARKS]
            progress.add(1)
    for checkpoints in (args.checkpoints, 10):
        coverage(values, checkpoints)


main()
