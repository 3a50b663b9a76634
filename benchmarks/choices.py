"""What the choices of docs/choices.md change: each made both ways on a finished run.

Usage: python benchmarks/choices.py RESULTS_FOLDER (of a run with --config cohort=simulated)
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from optionbias import opposite  # noqa: E402
from optionbias.block_draws import BlockDraws  # noqa: E402
from optionbias.operation_effects import operation_effects  # noqa: E402
from optionbias.pair_reversals import pair_reversals  # noqa: E402
from optionbias.reliability import split_half  # noqa: E402
from optionbias.resampling import spearman, spearman_brown, weighted_mean  # noqa: E402
from optionbias.seeds import DEFAULT_SEED  # noqa: E402
from optionbias.set_effects import SetEffects  # noqa: E402
from optionbias.strengths import ALPHAS  # noqa: E402
from optionbias.tables.inputs import Inputs  # noqa: E402
from optionbias.variance_shares import variance_shares  # noqa: E402

DRAWS = 10_000


def common_cells(inputs: Inputs) -> str:
    """One set of common cells per factor for the whole table, or own sets for each operation."""
    frame = inputs.comparison.pivot(
        index=["checkpoint", "benchmark"], columns="operation", values="skew"
    )
    together = frame[["none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal"]] > 0
    change = np.log(frame["reversal"] / frame["none"])
    own = change[(frame["none"] > 0) & (frame["reversal"] > 0)]
    shared = change[together.all(axis=1)]
    return f"reversal product's d log skew {shared.mean():.4f} ({len(shared)} cells), own cells {own.mean():.4f} ({len(own)})"


def rank_reversals(inputs: Inputs) -> str:
    """Pairs pooled over benchmarks, the mean of the benchmarks' shares, each pair's own items."""
    effects = operation_effects(inputs.comparison, 10, inputs.seed)
    own = pair_reversals(inputs.read("pair_reversals"), 10, inputs.seed)
    assert effects is not None
    assert own is not None
    shares = []
    for benchmark, members in effects.members.items():
        matrix = effects.reversing[benchmark]["none"]
        shares.append(np.triu(matrix, 1).sum() / (len(members) * (len(members) - 1) / 2))
    return (
        f"baseline {100 * effects.rank_reversals('none').value:.2f}% pooled, "
        f"{100 * np.mean(shares):.2f}% mean of benchmarks, "
        f"{100 * own.level('none').value:.2f}% each pair on its own items"
    )


def unit_of_shares(inputs: Inputs) -> str:
    """Cells or checkpoints as the unit of the variance shares' intervals."""
    cells = inputs.first_token
    widths = []
    for blocks in (range(len(cells)), cells["checkpoint"]):
        draws = BlockDraws.of(list(blocks), DRAWS, inputs.seed, "choices/table8")
        interval = variance_shares(cells, draws).skew.interval
        widths.append(interval.high - interval.low)
    return f"width of the skew share's 97.5% interval {widths[0]:.3f} over cells, {widths[1]:.3f} over checkpoints"


def halves(inputs: Inputs) -> str:
    """One hundred random halves against one, Spearman-Brown of the mean against the mean of it."""
    frame = inputs.halves
    each = [
        spearman(rows["skew_a"].to_numpy(), rows["skew_b"].to_numpy())
        for _, rows in frame.groupby("repetition")
    ]
    mean = split_half(frame, "skew")
    return (
        f"skew: mean of {len(each)} repetitions {mean:.4f}, single ones {min(each):.4f} to {max(each):.4f}; "
        f"Spearman-Brown of the mean {spearman_brown(mean):.5f}, mean of Spearman-Brown "
        f"{np.mean([spearman_brown(r) for r in each]):.5f}"
    )


def permutations(inputs: Inputs) -> str:
    """Two disjoint dozens of the 24 letter permutations of ten-option cells at alpha = 1."""
    rows = inputs.read("strengths")
    ten = rows[rows["K"] == 10]
    at = ALPHAS.index(1.0)
    means = []
    for half in (slice(0, 12), slice(12, 24), slice(0, 24)):
        changes = []
        for row in ten.to_dict("records"):
            skews = np.array(row["permuted_skew"], dtype=float).reshape(len(ALPHAS), -1)
            changes.append(np.log(skews[at, half]).mean() - np.log(row["estimated_skew"][0]))
        means.append(np.nanmean(changes))
    return f"permuted d log skew of ten-option cells {means[2]:.4f} with 24, {means[0]:.4f} and {means[1]:.4f} with 12 each"


def zero_changes(inputs: Inputs) -> str:
    """Comparisons with a zero or undefined change stay in the denominator, or leave it."""
    changes = opposite.post_training_pairs(inputs.read("changes"), inputs.cohort)
    moved = opposite.opposite(changes, "pooled_sd")
    x, y = (opposite.change(changes, s) for s in ("flip_rate", "pooled_sd"))
    counted = np.isfinite(x) & np.isfinite(y) & (x != 0) & (y != 0)
    return f"post-training pairs {100 * moved.mean():.2f}% of {len(moved)}, {100 * moved[counted].mean():.2f}% of {counted.sum()}"


def ties(inputs: Inputs) -> str:
    """Answers within 1e-9 of the largest, which an exact rule would not call tied."""
    rows = pd.read_parquet(inputs.folder / "ties.parquet")
    of_operations = rows[~rows["operation"].isin(["vote", "none"])]
    return f"{int(of_operations['ties'].sum())} answers of {len(of_operations)} cells and operations decided by the rule"


def prior_of_a_set(inputs: Inputs) -> str:
    """Each balanced set's own prior, or the cyclic one, for PriDe on the other eleven sets."""
    rows = inputs.read("balanced_sets")
    rows = rows[rows["unrounded"].astype(bool)]
    told = []
    for prior in ("set", "cyclic"):
        change = SetEffects.of(rows, "pride", prior).change("placement_range")
        told.append(f"{100 * np.mean(change[1:]):.2f} pp with the {prior} prior")
    return "PriDe's change of placement range on the other sets " + ", ".join(told)


def random_draws(inputs: Inputs) -> str:
    """One hundred random sets: the Monte-Carlo error of a cell's mean flip rate."""
    rows = inputs.read("designs")
    own = rows[rows["design"] == "shared"]["flip_rate"]
    errors = [np.std(v, ddof=1) / np.sqrt(len(v)) for v in own]
    return f"standard error of a cell's mean flip rate {np.mean(errors):.4f} (largest {np.max(errors):.4f})"


def cells_or_checkpoints(inputs: Inputs) -> str:
    """Cells weighted equally, or checkpoints: what a draw of checkpoints weighs."""
    effects = operation_effects(inputs.comparison, DRAWS, inputs.seed)
    assert effects is not None
    values = effects.values["placement_range"]["none"]
    by_cell = np.random.default_rng(0).multinomial(
        len(values), np.full(len(values), 1 / len(values)), size=DRAWS
    )
    widths = [
        np.diff(np.quantile(weighted_mean(values, w), [0.025, 0.975]))[0]
        for w in (effects.weights, by_cell)
    ]
    return f"width of the placement range's 95% interval {100 * widths[0]:.2f} pp over checkpoints, {100 * widths[1]:.2f} pp over cells"


CHOICES: dict[str, Callable[[Inputs], str]] = {
    "common cells (Table 2)": common_cells,
    "rank reversals (Table 2)": rank_reversals,
    "unit of resampling (Table 2)": cells_or_checkpoints,
    "letter permutations (Table 6)": permutations,
    "unit of resampling (Table 8)": unit_of_shares,
    "random halves (Table 9)": halves,
    "zero changes (Table 16)": zero_changes,
    "prior of a balanced set (Table 18)": prior_of_a_set,
    "random sets (Tables 17, 19, 20)": random_draws,
    "tie tolerance": ties,
}


def main(results: Path) -> None:
    cohort = json.loads((results / "cohort.json").read_text())
    inputs = Inputs(results / "statistics", cohort, DRAWS, DEFAULT_SEED)
    for name, measure in CHOICES.items():
        print(f"{name}: {measure(inputs)}", flush=True)


main(Path(sys.argv[1]))
