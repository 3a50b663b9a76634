"""The random designs of Appendix E, by name: which orderings are presented in each draw.

A design is held as rows of `all_orderings(K)`: an integer array (draws, m, n) of row numbers, n
the items of a benchmark, or 1 where all items share one set. A shared set depends on K and the
draw alone and a per-item one on the benchmark and its items, never on a checkpoint, so that no
cell's numbers depend on which other cells exist.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.orderings import all_orderings
from optionbias.seeds import generator

DRAWS = 100

Rows = NDArray[np.int64]


def shared_sets(k: int, seed: int) -> Rows:
    """Sets of K distinct orderings, uniform without replacement, for all items: (100, K, 1)."""
    return _distinct(generator(seed, f"designs/shared/K{k}"), k, 1)


def own_sets(k: int, n: int, benchmark: str, seed: int) -> Rows:
    """The same drawn for each of a benchmark's n items on its own: (100, K, n)."""
    return _distinct(generator(seed, f"designs/own/{benchmark}"), k, n)


def gold_sets(k: int, gold: ArrayLike, benchmark: str, seed: int) -> Rows:
    """Orderings that show the correct content once at each position: (100, K, n).

    Row j of a draw is drawn for each item, uniformly, from the (K-1)! orderings that show the
    item's correct content at position j.

    Args:
        gold: (n,) the correct contents of all items of the benchmark.
    """
    c = np.asarray(gold)
    orderings = all_orderings(k)
    showing = np.array(
        [[np.flatnonzero(orderings[:, content] == j) for j in range(k)] for content in range(k)]
    )
    rng = generator(seed, f"designs/gold/{benchmark}")
    which = rng.integers(0, math.factorial(k - 1), size=(DRAWS, k, len(c)))
    return showing[c, np.arange(k)[:, None], which]


def _distinct(rng: np.random.Generator, k: int, n: int) -> Rows:
    """K distinct numbers below K! for every draw and item, each subset equally likely.

    Floyd's algorithm: the i-th number is drawn up to the i-th of the K largest numbers, which
    takes the place of a number that was drawn before.
    """
    chosen = np.empty((DRAWS, k, n), dtype=np.int64)
    for i, top in enumerate(range(math.factorial(k) - k, math.factorial(k))):
        pick = rng.integers(0, top + 1, size=(DRAWS, n))
        taken = (chosen[:, :i] == pick[:, None]).any(axis=1)
        chosen[:, i] = np.where(taken, top, pick)
    return chosen
