"""Tables 8, 11 and 12 and the numbers of A.3 and A.5, from the sweeps of a run."""

import math
from collections.abc import Callable, Sequence
from typing import Any

from optionbias.resampling import draw_weights
from optionbias.seeds import generator

from ..cells import Cell, cells_of, correct_share
from ..factors import statistics
from ..nulls import cap, cap_null, interval, rank, shares, simultaneous
from ..orderings import cyclic

NAN = float("nan")
SEED = 20261016
# The comparison is made with this many draws and permutations.
DRAWS = 40
Value = float | tuple[float, float, float]
Entries = dict[tuple[str, str], Value]

READOUTS = ("First-token", "Five-shot", "Chain-of-thought", "Direct-answer")
STATISTICS = {
    "Flip rate": "flip_rate",
    "Fluctuation rate": "fluctuation_rate",
    "Pairwise disagreement": "pairwise_disagreement",
    "Choice entropy": "choice_entropy",
    "Per-item KL to uniform": "per_item_kl",
    "Per-item selection-rate SD": "per_item_sd",
    "Pooled KL to uniform": "kl",
    "Pooled SD": "pooled_sd",
}
COUNTS = ("Fluctuation rate", "Pairwise disagreement", "Choice entropy")


def by_options(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    """The cells of each option count."""
    counts = sorted({cell.K for cell in cells})
    return {f"K={k}": [cell for cell in cells if k == cell.K] for k in counts}


def block_draws(cells: Sequence[Cell], name: str) -> list[list[int]]:
    """How often each cell is taken in each draw of whole checkpoints."""
    names = sorted({cell.checkpoint for cell in cells})
    rows = draw_weights(len(names), DRAWS, SEED, name).tolist()
    return [[row[names.index(cell.checkpoint)] for cell in cells] for row in rows]


def factor(cells: Sequence[Cell], name: str) -> list[float]:
    """A statistic of each cell."""
    return [float(cell.found[name]) for cell in cells]


def cell_shares(cells: Sequence[Cell], weights: Sequence[int]) -> tuple[float, float, float]:
    """Variance shares over replicated cells."""
    return shares(factor(cells, "flip_rate"), factor(cells, "skew"), weights)


def skew_rank(cells: Sequence[Cell], weights: Sequence[int]) -> float:
    """Spearman correlation of skew and accuracy over replicated cells."""
    return rank(factor(cells, "skew"), factor(cells, "accuracy"), weights)


def drawn(
    statistic: Callable[[Sequence[Cell], Sequence[int]], float],
    cells: Sequence[Cell],
    draws: Sequence[Sequence[int]],
    level: float = 0.95,
) -> Value:
    """A statistic of the cells and its interval over draws."""
    value = statistic(cells, [1] * len(cells))
    return (value, *interval([statistic(cells, w) for w in draws], level))


Readouts = dict[str, list[Cell]]


def readouts_of(run: Any) -> Readouts:
    """The cells of each readout of table 8."""
    return {readout.lower(): cells_of(run, readout.lower()) for readout in READOUTS}


def own_pool(known: Readouts, readout: str) -> list[Cell]:
    """The cells with nine tenths of the modal usable items; all of the first-token readout."""
    cells, first = known[readout], known["first-token"]
    if readout == "first-token":
        return cells
    kept = []
    for cell in cells:
        sizes = [len(c.places) for c in first if c.benchmark == cell.benchmark]
        often = max((sizes.count(size) for size in sizes), default=0)
        modal = max((size for size in sizes if sizes.count(size) == often), default=0)
        if 10 * len(cell.places) >= 9 * modal:
            kept.append(cell)
    return kept


def common_pool(known: Readouts, readout: str) -> list[Cell]:
    """The cells run under all three readouts, as `readout` answers them."""
    three = [
        {cell.name for cell in known[r]}
        for r in ("first-token", "chain-of-thought", "direct-answer")
    ]
    return [c for c in known[readout] if all(c.name in names for names in three)]


def readout_rows(row: str, cells: Sequence[Cell]) -> Entries:
    """The two entries of a row of the lower block of table 8."""
    if not cells:
        return {(row, "skew share"): NAN, (row, "spearman(skew, accuracy)"): NAN}
    draws = block_draws(cells, "table8/checkpoints/draws")
    return {
        (row, "skew share"): drawn(lambda c, w: cell_shares(c, w)[1], cells, draws, 0.975),
        (row, "spearman(skew, accuracy)"): drawn(skew_rank, cells, draws),
    }


def table8(run: Any) -> Entries:
    """Every number of Table 8."""
    known = readouts_of(run)
    first = known["first-token"]
    table: Entries = {}
    groups = {"All cells": first, **by_options(first)}
    for column, cells in groups.items():
        name = "table8/cells/draws" if column == "All cells" else f"table8/cells/{column}/draws"
        draws = draw_weights(len(cells), DRAWS, SEED, name).tolist()
        for i, row in enumerate(("Flip rate share", "Skew share", "Twice covariance")):
            value = cell_shares(cells, [1] * len(cells))[i]
            ends = interval([cell_shares(cells, w)[i] for w in draws], 0.975)
            table[row, column] = (value, *ends)
    for readout in READOUTS:
        for label, pool in (("own pool", own_pool), ("common pool", common_pool)):
            table |= readout_rows(f"{readout}, {label}", pool(known, readout.lower()))
    return table


def text_a3(run: Any) -> Entries:
    """Every number of A.3."""
    known = readouts_of(run)
    table: Entries = {}
    for label, pool in (("own pool", own_pool), ("common pool", common_pool)):
        row = f"Chain-of-thought, {label}, at most half fallback answers"
        cells = pool(known, "chain-of-thought")
        kept = [cell for cell in cells if cell.fallback <= 0.5]
        table |= readout_rows(row, kept)
        table[row, "cells dropped"] = len(cells) - len(kept)
    return table


def text_a5(run: Any) -> Entries:
    """Every number of A.5."""
    cells = cells_of(run, "first-token")
    refitted: dict[str, Callable[[Sequence[Cell], Sequence[int]], float]] = {
        "spearman(flip rate, accuracy)": lambda c, w: rank(
            factor(c, "flip_rate"), factor(c, "accuracy"), w
        ),
        "spearman(skew, accuracy)": skew_rank,
        "skew share": lambda c, w: cell_shares(c, w)[1],
    }
    table: Entries = {}
    for i, by in enumerate(("checkpoint", "benchmark")):
        for column, statistic in refitted.items():
            refits = []
            for left_out in sorted({cell.name[i] for cell in cells}):
                rest = [cell for cell in cells if cell.name[i] != left_out]
                refits.append(statistic(rest, [1] * len(rest)))
            defined = [r for r in refits if not math.isnan(r)]
            table[f"leave one {by} out", column] = (
                statistic(cells, [1] * len(cells)),
                min(defined, default=NAN),
                max(defined, default=NAN),
            )
    return table


def table11(run: Any) -> Entries:
    """Every number of Table 11."""
    first = cells_of(run, "first-token")
    table: Entries = {}
    for label, group in by_options(first).items():
        k = group[0].K
        cells = [cell for cell in group if cell.accuracy < 1]
        strata = {
            "all": cells,
            "binding": [c for c in cells if cap(c.accuracy, k) < 1],
            "cap equal to one": [c for c in cells if cap(c.accuracy, k) == 1],
        }
        for name, chosen in strata.items():
            row = f"{label}, {name}"
            rng = generator(SEED, f"table11/permutations/{row}")
            start = [list(range(len(chosen)))] * DRAWS
            orders = rng.permuted(start, axis=1).tolist() if chosen else []
            found = cap_null([c.flip_rate for c in chosen], [c.accuracy for c in chosen], k, orders)
            table[row, "observed spearman"] = found["observed"]
            table[row, "null median"] = (found["median"], found["low"], found["high"])
            table[row, "P"] = found["P"]
            table[row, "cells"] = len(chosen)

    def scaled_rank(cells: Sequence[Cell], weights: Sequence[int]) -> float:
        caps = [cap(cell.accuracy, cell.K) for cell in cells]
        scaled = [
            float(cell.flip_rate / c) if c > 0 else NAN for cell, c in zip(cells, caps, strict=True)
        ]
        return rank(scaled, factor(cells, "accuracy"), weights)

    groups = {"all cells": first, **by_options(first)}
    for label, cells in groups.items():
        draws = block_draws(cells, "table11/checkpoints/draws")
        row = f"scaled flip rate and accuracy, {label}"
        table[row, "spearman"] = drawn(scaled_rank, cells, draws, 0.975)
    return table


# One correlation that is averaged: the cells, and of each its statistics and the accuracy.
Part = list[tuple[Cell, dict[str, float], float]]


def item_parts(cells: Sequence[Cell]) -> list[Part]:
    """Five rotations: statistics on four folds of the benchmark's items, accuracy on the fifth."""
    parts: list[Part] = []
    for turn in range(5):
        part: Part = []
        for cell in cells:
            rng = generator(SEED, f"table12/folds/{cell.benchmark}")
            order = rng.permutation(cell.sweep_items).tolist()
            held = [order.index(place) % 5 == turn for place in cell.places]
            four = [q for q, out in enumerate(held) if not out]
            fifth = [q for q, out in enumerate(held) if out]
            found = dict.fromkeys(STATISTICS.values(), NAN)
            accuracy = NAN
            if four:
                taken = [cell.contents[q] for q in four]
                gold = [cell.gold[q] for q in four]
                whole = statistics(taken, [cyclic(cell.K)] * len(four), gold, cell.K)
                found = {name: float(whole[name]) for name in STATISTICS.values()}
            if fifth:
                rows, gold = [cell.contents[q] for q in fifth], [cell.gold[q] for q in fifth]
                accuracy = float(correct_share(rows, gold))
            part.append((cell, found, accuracy))
        parts.append(part)
    return parts


def benchmark_parts(cells: Sequence[Cell]) -> list[Part]:
    """Each benchmark run on every checkpoint, against the mean accuracy on the others."""
    checkpoints = {cell.checkpoint for cell in cells}
    known = {cell.name: cell for cell in cells}
    used = [
        b
        for b in sorted({cell.benchmark for cell in cells})
        if all((c, b) in known for c in checkpoints)
    ]
    parts: list[Part] = []
    for benchmark in used if len(used) > 1 else []:
        part: Part = []
        for checkpoint in sorted(checkpoints):
            others = [known[checkpoint, b].found["accuracy"] for b in used if b != benchmark]
            mean = math.fsum(others) / len(others)
            part.append((known[checkpoint, benchmark], known[checkpoint, benchmark].found, mean))
        parts.append(part)
    return parts


def mean_rank(parts: Sequence[Part], statistic: str, taken: dict[str, int] | None) -> float:
    """Mean over parts of the correlation, each checkpoint replicated as often as it is taken."""
    found = []
    for part in parts:
        weights = [1 if taken is None else taken[cell.checkpoint] for cell, _, _ in part]
        x = [values[statistic] for _, values, _ in part]
        found.append(rank(x, [accuracy for _, _, accuracy in part], weights))
    defined = [r for r in found if not math.isnan(r)]
    return math.fsum(defined) / len(defined) if defined else NAN


def scope(parts: Sequence[Part], column: str, pairs: Sequence[tuple[str, str, str]]) -> Entries:
    """A column of Table 12."""
    table: Entries = {}
    names = sorted({cell.checkpoint for part in parts for cell, _, _ in part})
    rows = draw_weights(len(names), DRAWS, SEED, "table12/checkpoints/draws").tolist()
    draws = [dict(zip(names, row, strict=True)) for row in rows] if names else []
    values: dict[str, float] = {}
    in_draws: dict[str, list[float]] = {}
    for row, statistic in STATISTICS.items():
        values[statistic] = mean_rank(parts, statistic, None)
        in_draws[statistic] = [mean_rank(parts, statistic, taken) for taken in draws]
        table[row, column] = (values[statistic], *interval(in_draws[statistic]))
    others = [values[STATISTICS[row]] for row in COUNTS if not math.isnan(values[STATISTICS[row]])]
    table["Other count-based statistics, lowest", column] = min(others, default=NAN)
    table["Other count-based statistics, highest", column] = max(others, default=NAN)
    gaps = [abs(values[a]) - abs(values[b]) for _, a, b in pairs]
    drawn_gaps = [
        [abs(in_draws[a][d]) - abs(in_draws[b][d]) for _, a, b in pairs] for d in range(len(draws))
    ]
    ends = simultaneous(gaps, drawn_gaps)
    for (row, _, _), gap, (low, high) in zip(pairs, gaps, ends, strict=True):
        table[row, column] = (gap, low, high)
    return table


def table12(run: Any) -> Entries:
    """Every number of Table 12."""
    first = cells_of(run, "first-token")
    every = cells_of(run, "all-orderings", every_ordering=True)
    per_item = (
        ("Per-item KL minus pooled KL", "per_item_kl", "kl"),
        ("Per-item SD minus pooled SD", "per_item_sd", "pooled_sd"),
    )
    flips = (
        ("Flip rate minus pooled KL", "flip_rate", "kl"),
        ("Flip rate minus pooled SD", "flip_rate", "pooled_sd"),
    )
    held_out: Part = [
        (cell, cell.found, float(correct_share(cell.other_contents, cell.gold)))
        for cell in every
        if cell.other_contents[0]
    ]
    own: Part = [(cell, cell.found, float(cell.accuracy)) for cell in every]
    return {
        **scope(item_parts(first), "item-disjoint", per_item),
        **scope(benchmark_parts(first), "benchmark-disjoint", flips),
        **scope([held_out], "ordering-disjoint", per_item),
        **scope([own], "ordering-disjoint cells, own cyclic orderings", per_item),
    }


TABLES = {
    "8": table8,
    "11": table11,
    "12": table12,
    "text-A.3": text_a3,
    "text-A.5": text_a5,
}
