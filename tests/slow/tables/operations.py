"""Table 2 from the sweeps of a run, by literal copies of checkpoints (paper 6, D.1)."""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from .. import strengths
from ..operations import rank_reversals
from ..orderings import cyclic, population_sd
from .strengths import FACTORS, NAMES, SIX, Key, Value, cells_of, scaled, with_interval

NAN = float("nan")
DRAWS = "table2/checkpoints/draws"
LEVELS = {
    "placement_range": "placement range",
    "accuracy": "d accuracy",
    "stable_wrong": "d stable-wrong",
}
# Operation -> statistic -> value in a cell.
Statistics = dict[str, dict[str, float]]
PAIRS = (
    ("reversal", "pride"),
    ("reversal", "batch"),
    ("pride+reversal", "pride"),
    ("pride+reversal", "reversal"),
    ("batch+reversal", "batch"),
    ("batch+reversal", "reversal"),
    ("pride+batch", "pride"),
    ("pride+batch", "batch"),
)


@dataclass
class Compared:
    """Every operation on the same evaluation items of the cells with at least three options.

    `found[checkpoint, benchmark][operation]` are the cell's statistics; `correct[benchmark,
    operation][checkpoint]` counts right answers under each ordering on the items that all
    checkpoints share, where they share any.
    """

    found: dict[tuple[str, str], Statistics] = field(default_factory=dict)
    correct: dict[tuple[str, str], dict[str, list[int]]] = field(default_factory=dict)

    @property
    def checkpoints(self) -> list[str]:
        """Those with a cell, sorted."""
        return sorted({checkpoint for checkpoint, _ in self.found})

    def mean(self, copies: Sequence[str], value: Callable[[Statistics], float]) -> float:
        """Mean over the cells of the copies where the value is defined."""
        cells = [cell for copy in copies for cell in self.found if cell[0] == copy]
        values = [v for v in (value(self.found[cell]) for cell in cells) if not math.isnan(v)]
        return math.fsum(values) / len(values) if values else NAN

    def level(self, copies: Sequence[str], operation: str) -> float:
        """Reversing pairs of copies over all pairs; two copies of a checkpoint are no pair.

        Checkpoints i and j that are taken w_i and w_j times so make w_i w_j pairs.
        """
        reversing = pairs = 0
        for (_, op), counts in self.correct.items():
            if op == operation:
                for a, b in itertools.combinations([c for c in copies if c in counts], 2):
                    if a != b:
                        reversing += rank_reversals([counts[a], counts[b]])[0]
                        pairs += 1
        return reversing / pairs if pairs else NAN


def counted(contents: Sequence[Sequence[int]], gold: Sequence[int], K: int) -> dict[str, float]:
    """The statistics of Table 2 under the cyclic orderings, counted answer by answer."""
    n, landed, right = len(contents), [0] * K, [0] * K
    flips = stable_wrong = 0
    for z, c in zip(contents, gold, strict=True):
        flips += len(set(z)) > 1
        stable_wrong += set(z) == {z[0]} and z[0] != c
        for content, pi in zip(z, cyclic(K), strict=True):
            landed[pi[content]] += len(set(z)) > 1
            right[pi[c]] += content == c
    return {
        "flip_rate": flips / n,
        "skew": population_sd([Fraction(x, flips * K) for x in landed]) if flips else NAN,
        # Every content is shown once at every letter, so n answers are asked for at each.
        "placement_range": (max(right) - min(right)) / n,
        "accuracy": sum(right) / (n * K),
        "stable_wrong": stable_wrong / n,
    }


# The run is kept beside its cells, so that no other takes its id.
_COMPARED: dict[int, tuple[Any, Compared]] = {}


def compared(run: Any) -> Compared:
    """The cells of a run that Table 2 compares."""
    if id(run) in _COMPARED:
        return _COMPARED[id(run)][1]
    answered: dict[str, list[tuple[strengths.Cell, list[str]]]] = {}
    for cell in cells_of(run):
        items = [item for item in cell.evaluation if item in cell.backward]
        if items:
            answered.setdefault(cell.benchmark, []).append((cell, items))
    every = Compared()
    for benchmark, here in answered.items():
        shared = [item for item in here[0][1] if all(item in items for _, items in here)]
        for cell, items in here:
            gold = [cell.gold[item] for item in items]
            for operation in NAMES:
                chosen = strengths.operation_contents(cell, operation)
                contents = [chosen[item] for item in items]
                statistics = counted(contents, gold, cell.K)
                every.found.setdefault((cell.checkpoint, benchmark), {})[operation] = statistics
                if shared:
                    every.correct.setdefault((benchmark, operation), {})[cell.checkpoint] = [
                        sum(chosen[item][s] == cell.gold[item] for item in shared)
                        for s in range(cell.K)
                    ]
    _COMPARED[id(run)] = run, every
    return every


def log_change(factor: str, operation: str, base: str) -> Callable[[Statistics], float]:
    """A cell's log-change of a factor; nan unless it is positive under the whole comparison."""
    two = ("none", "pride", "batch", "pride+batch")
    group = two if "pride+batch" in (operation, base) else SIX

    def value(cell: Statistics) -> float:
        if not all(cell[op][factor] > 0 for op in group):
            return NAN
        return math.log(cell[operation][factor]) - math.log(cell[base][factor])

    return value


def difference(statistic: str, operation: str, base: str | None) -> Callable[[Statistics], float]:
    """A cell's level under an operation, or its difference from another's."""

    def value(cell: Statistics) -> float:
        return cell[operation][statistic] - (cell[base][statistic] if base else 0.0)

    return value


def table2(run: Any, draws: int = 40) -> dict[Key, Value]:
    """Every number of Table 2; nothing but an undefined one where no cell can be compared."""
    every = compared(run)
    if not every.found:
        return {("Baseline", "dlog flip rate"): (NAN, NAN, NAN)}

    def estimate(statistic: Callable[[list[str]], float], scale: float = 1) -> Value:
        return scaled(with_interval(statistic, every.checkpoints, draws, DRAWS), scale)

    wanted: list[tuple[str, str, str | None]] = [(NAMES[op], op, None) for op in NAMES]
    wanted += [(f"{NAMES[op]} minus {NAMES[minus]}", op, minus) for op, minus in PAIRS]
    found: dict[Key, Value] = {}
    for row, operation, minus in wanted:
        for factor, column in FACTORS.items():
            # The vote has no common cells: its flip rate is zero.
            change = log_change(factor, operation, minus or "none")
            found[row, column] = (
                (NAN, NAN, NAN)
                if operation == "vote"
                else estimate(lambda copies, change=change: every.mean(copies, change))  # type: ignore[misc]
            )
        for statistic, column in LEVELS.items():
            base = "none" if minus is None and statistic != "placement_range" else minus
            level = difference(statistic, operation, base)
            found[row, column] = estimate(
                lambda copies, level=level: every.mean(copies, level),  # type: ignore[misc]
                100,
            )

        def reversals(
            copies: list[str], operation: str = operation, minus: str | None = minus
        ) -> float:
            return every.level(copies, operation) - (every.level(copies, minus) if minus else 0)

        found[row, "rank reversals"] = estimate(reversals, 100)
        if operation == "none":
            # The baseline differs from itself by nothing, for certain: no interval is given.
            for column in (*FACTORS.values(), "d accuracy", "d stable-wrong"):
                found[row, column] = (found[row, column][0], NAN, NAN)
    return found


TABLES = {"2": table2}
