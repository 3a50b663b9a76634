"""Changes between two cells and their item bootstrap, item by item (paper A.5, C.2, C.5, D.5).

An item is (contents, positions): what it chose under each cyclic ordering and where that was shown.
A draw is the literal list of the items it takes.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from .operations import apply, calibration_ids
from .orderings import cyclic, population_sd
from .resampling import percentile

Item = tuple[list[int], list[int]]
NAN = float("nan")


def items_of(sweep: Any) -> dict[str, Item]:
    """The stored answers of a sweep's usable items under the cyclic orderings."""
    pis = cyclic(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    columns = [stored.index(pi) for pi in pis]
    found = {}
    for name, row in zip(sweep.items.tolist(), sweep.choice.tolist(), strict=True):
        positions = [row[s] for s in columns]
        if min(positions) >= 0:
            contents = [pi.index(p) for pi, p in zip(pis, positions, strict=True)]
            found[name] = (contents, positions)
    return found


def pride_sides(sweep: Any, seed: int) -> tuple[dict[str, Item], dict[str, Item]]:
    """The evaluation items of a sweep, uncorrected and after PriDe."""
    pis = cyclic(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    columns = [stored.index(pi) for pi in pis]
    before = items_of(sweep)
    names = sweep.items.tolist()
    calibration = calibration_ids(seed, sweep.metadata["benchmark"], list(before))
    usable = [q for q, name in enumerate(names) if name in before]
    logp = [[sweep.logp[q, s].tolist() for s in columns] for q in usable]
    choice = [[int(sweep.choice[q, s]) for s in columns] for q in usable]
    held_out = [i for i, q in enumerate(usable) if names[q] in calibration]
    answers, _ = apply("pride", logp, None, choice, pis, held_out)
    after = {}
    for q, positions in zip(usable, answers, strict=True):
        contents = [pi.index(p) for pi, p in zip(pis, positions, strict=True)]
        after[names[q]] = (contents, list(positions))
    kept = [name for name in before if name not in calibration]
    return {name: before[name] for name in kept}, {name: after[name] for name in kept}


def flip_rate(items: Sequence[Item]) -> float:
    """Share of items whose content changes."""
    return sum(1 for contents, _ in items if len(set(contents)) > 1) / len(items)


def pooled_sd(items: Sequence[Item], K: int) -> float:
    """SD over positions of the share of all answers."""
    landed = [0] * K
    for _, positions in items:
        for position in positions:
            landed[position] += 1
    return population_sd([Fraction(count, sum(landed)) for count in landed])


def per_item_kl(items: Sequence[Item], K: int) -> float:
    """Mean over items of KL(f_q || unif) in bits."""
    divergences = []
    for _, positions in items:
        for r in range(K):
            share = positions.count(r) / K
            if share > 0:
                divergences.append(share * math.log2(K * share))
    return math.fsum(divergences) / len(items)


def change(
    before: Mapping[str, Item],
    after: Mapping[str, Item],
    K: int,
    weights_of: Callable[[int], Sequence[Sequence[int]]],
) -> dict[str, Any]:
    """What changes between two cells on the items of both, and the intervals of two changes.

    `weights_of(n)` gives how often each of n items, sorted by name, is taken in every draw.
    """
    names = sorted(set(before) & set(after))
    sides = [[cell[name] for name in names] for cell in (before, after)]
    found: dict[str, Any] = {
        "n_items": len(names),
        "flip_rate": [flip_rate(items) for items in sides],
        "pooled_sd": [pooled_sd(items, K) for items in sides],
        "per_item_kl": [per_item_kl(items, K) for items in sides],
    }
    drawn: dict[str, list[float]] = {"flip_rate": [], "pooled_sd": []}
    for weights in weights_of(len(names)):
        taken = [i for i, weight in enumerate(weights) for _ in range(weight)]
        one, other = ([items[i] for i in taken] for items in sides)
        drawn["flip_rate"].append(flip_rate(other) - flip_rate(one))
        drawn["pooled_sd"].append(pooled_sd(other, K) - pooled_sd(one, K))
    for statistic, differences in drawn.items():
        low, high = percentile(differences, 2.5), percentile(differences, 97.5)
        found[f"{statistic}_interval"] = (low, high)
        found[f"{statistic}_resolved"] = low > 0 or high < 0
    return found


def difference(change_of: Mapping[str, Any], statistic: str) -> float:
    """After minus before; zero where it is rounding."""
    one, other = change_of[statistic]
    return 0.0 if abs(other - one) < 1e-12 else other - one


def is_opposite(change_of: Mapping[str, Any], statistic: str) -> bool:
    """Whether the product of the statistic's change and the flip rate's is below zero."""
    return difference(change_of, "flip_rate") * difference(change_of, statistic) < 0


def uniformity_p(items: Sequence[Item], K: int) -> float:
    """p = min(1, 2K exp(-2 N t^2)) for the largest deviation t of a position's share from 1/K."""
    largest = 0.0
    for r in range(K):
        landed = sum(positions.count(r) for _, positions in items)
        largest = max(largest, abs(landed / (K * len(items)) - 1 / K))
    return min(1.0, 2 * K * math.exp(-2 * len(items) * largest**2))


def holm_rejects(p: Sequence[float], level: float = 0.05) -> list[bool]:
    """Holm's procedure step by step: smallest first, stop at the first that is not rejected."""
    rejected = [False] * len(p)
    order = sorted(range(len(p)), key=lambda i: p[i])
    for step, i in enumerate(order):
        if p[i] > level / (len(p) - step):
            break
        rejected[i] = True
    return rejected


def holm_adjusted(p: Sequence[float]) -> list[float]:
    """The smallest level at which Holm's procedure rejects each hypothesis, at most one."""
    adjusted = []
    for i in range(len(p)):
        before = [j for j in range(len(p)) if (p[j], j) <= (p[i], i)]
        # Rejected when every one before it and itself passes its own step.
        order = sorted(before, key=lambda j: (p[j], j))
        adjusted.append(min(1.0, max((len(p) - s) * p[j] for s, j in enumerate(order))))
    return adjusted


def disagreements(sweep: Any) -> dict[str, tuple[int, int]]:
    """Per item answered every time: did the second call on ordering 0 differ, and how many others."""
    pis = cyclic(sweep.k)
    stored = [tuple(pi) for pi in sweep.orderings.tolist()]
    firsts = [stored.index(pi) for pi in pis]
    again = [s for s in range(len(stored)) if stored[s] == pis[0] and s != firsts[0]]
    found = {}
    for name, row in zip(sweep.items.tolist(), sweep.choice.tolist(), strict=True):
        columns = [*firsts, again[0]]
        if min(row[s] for s in columns) < 0:
            continue
        contents = {s: stored[s].index(row[s]) for s in columns}
        asked = contents[firsts[0]]
        others = sum(1 for s in firsts[1:] if contents[s] != asked)
        found[name] = (int(contents[again[0]] != asked), others)
    return found
