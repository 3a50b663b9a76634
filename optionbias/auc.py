"""Area under the ROC curve: how well a score tells marked items from the others (Appendix C.1).

The AUC is the share of (marked, other) pairs in which the marked item has the larger score, ties
counted half. Pairs are counted, not approximated, so equal scores give equal values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def auc(scores: ArrayLike, marked: ArrayLike) -> float:
    """The AUC of `scores` (n,) for the items in the mask `marked` (n,) against the others.

    NaN where either class is empty.
    """
    return stratified_auc(scores, marked, np.zeros(np.shape(marked), dtype=np.int64))


def stratified_auc(scores: ArrayLike, marked: ArrayLike, strata: ArrayLike) -> float:
    """Concordant pairs within strata over all pairs within strata (Table 7, last row).

    Args:
        scores: (n,) scores; larger ones speak for being marked.
        marked: (n,) mask.
        strata: (n,) integers; items of different strata are not compared.

    Returns:
        NaN where no stratum holds both classes.
    """
    x, positive = np.asarray(scores, dtype=np.float64), np.asarray(marked, dtype=bool)
    labels = np.asarray(strata)
    concordant, pairs = 0.0, 0
    for label in np.unique(labels):
        inside = labels == label
        chosen, others = x[inside & positive], x[inside & ~positive]
        concordant += _concordant(chosen, others)
        pairs += len(chosen) * len(others)
    return concordant / pairs if pairs else float("nan")


def _concordant(chosen: NDArray[np.float64], others: NDArray[np.float64]) -> float:
    """Pairs in which the chosen item's score is larger, plus half of those that tie."""
    ordered = np.sort(others)
    below = np.searchsorted(ordered, chosen, side="left").sum()
    up_to = np.searchsorted(ordered, chosen, side="right").sum()
    return float(below + up_to) / 2
