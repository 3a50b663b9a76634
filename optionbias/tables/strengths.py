"""Table 6 and the prose of D.1 and D.2: how much of a prior is divided out, and which prior."""

from __future__ import annotations

from math import isnan

import numpy as np

from optionbias.operation_effects import operation_effects
from optionbias.operations import OPERATIONS
from optionbias.pair_reversals import pair_reversals
from optionbias.resampling import Estimate, percentile_interval, spearman, weighted_spearman
from optionbias.strength_effects import FACTORS, PRIORS, mean_estimates, strength_effects
from optionbias.tables import names
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

PRINTED = (0.5, 1.0)
CHANGES = {
    "skew": names.D_LOG_SKEW,
    "flip_rate": names.D_LOG_FLIP_RATE,
    "accuracy": names.D_ACCURACY,
}
CAPTION = (
    "Dividing out the prior that PriDe estimates, raised to alpha, and the same prior with its "
    "letters permuted: mean changes from no correction on the items that the prior was not "
    "estimated on, all first-token cells. Permuted rows average over letter permutations within a "
    "cell; differences are paired. Log-changes rest on the cells where the factor is positive "
    "before and after correction by the estimated prior and by every permutation, at that "
    "strength. Intervals are 95% checkpoint-block intervals."
)
NO_CELL = "no first-token cell with log-probabilities and at least two usable items"
NO_REVERSAL = "no first-token cell with at least three options and reversed orderings"
VARIANT_NAMES = {
    "batch": "batch calibration",
    "mean log-probability": "batch calibration from mean log-probabilities",
    "all test items": "batch calibration from all test items",
}
FIRST_TOKEN_CELLS = "all first-token cells"
OWN_ITEMS = "each pair on the items its two checkpoints share"
COMPOSITIONS = ("pride+reversal", "batch+reversal")
MIRRORING = "spearman(std(b_sym)/std(b), change in log skew under reversal)"
REVERSAL_CELLS = "cells of the reversal comparison"
SYMMETRIC_SHARE = "mean std(b_sym)/std(b)"


def table6(inputs: Inputs) -> Table:
    """Table 6 from the analysis `strengths`."""
    effects = strength_effects(inputs.read("strengths"), inputs.draws, inputs.seed)
    if effects is None:
        row = f"{names.D_LOG_SKEW}, estimated"
        return Table("6", CAPTION, [Block("", [Entry(row, "alpha=1", None, note=NO_CELL)])])
    blocks = []
    for heading, statistics, unit, scale in (
        ("Factors", ("skew", "flip_rate"), "", 1.0),
        ("Accuracy", ("accuracy",), "pp", 100.0),
    ):
        entries = []
        for statistic in statistics:
            for prior in PRIORS:
                found = effects.by_strength(statistic, prior)
                entries += [
                    _entry(f"{CHANGES[statistic]}, {prior}", f"alpha={a:g}", found[a], unit, scale)
                    for a in PRINTED
                ]
        blocks.append(Block(heading, entries))
    decimals = {f"alpha={a:g}": 3 for a in PRINTED}
    few = inputs.few_checkpoints_note(effects.checkpoints)
    return Table("6", CAPTION, blocks, decimals, corner="Change", note=few)


def text_d1(inputs: Inputs) -> Block:
    """D.1: variants of batch calibration, and rank reversals with each pair on its own items."""
    entries = []
    effects = strength_effects(inputs.read("strengths"), inputs.draws, inputs.seed)
    if effects is None:
        column = f"{names.D_LOG_FLIP_RATE}, {VARIANT_NAMES['batch']}"
        entries.append(Entry(FIRST_TOKEN_CELLS, column, None, note=NO_CELL))
    else:
        entries += [
            _entry(FIRST_TOKEN_CELLS, f"{CHANGES[factor]}, {VARIANT_NAMES[variant]}", estimate)
            for factor in FACTORS
            for variant, estimate in effects.by_variant(factor).items()
        ]
    counted = pair_reversals(inputs.read("pair_reversals"), inputs.draws, inputs.seed)
    unit = "% of pairs"
    if counted is None:
        column = f"{names.RANK_REVERSALS}, {names.OPERATION_NAMES['none']}"
        entries.append(Entry(OWN_ITEMS, column, None, unit=unit, note=NO_REVERSAL))
        return Block("Section D.1", entries, table="text-D.1")
    wanted: list[tuple[str, str | None]] = [(operation, None) for operation in OPERATIONS]
    wanted += [(composition, "reversal") for composition in COMPOSITIONS]
    for operation, minus in wanted:
        called = names.OPERATION_NAMES[operation]
        if minus is not None:
            called += f" minus {names.OPERATION_NAMES[minus]}"
        column = f"{names.RANK_REVERSALS}, {called}"
        estimate = counted.level(operation, minus)
        entries.append(
            _entry(OWN_ITEMS, column, estimate, unit, 100.0, "no pair of checkpoints shares items")
        )
    return Block("Section D.1", entries, table="text-D.1")


def text_d2(inputs: Inputs) -> list[Block]:
    """D.2: whether the share of the letter preference that mirroring keeps predicts the skew left.

    The reversal product's log-changes of the skew are Table 2's, on Table 2's common cells and
    draws; the share is estimated on the calibration items of the same cells.
    """
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    if effects is None:
        missing = [
            Block(
                "Section D.2",
                [Entry(REVERSAL_CELLS, MIRRORING, None, note=NO_REVERSAL)],
                table="text-D.2",
            ),
            Block(
                "Section 6",
                [Entry("K=4 cells", SYMMETRIC_SHARE, None, note=NO_REVERSAL)],
                table="text-6",
            ),
        ]
        return missing
    rows = inputs.read("strengths").set_index(["checkpoint", "benchmark"]).loc[effects.cells]
    share = rows["symmetric_share"].to_numpy(dtype=np.float64)
    four = np.where(rows["K"].to_numpy(dtype=np.int64) == 4, share, np.nan)
    change = effects.values["skew"]["reversal"]
    correlations = []
    for row, chosen in ((REVERSAL_CELLS, share), (f"K=4 {REVERSAL_CELLS}", four)):
        estimate = Estimate(
            spearman(chosen, change),
            percentile_interval(weighted_spearman(chosen, change, effects.weights)),
            int((~np.isnan(chosen + change)).sum()),
        )
        note = "undefined: too few common cells, or equal ranks"
        correlations.append(_entry(row, MIRRORING, estimate, undefined=note))
    (mean,) = mean_estimates(four[:, None], effects.weights)
    shares = [_entry("K=4 cells", SYMMETRIC_SHARE, mean, undefined="no cell with four options")]
    return [
        Block("Section D.2", correlations, table="text-D.2"),
        Block("Section 6", shares, table="text-6"),
    ]


def _entry(
    row: str,
    column: str,
    estimate: Estimate,
    unit: str = "",
    scale: float = 1.0,
    undefined: str = "no common cell",
) -> Entry:
    """An estimate's entry, with what an undefined value lacks as its note."""
    if isnan(estimate.value):
        return Entry(row, column, None, unit=unit, n=estimate.n, note=undefined)
    return Entry.of(row, column, estimate, unit, scale)
