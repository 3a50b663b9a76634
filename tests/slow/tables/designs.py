"""Tables 17, 19 and 20 and the numbers of B.1, E.1 and E.3, from the sweeps of a run.

The random sets are the draws of `optionbias.design_draws`, as given streams.
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from optionbias.design_draws import gold_sets, own_sets, shared_sets
from optionbias.resampling import draw_weights

from .. import designs as slow
from ..orderings import (
    Ordering,
    all_orderings,
    cyclic,
    latin_square_sets,
)
from ..resampling import percentile, weighted_spearman

NAN = float("nan")
SEED = 20261016
# The comparison is made with this many draws.
DRAWS = 40
K = 4
Value = float | tuple[float, float, float]
Entries = dict[tuple[str, str], Value]
# statistic -> one value per set or draw
Found = dict[str, list[float]]
WITH_INTERVAL = {"Cyclic", "All 24 orderings"}
NAMES = {
    "cyclic": "Cyclic",
    "all": "All 24 orderings",
    "latin": "Latin square",
    "gold": "Gold at each position",
    "shared": "Random set shared by all items",
    "own": "Random set per item",
}


def _sweeps(run: Any) -> list[Any]:
    """The all-orderings sweeps of four options, by checkpoint and benchmark."""
    found = [s for s in run.sweeps if s.metadata["readout"] == "all-orderings" and s.k == K]
    return sorted(found, key=lambda s: (s.metadata["checkpoint"], s.metadata["benchmark"]))


@cache
def _squares() -> list[list[Ordering]]:
    """The Latin-square sets, enumerated once."""
    return latin_square_sets(K)


def designs(sweep: Any) -> dict[str, Found]:
    """Every statistic of every design on one cell."""
    _, gold, items, kept = slow.cell(sweep)
    orderings, benchmark = all_orderings(K), str(sweep.metadata["benchmark"])
    n, everyone = len(items), sweep.gold.tolist()

    def shared(sets: Sequence[Sequence[Ordering]]) -> list[list[Sequence[Ordering]]]:
        return [[some] * n for some in sets]

    def own(rows: Any) -> list[list[Sequence[Ordering]]]:
        """Rows (draws, K, items of the benchmark) as orderings of each usable item."""
        return [[[orderings[draw[j][q]] for j in range(K)] for q in kept] for draw in rows.tolist()]

    random = shared_sets(K, SEED)[..., 0].tolist()
    sets = {
        "cyclic": shared([cyclic(K)]),
        "all": shared([orderings]),
        "latin": shared(_squares()),
        "gold": own(gold_sets(K, everyone, benchmark, SEED)),
        "shared": shared([[orderings[i] for i in rows] for rows in random]),
        "own": own(own_sets(K, len(everyone), benchmark, SEED)),
    }
    found: dict[str, Found] = {}
    for name, draws in sets.items():
        rows = [slow.statistics(items, gold, some, K) for some in draws]
        found[name] = {key: [row[key] for row in rows] for key in rows[0]}
    found["expected"] = {"flip_rate": [slow.expected_flip_rate(items, K)]}
    return found


_CELLS: dict[int, tuple[Any, list[str], list[dict[str, Found]]]] = {}


def _cells(run: Any) -> tuple[list[str], list[dict[str, Found]]]:
    """Checkpoints and designs of the cells that hold an item, once per run."""
    if id(run) not in _CELLS:
        sweeps = [s for s in _sweeps(run) if slow.cell(s)[0]]
        names = [str(s.metadata["checkpoint"]) for s in sweeps]
        _CELLS[id(run)] = run, names, [designs(s) for s in sweeps]
    return _CELLS[id(run)][1:]


def _mean(values: Sequence[float]) -> float:
    some = [v for v in values if not math.isnan(v)]
    return math.fsum(some) / len(some) if some else NAN


def _quantile(values: Sequence[float], q: float = 50) -> float:
    some = [v for v in values if not math.isnan(v)]
    return percentile(some, q) if some else NAN


def _rank(x: Sequence[float], y: Sequence[float]) -> float:
    """Spearman correlation of the pairs that are defined; 1e-12 apart is a tie."""
    kept = [(round(a, 12), round(b, 12)) for a, b in zip(x, y, strict=True) if a == a]
    return weighted_spearman([a for a, _ in kept], [b for _, b in kept], [1] * len(kept))


def _taken(names: Sequence[str], draws: str) -> list[list[int]]:
    """Each draw as cells, those of a checkpoint as often as it is taken."""
    checkpoints = sorted(set(names))
    weights = draw_weights(len(checkpoints), DRAWS, SEED, draws).tolist()
    return [
        [i for i, c in enumerate(names) for _ in range(row[checkpoints.index(c)])]
        for row in weights
    ]


def _with_interval(
    statistic: Callable[[Sequence[int]], float], names: Sequence[str], draws: str
) -> tuple[float, float, float]:
    drawn = [statistic(cells) for cells in _taken(names, draws)]
    value = statistic(range(len(names)))
    return value, _quantile(drawn, 2.5), _quantile(drawn, 97.5)


def table17(run: Any) -> Entries:
    """Every number of Table 17."""
    _, cells = _cells(run)
    rates = {
        d: [_mean(c[d]["flip_rate"]) for c in cells]
        for d in ("cyclic", "all", "shared", "expected")
    }
    pairs = list(zip(rates["cyclic"], rates["all"], strict=True))
    spearman = "spearman with the cyclic flip rate"
    table: Entries = {
        ("FL_cyc <= FL_full holds", "share of cells"): 100 * sum(a <= b for a, b in pairs) / len(pairs),
        ("relative undercount", "mean over cells"): 100 * _mean([1 - a / b if b else NAN for a, b in pairs]),
    }  # fmt: skip
    for design, column in (("cyclic", "cyclic"), ("all", "all K!")):
        accuracy = [c[design]["accuracy"][0] for c in cells]
        table["spearman(accuracy, flip rate)", column] = _rank(rates[design], accuracy)
    for row, design in (
        ("cyclic, K orderings", "cyclic"),
        ("random subsets, K orderings", "shared"),
        ("exact expectation, K orderings", "expected"),
        ("all K!", "all"),
    ):
        table[row, "mean flip rate"] = _mean(rates[design])
        if design != "cyclic":
            table[row, spearman] = _rank(rates[design], rates["cyclic"])
    return table


def _relative(cell: dict[str, Found], *names: str) -> float:
    """A cell's median relative residual."""
    return _quantile(
        [
            r / sd if sd > 0 else NAN
            for name in names
            for r, sd in zip(cell[name]["residual"], cell[name]["pooled_sd"], strict=True)
        ]
    )


def _correlation(cells: list[dict[str, Found]], design: str, statistic: str, draw: int) -> float:
    return _rank(
        [c[design][statistic][draw] for c in cells], [c[design]["accuracy"][draw] for c in cells]
    )


def table19(run: Any) -> Entries:
    """Every number of Table 19."""
    names, cells = _cells(run)
    table: Entries = {}
    for design, row in NAMES.items():
        residuals = [_relative(c, design) for c in cells]
        table[row, "relative residual, median"] = _quantile(residuals)
        table[row, "relative residual, largest"] = _quantile(residuals, 100)
        draws = range(len(cells[0][design]["flip_rate"]))

        def over_draws(
            statistic: str, taken: Sequence[int], design: str = design, draws: range = draws
        ) -> float:
            some = [cells[i] for i in taken]
            if statistic == "lead":
                return _quantile(
                    [
                        abs(_correlation(some, design, "per_item_sd", d))
                        - abs(_correlation(some, design, "pooled_sd", d))
                        for d in draws
                    ]
                )
            return _quantile([_correlation(some, design, statistic, d) for d in draws])

        for column, statistic in (
            ("spearman flip rate", "flip_rate"),
            ("spearman skew", "skew"),
            ("spearman pooled SD", "pooled_sd"),
            ("per-item minus pooled SD magnitude", "lead"),
        ):
            if row in WITH_INTERVAL:
                table[row, column] = _with_interval(
                    lambda taken, s=statistic: over_draws(s, taken),  # type: ignore[misc]
                    names,
                    "table19/checkpoints/draws",
                )
            else:
                table[row, column] = over_draws(statistic, range(len(cells)))
    return table


def table20(run: Any) -> Entries:
    """Every number of Table 20."""
    _, cells = _cells(run)
    table: Entries = {}
    for design, row in (
        ("cyclic", "Cyclic"),
        ("shared", "Random set of 4 orderings shared by all items"),
        ("own", "Random 4 orderings per item"),
    ):
        table[row, "largest corrected absolute residual"] = max(
            r for c in cells for r in c[design]["corrected_residual"]
        )
        table[row, "median residual / bound"] = _quantile(
            [
                r / b
                for c in cells
                for r, b in zip(c[design]["residual"], c[design]["std_b"], strict=True)
                if b > 1e-12
            ]
        )
        for column, statistic in (
            ("pooled SD spearman", "pooled_sd"),
            ("corrected SD spearman", "corrected_sd"),
        ):
            draws = range(len(cells[0][design]["flip_rate"]))
            values = [_correlation(cells, design, statistic, d) for d in draws]
            ends = (_quantile(values, 2.5), _quantile(values, 97.5))
            value = _quantile(values)
            table[row, column] = value if design == "cyclic" else (value, *ends)
    return table


def text_b1(run: Any) -> Entries:
    """The number of B.1."""
    _, cells = _cells(run)
    holds = [
        r <= b + 1e-12
        for c in cells
        for design in NAMES
        for r, b in zip(c[design]["residual"], c[design]["std_b"], strict=True)
    ]
    row = ("all-ordering cells and random draws", "deviation bound holds")
    return {row: 100 * sum(holds) / len(holds)}


def text_e1(run: Any) -> Entries:
    """Every number of E.1."""
    _, cells = _cells(run)
    rates = [
        [_mean(c[d]["flip_rate"]) for d in ("cyclic", "all", "shared", "expected")] for c in cells
    ]
    found, there = (sum(c[d]["changing"][0] for c in cells) for d in ("cyclic", "all"))
    row = "all-K! cells"
    return {
        (row, "mean flip-rate undercount of the cyclic set"): _mean(
            [b - a for a, b, _, _ in rates]
        ),
        (row, "cyclic vs random four-subset flip rate, mean per-cell excess"): 100
        * _mean([a / r - 1 if r else NAN for a, _, r, _ in rates]),
        (row, "cyclic flip rate above its exact four-subset expectation"): 100
        * sum(a > e for a, _, _, e in rates)
        / len(rates),
        ("6 checkpoints", "correctness-changing items found by the cyclic set"): (
            100 * found / there if there else NAN
        ),
    }


def text_e3(run: Any) -> Entries:
    """Every number of E.3."""
    names, cells = _cells(run)
    row, column = "random subsets of four orderings", "median relative residual"
    table: Entries = {
        (f"{row}{suffix}", column): _quantile([_relative(c, *which) for c in cells])
        for suffix, which in (
            ("", ("shared", "own")),
            (", shared by all items", ("shared",)),
            (", per item", ("own",)),
        )
    }

    def share(design: str, taken: Sequence[int]) -> float:
        """var(log skew) / var(log pooled SD) of the replicated cells."""
        both = [i for i in taken if min(cells[i][d]["pooled_sd"][0] for d in ("cyclic", "all")) > 0]
        variances = []
        for statistic in ("skew", "pooled_sd"):
            logs = [math.log(cells[i][design][statistic][0]) for i in both]
            middle = _mean(logs)
            variances.append(_mean([(x - middle) ** 2 for x in logs]))
        return variances[0] / variances[1] if variances[1] > 1e-12 else NAN

    for label, statistic in (
        ("cyclic", lambda taken: share("cyclic", taken)),
        ("all 24 orderings", lambda taken: share("all", taken)),
        ("all 24 orderings minus cyclic", lambda t: share("all", t) - share("cyclic", t)),
    ):
        draws = "text-E.3/checkpoints/draws"
        table[f"all-K! cells, {label}", "skew share"] = _with_interval(statistic, names, draws)
    return table


TABLES = {
    "17": table17,
    "19": table19,
    "20": table20,
    "text-B.1": text_b1,
    "text-E.1": text_e1,
    "text-E.3": text_e3,
}
