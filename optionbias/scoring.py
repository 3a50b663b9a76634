"""From sweeps to per-cell statistics: which items, which orderings, which operations.

One call scores all checkpoints of a benchmark, since the calibration order, the shared evaluation
items and the random halves are the benchmark's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optionbias.cell import ScoredCell, ScoringError, answer_cell
from optionbias.comparison import ComparedCell, comparison_rows
from optionbias.design import Design
from optionbias.factors import (
    CellStatistics,
    as_row,
    cell_statistics,
    contents_of,
    flipping,
    histograms,
    row_sd,
)
from optionbias.identities import assert_identities
from optionbias.noise import noise_floor
from optionbias.operations import needs_prior
from optionbias.orderings import cyclic
from optionbias.pair_reversals import pair_rows
from optionbias.seeds import generator
from optionbias.sweep import Sweep

CELL_COLUMNS = (
    "checkpoint", "benchmark", "readout", "design", "operation", "alpha", "subset", "n_items", "m",
    "K", "accuracy", "canonical_accuracy", "flip_rate", "skew", "pooled_sd", "stable_correct",
    "stable_wrong", "balanced_rstd", "placement_range", "std_h", "range_h", "fluctuation_rate",
    "kl", "per_item_kl", "per_item_sd", "pairwise_disagreement", "choice_entropy", "flip_cap",
    "scaled_flip_rate", "std_b", "corrected_sd", "design_bound", "median_mass", "fallback_share",
    "near_ties", "repeat_disagreement", "reorder_disagreement",
    "f", "g", "h", "b", "accuracy_by_letter",
)  # fmt: skip


PROVENANCE = ("revision", "dtype", "backend", "device", "device_name")


@dataclass
class BenchmarkScores:
    """Everything that one benchmark's sweeps give, as rows of tidy tables.

    Attributes:
        cells: rows of `cells` (see CELL_COLUMNS).
        identities: checkpoint, benchmark, readout, design, operation, subset, identity, residual.
        calibration: checkpoint, benchmark, readout, item.
        priors: checkpoint, benchmark, readout, prior, values.
        ties: checkpoint, benchmark, readout, operation, ties (answers decided by the tie rule).
        comparison: operations on the items usable under all of them (first-token, K >= 3).
        pair_reversals: rank reversals of each pair of checkpoints on the items those two share.
        halves: factors of random item halves (first-token).
        sweeps: where each sweep came from (revision, dtype, backend, device).
        noise: each re-read of a sweep against it (the noise floor).
        simulated: whether the answers are; every file made from them says so.
    """

    cells: list[dict[str, Any]] = field(default_factory=list)
    identities: list[dict[str, Any]] = field(default_factory=list)
    calibration: list[dict[str, Any]] = field(default_factory=list)
    priors: list[dict[str, Any]] = field(default_factory=list)
    ties: list[dict[str, Any]] = field(default_factory=list)
    comparison: list[dict[str, Any]] = field(default_factory=list)
    pair_reversals: list[dict[str, Any]] = field(default_factory=list)
    halves: list[dict[str, Any]] = field(default_factory=list)
    sweeps: list[dict[str, Any]] = field(default_factory=list)
    noise: list[dict[str, Any]] = field(default_factory=list)
    simulated: bool = False


def score_benchmark(
    benchmark: str,
    sweeps: Iterable[Sweep],
    seed: int,
    repetitions: int,
    simulated: bool = False,
    rereads: Callable[[Sweep], Mapping[str, Sweep]] = lambda sweep: {},
) -> BenchmarkScores:
    """Score every sweep of a benchmark.

    Args:
        benchmark: its name.
        sweeps: its sweeps, any readout, read one at a time.
        seed: the configured seed (calibration split, random halves).
        repetitions: random item halves for the split-half reliability.
        simulated: whether the cohort is; its sweeps must be of the same kind.
        rereads: the re-reads of a sweep for the noise floor, by variant.

    Raises:
        IdentityError: a proven identity fails on a cell.
        ScoringError: a sweep cannot be scored.
    """
    scores = BenchmarkScores(simulated=simulated)
    golds = Golds()
    compared: dict[str, ComparedCell] = {}
    # The same for all sweeps of as many items.
    halves = lru_cache(maxsize=2)(
        lambda n: random_halves(n, repetitions, seed, f"table9/halves/{benchmark}")
    )
    for sweep in sweeps:
        checkpoint, readout = str(sweep.metadata["checkpoint"]), str(sweep.metadata["readout"])
        key = {"checkpoint": checkpoint, "benchmark": benchmark, "readout": readout}
        if bool(sweep.metadata.get("simulated")) != simulated:
            raise ScoringError(
                f"{sweep.source}: simulated and real answers never share a cohort; the cohort's key "
                f"`simulated` is {simulated}, this sweep's is {not simulated}"
            )
        golds.check(sweep)
        told = {name: sweep.metadata.get(name) for name in PROVENANCE}
        scores.sweeps.append({**key, "n_items": len(sweep.items), **told})
        rows, floor = noise_floor(sweep, rereads(sweep))
        scores.noise += rows
        measured = measures(sweep) | floor
        if readout == "all-orderings":
            _score_all_orderings(scores, sweep, key, measured)
        cell = answer_cell(sweep, benchmark, seed)
        scores.sweeps[-1]["n_usable"] = 0 if cell is None else len(cell.items)
        if cell is None:
            continue
        evaluated = _score_cell(scores, cell, key, measured)
        if readout == "first-token":
            if (comparable := ComparedCell.of(cell, evaluated)) is not None:
                compared[checkpoint] = comparable
            usable = set(cell.items)
            mine = np.array([item in usable for item in sweep.items], dtype=bool)
            _halve(scores, key, cell, halves(len(sweep.items))[:, mine])
    scores.comparison = comparison_rows(benchmark, compared)
    scores.pair_reversals = pair_rows(benchmark, compared)
    return scores


class Golds:
    """What the sweeps of a benchmark say is correct: the same ids must mean the same items."""

    def __init__(self) -> None:
        """Nothing is known before the first sweep."""
        self.first: Sweep | None = None
        self.known: dict[str, int] = {}

    def check(self, sweep: Sweep) -> None:
        """Raise `ScoringError` where a sweep contradicts an earlier one of the benchmark."""
        if self.first is None:
            self.first, self.known = sweep, dict(zip(sweep.items, sweep.gold.tolist(), strict=True))
            return
        same = len(sweep.items) == len(self.first.items) and (
            (sweep.items == self.first.items).all() and (sweep.gold == self.first.gold).all()
        )
        if same:  # nearly always, and a hundred times cheaper
            return
        for item, gold in zip(sweep.items, sweep.gold.tolist(), strict=True):
            if self.known.setdefault(item, gold) != gold:
                raise ScoringError(
                    f"{sweep.source}: item {item!r} has gold {gold}, another sweep of the benchmark "
                    f"says {self.known[item]}: they are not answers to the same items"
                )


def _statistics_row(
    scores: BenchmarkScores,
    key: dict[str, Any],
    contents: NDArray[np.int64],
    gold: NDArray[np.int8],
    design: Design,
    measured: dict[str, Any],
) -> CellStatistics:
    """Append one row of cells, after asserting the identities on it."""
    statistics = cell_statistics(contents, gold, design)
    name = "/".join(
        str(key[part]) for part in ("readout", "benchmark", "checkpoint", "operation", "subset")
    )
    found = assert_identities(statistics, contents, design, name)
    scores.cells.append({**key, **as_row(statistics), **measured})
    scores.identities += [{**key, "identity": i, "residual": r} for i, r in found.items()]
    return statistics


def _score_cell(
    scores: BenchmarkScores, cell: ScoredCell, key: dict[str, Any], measured: dict[str, Any]
) -> dict[str, CellStatistics]:
    """Append the rows of a cell; returns each operation's statistics on its evaluation items."""
    evaluated: dict[str, CellStatistics] = {}
    design = Design.of(cell.queries.orderings)
    evaluation = ~cell.calibration
    for operation, answers in cell.answers.items():
        contents = contents_of(answers.positions, cell.queries.orderings)
        usable = cell.usable(operation)
        subsets = {"all": usable, "evaluation": usable & evaluation}
        if needs_prior(operation):
            # A prior must not be scored on the items it was estimated on.
            del subsets["all"]
        row = {**key, "design": "cyclic", "operation": operation}
        row["alpha"] = 1.0 if needs_prior(operation) else None
        for subset, mask in subsets.items():
            if mask.any():
                statistics = _statistics_row(
                    scores,
                    {**row, "subset": subset},
                    contents[mask],
                    cell.gold[mask],
                    design,
                    measured,
                )
                if subset == "evaluation":
                    evaluated[operation] = statistics
        ties = int(answers.tied[usable].sum())
        scores.ties.append({**key, "operation": operation, "ties": ties})
    scores.calibration += [{**key, "item": item} for item in cell.items[cell.calibration]]
    priors = {name: p for a in cell.answers.values() for name, p in a.priors.items()}
    scores.priors += [{**key, "prior": n, "values": p.tolist()} for n, p in priors.items()]
    return evaluated


def _score_all_orderings(
    scores: BenchmarkScores, sweep: Sweep, key: dict[str, Any], measured: dict[str, Any]
) -> None:
    """The uncorrected answers over all orderings that the sweep holds, first occurrences only."""
    first = np.array([s for s in range(len(sweep.orderings)) if s not in sweep.repeats])
    usable = (sweep.choice[:, first] >= 0).all(axis=1)
    if not usable.any():
        return
    orderings = sweep.orderings[first]
    contents = contents_of(sweep.choice[usable][:, first], orderings)
    row = {**key, "design": "all", "operation": "none", "alpha": None, "subset": "all"}
    _statistics_row(scores, row, contents, sweep.gold[usable], Design.of(orderings), measured)


def measures(sweep: Sweep) -> dict[str, Any]:
    """What a sweep says beyond its answers: letter mass, fallback share, repeat disagreement.

    Repeat disagreement compares two calls on one ordering; reorder disagreement is the mean over
    the pairs of another cyclic ordering with that one (table 13). Both only where the sweep
    repeats an ordering.
    """
    found: dict[str, Any] = {"fallback_share": sweep.metadata.get("fallback_share")}
    presented = sweep.index_of(cyclic(sweep.k))
    presented = presented[presented >= 0]
    if sweep.mass is not None and np.isfinite(sweep.mass[:, presented]).any():
        found["median_mass"] = float(np.nanmedian(sweep.mass[:, presented]))
    if sweep.repeats:
        again, first = min(sweep.repeats.items())
        columns = np.array([again, first, *(s for s in presented if s != first)])
        answered = (sweep.choice[:, columns] >= 0).all(axis=1)
        if answered.any():
            z = contents_of(sweep.choice[answered][:, columns], sweep.orderings[columns])
            found["repeat_disagreement"] = float((z[:, 0] != z[:, 1]).mean())
            found["reorder_disagreement"] = float((z[:, 2:] != z[:, 1:2]).mean())
    return found


def random_halves(n: int, repetitions: int, seed: int, name: str) -> NDArray[np.bool_]:
    """Membership of the first half of n items in each repetition, (repetitions, n), floor(n/2) each."""
    rng = generator(seed, name)
    halves = np.zeros((repetitions, n), dtype=bool)
    for row in halves:
        row[rng.permutation(n)[: n // 2]] = True
    return halves


def _halve(
    scores: BenchmarkScores, key: dict[str, Any], cell: ScoredCell, halves: NDArray[np.bool_]
) -> None:
    """Flip rate and skew of the uncorrected answers on random item halves (table 9).

    `halves` (repetitions, items of the cell) splits all items of the benchmark, usable or not, so
    a cell's halves do not depend on which other cells exist.
    """
    contents = contents_of(cell.queries.choice, cell.queries.orderings)
    design = Design.of(cell.queries.orderings)
    flips = flipping(contents, design).astype(np.float64)
    counts = histograms(cell.queries.choice, design) * flips[:, None]
    factors = {}
    for label, half in (("a", halves), ("b", ~halves)):
        members = half.astype(np.float64)
        n_flips = members @ flips
        with np.errstate(invalid="ignore", divide="ignore"):
            factors[f"flip_rate_{label}"] = n_flips / members.sum(axis=1)
            factors[f"skew_{label}"] = row_sd(members @ counts) / (n_flips * design.k)
    scores.halves += [
        {
            "checkpoint": key["checkpoint"],
            "benchmark": key["benchmark"],
            "repetition": repetition,
            **{name: float(values[repetition]) for name, values in factors.items()},
        }
        for repetition in range(len(halves))
    ]
