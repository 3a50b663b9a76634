"""The noise floor: answers that change although neither the item nor the order of its options does.

A sample of a cell is read again with another batch shape, dtype or backend. The share of answers that
differ is the repeat disagreement of the cell: flips no more frequent than that are no evidence of
order effects. The paper assumes it to be zero (A.4, Assumption 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.orderings import cyclic
from optionbias.sweep import Sweep

COLUMNS = (
    "checkpoint", "benchmark", "readout", "variant", "dtype", "n_items", "n_queries", "changed",
    "repeat_disagreement", "flip_rate", "flip_rate_again", "flips_changed", "largest_change",
    "gap_noise",
)  # fmt: skip


class NoiseError(ValueError):
    """A re-read that does not belong to its sweep; the message names both."""


def compare(sweep: Sweep, again: Sweep) -> dict[str, Any]:
    """A sweep and its re-read on the items that both hold.

    Returns:
        n_items, n_queries (items x orderings answered in both), changed (answers that differ),
        repeat_disagreement (their share), flip_rate of both on these items under their orderings,
        flips_changed (items that flip in one and not in the other), largest_change of a
        log-probability, and gap_noise: the largest change of the gap between the two largest
        log-probabilities of a query. The last two are NaN for sweeps without log-probabilities.

    Raises:
        NoiseError: other orderings, items that the sweep lacks, or other correct answers.
    """
    if not np.array_equal(sweep.orderings, again.orderings):
        raise NoiseError(f"{again.source}: not the orderings of {sweep.source}")
    place = {item: row for row, item in enumerate(sweep.items)}
    unknown = [item for item in again.items if item not in place]
    if unknown:
        raise NoiseError(f"{again.source}: item {unknown[0]!r} is not in {sweep.source}")
    rows = np.array([place[item] for item in again.items])
    if not np.array_equal(sweep.gold[rows], again.gold):
        raise NoiseError(f"{again.source}: other correct answers than {sweep.source}")
    first, second = sweep.choice[rows], again.choice
    answered = (first >= 0) & (second >= 0)
    whole = answered.all(axis=1)
    changed = int((first != second)[answered].sum())
    flips, flips_again = (_flips(choice[whole], sweep.orderings) for choice in (first, second))
    found: dict[str, Any] = {
        "dtype": again.metadata.get("dtype"),
        "n_items": len(rows),
        "n_queries": int(answered.sum()),
        "changed": changed,
        "repeat_disagreement": changed / answered.sum() if answered.any() else np.nan,
        "flip_rate": flips.mean() if whole.any() else np.nan,
        "flip_rate_again": flips_again.mean() if whole.any() else np.nan,
        "flips_changed": int((flips != flips_again).sum()),
        "largest_change": np.nan,
        "gap_noise": np.nan,
    }
    if sweep.logp is not None and again.logp is not None and answered.any():
        one, two = (x.astype(np.float64)[answered] for x in (sweep.logp[rows], again.logp))
        found["largest_change"] = float(np.abs(one - two).max())
        found["gap_noise"] = float(np.abs(top_two_gap(one) - top_two_gap(two)).max())
    return found


def _flips(choice: NDArray[np.int8], orderings: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether each item's chosen content differs between any two orderings, (n,)."""
    # Here, not above: every job's start reads `VARIANTS`, and scipy takes a third of a second.
    from optionbias.factors import contents_of

    contents = contents_of(choice, orderings)
    return np.asarray((contents != contents[:, :1]).any(axis=1))


def top_two_gap(logp: NDArray[np.float64]) -> NDArray[np.float64]:
    """Difference of the two largest log-probabilities of each row, (..., K) -> (...)."""
    largest = np.partition(logp, -2, axis=-1)[..., -2:]
    return np.asarray(largest[..., 1] - largest[..., 0])


def near_ties(sweep: Sweep, noise: float) -> int | None:
    """Queries under the cyclic orderings whose top-two gap is below the numeric noise.

    Their answer could be another one on another machine. None without log-probabilities or noise.
    """
    if sweep.logp is None or not np.isfinite(noise):
        return None
    presented = sweep.index_of(cyclic(sweep.k))
    logp = sweep.logp[:, presented[presented >= 0]].astype(np.float64)
    gaps = top_two_gap(logp[np.isfinite(logp).all(axis=-1)])
    return int((gaps < noise).sum())


def noise_floor(
    sweep: Sweep, rereads: Mapping[str, Sweep]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Every re-read of a sweep compared with it.

    Returns:
        The rows of `results/statistics/noise.parquet`, one a variant, and the columns that the
        cell's own rows get: `repeat_disagreement`, the largest over the variants, and `near_ties`
        at the numeric noise of the variant `alone` (of all variants where that was not read).
    """
    key = {name: sweep.metadata[name] for name in ("checkpoint", "benchmark", "readout")}
    rows = [
        {**key, "variant": variant, **compare(sweep, again)} for variant, again in rereads.items()
    ]
    if not rows:
        return [], {}
    same_numbers = [row for row in rows if row["variant"] == "alone"] or rows
    noise = max(row["gap_noise"] for row in same_numbers)
    return rows, {
        "repeat_disagreement": max(row["repeat_disagreement"] for row in rows),
        "near_ties": near_ties(sweep, noise),
    }
