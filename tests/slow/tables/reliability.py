"""Table 9 from the sweeps of a run (paper C.3); the random halves are those of the named stream."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from optionbias.resampling import draw_weights
from optionbias.seeds import generator

from ..cells import Cell, cells_of
from ..nulls import interval, rank
from ..orderings import cyclic, population_sd
from ..resampling import spearman_brown, weighted_median

NAN = float("nan")
SEED = 20261016
# As many random halves as the synthetic runs are scored with.
REPETITIONS = 6
COLUMNS = ("spearman with accuracy", "split-half spearman", "spearman-brown")
Value = float | tuple[float, float, float]


def factors_of(cell: Cell, chosen: Sequence[bool]) -> dict[str, float]:
    """Flip rate and skew of some items of a cell; nan where undefined."""
    kept = [z for z, mine in zip(cell.contents, chosen, strict=True) if mine]
    flips = [z for z in kept if len(set(z)) > 1]
    landed = [0] * cell.K
    for z in flips:
        for content, pi in zip(z, cyclic(cell.K), strict=True):
            landed[pi[content]] += 1
    return {
        "flip_rate": len(flips) / len(kept) if kept else NAN,
        "skew": population_sd([Fraction(c, sum(landed)) for c in landed]) if flips else NAN,
    }


def halves_of(cell: Cell) -> list[tuple[dict[str, float], dict[str, float]]]:
    """The factors of both halves in each repetition.

    A half is drawn from all items that the benchmark's sweep holds, answered or not.
    """
    rng = generator(SEED, f"table9/halves/{cell.benchmark}")
    found = []
    for _ in range(REPETITIONS):
        order = rng.permutation(cell.sweep_items).tolist()
        first = [place in order[: cell.sweep_items // 2] for place in cell.places]
        found.append((factors_of(cell, first), factors_of(cell, [not mine for mine in first])))
    return found


def row_of(cells: Sequence[Cell], factor: str, name: str, draws: int) -> dict[str, Any]:
    """The three numbers of some cells, and the first one's draws over copies of cells."""
    x = [float(cell.found[factor]) for cell in cells]
    y = [float(cell.accuracy) for cell in cells]
    halves = [halves_of(cell) for cell in cells]
    correlations = [
        rank([half[r][0][factor] for half in halves], [half[r][1][factor] for half in halves])
        for r in range(REPETITIONS)
    ]
    defined = [r for r in correlations if not math.isnan(r)]
    split = math.fsum(defined) / len(defined) if defined else NAN
    weights = draw_weights(len(cells), draws, SEED, name).tolist() if cells else []
    values = (rank(x, y), split, spearman_brown(split))
    return {**dict(zip(COLUMNS, values, strict=True)), "draws": [rank(x, y, w) for w in weights]}


def median(values: Sequence[float]) -> float:
    """Median of the defined values."""
    defined = [v for v in values if not math.isnan(v)]
    return weighted_median(defined, [1] * len(defined))


def table9(run: Any, draws: int = 40) -> dict[tuple[str, str], Value]:
    """Every number of Table 9."""
    cells = cells_of(run, "first-token")
    within = [
        row_of(
            [cell for cell in cells if cell.benchmark == benchmark],
            "skew",
            f"table9/cells/{benchmark}/draws",
            draws,
        )
        for benchmark in sorted({cell.benchmark for cell in cells})
    ]
    medians: dict[str, Any] = {
        column: median([row[column] for row in within]) for column in COLUMNS
    }
    drawn = range(draws if within else 0)
    medians["draws"] = [median([row["draws"][d] for row in within]) for d in drawn]
    rows = {
        "Flip rate": row_of(cells, "flip_rate", "table9/cells/draws", draws),
        "Positional skew": row_of(cells, "skew", "table9/cells/draws", draws),
        "Positional skew, median within a benchmark": medians,
    }
    table: dict[tuple[str, str], Value] = {}
    for name, row in rows.items():
        table[name, COLUMNS[0]] = (row[COLUMNS[0]], *interval(row["draws"], 0.95))
        for column in COLUMNS[1:]:
            table[name, column] = row[column]
    return table


TABLES = {"9": table9}
