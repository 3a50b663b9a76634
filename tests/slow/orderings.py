"""Orderings and ordering sets, enumerated by brute force (spec section 0; paper 3.1, B.1, E.2).

An ordering is a tuple `pi` with `pi[j]` = the position at which content j is shown.
"""

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

Ordering = tuple[int, ...]


def population_sd(values: Sequence[Fraction]) -> float:
    """Population SD over a vector's entries (eq. 4): an exact variance, then one square root."""
    count = len(values)
    total = Fraction(0)
    for value in values:
        total += value
    mean = total / count
    square = Fraction(0)
    for value in values:
        square += (value - mean) ** 2
    return math.sqrt(square / count)


def cyclic(K: int) -> list[Ordering]:
    """The K cyclic orderings, `pi_s[j] = (j + s) mod K` (eq. 1), by s."""
    orderings = []
    for s in range(K):
        orderings.append(tuple((j + s) % K for j in range(K)))
    return orderings


def reversal(pi: Sequence[int]) -> Ordering:
    """The reversal of an ordering, `pi'[j] = K - 1 - pi[j]` (spec section 0)."""
    K = len(pi)
    return tuple(K - 1 - position for position in pi)


def all_orderings(K: int) -> list[Ordering]:
    """All K! orderings, lexicographic by pi (K <= 6, spec section 0)."""
    if K > 6:
        raise ValueError(f"all K! orderings are enumerated for K <= 6, not K = {K}")
    return sorted(itertools.permutations(range(K)))


def position_counts(S: Sequence[Sequence[int]], K: int) -> list[list[int]]:
    """How often each content j is shown at each position r over S, with multiplicity (eq. 8)."""
    if len(S) == 0:
        raise ValueError("an ordering set needs at least one ordering")
    counts = []
    for _ in range(K):
        counts.append([0] * K)
    for pi in S:
        if sorted(pi) != list(range(K)):
            raise ValueError(f"not an ordering of {K} options: {pi}")
        for j in range(K):
            counts[j][pi[j]] += 1
    return counts


def latin_square_sets(K: int) -> list[list[Ordering]]:
    """All sets of K orderings with every content once at every position (K <= 4, spec section 0).

    Sets are in lexicographic order, and so are the orderings of a set.
    """
    if K > 4:
        raise ValueError(f"Latin-square sets are enumerated for K <= 4, not K = {K}")
    found = []
    for subset in itertools.combinations(all_orderings(K), K):
        once = True
        for row in position_counts(subset, K):
            for count in row:
                if count != 1:
                    once = False
        if once:
            found.append(list(subset))
    return found


def balanced_reversal_free_sets(K: int) -> list[list[Ordering]]:
    """The Latin-square sets that hold no ordering together with its reversal (paper E.2)."""
    found = []
    for subset in latin_square_sets(K):
        paired = False
        for pi in subset:
            if reversal(pi) in subset:
                paired = True
        if not paired:
            found.append(subset)
    return found


def u(S: Sequence[Sequence[int]], K: int) -> list[list[float]]:
    """`u_j(r)`, the share of S that shows content j at position r (eq. 8): a list over j."""
    return [[count / len(S) for count in row] for row in position_counts(S, K)]


def M(S: Sequence[Sequence[int]], K: int) -> float:
    """`M(S) = max_j std(u_j)` (paper B.1)."""
    largest = 0.0
    for row in position_counts(S, K):
        largest = max(largest, population_sd([Fraction(count, len(S)) for count in row]))
    return largest
