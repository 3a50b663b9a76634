"""One cell under many designs of a few orderings each: what the factors are under every one.

`factors.cell_statistics` computes everything of one design; this computes the few statistics that
the comparison of designs needs, several hundred times a cell, through one count of the items by
what they do. Both agree; the identities of Appendix B.1 are asserted on every design.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optionbias.cell import ScoringError
from optionbias.factors import contents_of, population_sd
from optionbias.identities import TOLERANCE, IdentityError
from optionbias.orderings import all_orderings, position_shares
from optionbias.sweep import Sweep

STATISTICS = (
    "flip_rate", "skew", "pooled_sd", "per_item_sd", "accuracy", "std_b", "corrected_sd",
    "residual", "corrected_residual", "changing",
)  # fmt: skip


@dataclass(frozen=True)
class AllOrderings:
    """A cell's answers under all K! orderings, on the items that have them all.

    Attributes:
        name: the cell as errors name it.
        orderings: (K!, K), lexicographic.
        columns: (K!,) where the sweep holds each of them.
        usable: which items of the sweep were answered under every ordering.
        contents: (N, K!) chosen contents of the usable items.
        positions: (N, K!) the positions they were chosen at.
        gold: (N,) their correct contents.
    """

    name: str
    orderings: NDArray[np.int64]
    columns: NDArray[np.int64]
    usable: NDArray[np.bool_]
    contents: NDArray[np.int8]
    positions: NDArray[np.int8]
    gold: NDArray[np.int8]

    @classmethod
    def of(cls, sweep: Sweep) -> AllOrderings | None:
        """The answers of a sweep; None where no item was answered under every ordering.

        Raises:
            ScoringError: the sweep lacks an ordering.
        """
        orderings = all_orderings(sweep.k)
        columns = sweep.index_of(orderings)
        if (columns < 0).any():
            missing = orderings[int((columns < 0).argmax())].tolist()
            raise ScoringError(
                f"{sweep.source}: an all-orderings sweep holds all orderings, this lacks {missing}"
            )
        usable: NDArray[np.bool_] = np.asarray((sweep.choice[:, columns] >= 0).all(axis=1))
        if not usable.any():
            return None
        # By item in memory: a design picks a few answers of each item.
        positions = np.ascontiguousarray(sweep.choice[usable][:, columns])
        contents = contents_of(positions, orderings).astype(np.int8, order="C")
        name = "/".join(str(sweep.metadata[key]) for key in ("readout", "benchmark", "checkpoint"))
        return cls(name, orderings, columns, usable, contents, positions, sweep.gold[usable])

    @property
    def k(self) -> int:
        """K, the number of options."""
        return int(self.orderings.shape[1])

    @cached_property
    def packed(self) -> NDArray[np.int32]:
        """(N, K!): whether an answer is correct and where it lies, as digits that add up.

        In base K+1 the lowest digit is 1 for a correct answer and digit r+1 is 1 for one at
        position r, so the sum over K orderings counts correct answers and answers by position.
        """
        places = (self.k + 1) ** np.arange(1, self.k + 1, dtype=np.int32)
        return (self.contents == self.gold[:, None]) + places[self.positions]


@dataclass(frozen=True)
class _Tally:
    """Whole counts of one design: everything its statistics are made of."""

    n: int
    m: int
    flips: int
    correct: int
    changing: int
    positions: NDArray[np.int64]
    flipping_positions: NDArray[np.int64]
    stable_shown: NDArray[np.int64]
    per_item_sd: float


def evaluate(
    cell: AllOrderings, rows: NDArray[np.int64], bounds: ArrayLike, design: str
) -> dict[str, list[float]]:
    """The statistics of a cell under each of several designs of K orderings.

    Args:
        cell: the answers.
        rows: (designs, K, N) or, shared by all items, (designs, K, 1): row numbers of
            `cell.orderings`.
        bounds: (designs,) M, the largest SD over positions of how often a content is shown.
        design: what the designs are called in an error.

    Returns:
        Each of STATISTICS -> one value per design. `residual` is |std(f) - FL std(g)|,
        `corrected_residual` |std(f - b) - FL std(g)| with FL std(g) = 0 at FL = 0 (where `skew`
        is NaN), `changing` counts the items that are right under some orderings only.

    Raises:
        IdentityError: an identity of Appendix B.1 fails; names the cell, the design and the draw.
    """
    found: dict[str, list[float]] = {name: [] for name in STATISTICS}
    for draw, (some, bound) in enumerate(zip(rows, np.asarray(bounds), strict=True)):
        values = _statistics(_tally(cell, some), float(bound), f"{cell.name}/{design}/{draw}")
        for name, value in zip(STATISTICS, values, strict=True):
            found[name].append(value)
    return found


def _tally(cell: AllOrderings, rows: NDArray[np.int64]) -> _Tally:
    """Count a cell's items under one design, `rows` (m, N) or (m, 1)."""
    n, available = cell.contents.shape
    k, m = cell.k, len(rows)
    answer = rows + np.arange(n) * available
    z = cell.contents.ravel().take(answer)
    flips = (z[1:] != z[0]).any(axis=0)
    size = (m + 1) ** (k + 1)
    items = np.bincount(cell.packed.ravel().take(answer).sum(axis=0) + flips * size)
    codes = np.flatnonzero(items)
    items = items[codes]
    digits = (codes % size)[:, None] // (m + 1) ** np.arange(k + 1) % (m + 1)
    flipping, correct, counts = codes >= size, digits[:, 0], digits[:, 1:]
    # Where a stable item's content is shown: by the design, not by the positions it chose.
    stable = ~flips
    shown = np.broadcast_to(rows, (m, n))[:, stable] * k + z[0, stable]
    stable_shown = np.bincount(cell.orderings.ravel().take(shown).ravel(), minlength=k)
    sd = np.sqrt(((counts / m - 1 / k) ** 2).sum(axis=1) / k)
    return _Tally(
        n=n,
        m=m,
        flips=int(items[flipping].sum()),
        correct=int(items @ correct),
        changing=int(items[(correct > 0) & (correct < m)].sum()),
        positions=items @ counts,
        flipping_positions=items[flipping] @ counts[flipping],
        stable_shown=stable_shown,
        per_item_sd=float(items @ sd / n),
    )


def _statistics(tally: _Tally, bound: float, name: str) -> list[float]:
    """STATISTICS of one design from its counts, after asserting the identities on it."""
    n, m, k = tally.n, tally.m, len(tally.positions)
    flip_rate = tally.flips / n
    f = tally.positions / (n * m)
    b = tally.stable_shown / (n * m) - (n - tally.flips) / (n * k)
    skew = np.nan
    if tally.flips:
        skew = population_sd(tally.flipping_positions / (tally.flips * m))
    product = flip_rate * skew if tally.flips else 0.0
    accuracy = tally.correct / (n * m)
    pooled_sd, std_b, corrected_sd = population_sd(f), population_sd(b), population_sd(f - b)
    residual, corrected_residual = abs(pooled_sd - product), abs(corrected_sd - product)
    found = {
        "flip cap": flip_rate - min(1.0, m * (1 - accuracy)),
        "corrected identity": corrected_residual,
        "deviation bound": residual - std_b,
        "design bound": std_b - (1 - flip_rate) * bound,
    }
    if bound <= TOLERANCE:
        found["pooling identity"] = residual
    for identity, excess in found.items():
        if not excess <= TOLERANCE:
            raise IdentityError(f"{name}: {identity} fails by {excess:.3g} (at most {TOLERANCE:g})")
    return [
        flip_rate, skew, pooled_sd, tally.per_item_sd, accuracy, std_b, corrected_sd, residual,
        corrected_residual, float(tally.changing),
    ]  # fmt: skip


def shared_bounds(orderings: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """M(S) of each shared design, rows (designs, m, 1); shape (designs,) (Appendix B.1)."""
    return np.array([position_shares(orderings[s]).std(axis=-1).max() for s in rows[..., 0]])


def item_bounds(orderings: NDArray[np.int64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """max_j std(u_{q,j}) of each item's own design, rows (designs, m, n); shape (designs, n)."""
    m, k = rows.shape[1], orderings.shape[1]
    base = m + 1
    digits = np.arange(base**k)[:, None] // base ** np.arange(k) % base
    sd = (digits / m).std(axis=1)
    place = base**orderings
    return np.array(
        [np.max([sd[place[some, j].sum(axis=0)] for j in range(k)], axis=0) for some in rows]
    )


def expected_flip_rate(contents: ArrayLike, subset: int, k: int) -> float:
    """The mean flip rate over all subsets of `subset` orderings, exactly (Appendix E.1).

    An item does not flip on the subsets drawn from the orderings under which it chose one content:
    per item 1 - sum_c C(n_c, subset) / C(M, subset).

    Args:
        contents: (N, M) chosen contents under all M orderings.
        subset: size of the subsets.
        k: number of options.
    """
    z = np.asarray(contents)
    n, m = z.shape
    whole = n * math.comb(m, subset)
    kept = sum(
        items * math.comb(count, subset)
        for content in range(k)
        for count, items in enumerate(np.bincount((z == content).sum(axis=1)).tolist())
    )
    return (whole - kept) / whole
