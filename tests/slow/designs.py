"""Designs of orderings and certified answers, item by item (paper B.1, E.1 to E.3).

Counts and shares are exact rationals. A cell is a list of items; an item is a mapping from each
ordering to the content chosen under it.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from .orderings import Ordering, all_orderings, population_sd, reversal

NAN = float("nan")
ENVELOPE = 5e-7
TIE = 1e-9
Item = Mapping[Ordering, int]


def cell(sweep: Any) -> tuple[list[str], list[int], list[dict[Ordering, int]], list[int]]:
    """Ids, gold contents, chosen contents and row numbers of the items answered under all K!."""
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    ids, gold, items, rows = [], [], [], []
    for q in range(len(sweep.items)):
        answers: dict[Ordering, int] = {}
        for pi in all_orderings(sweep.k):
            letter = int(sweep.choice[q][stored.index(pi)])
            if letter >= 0:
                answers[pi] = pi.index(letter)
        if len(answers) == math.factorial(sweep.k):
            ids.append(str(sweep.items[q]))
            gold.append(int(sweep.gold[q]))
            items.append(answers)
            rows.append(q)
    return ids, gold, items, rows


@cache
def _sd(counts: tuple[int, ...]) -> float:
    """Population SD of the shares of one item's answers."""
    return population_sd([Fraction(count, sum(counts)) for count in counts])


def statistics(
    items: Sequence[Item], gold: Sequence[int], sets: Sequence[Sequence[Ordering]], K: int
) -> dict[str, float]:
    """What a design gives, `sets[q]` being the orderings of item q, as many for every item (B.1)."""
    n, m = len(items), len(sets[0])
    flips = correct = changing = 0
    landed, flipping, shown = ([0] * K for _ in range(3))
    per_item = []
    for item, c, some in zip(items, gold, sets, strict=True):
        chosen = [item[pi] for pi in some]
        counts = [0] * K
        for pi, z in zip(some, chosen, strict=True):
            counts[pi[z]] += 1
        per_item.append(_sd(tuple(counts)))
        right = sum(z == c for z in chosen)
        correct += right
        changing += 0 < right < m
        flips += len(set(chosen)) > 1
        for r in range(K):
            landed[r] += counts[r]
            if len(set(chosen)) > 1:
                flipping[r] += counts[r]
            else:
                shown[r] += sum(pi[chosen[0]] == r for pi in some)
    f = [Fraction(x, n * m) for x in landed]
    b = [Fraction(x, n * m) - Fraction(n - flips, n * K) for x in shown]
    pooled = population_sd(f)
    corrected = population_sd([x - y for x, y in zip(f, b, strict=True)])
    # FL * std(g) = std(FL * g), and 0 where nothing flips.
    product = population_sd([Fraction(x, n * m) for x in flipping])
    return {
        "flip_rate": flips / n,
        "skew": population_sd([Fraction(x, flips * m) for x in flipping]) if flips else NAN,
        "pooled_sd": pooled,
        "per_item_sd": math.fsum(per_item) / n,
        "accuracy": correct / (n * m),
        "std_b": population_sd(b),
        "corrected_sd": corrected,
        "residual": abs(pooled - product),
        "corrected_residual": abs(corrected - product),
        "changing": float(changing),
    }


def expected_flip_rate(items: Sequence[Item], size: int) -> float:
    """The mean over every subset of `size` orderings of the share of items that flip on it."""
    flips = subsets = 0
    for item in items:
        for chosen in itertools.combinations(item.values(), size):
            subsets += 1
            flips += chosen.count(chosen[0]) < size
    return float(Fraction(flips, subsets))


def balanced_set(
    chosen: Sequence[Sequence[int]], gold: Sequence[int], some: Sequence[Ordering]
) -> tuple[float, float, list[bool]]:
    """Flip rate, placement range and flips on a set that shows gold once at each position (E.2)."""
    n, K = len(chosen), len(some)
    flips = [len(set(z)) > 1 for z in chosen]
    right = [0] * K
    for z, c in zip(chosen, gold, strict=True):
        for content, pi in zip(z, some, strict=True):
            right[pi[c]] += content == c
    return sum(flips) / n, (max(right) - min(right)) / n, flips


def score(
    operation: str,
    rows: Mapping[Ordering, Sequence[float]],
    pi: Ordering,
    prior: Sequence[float] | None,
    content: int,
    moved: float = 0.0,
) -> float:
    """An operation's log score of one content under one ordering.

    `rows` holds an item's renormalised rows; each probability that enters the score moves by
    `moved` and stays within 0 and 1.
    """
    total = 0.0
    for ordering in [pi, reversal(pi)] if operation.endswith("reversal") else [pi]:
        letter = ordering[content]
        if moved:
            p = min(1.0, max(0.0, math.exp(rows[ordering][letter]) + moved))
            total += math.log(p) if p > 0 else -math.inf
        else:
            total += rows[ordering][letter]
        if prior is not None:
            total -= math.log(prior[letter])
    return total


def answer(
    operation: str,
    rows: Mapping[Ordering, Sequence[float]],
    pi: Ordering,
    prior: Sequence[float] | None,
) -> int:
    """The content of the lowest letter within 1e-9 of the largest score."""
    found = [score(operation, rows, pi, prior, content) for content in range(len(pi))]
    by_letter = sorted(range(len(pi)), key=lambda content: pi[content])
    return next(content for content in by_letter if found[content] >= max(found) - TIE)


def is_certified(
    operation: str,
    rows: Mapping[Ordering, Sequence[float]],
    pi: Ordering,
    prior: Sequence[float] | None,
) -> bool:
    """Whether the answer stays clearly ahead of each other content at the worst for both."""
    chosen = answer(operation, rows, pi, prior)
    lowest = score(operation, rows, pi, prior, chosen, -ENVELOPE)
    for other in range(len(pi)):
        if other != chosen:
            highest = score(operation, rows, pi, prior, other, ENVELOPE)
            if not lowest - highest > TIE:
                return False
    return True
