"""Tables 17, 19 and 20 and the prose of B.1, E.1 and E.3: cyclic against other orderings."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from optionbias.block_draws import BlockDraws, rank_correlation
from optionbias.design_comparison import (
    Comparison,
    Values,
    defined,
    largest,
    mean,
    median,
    skew_shares,
)
from optionbias.resampling import Estimate, percentile_interval
from optionbias.tables import undefined
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table

NO_CELL = "no cell was run under all orderings"
NO_SET = "Latin-square sets are enumerated for at most four options"
NO_FLIP = "undefined: no cell flips"
NO_POOLED_SD = "undefined: every pooled SD is zero"
OVER_DRAWS = "median and 2.5-97.5% range over draws, not a confidence interval"
CELLS = "all-K! cells"
WORDS = {3: "three", 4: "four", 5: "five", 6: "six"}
# design -> whether every content is at every position equally often
BALANCED = {
    "cyclic": "yes", "all": "yes", "latin": "yes", "gold": "gold only", "shared": "no", "own": "no",
}  # fmt: skip
CORRELATED = {"flip_rate": "flip rate", "skew": "skew", "pooled_sd": "pooled SD"}
CAPTION_17 = (
    "The cyclic orderings against all K! orderings and against other sets of K, on the cells run "
    "under all orderings. Random subsets are sets of K distinct orderings shared by all items, the "
    "average of 100 draws; the exact expectation averages over every subset of K orderings."
)
CAPTION_19 = (
    "The pooling identity under other designs, on the cells run under all orderings. The relative "
    "residual is |std(f) - FL std(g)| / std(f), each cell's median over sets or draws, of which the "
    "median and the largest over cells are given. Correlations over cells are with accuracy under "
    "the same design, medians over sets or draws; intervals are 95% checkpoint-block intervals. The "
    "last column is the magnitude for the per-item SD minus that for the pooled SD."
)
CAPTION_20 = (
    "What the stable items' deviation b leaves of the pooling identity, on the cells run under all "
    "orderings: the largest |std(f - b) - FL std(g)| over cells and draws, the median over cells and "
    "draws of |std(f) - FL std(g)| / std(b), and the correlations of the pooled and the corrected SD "
    "with accuracy under the same design."
)


def table17(inputs: Inputs) -> Table:
    """Table 17 from the designs of every all-orderings cell."""
    found = Comparison.of(inputs.read("designs"))
    if found is None:
        return _without_cells("17", CAPTION_17, "FL_cyc <= FL_full holds", "share of cells")
    cyclic, everything = (found.of_cells(name, "flip_rate") for name in ("cyclic", "all"))
    undercount = _undercount(found)
    number = partial(Entry, n=found.n)
    top = [
        number(
            "FL_cyc <= FL_full holds",
            "share of cells",
            100 * float((cyclic <= everything).mean()),
            unit="%",
        ),
        Entry(
            "relative undercount", "mean over cells", 100 * mean(undercount), unit="%",
            n=len(defined(undercount)), note=undefined.why(mean(undercount), NO_FLIP),
        ),
    ]  # fmt: skip
    for column, design in (("cyclic", "cyclic"), ("all K!", "all")):
        r = float(found.correlations(design, "flip_rate")[0])
        note = undefined.why(r, undefined.CORRELATION)
        top.append(number("spearman(accuracy, flip rate)", column, r, note=note))
    bottom = []
    for row, design in (
        ("cyclic, K orderings", "cyclic"),
        ("random subsets, K orderings", "shared"),
        ("exact expectation, K orderings", "expected"),
        ("all K!", "all"),
    ):
        rates = found.of_cells(design, "flip_rate")
        bottom.append(number(row, "mean flip rate", float(rates.mean())))
        if design != "cyclic":
            r = rank_correlation(rates, cyclic)
            note = undefined.why(r, undefined.CORRELATION)
            bottom.append(number(row, "spearman with the cyclic flip rate", r, note=note))
    blocks = [
        Block("Number of orderings: cyclic against all K!", top),
        Block("Which orderings", bottom),
    ]
    decimals = {"share of cells": 1, "mean over cells": 1, "cyclic": 3, "all K!": 3}
    decimals |= dict.fromkeys(("mean flip rate", "spearman with the cyclic flip rate"), 3)
    return Table("17", CAPTION_17, blocks, decimals, corner="Measurement", note=_other_k(found))


def table19(inputs: Inputs) -> Table:
    """Table 19 from the designs of every all-orderings cell."""
    found = Comparison.of(inputs.read("designs"))
    if found is None:
        return _without_cells("19", CAPTION_19, "Cyclic", "position balanced")
    draws = BlockDraws.of(found.checkpoints, inputs.draws, inputs.seed, "table19/checkpoints/draws")
    entries = []
    for design, balanced in BALANCED.items():
        row = _design_names(found.k)[design]
        entries.append(Entry(row, "position balanced", balanced))
        entries += _residuals(found, design, row) + _associations(found, design, row, draws)
    decimals = dict.fromkeys((e.column for e in entries), 3)
    few = inputs.few_checkpoints_note(found.checkpoints)
    return Table(
        "19", CAPTION_19, [Block("", entries)], decimals, corner="Ordering design",
        note=_joined(_other_k(found), few),
    )  # fmt: skip


def table20(inputs: Inputs) -> Table:
    """Table 20 from the cyclic and the random designs of every all-orderings cell."""
    found = Comparison.of(inputs.read("designs"))
    column = "largest corrected absolute residual"
    if found is None:
        return _without_cells("20", CAPTION_20, "Cyclic", column)
    entries = []
    for design, row in (
        ("cyclic", "Cyclic"),
        ("shared", f"Random set of {found.k} orderings shared by all items"),
        ("own", f"Random {found.k} orderings per item"),
    ):
        residual = float(found.values[design]["corrected_residual"].max())
        ratios = found.residuals_over_bound(design)
        ratio = median(ratios) if len(ratios) else None
        note = "" if len(ratios) else "the bound is zero"
        entries += [
            Entry(row, column, residual, n=found.n),
            Entry(row, "median residual / bound", ratio, n=len(ratios), note=note),
        ]
        for statistic, title in (("pooled_sd", "pooled SD"), ("corrected_sd", "corrected SD")):
            values = found.correlations(design, statistic)
            entry = _over_sets(row, f"{title} spearman", values, found.n)
            if design != "cyclic":
                estimate = Estimate(entry.value, percentile_interval(values), found.n)
                reason = undefined.why(entry.value, undefined.CORRELATION)
                entry = Entry.of(row, entry.column, estimate, note=_joined(reason, OVER_DRAWS))
            entries.append(entry)
    # One more digit than a double holds of a share: a rounding error is seen, not set to zero.
    decimals = dict.fromkeys((e.column for e in entries), 3) | {column: 18}
    return Table(
        "20", CAPTION_20, [Block("", entries)], decimals, corner="Design", note=_other_k(found)
    )


def text_e1(inputs: Inputs) -> list[Block]:
    """B.1: the deviation bound under every design; E.1: undercount, excess over random, coverage."""
    found = Comparison.of(inputs.read("designs"))
    bound = ("all-ordering cells and random draws", "deviation bound holds")
    if found is None:
        return [
            Block(
                "B.1 Deviation bound", [Entry(*bound, None, n=0, note=NO_CELL)], table="text-B.1"
            ),
            Block(
                "E.1 How loose the bound is",
                [Entry(CELLS, _undercount_column(), None, n=0, note=NO_CELL)],
                "text-E.1",
            ),
        ]
    number, other_k = partial(Entry, n=found.n), _other_k(found)
    holds, of = found.bound_holds()
    subset = f"{WORDS[found.k]}-subset"
    cyclic, everything, random, expected = (
        found.of_cells(design, "flip_rate") for design in ("cyclic", "all", "shared", "expected")
    )
    excess = np.divide(cyclic, random, out=np.full(found.n, np.nan), where=random > 0) - 1
    changing = {d: found.values[d]["changing"].sum() for d in ("cyclic", "all")}
    coverage = changing["cyclic"] / changing["all"] if changing["all"] else math.nan
    checkpoints = len(set(found.checkpoints))
    used = f"pooled over the cells of {checkpoints} checkpoint{'s' * (checkpoints != 1)}"
    reason = undefined.why(coverage, "undefined: no item's correctness changes")
    e1 = [
        number(CELLS, _undercount_column(), float((everything - cyclic).mean()), note=other_k),
        Entry(
            CELLS, f"cyclic vs random {subset} flip rate, mean per-cell excess", 100 * mean(excess),
            unit="% relative", n=len(defined(excess)),
            note=_joined(undefined.why(mean(excess), NO_FLIP), other_k),
        ),
        number(
            CELLS, f"cyclic flip rate above its exact {subset} expectation",
            100 * float((cyclic > expected).mean()), unit="% of cells", note=other_k,
        ),
        number(
            "6 checkpoints", "correctness-changing items found by the cyclic set", 100 * coverage,
            unit="%", note=_joined(reason, used, other_k),
        ),
    ]  # fmt: skip
    b1 = [Entry(*bound, 100 * holds / of, unit="%", n=of, note=other_k)]
    return [
        Block("B.1 Deviation bound", b1, table="text-B.1"),
        Block("E.1 How loose the bound is", e1, table="text-E.1"),
    ]


def text_e3(inputs: Inputs) -> Block:
    """E.3: the random designs' residual, and the skew's variance share under all K! orderings."""
    found = Comparison.of(inputs.read("designs"))
    column = "median relative residual"
    if found is None:
        row = f"random subsets of {WORDS[4]} orderings"
        return Block(
            "E.3 Other ordering designs",
            [Entry(row, column, None, n=0, note=NO_CELL)],
            table="text-E.3",
        )
    subsets, other_k = f"random subsets of {WORDS[found.k]} orderings", _other_k(found)
    entries = []
    for row, designs in (
        (subsets, ("shared", "own")),
        (f"{subsets}, shared by all items", ("shared",)),
        (f"{subsets}, per item", ("own",)),
    ):
        residuals = found.relative_residuals(*designs)
        value = median(residuals)
        note = _joined(undefined.why(value, NO_POOLED_SD), other_k)
        entries.append(Entry(row, column, value, n=len(defined(residuals)), note=note))
    shares = skew_shares(found, inputs.draws, inputs.seed)
    few = inputs.few_checkpoints_note(found.checkpoints)
    everything = f"all {math.factorial(found.k)} orderings"
    for row, share in (
        ("cyclic", shares.cyclic),
        (everything, shares.all_orderings),
        (f"{everything} minus cyclic", shares.gap),
    ):
        note = _joined(undefined.why(share.value, undefined.SHARE), few, other_k)
        entries.append(Entry.of(f"{CELLS}, {row}", "skew share", share, note=note))
    return Block("E.3 Other ordering designs", entries, table="text-E.3")


def _design_names(k: int) -> dict[str, str]:
    return {
        "cyclic": "Cyclic",
        "all": f"All {math.factorial(k)} orderings",
        "latin": "Latin square",
        "gold": "Gold at each position",
        "shared": "Random set shared by all items",
        "own": "Random set per item",
    }


def _residuals(found: Comparison, design: str, row: str) -> list[Entry]:
    """Median and largest over cells of each cell's median relative residual."""
    residuals = found.relative_residuals(design)
    reason = NO_POOLED_SD if found.values[design]["residual"].size else NO_SET
    entries = []
    for which, over_cells in (("median", median), ("largest", largest)):
        value = over_cells(residuals)
        note, n = undefined.why(value, reason), len(defined(residuals))
        entries.append(Entry(row, f"relative residual, {which}", value, n=n, note=note))
    return entries


def _associations(found: Comparison, design: str, row: str, draws: BlockDraws) -> list[Entry]:
    """Correlations with accuracy; with an interval over checkpoints for a design of one set."""
    columns = {f"spearman {title}": name for name, title in CORRELATED.items()}
    entries = []
    for column, statistic in columns.items():
        entry = _over_sets(row, column, found.correlations(design, statistic), found.n)
        if design in ("cyclic", "all"):
            entry = _with_interval(entry, found.in_draws(design, statistic, draws))
        entries.append(entry)
    column = "per-item minus pooled SD magnitude"
    entry = _over_sets(row, column, found.lead(design), found.n)
    if design in ("cyclic", "all"):
        entry = _with_interval(entry, found.lead_in_draws(design, draws))
    return [*entries, entry]


def _over_sets(row: str, column: str, values: Values, n: int) -> Entry:
    """The median over sets or draws of a correlation or a difference of two."""
    value = median(values)
    reason = undefined.CORRELATION if len(values) else NO_SET
    return Entry(row, column, value, n=n, note=undefined.why(value, reason))


def _with_interval(entry: Entry, drawn: Values) -> Entry:
    estimate = Estimate(entry.value, percentile_interval(drawn), entry.n or 0)
    return Entry.of(entry.row, entry.column, estimate, note=entry.note)


def _undercount(found: Comparison) -> Values:
    """1 - FL_cyc / FL_full of each cell, NaN where no item flips."""
    cyclic, everything = (found.of_cells(name, "flip_rate") for name in ("cyclic", "all"))
    share = np.full(found.n, np.nan)
    np.divide(cyclic, everything, out=share, where=everything > 0)
    return 1 - share


def _undercount_column() -> str:
    return "mean flip-rate undercount of the cyclic set"


def _other_k(found: Comparison) -> str:
    """What to say where no cell of four options was run under all orderings."""
    if found.k == 4:
        return ""
    return f"no cell with four options: cells with {WORDS[found.k]}"


def _without_cells(number: str, caption: str, row: str, column: str) -> Table:
    return Table(number, caption, [Block("", [Entry(row, column, None, n=0, note=NO_CELL)])])


def _joined(*notes: str) -> str:
    return "; ".join(filter(None, notes))
