"""Per-cell statistics: from answers to the flip rate, the positional skew and their kin.

Everything here reads contents `z[q, s]` (the option chosen for item q under ordering s), the
gold contents, and the design; see Section 3 and Appendices B and F. Arithmetic is float64, `std`
is the population SD over the K entries, entropies and KL are in bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy

from optionbias.design import Design
from optionbias.short_axis import last_sum

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class CellStatistics:
    """The statistics of one cell under one design and one operation (statistics of Section 3, App. F).

    Scalars are NaN where undefined: `skew`, `std_h`, `range_h` (and the vectors `g`, `h`) at
    FL = 0; `scaled_flip_rate` and `flip_cap` on any design but the K cyclic orderings;
    accuracy by letter and its kin on designs that are not position-balanced.

    Attributes:
        n_items: N, the items in the statistics.
        m: orderings per item with multiplicity (the largest where they differ).
        K: options.
        accuracy: A, the mean over items of the share of an item's answers that are correct.
        canonical_accuracy: accuracy under pi_0 alone.
        flip_rate: FL, share of items whose chosen content changes over the design (Equation 2).
        skew: std(g), the positional skew (Equation 6).
        pooled_sd: std(f), the pooled selection-rate SD (Equation 4).
        stable_correct: SC, share of items that keep the correct content.
        stable_wrong: SW, share of items that keep a wrong content.
        balanced_rstd: std over letters of A_j (Section 3.3).
        placement_range: max A_j - min A_j.
        std_h: SD over letters of h.
        range_h: largest minus smallest entry of h.
        fluctuation_rate: share of items that choose different contents under pi_0 and
            pi_floor(K/2) (Appendix F).
        kl: KL(f || unif) in bits.
        per_item_kl: mean over items of KL(f_q || unif) in bits.
        per_item_sd: mean over items of std(f_q).
        pairwise_disagreement: mean over items of the share of pairs of its orderings whose
            chosen contents differ.
        choice_entropy: mean over items of the entropy of its chosen contents, in bits.
        flip_cap: min(1, K (1 - A)) (Equation 3).
        scaled_flip_rate: FL / flip_cap (Appendix C.4).
        std_b: std(b_S), SD of the stable items' deviation from uniform (Equation 9).
        corrected_sd: std(f - b_S) (Equation 11).
        design_bound: M(S), the largest std(u_j) of the design (Appendix B.1).
        f: share of all answers at each position.
        g: share of the flipping items' answers at each position (Equation 5).
        h: accuracy of the flipping items by the position of the correct content (Equation 7).
        b: b_S, the stable items' deviation from uniform at each position (Equation 9).
        accuracy_by_letter: A_j (Equation 7, and B.2 for balanced multisets).
    """

    n_items: int
    m: int
    K: int
    accuracy: float
    canonical_accuracy: float
    flip_rate: float
    skew: float
    pooled_sd: float
    stable_correct: float
    stable_wrong: float
    balanced_rstd: float
    placement_range: float
    std_h: float
    range_h: float
    fluctuation_rate: float
    kl: float
    per_item_kl: float
    per_item_sd: float
    pairwise_disagreement: float
    choice_entropy: float
    flip_cap: float
    scaled_flip_rate: float
    std_b: float
    corrected_sd: float
    design_bound: float
    f: Vector
    g: Vector
    h: Vector
    b: Vector
    accuracy_by_letter: Vector


def contents_of(choice: ArrayLike, orderings: ArrayLike) -> NDArray[np.int64]:
    """The content at each chosen position: z[q, s] with pi_s[z] = choice[q, s].

    Args:
        choice: (N, m) positions, all valid (0..K-1).
        orderings: (m, K), or (N, m, K) per item.
    """
    positions = np.asarray(choice)
    inverse = np.argsort(np.asarray(orderings), axis=-1)
    if inverse.ndim == 2:
        m, k = inverse.shape
        return inverse.ravel()[positions + np.arange(m) * k]
    return np.take_along_axis(inverse, positions[..., None].astype(np.int64), axis=-1)[..., 0]


def positions_of(contents: ArrayLike, orderings: ArrayLike) -> NDArray[np.int64]:
    """The position at which each chosen content was shown: pi_s[z[q, s]]; inverse of `contents_of`."""
    z, pi = np.asarray(contents), np.asarray(orderings)
    if pi.ndim == 2:
        m, k = pi.shape
        return pi.ravel()[z + np.arange(m) * k]
    return np.take_along_axis(pi, z[..., None].astype(np.int64), axis=-1)[..., 0]


def flipping(contents: ArrayLike, design: Design) -> NDArray[np.bool_]:
    """Which items' chosen content is not constant on the design, shape (N,) (Equation 2)."""
    z = np.asarray(contents)
    if design.counts is None:
        flips = z[:, 1] != z[:, 0] if z.shape[1] > 1 else np.zeros(len(z), dtype=bool)
        for column in range(2, z.shape[1]):
            flips |= z[:, column] != z[:, 0]
        return flips
    present = np.broadcast_to(design.counts > 0, z.shape)
    lowest = np.where(present, z, design.k).min(axis=1)
    highest = np.where(present, z, -1).max(axis=1)
    return lowest != highest


def histograms(values: ArrayLike, design: Design) -> Vector:
    """Per item, how often each of 0..K-1 occurs among `values` (N, m), with multiplicity; (N, K)."""
    array, k = np.asarray(values), design.k
    n = len(array)
    cells = (array + np.arange(n)[:, None] * k).ravel()
    if design.counts is None:
        return np.bincount(cells, minlength=n * k).reshape(n, k).astype(np.float64)
    weights = np.broadcast_to(design.counts, array.shape).ravel()
    return np.bincount(cells, weights=weights, minlength=n * k).reshape(n, k).astype(np.float64)


def kl_to_uniform(shares: ArrayLike) -> Vector:
    """sum_r f(r) log2(K f(r)) over the last axis, in bits, with 0 log 0 = 0 (Appendix F)."""
    f = np.asarray(shares, dtype=np.float64)
    return last_sum(xlogy(f, f * f.shape[-1])) / np.log(2)


def population_sd(vector: ArrayLike) -> float:
    """Population SD over the K entries: exactly 0 for equal entries, the same in any order of them.

    A plain SD of equal entries can come out as 1e-17, which a factor's logarithm must not see, and
    cells that differ by the order of letters alone must tie in a rank correlation.
    """
    x = np.sort(np.asarray(vector, dtype=np.float64))
    return 0.0 if x[0] == x[-1] else float(x.std())


def row_sd(rows: ArrayLike) -> Vector:
    """`population_sd` of each row (n, K), shape (n,); NaN where a row is."""
    ordered = np.sort(np.asarray(rows, dtype=np.float64), axis=1)
    return np.where(ordered[:, 0] == ordered[:, -1], 0.0, ordered.std(axis=1))


def cell_statistics(contents: ArrayLike, gold: ArrayLike, design: Design) -> CellStatistics:
    """Every statistic of one cell.

    Args:
        contents: (N, m) chosen contents; every entry valid (items that miss an answer under an
            ordering of the design are not usable and must be left out before).
        gold: (N,) correct contents.
        design: the orderings of the columns, shared or per item.

    Raises:
        ValueError: no items, shapes that do not agree, or an entry outside 0..K-1.
    """
    z, c, k = np.asarray(contents, dtype=np.int64), np.asarray(gold, dtype=np.int64), design.k
    _check(z, c, design)
    n = len(z)
    sizes = np.broadcast_to(design.sizes, (n,)).astype(np.float64)
    positions = positions_of(z, design.orderings)

    flips = flipping(z, design)
    n_flips = int(flips.sum())
    fl = n_flips / n
    position_counts = histograms(positions, design)
    f_q = position_counts / sizes[:, None]
    f = _pooled(position_counts, f_q, sizes)
    g = _pooled(position_counts[flips], f_q[flips], sizes[flips])

    stable = ~flips
    kept = _kept_content(z, design)
    b = _stable_deviation(kept, stable, design, n)

    correct = z == c[:, None]
    weights = design.counts
    right = last_sum(correct if weights is None else correct * weights)
    # Through whole counts where all items have as many answers, so that equal accuracies are equal.
    equal = bool((sizes == sizes[0]).all())
    accuracy = float(right.sum() / (n * sizes[0]) if equal else (right / sizes).mean())
    stable_correct = float((stable & (kept == c)).sum() / n)
    by_letter, h = _accuracy_by_letter(positions, correct, flips, sizes, design)

    content_counts = histograms(z, design)
    shares = content_counts / sizes[:, None]
    entropy = -last_sum(xlogy(shares, shares)) / np.log(2)
    canonical, pair = design.canonical_column(), design.fluctuation_columns()
    cap = min(1.0, k * (1 - accuracy)) if design.is_cyclic else np.nan
    return CellStatistics(
        n_items=n,
        m=design.m,
        K=k,
        accuracy=accuracy,
        canonical_accuracy=np.nan
        if canonical is None
        else float(_column(correct, canonical).mean()),
        flip_rate=fl,
        skew=population_sd(g),
        pooled_sd=population_sd(f),
        stable_correct=stable_correct,
        stable_wrong=float(stable.sum() / n) - stable_correct,
        balanced_rstd=population_sd(by_letter),
        placement_range=float(by_letter.max() - by_letter.min()),
        std_h=population_sd(h),
        range_h=float(h.max() - h.min()),
        fluctuation_rate=np.nan
        if pair is None
        else float((_column(z, pair[0]) != _column(z, pair[1])).mean()),
        kl=float(kl_to_uniform(f)),
        per_item_kl=float(kl_to_uniform(f_q).mean()),
        per_item_sd=float(np.sqrt(last_sum((f_q - 1 / k) ** 2) / k).mean()),
        pairwise_disagreement=_pairwise_disagreement(content_counts, sizes),
        choice_entropy=float(entropy.mean()) + 0.0,
        flip_cap=cap,
        scaled_flip_rate=fl / cap if cap > 0 else np.nan,
        std_b=population_sd(b),
        corrected_sd=population_sd(f - b),
        design_bound=design.bound,
        f=f,
        g=g,
        h=h,
        b=b,
        accuracy_by_letter=by_letter,
    )


def _check(z: NDArray[np.int64], c: NDArray[np.int64], design: Design) -> None:
    columns = design.orderings.shape[-2]
    if z.ndim != 2 or len(z) == 0 or c.shape != (len(z),) or z.shape[1] != columns:
        raise ValueError(
            f"contents {z.shape} and gold {c.shape} do not fit a design of {columns} orderings"
        )
    for name, array in (("contents", z), ("gold", c)):
        if array.min() < 0 or array.max() >= design.k:
            raise ValueError(f"{name} outside 0..{design.k - 1}: leave unusable items out first")


def _pooled(counts: Vector, shares: Vector, sizes: Vector) -> Vector:
    """Mean of the items' own shares; through whole counts where all items have as many answers."""
    if len(sizes) == 0:
        return np.full(counts.shape[1], np.nan)
    if (sizes == sizes[0]).all():
        return counts.sum(axis=0) / (len(sizes) * sizes[0])
    return shares.mean(axis=0)


def _column(values: NDArray[Any], column: NDArray[np.int64]) -> NDArray[Any]:
    """One column of (N, m) values, the same for all items (shape ()) or one an item (N,)."""
    return values[:, column] if column.ndim == 0 else values[np.arange(len(values)), column]


def _kept_content(z: NDArray[np.int64], design: Design) -> NDArray[np.int64]:
    """The content of each item's first present ordering: the one a stable item keeps."""
    if design.counts is None:
        return z[:, 0]
    present = np.broadcast_to(design.counts > 0, z.shape)
    return np.take_along_axis(z, present.argmax(axis=1)[:, None], axis=1)[:, 0]


def _stable_deviation(
    kept: NDArray[np.int64], stable: NDArray[np.bool_], design: Design, n: int
) -> Vector:
    """b_S = (1/N) sum over stable items of (u_{z_q} - unif) (Equations 9 and 16)."""
    deviation = design.shares - 1 / design.k
    if deviation.ndim == 2:
        counts = np.bincount(kept[stable], minlength=design.k)
        return counts @ deviation / n
    rows = np.flatnonzero(stable)
    return deviation[rows, kept[rows]].sum(axis=0) / n


def _accuracy_by_letter(
    positions: NDArray[np.int64],
    correct: NDArray[np.bool_],
    flips: NDArray[np.bool_],
    sizes: Vector,
    design: Design,
) -> tuple[Vector, Vector]:
    """A_j and h_j (Equation 7, Appendix B.2); NaN unless the design is position-balanced.

    A correct answer lands where the correct content is shown, so the accuracy at letter j is
    K times the share of answers that are correct and chosen at position j.
    """
    k, n = design.k, len(positions)
    undefined = np.full(k, np.nan)
    if not design.is_balanced:
        return undefined, undefined
    weight = (
        correct / sizes[:, None]
        if design.counts is None
        else correct * design.counts / sizes[:, None]
    )
    totals = np.bincount(
        (positions + flips[:, None] * k).ravel(), weights=weight.ravel(), minlength=2 * k
    )
    stable_part, flipping_part = k * totals[:k], k * totals[k:]
    by_letter = (stable_part + flipping_part) / n
    n_flips = int(flips.sum())
    return by_letter, flipping_part / n_flips if n_flips else undefined


def _pairwise_disagreement(content_counts: Vector, sizes: Vector) -> float:
    """Mean over items of the share of unordered pairs of orderings that choose different contents."""
    if (sizes < 2).any():
        return float("nan")
    agreeing = last_sum(content_counts * (content_counts - 1))
    return float((1 - agreeing / (sizes * (sizes - 1))).mean())


def as_row(statistics: CellStatistics) -> dict[str, Any]:
    """The statistics as a flat mapping, vectors as lists: the columns of a cells table."""
    return {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in vars(statistics).items()
    }
