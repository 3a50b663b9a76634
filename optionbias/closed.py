"""Closed models: does reordering change answers more often than asking again (Section C.5)?

The same prompt can return another answer, so a flip mixes order sensitivity with repeat
disagreement. Two calls on one ordering are compared with two calls on different orderings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.factors import contents_of
from optionbias.item_draws import central_interval, resampled_totals
from optionbias.orderings import cyclic
from optionbias.sweep import Sweep

COLUMNS = (
    "benchmark", "checkpoint", "readout", "n_items", "repeat_disagreement", "reorder_disagreement",
    "difference", "difference_low", "difference_high",
)  # fmt: skip


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """A row for every cell that asked an ordering twice, on the items it answered every time.

    The interval of reorder minus repeat disagreement is the 95% item-bootstrap one.
    """
    rows = []
    for sweep in sweeps:
        disagreements = item_disagreements(sweep)
        if disagreements is None:
            continue
        repeat, reorder = disagreements
        n, others = len(repeat), sweep.k - 1
        # N (K-1) times the difference of the two shares is a whole number.
        difference = reorder - others * repeat
        name = f"table13/items/{benchmark}/draws"
        drawn = resampled_totals(difference[:, None], settings.draws, settings.seed, name)
        low, high = central_interval(drawn[0].astype(np.float64) / (n * others))
        rows.append(
            {
                "benchmark": benchmark, "checkpoint": str(sweep.metadata["checkpoint"]),
                "readout": str(sweep.metadata["readout"]), "n_items": n,
                "repeat_disagreement": repeat.sum() / n,
                "reorder_disagreement": reorder.sum() / (n * others),
                "difference": difference.sum() / (n * others),
                "difference_low": float(low), "difference_high": float(high),
            }
        )  # fmt: skip
    return rows


def item_disagreements(sweep: Sweep) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Per item, whether the second call on an ordering chose another content, and how many of the
    K-1 other cyclic orderings did, each (n,); None where nothing was asked twice or answered.

    An item counts if every one of those calls was answered.
    """
    presented = sweep.index_of(cyclic(sweep.k))
    if not sweep.repeats or (presented < 0).any():
        return None
    again, first = min(sweep.repeats.items())
    columns = np.array([first, again, *(s for s in presented if s != first)])
    answered = (sweep.choice[:, columns] >= 0).all(axis=1)
    if not answered.any():
        return None
    z = contents_of(sweep.choice[answered][:, columns], sweep.orderings[columns])
    differs = (z[:, 1:] != z[:, :1]).astype(np.int64)
    return differs[:, 0], differs[:, 1:].sum(axis=1)
