"""The identities and bounds of appendix B, and what happens where one fails."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from optionbias.design import Design
from optionbias.factors import cell_statistics
from optionbias.identities import TOLERANCE, IdentityError, assert_identities, residuals
from optionbias.orderings import cyclic
from slow import factors as slow
from strategies import (
    BALANCED,
    KINDS,
    PROPERTY,
    UNBALANCED,
    Cell,
    build_cell,
    build_design,
    cells,
)

EVERYWHERE = (
    "flip cap",
    "two-order disagreement",
    "corrected identity",
    "deviation bound",
    "design bound",
)
BALANCED_ONLY = ("pooling identity", "balanced RStd", "placement range", "divergence bound")


def test_tolerance() -> None:
    assert TOLERANCE == 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_names(kind: str) -> None:
    cell = build_cell(kind, 3, 6, 2)
    expected = EVERYWHERE + (BALANCED_ONLY if kind in BALANCED else ())
    found = assert_identities(cell.fast, cell.contents, cell.design, "cell")
    assert tuple(found) == expected


# What to add to which statistic so that one identity alone, or first, fails by that much.
BROKEN = [
    ("cyclic", "accuracy", 0.9, "flip cap"),
    ("multiset", "corrected_sd", 1e-9, "corrected identity"),
    ("multiset", "skew", 1e-9, "corrected identity"),
    ("multiset", "std_b", -0.01, "deviation bound"),
    ("multiset", "std_b", 1.0, "design bound"),
    ("cyclic", "pooled_sd", 1e-9, "deviation bound"),
    ("cyclic", "balanced_rstd", -1e-9, "balanced RStd"),
    ("latin", "std_h", 1e-9, "balanced RStd"),
    ("all", "placement_range", 1e-9, "placement range"),
    ("own-balanced", "range_h", 1e-9, "placement range"),
    ("cyclic", "kl", 5.0, "divergence bound"),
]


def biased_cell(kind: str) -> Cell:
    """Three items that keep their content, some right, and one that answers letter A."""
    rng = np.random.default_rng(1)
    uneven = Design.of(cyclic(3), [2, 1, 1])
    design = uneven if kind == "multiset" else build_design(kind, 3, 4, rng)
    rows = np.broadcast_to(design.orderings, (4, design.orderings.shape[-2], 3))
    contents = np.tile(np.array([[0], [1], [2], [0]]), (1, rows.shape[1]))
    contents[0] = np.argsort(rows[0], axis=-1)[:, 0]
    return Cell(contents, np.array([0, 1, 1, 2]), design)


@pytest.mark.parametrize(("kind", "name", "change", "identity"), BROKEN)
def test_a_violation_names_the_cell(kind: str, name: str, change: float, identity: str) -> None:
    cell = biased_cell(kind)
    good = cell.fast
    assert good.flip_rate == 0.25
    bad = replace(good, **{name: getattr(good, name) + change})
    with pytest.raises(IdentityError, match=f"^first-token/toy/model: {identity} fails by"):
        assert_identities(bad, cell.contents, cell.design, "first-token/toy/model")


@pytest.mark.parametrize(
    "name",
    [
        "accuracy",
        "flip_rate",
        "skew",
        "pooled_sd",
        "std_b",
        "corrected_sd",
        "design_bound",
        "kl",
        "balanced_rstd",
        "placement_range",
        "std_h",
        "range_h",
    ],
)
def test_an_undefined_statistic_is_a_violation(name: str) -> None:
    # Every identity reads these, so none of them holds on a cell where one is NaN.
    cell = biased_cell("cyclic")
    bad = replace(cell.fast, **{name: float("nan")})
    with pytest.raises(IdentityError, match=r"^the cell: "):
        assert_identities(bad, cell.contents, cell.design, "the cell")


def test_two_order_disagreement_by_hand() -> None:
    # Items change between pi_0 and pi_1 (both), pi_1 and pi_2 (one), pi_0 and pi_2 (one): the
    # largest share of items is 2/2. A flip rate of 1/2 would be too small by 1/2.
    contents = [[0, 1, 1], [0, 1, 0]]
    design = Design.of(cyclic(3))
    good = cell_statistics(contents, [0, 0], design)
    assert residuals(good, contents, design)["two-order disagreement"] == 0
    bad = residuals(replace(good, flip_rate=0.5), contents, design)
    assert bad["two-order disagreement"] == 0.5
    # An ordering with count 0 is not in the design: pi_0 against pi_2 differ in one item of two.
    without = residuals(replace(good, flip_rate=0.25), contents, Design.of(cyclic(3), [1, 0, 1]))
    assert without["two-order disagreement"] == 0.25


def test_residuals_by_hand() -> None:
    # {AB twice, BA}, two items that keep content 0 and one that answers A (see test_factors):
    # FL 1/3, skew 1/2, pooled SD 5/18, std(b) 1/9 = (1 - FL) M, corrected SD 1/6.
    contents, design = [[0, 0], [0, 0], [0, 1]], Design.of([[0, 1], [1, 0]], [2, 1])
    good = cell_statistics(contents, [0, 1, 0], design)
    assert max(residuals(good, contents, design).values()) <= TOLERANCE
    # |5/18 + 1/36 - 1/6| - 1/9 = 1/36; 1/6 + 1/36 - 1/6 = 1/36.
    moved = replace(good, pooled_sd=5 / 18 + 1 / 36, corrected_sd=1 / 6 + 1 / 36)
    found = residuals(moved, contents, design)
    assert found["deviation bound"] == pytest.approx(1 / 36)
    assert found["corrected identity"] == pytest.approx(1 / 36)
    # A = (1 + 0 + 2/3) / 3 = 5/9; with A = 8/9 the cap is 3 * 1/9 = 1/3, with 17/18 it is 1/6.
    assert residuals(replace(good, accuracy=8 / 9), contents, design)["flip cap"] <= TOLERANCE
    assert residuals(replace(good, accuracy=17 / 18), contents, design)[
        "flip cap"
    ] == pytest.approx(1 / 6)


def test_no_flip_uses_a_uniform_histogram() -> None:
    contents, design = [[1, 1, 1]], Design.of(cyclic(3))
    s = cell_statistics(contents, [1], design)
    assert np.isnan(s.skew)
    assert set(residuals(s, contents, design).values()) == {0.0}


@PROPERTY
@given(cells())
def test_all_hold_on_any_cell(cell: Cell) -> None:
    found = assert_identities(cell.fast, cell.contents, cell.design, "cell")
    assert max(found.values()) <= TOLERANCE


@pytest.mark.parametrize("k", [7, 10, 26])
@pytest.mark.parametrize("kind", ["cyclic", "own-balanced", "multiset", "own"])
def test_all_hold_on_larger_cells(kind: str, k: int) -> None:
    for seed in range(3):
        cell = build_cell(kind, k, 300, seed)
        assert_identities(cell.fast, cell.contents, cell.design, "cell")


def parts(cell: Cell) -> tuple[dict, float]:
    """The slow loop's statistics, and its FL times skew, 0 where nothing flips (B.1)."""
    s = cell.slow
    return s, s["flip_rate"] * s["skew"] if s["flip_rate"] > 0 else 0.0


@PROPERTY
@given(cells(kinds=BALANCED))
def test_pooling_identity(cell: Cell) -> None:
    s, product = parts(cell)
    assert abs(s["pooled_sd"] - product) <= TOLERANCE
    assert abs(cell.fast.pooled_sd - product) <= TOLERANCE
    if s["flip_rate"] > 0:
        assert abs(s["balanced_rstd"] - s["flip_rate"] * s["std_h"]) <= TOLERANCE
        assert abs(s["placement_range"] - s["flip_rate"] * s["range_h"]) <= TOLERANCE


@PROPERTY
@given(cells(kinds=UNBALANCED))
def test_corrected_identity_and_deviation_bounds(cell: Cell) -> None:
    s, product = parts(cell)
    assert abs(cell.fast.corrected_sd - product) <= TOLERANCE
    assert abs(cell.fast.pooled_sd - product) <= s["std_b"] + TOLERANCE
    assert cell.fast.std_b <= (1 - s["flip_rate"]) * s["design_bound"] + TOLERANCE


@PROPERTY
@given(cells(kinds=BALANCED))
def test_divergence_bound(cell: Cell) -> None:
    s = cell.slow
    kl_g = slow._kl_to_uniform(s["g"], cell.design.k) if s["flip_rate"] > 0 else 0.0
    assert cell.fast.kl <= s["flip_rate"] * kl_g + TOLERANCE


@PROPERTY
@given(cells())
def test_two_order_disagreement_and_cap(cell: Cell) -> None:
    s = cell.fast
    contents, orderings = cell.literal()
    shared = {pi for pi in orderings[0] if all(pi in own for own in orderings)}
    for first in shared:
        for second in shared:
            changed = sum(
                row[own.index(first)] != row[own.index(second)]
                for row, own in zip(contents, orderings, strict=True)
            )
            assert changed / len(contents) <= s.flip_rate + TOLERANCE
    assert s.flip_rate <= min(1, s.m * (1 - s.accuracy)) + TOLERANCE
