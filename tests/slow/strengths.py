"""Prior correction at several strengths, query by query (spec sections 3 and 4; paper 5, D.1, D.2).

Everything is read from a sweep's stored float32 log-probabilities; nothing is vectorised.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from . import operations
from .orderings import cyclic, population_sd, reversal

NAN = float("nan")
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
Rows = list[list[float]]
Counted = dict[str, float]


@dataclass(frozen=True)
class Cell:
    """The items of a first-token cell that are usable under the cyclic orderings.

    `forward[item]` and `backward[item]` are its renormalised rows under them and under their
    reversals (the latter only for items answered under all of those), `chosen[item]` its letters.
    """

    checkpoint: str
    benchmark: str
    K: int
    gold: dict[str, int]
    chosen: dict[str, list[int]]
    forward: dict[str, Rows]
    backward: dict[str, Rows]
    calibration: set[str]

    @property
    def evaluation(self) -> list[str]:
        """Items that no prior is estimated on."""
        return [item for item in self.gold if item not in self.calibration]

    @property
    def held_out(self) -> list[Rows]:
        """Rows of the calibration items."""
        return [self.forward[item] for item in self.gold if item in self.calibration]


def cell(sweep: Any, seed: int) -> Cell | None:
    """A first-token sweep as a cell; None with fewer than two usable items."""
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    pis = cyclic(sweep.k)
    columns = [stored.index(pi) for pi in pis]
    mirrored = [stored.index(reversal(pi)) if reversal(pi) in stored else -1 for pi in pis]
    choice, logp = sweep.choice.tolist(), sweep.logp.tolist()
    gold, chosen, forward, backward = {}, {}, {}, {}
    for q, item in enumerate(sweep.items.tolist()):
        if min(choice[q][s] for s in columns) < 0:
            continue
        gold[item] = int(sweep.gold[q])
        chosen[item] = [choice[q][s] for s in columns]
        forward[item] = [operations.log_softmax(logp[q][s]) for s in columns]
        if sweep.k > 2 and min(mirrored) >= 0 and min(choice[q][s] for s in mirrored) >= 0:
            backward[item] = [operations.log_softmax(logp[q][s]) for s in mirrored]
    if len(gold) < 2:
        return None
    benchmark = str(sweep.metadata["benchmark"])
    calibration = set(operations.calibration_ids(seed, benchmark, list(gold)))
    name = str(sweep.metadata["checkpoint"])
    return Cell(name, benchmark, sweep.k, gold, chosen, forward, backward, calibration)


def counted(contents: Sequence[Sequence[int]], gold: Sequence[int], K: int) -> Counted:
    """Factors, accuracy, pooled SD and balanced RStd under the cyclic orderings, item by item."""
    pis = cyclic(K)
    landed, flipped, right = [0] * K, [0] * K, [0] * K
    flips = 0
    for z, c in zip(contents, gold, strict=True):
        flips += len(set(z)) > 1
        for content, pi in zip(z, pis, strict=True):
            landed[pi[content]] += 1
            flipped[pi[content]] += len(set(z)) > 1
            right[pi[c]] += content == c
    n = len(contents)
    return {
        "flip_rate": flips / n,
        "skew": population_sd([Fraction(x, flips * K) for x in flipped]) if flips else NAN,
        "accuracy": sum(right) / (n * K),
        "pooled_sd": population_sd([Fraction(x, n * K) for x in landed]),
        # Every content is shown once at every letter, so n answers are asked for at each.
        "balanced_rstd": population_sd([Fraction(x, n) for x in right]),
    }


def stored_contents(cell: Cell, items: Sequence[str]) -> list[list[int]]:
    """Contents of the stored choices."""
    pis = cyclic(cell.K)
    return [[pi.index(r) for r, pi in zip(cell.chosen[item], pis, strict=True)] for item in items]


def corrected_contents(
    cell: Cell, items: Sequence[str], prior: Sequence[float], alpha: float
) -> list[list[int]]:
    """Contents chosen after alpha times the log prior is subtracted from every query."""
    pis = cyclic(cell.K)
    found = []
    for item in items:
        contents = []
        for row, pi in zip(cell.forward[item], pis, strict=True):
            corrected = operations.correct(row, prior, alpha)
            contents.append(pi.index(operations.choose(corrected)))
        found.append(contents)
    return found


def at(cell: Cell, prior: Sequence[float], alpha: float) -> Counted:
    """A cell's evaluation items with a prior divided out at a strength; stored answers at 0."""
    items = cell.evaluation
    gold = [cell.gold[item] for item in items]
    if alpha == 0:
        return counted(stored_contents(cell, items), gold, cell.K)
    return counted(corrected_contents(cell, items, prior, alpha), gold, cell.K)


def mean_log_prior(rows: Sequence[Rows]) -> list[float]:
    """Normalised exponential of the mean log-probability over items and orderings (D.1)."""
    every = [operations._floored(row) for item in rows for row in item]
    K = len(every[0])
    means = [math.exp(math.fsum(math.log(p[r]) for p in every) / len(every)) for r in range(K)]
    return [m / math.fsum(means) for m in means]


def variants(cell: Cell) -> dict[str, list[float]]:
    """Batch calibration's prior and the two that D.1 tries instead."""
    return {
        "batch": operations.batch_prior(cell.held_out),
        "mean log-probability": mean_log_prior(cell.held_out),
        "all test items": operations.batch_prior(list(cell.forward.values())),
    }


def symmetric_share(rows: Sequence[Rows]) -> float:
    """std(b_sym) / std(b) of the mean letter log-probabilities over items and orderings (D.2).

    A preference that is flat but for rounding has no share.
    """
    every = [row for item in rows for row in item]
    K = len(every[0])
    b = [math.fsum(row[r] for row in every) / len(every) for r in range(K)]
    symmetric = [(b[r] + b[K - 1 - r]) / 2 for r in range(K)]
    spreads = [
        math.sqrt(math.fsum((x - math.fsum(v) / K) ** 2 for x in v) / K) for v in (symmetric, b)
    ]
    return spreads[0] / spreads[1] if spreads[1] > 1e-12 else NAN


def operation_contents(cell: Cell, operation: str) -> dict[str, list[int]]:
    """Contents that an operation chooses for each of its usable items."""
    pis = cyclic(cell.K)
    items = list(cell.backward if operation.endswith("reversal") else cell.gold)
    calibration = [item for item in cell.gold if item in cell.calibration]
    # A prior reads the forward rows of every calibration item; their own answers are not used.
    every = [*items, *calibration]
    positions, _ = operations.apply(
        operation,
        [cell.forward[item] for item in every],
        [cell.backward.get(item, cell.forward[item]) for item in every],
        [cell.chosen[item] for item in every],
        pis,
        list(range(len(items), len(every))),
    )
    return {
        item: [pi.index(r) for r, pi in zip(row, pis, strict=True)]
        for item, row in zip(items, positions, strict=False)
    }


def reverses(
    first: Mapping[str, Sequence[int]], second: Mapping[str, Sequence[int]], gold: Mapping[str, int]
) -> bool:
    """Whether two checkpoints' contents reverse their ranks on the items that both map."""
    shared = [item for item in first if item in second]
    counts = [
        [sum(z[item][s] == gold[item] for item in shared) for s in range(len(z[shared[0]]))]
        for z in (first, second)
    ]
    return operations.rank_reversals(counts)[0] == 1


def shared_pairs(cells: Sequence[Cell], operation: str) -> dict[tuple[str, str], tuple[int, bool]]:
    """(checkpoint, checkpoint) -> items that the two cells of a benchmark share, and reversal."""
    answers: dict[str, dict[str, list[int]]] = {}
    gold: dict[str, int] = {}
    for cell in sorted(cells, key=lambda c: c.checkpoint):
        items = [item for item in cell.evaluation if item in cell.backward]
        if items:
            chosen = operation_contents(cell, operation)
            answers[cell.checkpoint] = {item: chosen[item] for item in items}
            gold.update(cell.gold)
    found = {}
    for a, b in itertools.combinations(answers, 2):
        shared = len(set(answers[a]) & set(answers[b]))
        found[a, b] = (shared, shared > 0 and reverses(answers[a], answers[b], gold))
    return found
