"""Every per-cell statistic of spec section 1, item by item (paper 3, B.1 to B.3, F).

Counts and shares are exact rationals; a float appears only at a root, a logarithm or the end.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .orderings import M, cyclic, population_sd, position_counts

NAN = float("nan")


def _mean(values: Sequence[Fraction]) -> Fraction:
    """Plain mean of exact values."""
    total = Fraction(0)
    for value in values:
        total += value
    return total / len(values)


def _mean_vector(rows: Sequence[Sequence[Fraction]], K: int) -> list[Fraction]:
    """Entry-by-entry mean of vectors over K positions."""
    return [_mean([row[r] for row in rows]) for r in range(K)]


def _floats(values: Sequence[Fraction]) -> list[float]:
    """Exact values as floats."""
    return [float(value) for value in values]


def _kl_to_uniform(shares: Sequence[Fraction], K: int) -> float:
    """KL divergence of shares to uniform in bits, with 0 log 0 = 0 (paper B.3)."""
    terms = []
    for share in shares:
        if share > 0:
            terms.append(float(share) * math.log2(share * K))
    return math.fsum(terms)


def _entropy(contents: Sequence[int], K: int) -> float:
    """Entropy in bits of the contents chosen for one item (paper F)."""
    terms = []
    for content in range(K):
        count = sum(1 for chosen in contents if chosen == content)
        if count > 0:
            terms.append(count / len(contents) * math.log2(len(contents) / count))
    return math.fsum(terms)


def _disagreement(contents: Sequence[int]) -> Fraction:
    """Share of the unordered pairs of one item's entries whose contents differ (spec section 1)."""
    differing = 0
    pairs = 0
    for first in range(len(contents)):
        for second in range(first + 1, len(contents)):
            pairs += 1
            if contents[first] != contents[second]:
                differing += 1
    return Fraction(differing, pairs)


def _find(design: Sequence[tuple[int, ...]], wanted: tuple[int, ...]) -> int | None:
    """Index of the first entry of a design that is the wanted permutation."""
    for index in range(len(design)):
        if design[index] == wanted:
            return index
    return None


def statistics(
    z: Sequence[Sequence[int]],
    designs: Sequence[Sequence[Sequence[int]]],
    gold: Sequence[int],
    K: int,
) -> dict[str, Any]:
    """All statistics of spec section 1 for one cell.

    `z[q]` are the contents chosen for item q, `designs[q]` its orderings (a multiset, same
    length), `gold[q]` its correct content. A stable item is one whose content never changes.
    """
    n = len(z)
    if n == 0 or len(designs) != n or len(gold) != n:
        raise ValueError("z, designs and gold need one entry per item, and at least one item")
    sets = [[tuple(pi) for pi in design] for design in designs]
    for q in range(n):
        if len(z[q]) != len(sets[q]):
            raise ValueError(f"item {q} has {len(z[q])} choices and {len(sets[q])} orderings")
        for content in (*z[q], gold[q]):
            if content not in range(K):
                raise ValueError(f"item {q} has a content outside 0..{K - 1}: {content}")

    # Per item: accuracy, flipping, f_q(r), position balance and a_{q,j} (3.1, 3.2, B.1, B.2).
    item_accuracy: list[Fraction] = []
    flipping: list[bool] = []
    histograms: list[list[Fraction]] = []
    contribution: list[list[Fraction]] = []
    stable_deviation: list[list[Fraction]] = []
    balanced = True
    bound = 0.0
    for q in range(n):
        m_q = len(sets[q])
        item_accuracy.append(Fraction(sum(1 for j in z[q] if j == gold[q]), m_q))
        flipping.append(any(content != z[q][0] for content in z[q]))
        landed = [0] * K
        right_at = [0] * K
        for content, pi in zip(z[q], sets[q], strict=True):
            landed[pi[content]] += 1
            if content == gold[q]:
                right_at[pi[gold[q]]] += 1
        histograms.append([Fraction(count, m_q) for count in landed])
        contribution.append([Fraction(K * count, m_q) for count in right_at])
        counts = position_counts(sets[q], K)
        for row in counts:
            for count in row:
                if count * K != m_q:
                    balanced = False
        bound = max(bound, M(sets[q], K))
        if flipping[q]:
            stable_deviation.append([Fraction(0)] * K)
        else:
            shown = counts[z[q][0]]
            stable_deviation.append([Fraction(count, m_q) - Fraction(1, K) for count in shown])

    flips = sum(1 for flips_q in flipping if flips_q)
    flip_rate = Fraction(flips, n)
    accuracy = _mean(item_accuracy)
    stable_correct = Fraction(sum(1 for q in range(n) if not flipping[q] and z[q][0] == gold[q]), n)
    stable_wrong = Fraction(sum(1 for q in range(n) if not flipping[q] and z[q][0] != gold[q]), n)

    # Pooled histogram, the flipping items' histogram and the design term (eqs. 4, 5, 9, 16).
    f = _mean_vector(histograms, K)
    b = _mean_vector(stable_deviation, K)
    g = None
    if flips > 0:
        g = _mean_vector([histograms[q] for q in range(n) if flipping[q]], K)

    # Accuracy by gold letter (eq. 7, B.2).
    by_letter = _mean_vector(contribution, K) if balanced else None
    h = None
    if balanced and flips > 0:
        h = _mean_vector([contribution[q] for q in range(n) if flipping[q]], K)

    # Statistics of single orderings, found by their permutation (section 1, F).
    identity = cyclic(K)[0]
    half = cyclic(K)[K // 2]
    canonical: list[Fraction] = []
    fluctuating: list[Fraction] = []
    for q in range(n):
        at_identity = _find(sets[q], identity)
        at_half = _find(sets[q], half)
        if at_identity is not None:
            canonical.append(Fraction(int(z[q][at_identity] == gold[q])))
            if at_half is not None:
                fluctuating.append(Fraction(int(z[q][at_identity] != z[q][at_half])))

    # The flip cap (eq. 3) belongs to the K cyclic orderings.
    flip_cap = None
    if all(sorted(design) == sorted(cyclic(K)) for design in sets):
        flip_cap = min(Fraction(1), K * (1 - accuracy))

    pairs_defined = all(len(design) > 1 for design in sets)
    return {
        "n_items": n,
        "m": max(len(design) for design in sets),
        "accuracy": float(accuracy),
        "canonical_accuracy": float(_mean(canonical)) if len(canonical) == n else NAN,
        "flip_rate": float(flip_rate),
        "skew": population_sd(g) if g is not None else NAN,
        "pooled_sd": population_sd(f),
        "stable_correct": float(stable_correct),
        "stable_wrong": float(stable_wrong),
        "accuracy_by_letter": _floats(by_letter) if by_letter is not None else [NAN] * K,
        "h": _floats(h) if h is not None else [NAN] * K,
        "balanced_rstd": population_sd(by_letter) if by_letter is not None else NAN,
        "placement_range": (
            float(max(by_letter) - min(by_letter)) if by_letter is not None else NAN
        ),
        "std_h": population_sd(h) if h is not None else NAN,
        "range_h": float(max(h) - min(h)) if h is not None else NAN,
        "fluctuation_rate": float(_mean(fluctuating)) if len(fluctuating) == n else NAN,
        "kl": _kl_to_uniform(f, K),
        "per_item_kl": math.fsum(_kl_to_uniform(row, K) for row in histograms) / n,
        "per_item_sd": math.fsum(population_sd(row) for row in histograms) / n,
        "pairwise_disagreement": (
            float(_mean([_disagreement(row) for row in z])) if pairs_defined else NAN
        ),
        "choice_entropy": math.fsum(_entropy(row, K) for row in z) / n,
        "flip_cap": float(flip_cap) if flip_cap is not None else NAN,
        "scaled_flip_rate": float(flip_rate / flip_cap) if flip_cap else NAN,
        "f": _floats(f),
        "g": _floats(g) if g is not None else [NAN] * K,
        "b": _floats(b),
        "std_b": population_sd(b),
        "corrected_sd": population_sd([f[r] - b[r] for r in range(K)]),
        "design_bound": bound,
    }
