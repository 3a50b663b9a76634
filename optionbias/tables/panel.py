"""Numbers of the prose about the panel itself and about bounds that must hold everywhere."""

from __future__ import annotations

import numpy as np

from optionbias.identities import TOLERANCE
from optionbias.operation_effects import Effects, operation_effects
from optionbias.pools import LEAST_SHARE
from optionbias.resampling import Estimate, percentile_interval, weighted_mean
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry


def text_1(inputs: Inputs) -> Block:
    """Section 1: how many flipping items the product removes, how far placement range falls (%)."""
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    if effects is None:
        return Block("Section 1", [])
    fall = "fall of placement range"
    rows = (
        ("reversal product", "flipping items removed", "level_flip_rate", ("reversal",)),
        ("PriDe", fall, "placement_range", ("pride",)),
        ("reversal product", fall, "placement_range", ("reversal",)),
        # What both "roughly halve": the mean of the two.
        ("PriDe and reversal product", fall, "placement_range", ("pride", "reversal")),
    )
    entries = []
    for row, column, statistic, operations in rows:
        estimate, note = _fall(effects, statistic, operations)
        entries.append(Entry.of(row, column, estimate, "%", 100, note))
    return Block("Section 1", entries, "text-1")


def _fall(effects: Effects, statistic: str, operations: tuple[str, ...]) -> tuple[Estimate, str]:
    """1 - mean under operations / mean under none, over the same cells; NaN where that is zero."""
    levels = effects.values[statistic]
    before, after = levels["none"], np.mean([levels[op] for op in operations], axis=0)
    weights = np.vstack([np.ones(len(before)), effects.weights])
    base, left = weighted_mean(before, weights), weighted_mean(after, weights)
    with np.errstate(invalid="ignore", divide="ignore"):
        falls = np.where(base > 0, 1 - left / base, np.nan)
    note = "nothing to remove" if np.isnan(falls[0]) else ""
    return Estimate(float(falls[0]), percentile_interval(falls[1:]), len(before)), note


def text_4(inputs: Inputs) -> Block:
    """Section 4: the size of the panel that was run under the first-token readout."""
    cells = inputs.first_token
    families = {c["name"]: c["family"] for c in inputs.cohort["checkpoints"]}
    names = sorted(cells["checkpoint"].unique())
    return Block(
        "Section 4",
        [
            Entry("panel", "checkpoints", len(names)),
            Entry("panel", "families", len({families[n] for n in names})),
            Entry("panel", "benchmarks", cells["benchmark"].nunique()),
        ],
        "text-4",
    )


def text_a1(inputs: Inputs) -> Block:
    """A.1: the pools' threshold and the analyses that part of the panel enters."""
    cells = inputs.first_token
    c = inputs.cells
    whole = c[(c["readout"] == "all-orderings") & (c["design"] == "all")]
    per_benchmark = cells.groupby("benchmark")["checkpoint"].nunique()
    titles = {b["name"]: b.get("title") for b in inputs.cohort["benchmarks"]}
    mmlu = [
        Entry("MMLU", "items", int(rows["n_items"].mode().max()))
        for name, rows in cells.groupby("benchmark")
        if titles[str(name)] == "MMLU"
    ]
    everywhere = int((per_benchmark == cells["checkpoint"].nunique()).sum())
    return Block(
        "A.1",
        [
            Entry(
                "filtered pool",
                "smallest share of modal usable items",
                float(100 * LEAST_SHARE),
                unit="%",
            ),
            Entry("benchmarks run on every checkpoint", "count", everywhere),
            Entry("all-ordering analyses", "checkpoints", whole["checkpoint"].nunique()),
            Entry("all-ordering analyses", "benchmarks", whole["benchmark"].nunique()),
            # The paper's partition has six of its eight; here every checkpoint enters it.
            Entry("all-ordering item partition", "checkpoints", whole["checkpoint"].nunique()),
            *mmlu,
        ],
        "text-A.1",
    )


def text_b3(inputs: Inputs) -> Block:
    """B.3: share of first-token cells in which KL(f) <= FL KL(g) holds (asserted when scored)."""
    identities = inputs.read("identities")
    rows = identities[
        (identities["readout"] == "first-token")
        & (identities["operation"] == "none")
        & (identities["subset"] == "all")
        & (identities["identity"] == "divergence bound")
    ]
    held = 100 * float((rows["residual"] <= TOLERANCE).mean()) if len(rows) else None
    note = "" if len(rows) else "no first-token cell"
    entry = Entry("first-token cells", "KL bound holds", held, unit="%", n=len(rows), note=note)
    return Block("B.3", [entry], "text-B.3")
