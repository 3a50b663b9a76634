"""Canonical margins: how close an item's two leading options are under pi_0, and whether it flips.

One row per first-token cell (Section 5.1, Appendix C.1): the AUCs of Tables 5 and 7 and the binned
shares of Figure 7. An item is read under the K cyclic orderings; its gap and entropy are those of
the canonical ordering alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from optionbias.analysis import Settings
from optionbias.auc import auc, stratified_auc
from optionbias.cell import answer_cell
from optionbias.design import Design
from optionbias.factors import contents_of, flipping
from optionbias.orderings import find, identity
from optionbias.short_axis import last_sum, log_softmax
from optionbias.sweep import Sweep

GAP_BINS = 20
PEER_BINS = 5
LEAST_PEERS = 3
STATES = ("stable_correct", "flipping", "stable_wrong")
COLUMNS = (
    "checkpoint", "benchmark", "K", "n_items",
    # Flipping against stable (Table 5, Figure 7); the first is also "all K answers" of Table 7.
    "auc_gap", "auc_entropy", "auc_stable_correct", "auc_stable_wrong",
    # Table 7.
    "auc_left_out", "auc_left_out_correct", "auc_left_out_wrong", "auc_always_wrong",
    "auc_left_out_stratified",
    # Share of the cell's items in each state and bin of the gap (Figure 7).
    *STATES,
)  # fmt: skip


@dataclass(frozen=True)
class Margins:
    """What is read of each of a cell's N usable items.

    Attributes:
        items: their ids.
        gap: difference of the two largest letter probabilities under pi_0.
        entropy: entropy of the letter probabilities under pi_0, in bits.
        flips: whether the K cyclic answers disagree.
        others_flip: whether the K - 1 answers other than the canonical one disagree.
        canonical_correct: whether the answer under pi_0 is correct.
        correct: how many of the K answers are correct.
        k: options.
    """

    items: NDArray[np.object_]
    gap: NDArray[np.float64]
    entropy: NDArray[np.float64]
    flips: NDArray[np.bool_]
    others_flip: NDArray[np.bool_]
    canonical_correct: NDArray[np.bool_]
    correct: NDArray[np.int64]
    k: int

    def states(self) -> dict[str, NDArray[np.bool_]]:
        """Masks of the stable-correct, flipping and stable-wrong items."""
        # A stable item keeps one content, so all or none of its answers are correct.
        stable_correct = ~self.flips & (self.correct == self.k)
        stable_wrong = ~self.flips & (self.correct == 0)
        return dict(zip(STATES, (stable_correct, self.flips, stable_wrong), strict=True))


def margin(stored: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Top-two gap and entropy in bits of stored log-probabilities (N, K), renormalised in float64.

    Letters are sorted before anything is added up, so that rows that hold the same probabilities
    at other letters have the same gap and tie in an AUC.
    """
    ordered = np.sort(np.asarray(stored, dtype=np.float64), axis=-1)[:, ::-1]
    p = np.exp(log_softmax(ordered))
    return p[:, 0] - p[:, 1], last_sum(entr(p)) / np.log(2)


def read_margins(sweep: Sweep, benchmark: str, seed: int) -> Margins | None:
    """The margins of a cell; None where it is left out or has no probabilities."""
    if sweep.logp is None:
        return None
    # Only the canonical queries are renormalised here, so the other log-probabilities stay out.
    cell = answer_cell(replace(sweep, logp=None), benchmark, seed, operations=("none",))
    if cell is None:
        return None
    orderings = cell.queries.orderings
    canonical = int(find(orderings, identity(sweep.k)))
    contents = contents_of(cell.queries.choice, orderings)
    right = contents == cell.gold[:, None]
    rest = np.arange(sweep.k) != canonical
    columns = sweep.index_of(orderings)
    usable = (sweep.choice[:, columns] >= 0).all(axis=1)
    gap, entropy = margin(sweep.logp[usable, columns[canonical]])
    return Margins(
        items=cell.items,
        gap=gap,
        entropy=entropy,
        flips=flipping(contents, Design(orderings)),
        others_flip=flipping(contents[:, rest], Design(orderings[rest])),
        canonical_correct=right[:, canonical],
        correct=last_sum(right),
        k=sweep.k,
    )


def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[dict[str, Any]]:
    """Rows of `margins` for one benchmark (see COLUMNS); an AUC is NaN where a class is empty."""
    rows: list[dict[str, Any]] = []
    kept: list[tuple[Margins, NDArray[np.int64]]] = []
    number_of: dict[str, int] = {}
    for sweep in sweeps:
        margins = read_margins(sweep, benchmark, settings.seed)
        if margins is None:
            continue
        own = np.array([number_of.setdefault(i, len(number_of)) for i in margins.items])
        kept.append((replace(margins, items=np.array([], dtype=object)), own))
        key = {"checkpoint": str(sweep.metadata["checkpoint"]), "benchmark": benchmark}
        rows.append({**key, "K": margins.k, "n_items": len(own), **cell_aucs(margins)})
        rows[-1] |= {state: shares_by_gap(margins, m) for state, m in margins.states().items()}
    # Peer accuracies need every checkpoint of the benchmark: a second pass over the kept arrays.
    correct, seen = (np.zeros(len(number_of), dtype=np.int64) for _ in range(2))
    for margins, own in kept:
        correct[own] += margins.correct
        seen[own] += 1
    for row, (margins, own) in zip(rows, kept, strict=True):
        strata = peer_strata(margins, correct[own] - margins.correct, seen[own] - 1)
        compared = strata >= 0
        row["auc_left_out_stratified"] = stratified_auc(
            -margins.gap[compared], margins.others_flip[compared], strata[compared]
        )
    return rows


def cell_aucs(m: Margins) -> dict[str, float]:
    """The AUCs that one cell gives by itself: a smaller gap, or larger entropy, marks flipping."""
    states, closeness = m.states(), -m.gap

    def among(items: NDArray[np.bool_], marked: NDArray[np.bool_]) -> float:
        return auc(closeness[items], marked[items])

    return {
        "auc_gap": auc(closeness, m.flips),
        "auc_entropy": auc(m.entropy, m.flips),
        "auc_stable_correct": among(m.flips | states["stable_correct"], m.flips),
        "auc_stable_wrong": among(m.flips | states["stable_wrong"], m.flips),
        "auc_left_out": auc(closeness, m.others_flip),
        "auc_left_out_correct": among(m.canonical_correct, m.others_flip),
        "auc_left_out_wrong": among(~m.canonical_correct, m.others_flip),
        "auc_always_wrong": among(m.correct == 0, m.flips),
    }


def peer_strata(
    m: Margins, peer_correct: NDArray[np.int64], peers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Stratum of each item: own canonical correctness times five bins of peer accuracy; -1 left out.

    Args:
        m: the cell.
        peer_correct: (N,) correct answers of the other checkpoints over the K cyclic orderings.
        peers: (N,) how many other checkpoints have the item; below three it is left out.
    """
    # Whole numbers: peer accuracies at a bin's edge fall on the same side everywhere.
    edges = PEER_BINS * peer_correct // np.maximum(m.k * peers, 1)
    strata = m.canonical_correct * PEER_BINS + np.minimum(edges, PEER_BINS - 1)
    return np.where(peers >= LEAST_PEERS, strata, -1)


def shares_by_gap(m: Margins, state: NDArray[np.bool_]) -> list[float]:
    """Share of the cell's items that are in a state and in each of the 20 equal bins of the gap."""
    bins = np.minimum((m.gap[state] * GAP_BINS).astype(np.int64), GAP_BINS - 1)
    return (np.bincount(bins, minlength=GAP_BINS) / len(m.gap)).tolist()
