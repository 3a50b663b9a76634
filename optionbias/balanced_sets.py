"""The operations on every balanced set of four orderings (Appendix E.2, Table 18).

Twelve sets of four orderings of four options show every content once at every position and hold no
ordering with its reversal, the cyclic set among them. Operations are compared with the uncorrected
answers on the evaluation items whose answer under the operation is certified at every ordering that
the sets use, the prior held fixed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.analysis import Settings
from optionbias.calibration import calibration_mask
from optionbias.certified import Bounds, certified, log_bounds, product
from optionbias.design_evaluation import AllOrderings
from optionbias.factors import contents_of, population_sd, positions_of
from optionbias.identities import TOLERANCE, IdentityError
from optionbias.operations import mirrored_shift, needs_prior, normalised, product_scores
from optionbias.orderings import (
    all_orderings,
    balanced_reversal_free_sets,
    find,
    is_cyclic_set,
    reversal,
)
from optionbias.priors import Prior, pride_prior
from optionbias.shifted_choices import shifted_choices
from optionbias.sweep import Sweep

K = 4
OPERATIONS = ("pride", "reversal", "pride+reversal")
STATISTICS = ("flip_rate", "placement_range", "flips_elsewhere")
COLUMNS = (
    "checkpoint", "benchmark", "readout", "operation", "prior", "unrounded", "n_items",
    "n_evaluation", *STATISTICS, *(f"uncorrected_{name}" for name in STATISTICS),
)  # fmt: skip

Sets = NDArray[np.int64]
# For every set, the contents (n, 4) chosen under its orderings.
Chosen = Sequence[NDArray[np.int64]]


@dataclass(frozen=True)
class _Queries:
    """Log-probabilities of a cell under all 24 orderings and under their reversals.

    Attributes:
        logp: (N, 24, 4) in presented order.
        mirrored: (N, 24, 4) under the reversal of each ordering, in the reversal's order.
        bounds: of `logp` when each stored probability moves by at most 5e-7.
        product_bounds: of the reversal product then.
    """

    logp: NDArray[np.float64]
    mirrored: NDArray[np.float64]
    bounds: Bounds
    product_bounds: Bounds

    def answers(
        self, operation: str, rows: NDArray[np.int64], prior: Prior | None
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Contents (N, rows) chosen under an operation, and which answers are certified.

        Not renormalised: that moves all letters of a query alike and changes no answer.
        """
        log_prior = np.zeros(K) if prior is None else np.log(prior)
        scores, shift, bounds = self.logp[:, rows], log_prior, self.bounds[:, rows]
        if operation.endswith("reversal"):
            scores = product_scores(scores, self.mirrored[:, rows])
            shift, bounds = mirrored_shift(log_prior), self.product_bounds[:, rows]
        chosen, _ = shifted_choices(scores, shift[None])
        positions, bounds = chosen[0].T.astype(np.int64), bounds.less(shift)
        return contents_of(positions, all_orderings(K)[rows]), certified(positions, bounds)


def twelve_sets() -> Sets:
    """The sets (12, 4, 4), the cyclic one first, the others in lexicographic order."""
    sets = balanced_reversal_free_sets(K)
    first = next(i for i, some in enumerate(sets) if is_cyclic_set(some))
    return np.concatenate([sets[[first]], np.delete(sets, first, axis=0)])


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """One row per cell of four options, operation and prior; statistics are lists over the sets.

    Lists hold the cyclic set first, then the other eleven. `none` counts all items; an operation
    counts the certified evaluation items (`n_items` of `n_evaluation`) and stands beside the
    uncorrected answers to the same items. `prior` says which orderings of the calibration items it
    comes from: `set`, those of the set itself, or `cyclic`, or nothing for operations without one.
    Statistics are NaN where no item is left; `flips_elsewhere` is the share of items stable on the
    cyclic set that flip on another, NaN on the cyclic set itself.

    Raises:
        IdentityError: an identity of Appendix B fails; names the cell and the set.
        ScoringError: a sweep lacks an ordering.
    """
    rows: list[dict[str, Any]] = []
    sets = twelve_sets()
    for sweep in sweeps:
        cell = AllOrderings.of(sweep) if sweep.k == K else None
        if cell is None:
            continue
        key = {
            "checkpoint": str(sweep.metadata["checkpoint"]),
            "benchmark": benchmark,
            "readout": str(sweep.metadata["readout"]),
        }
        rows += [{**key, **row} for row in _cell_rows(cell, sweep, sets, benchmark, settings.seed)]
    return rows


def _cell_rows(
    cell: AllOrderings, sweep: Sweep, sets: Sets, benchmark: str, seed: int
) -> list[dict[str, Any]]:
    where = find(cell.orderings, sets)
    uncorrected = [cell.contents[:, columns].astype(np.int64) for columns in where]
    told = {"unrounded": sweep.logp is not None, "n_items": len(cell.gold)}
    rows = [
        {
            "operation": "none",
            "prior": "",
            **told,
            **set_statistics(uncorrected, sets, cell.gold, cell.name),
        }
    ]
    if sweep.logp is None or len(cell.gold) < 2:
        return rows
    calibration = calibration_mask(seed, benchmark, sweep.items[cell.usable].tolist())
    logp = normalised(sweep.logp[cell.usable][:, cell.columns])
    mirror = find(cell.orderings, reversal(cell.orderings))
    bounds = log_bounds(logp)
    queries = _Queries(logp, logp[:, mirror], bounds, product(bounds, bounds[:, mirror]))
    priors = [pride_prior(logp[calibration][:, columns]) for columns in where]
    for operation in OPERATIONS:
        for prior in ("set", "cyclic") if needs_prior(operation) else ("",):
            chosen, kept = _operate(queries, operation, where, priors, prior)
            kept &= ~calibration
            found, before = (
                set_statistics([z[kept] for z in some], sets, cell.gold[kept], cell.name)
                for some in (chosen, uncorrected)
            )
            rows.append(
                {
                    "operation": operation, "prior": prior, **told, "n_items": int(kept.sum()),
                    "n_evaluation": int((~calibration).sum()), **found,
                    **{f"uncorrected_{name}": values for name, values in before.items()},
                }
            )  # fmt: skip
    return rows


def _operate(
    queries: _Queries, operation: str, where: NDArray[np.int64], priors: Sequence[Prior], prior: str
) -> tuple[Chosen, NDArray[np.bool_]]:
    """Contents of every set under an operation, and the items certified at all its orderings."""
    if prior == "set":
        answered = [
            queries.answers(operation, rows, own) for rows, own in zip(where, priors, strict=True)
        ]
        sure = np.concatenate([certain for _, certain in answered], axis=1)
        return [z for z, _ in answered], np.asarray(sure.all(axis=1))
    used, column = np.unique(where, return_inverse=True)
    z, sure = queries.answers(operation, used, priors[0] if prior else None)
    chosen = [z[:, columns] for columns in column.reshape(where.shape)]
    return chosen, np.asarray(sure.all(axis=1))


def set_statistics(
    chosen: Chosen, sets: Sets, gold: NDArray[np.int8], cell: str
) -> dict[str, list[float]]:
    """Flip rate, placement range and flips of cyclic-stable items on every set.

    Args:
        chosen: for every set the contents (n, K) under its orderings; the cyclic set first.
        sets: (sets, K, K) position-balanced orderings.
        gold: (n,) correct contents.
        cell: what errors name.

    Returns:
        Each of STATISTICS -> one share a set; NaN where there is no item.

    Raises:
        IdentityError: the pooling identity, or that of the placement range, fails.
    """
    found: dict[str, list[float]] = {name: [] for name in STATISTICS}
    if len(gold) == 0:
        return {name: [np.nan] * len(sets) for name in STATISTICS}
    flips = [_flips(z) for z in chosen]
    steady = ~flips[0]
    for i, (z, orderings) in enumerate(zip(chosen, sets, strict=True)):
        flip_rate, spread = _factors(z, flips[i], orderings, gold, f"{cell}/balanced set {i}")
        found["flip_rate"].append(flip_rate)
        found["placement_range"].append(spread)
        elsewhere = np.nan if i == 0 or not steady.any() else float(flips[i][steady].mean())
        found["flips_elsewhere"].append(elsewhere)
    return found


def _flips(z: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which items choose more than one content, (n,)."""
    return np.any([z[:, s] != z[:, 0] for s in range(1, z.shape[1])], axis=0)


def _factors(
    z: NDArray[np.int64],
    flips: NDArray[np.bool_],
    orderings: NDArray[np.int64],
    gold: NDArray[np.int8],
    name: str,
) -> tuple[float, float]:
    """Flip rate and placement range of one set, after asserting their identities (B.1, B.2)."""
    n, k = z.shape
    flip_rate = int(flips.sum()) / n
    positions = positions_of(z, orderings) + k * flips[:, None]
    right = np.bincount(positions[z == gold[:, None]], minlength=2 * k).reshape(2, k)
    landed = np.bincount(positions.ravel(), minlength=2 * k).reshape(2, k)
    spread = float(np.ptp(right.sum(axis=0) / n))
    product, product_range = 0.0, 0.0
    if flips.any():
        product = flip_rate * population_sd(landed[1] / landed[1].sum())
        product_range = flip_rate * float(np.ptp(right[1] / flips.sum()))
    residuals = {
        "pooling identity": abs(population_sd(landed.sum(axis=0) / (n * k)) - product),
        "placement range": abs(spread - product_range),
    }
    for identity, residual in residuals.items():
        if not residual <= TOLERANCE:
            raise IdentityError(
                f"{name}: {identity} fails by {residual:.3g} (at most {TOLERANCE:g})"
            )
    return flip_rate, spread
