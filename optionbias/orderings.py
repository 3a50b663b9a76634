"""Orderings of K options: permutations, sets of them, and what a set balances.

An ordering is a row `pi` with `pi[j]` = the position (letter) at which content j is shown.
A design is a multiset of orderings, held as an integer array of shape (m, K).
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

MIN_K, MAX_K = 2, 26
MAX_K_ALL = 6
MAX_K_LATIN = 4
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Orderings = NDArray[np.int64]


class OrderingError(ValueError):
    """An array that is not a set of orderings, or an enumeration that would be too large."""


def check_k(k: int) -> int:
    """Return `k`, or raise `OrderingError` unless 2 <= k <= 26."""
    if not isinstance(k, int | np.integer) or isinstance(k, bool) or not MIN_K <= k <= MAX_K:
        raise OrderingError(f"K must be a whole number from {MIN_K} to {MAX_K}, not {k!r}")
    return int(k)


def as_orderings(pi: ArrayLike) -> Orderings:
    """Return `pi` as an int64 array (..., K), or raise unless every row is a permutation of 0..K-1."""
    array = np.asarray(pi)
    if array.ndim < 1 or array.size == 0 or not np.issubdtype(array.dtype, np.integer):
        raise OrderingError("orderings must be a non-empty array of integers")
    k = check_k(array.shape[-1])
    array = array.astype(np.int64)
    wrong = (np.sort(array, axis=-1) != np.arange(k)).any(axis=-1)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(np.atleast_1d(wrong))[0])
        row = np.atleast_2d(array)[where].tolist()
        raise OrderingError(f"ordering {where[-1]} is not a permutation of 0..{k - 1}: {row}")
    return array


def identity(k: int) -> Orderings:
    """pi_0, the canonical ordering, shape (K,)."""
    return np.arange(check_k(k))


def cyclic(k: int) -> Orderings:
    """The K cyclic orderings pi_s[j] = (j + s) mod K, shape (K, K), row s (Equation 1)."""
    positions = np.arange(check_k(k))
    return (positions[None, :] + positions[:, None]) % k


def reversal(pi: ArrayLike) -> Orderings:
    """The reversal pi'[j] = K-1-pi[j] of each ordering; same shape (Appendix D.1)."""
    orderings = as_orderings(pi)
    return orderings.shape[-1] - 1 - orderings


def cyclic_and_reversals(k: int) -> Orderings:
    """The orderings of a first-token sweep: K cyclic, then their K reversals where K >= 3.

    With two options the reversal of a cyclic ordering is the other cyclic ordering, so K = 2
    holds the two cyclic orderings alone.
    """
    rotations = cyclic(k)
    return rotations if k == 2 else np.concatenate([rotations, reversal(rotations)])


def all_orderings(k: int) -> Orderings:
    """All K! orderings in lexicographic order of pi, shape (K!, K); K <= 6."""
    if check_k(k) > MAX_K_ALL:
        raise OrderingError(
            f"all {math.factorial(k):,} orderings of K = {k} are too many: K <= {MAX_K_ALL} here"
        )
    return np.array(list(itertools.permutations(range(k))), dtype=np.int64)


def latin_square_sets(k: int) -> NDArray[np.int64]:
    """All sets of K orderings that show every content once at every position, K <= 4.

    Returns an array (number of sets, K, K); orderings in a set and the sets themselves are in
    lexicographic order. K = 4 has 24 of them (Appendix E.3).
    """
    if check_k(k) > MAX_K_LATIN:
        raise OrderingError(f"Latin-square sets are enumerated for K <= {MAX_K_LATIN}, not K = {k}")
    orderings = all_orderings(k)
    found: list[list[int]] = []

    def extend(chosen: list[int]) -> None:
        if len(chosen) == k:
            found.append(chosen)
            return
        for i in range(chosen[-1] + 1 if chosen else 0, len(orderings)):
            if all((orderings[i] != orderings[c]).all() for c in chosen):
                extend([*chosen, i])

    extend([])
    return orderings[np.array(found)]


def balanced_reversal_free_sets(k: int) -> NDArray[np.int64]:
    """The Latin-square sets that hold no ordering together with its reversal, K <= 4.

    K = 4 has twelve, the cyclic set among them (Appendix E.2); they are the sets on which the
    reversal product pairs each presented ordering with a distinct partner.
    """
    sets = latin_square_sets(k)
    mirrored = reversal(sets)
    holds = (sets[:, :, None, :] == mirrored[:, None, :, :]).all(axis=-1).any(axis=(1, 2))
    return sets[~holds]


def find(design: ArrayLike, pi: ArrayLike) -> NDArray[np.int64]:
    """Index in `design` (m, K) of the first row equal to each row of `pi` (..., K); -1 if absent.

    Orderings are always found by their permutation, never by a remembered index.
    """
    rows = np.asarray(design)
    wanted = np.asarray(pi)
    equal = (wanted[..., None, :] == rows).all(axis=-1)
    return np.where(equal.any(axis=-1), equal.argmax(axis=-1), -1)


def is_cyclic_set(design: ArrayLike) -> bool:
    """Whether `design` (m, K) is exactly the K cyclic orderings, each once, in any order."""
    rows = as_orderings(design)
    k = rows.shape[-1]
    return rows.shape[0] == k and bool((np.sort(find(rows, cyclic(k))) == np.arange(k)).all())


def position_shares(design: ArrayLike, counts: ArrayLike | None = None) -> NDArray[np.float64]:
    """u_j(r): the share of a design's orderings that show content j at position r (Equation 8).

    Args:
        design: orderings, shape (m, K) or per item (N, m, K).
        counts: non-negative multiplicities, shape (m,) or (N, m); 1 each by default.

    Returns:
        Shape (K, K) or (N, K, K), indexed [j, r]; each row sums to one.
    """
    orderings = as_orderings(design)
    k = orderings.shape[-1]
    weights = np.ones(orderings.shape[:-1]) if counts is None else np.asarray(counts, dtype=float)
    weights = np.broadcast_to(weights, orderings.shape[:-1])
    total = weights.sum(axis=-1)
    if (weights < 0).any() or (total <= 0).any():
        raise OrderingError("a design needs at least one ordering, with non-negative counts")
    shown = orderings[..., None] == np.arange(k)
    return np.einsum("...s,...sjr->...jr", weights, shown) / total[..., None, None]


def max_position_sd(design: ArrayLike, counts: ArrayLike | None = None) -> float:
    """M(S) = max_j std(u_j), over the items too for per-item designs (Appendix B.1)."""
    return float(position_shares(design, counts).std(axis=-1).max())


def is_position_balanced(design: ArrayLike, counts: ArrayLike | None = None) -> bool:
    """Whether u_j is uniform for every content (and every item): the pooling identity is exact."""
    shares = position_shares(design, counts)
    return bool(np.abs(shares - 1 / shares.shape[-1]).max() <= 1e-12)
