"""The statistics of one cell: by hand, and against the slow loop."""

import math

import numpy as np
import pytest
from hypothesis import given

from optionbias import factors
from optionbias.design import Design
from optionbias.factors import cell_statistics
from optionbias.orderings import cyclic, identity
from slow import factors as slow
from strategies import (
    BALANCED,
    KINDS,
    PROPERTY,
    SINGLE,
    TOLERANCE,
    Cell,
    build_cell,
    cells,
    differences,
)

AB, BA = [0, 1], [1, 0]


def close(expected: object) -> object:
    """Approximate equality at numerical precision."""
    return pytest.approx(expected, abs=1e-13, rel=1e-13)


def test_three_options_by_hand() -> None:
    # Under pi_s content c stands at letter (c + s) mod 3. Contents under pi_0, pi_1, pi_2:
    #   item 0 (correct 0): 0, 0, 0, stable; letters 0, 1, 2.
    #   item 1 (correct 1): 0, 2, 1, always letter 0; right under pi_2, where 1 is at letter 0.
    #   item 2 (correct 2): 2, 2, 1, letters 2, 0, 0; right at letters 2 and 0.
    #   item 3 (correct 0): 1, 1, 1, stable and wrong.
    contents = [[0, 0, 0], [0, 2, 1], [2, 2, 1], [1, 1, 1]]
    s = cell_statistics(contents, [0, 1, 2, 0], Design.of(cyclic(3)))
    assert (s.n_items, s.m, s.K) == (4, 3, 3)
    assert s.accuracy == close((1 + 1 / 3 + 2 / 3 + 0) / 4)
    assert s.canonical_accuracy == 0.5  # items 0 and 2
    assert (s.flip_rate, s.stable_correct, s.stable_wrong) == (0.5, 0.25, 0.25)
    # f_q: (1,1,1)/3, (1,0,0), (2,0,1)/3, (1,1,1)/3, so f = (7, 2, 3)/12 and g = (5, 0, 1)/6.
    assert s.f == close([7 / 12, 2 / 12, 3 / 12])
    assert s.g == close([5 / 6, 0, 1 / 6])
    # Deviations of f from 1/3 in twelfths: 3, -2, -1; of g in sixths: 3, -2, -1. So SD(f) is
    # sqrt(14/3)/12, SD(g) sqrt(14/3)/6, and SD(f) = FL SD(g) (equation 6).
    assert s.pooled_sd == close(math.sqrt(14 / 3) / 12)
    assert s.skew == close(math.sqrt(14 / 3) / 6)
    # Right answers by letter: item 0 (1,1,1), item 1 (1,0,0), item 2 (1,0,1), item 3 none.
    assert s.accuracy_by_letter == close([3 / 4, 1 / 4, 2 / 4])
    assert s.h == close([2 / 2, 0, 1 / 2])  # of the two that flip
    # Deviations of A_j from 1/2 are 1/4, -1/4, 0 and of h 1/2, -1/2, 0.
    assert s.balanced_rstd == close(math.sqrt(2 / 3) / 4)
    assert s.std_h == close(math.sqrt(2 / 3) / 2)
    assert (s.placement_range, s.range_h) == (close(1 / 2), close(1.0))
    # pi_0 against pi_floor(3/2) = pi_1: only item 1 changes.
    assert s.fluctuation_rate == 0.25
    assert s.kl == close(
        7 / 12 * math.log2(7 / 4) + 2 / 12 * math.log2(1 / 2) + 3 / 12 * math.log2(3 / 4)
    )
    # Items 1 and 2: log2(3), and 2/3 log2(2) + 1/3 log2(1) = 2/3.
    assert s.per_item_kl == close((math.log2(3) + 2 / 3) / 4)
    # SD of (1,0,0) is sqrt(2)/3, of (2,0,1)/3 sqrt(2/27).
    assert s.per_item_sd == close((math.sqrt(2) / 3 + math.sqrt(2 / 27)) / 4)
    assert s.pairwise_disagreement == close((1 + 2 / 3) / 4)  # all pairs; two of three
    # Contents of item 1 are even: log2(3); of item 2 two and one: 2/3 log2(3/2) + 1/3 log2(3).
    assert s.choice_entropy == close((math.log2(3) + math.log2(3) - 2 / 3) / 4)
    assert (s.flip_cap, s.scaled_flip_rate) == (1.0, 0.5)  # min(1, 3 * 1/2)
    assert s.b.tolist() == [0, 0, 0]
    assert (s.std_b, s.design_bound) == (0.0, 0.0)
    assert s.corrected_sd == s.pooled_sd


def test_unbalanced_multiset_by_hand() -> None:
    # {AB twice, BA}. Two items keep content 0: f = u_0 = (2/3, 1/3). The third answers A: f =
    # (1, 0). Pooled f = (7/9, 2/9), SD 5/18; b = 2/3 (1/6, -1/6), f - b = (2/3, 1/3).
    contents, gold = [[0, 0], [0, 0], [0, 1]], [0, 1, 0]
    for design, z in (
        (Design.of([AB, BA], [2, 1]), contents),
        (Design.of([AB, AB, BA]), [[row[0], *row] for row in contents]),
    ):
        s = cell_statistics(z, gold, design)
        assert (s.f, s.g) == (close([7 / 9, 2 / 9]), close([1, 0]))
        assert (s.pooled_sd, s.skew, s.flip_rate) == (close(5 / 18), 0.5, close(1 / 3))
        assert (s.b, s.std_b) == (close([1 / 9, -1 / 9]), close(1 / 9))
        assert s.corrected_sd == close(1 / 6)  # = 1/3 * 1/2
        assert s.design_bound == close(1 / 6)  # and std(b) = (1 - FL) M(S), the bound is reached
        assert s.pairwise_disagreement == close(2 / 9)  # two of the third item's three pairs
        assert s.accuracy == close((1 + 0 + 2 / 3) / 3)
        # Neither balanced nor the cyclic set.
        undefined = (s.balanced_rstd, s.placement_range, s.std_h, s.range_h, s.flip_cap)
        assert np.isnan([*undefined, s.scaled_flip_rate, *s.h, *s.accuracy_by_letter]).all()


def test_items_with_designs_of_different_sizes_by_hand() -> None:
    # Zero counts leave orderings out. Item 0: AB; item 1: AB, AB, BA, BA; item 2: AB, BA.
    design = Design.of([AB, BA], [[1, 0], [2, 2], [1, 1]])
    s = cell_statistics([[0, 1], [1, 0], [0, 0]], [0, 1, 0], design)
    assert s.m == 4
    # Item 0's content under the absent BA counts for nothing, so only item 1 flips.
    assert s.flip_rate == close(1 / 3)
    assert s.accuracy == close((1 + 1 / 2 + 1) / 3)  # the mean of the items' own means
    # Item 1 answers B always. f_q: (1, 0), (0, 1), (1/2, 1/2).
    assert (s.f, s.g) == (close([0.5, 0.5]), close([0, 1]))
    assert (s.pooled_sd, s.skew) == (close(0), 0.5)
    # Only item 0 is stable on an uneven set: b = ((1, 0) - 1/2) / 3, and f - b = (1/3, 2/3).
    assert (s.b, s.corrected_sd) == (close([1 / 6, -1 / 6]), close(1 / 6))
    assert s.design_bound == 0.5
    assert math.isnan(s.pairwise_disagreement)  # item 0 has no pair


def test_no_item_flips() -> None:
    s = cell_statistics([[1, 1], [1, 1]], [1, 1], Design.of(cyclic(2)))
    assert (s.flip_rate, s.pooled_sd, s.stable_correct, s.stable_wrong) == (0, 0, 1, 0)
    # Accuracy 1: the cap min(1, 2 * 0) is 0 and nothing can be scaled by it.
    assert (s.accuracy, s.flip_cap, s.kl, s.choice_entropy) == (1, 0, 0, 0)
    assert np.isnan([s.skew, s.std_h, s.range_h, s.scaled_flip_rate, *s.g, *s.h]).all()
    assert s.accuracy_by_letter.tolist() == [1, 1]
    assert math.copysign(1, s.choice_entropy) == 1  # zero, not minus zero


def test_contents_and_positions_by_hand() -> None:
    # pi = (1, 2, 0): letter 0 shows content 2, letter 1 content 0, letter 2 content 1.
    pi = [[1, 2, 0], [0, 1, 2]]
    assert factors.contents_of([[0, 0], [1, 1], [2, 2]], pi).tolist() == [[2, 0], [0, 1], [1, 2]]
    assert factors.positions_of([[0, 0], [1, 1]], pi).tolist() == [[1, 0], [2, 1]]
    own = [pi, pi[::-1]]
    assert factors.contents_of([[0, 0], [0, 0]], own).tolist() == [[2, 0], [0, 2]]
    assert factors.positions_of([[0, 0], [0, 0]], own).tolist() == [[1, 0], [0, 1]]


def test_small_parts_by_hand() -> None:
    assert factors.kl_to_uniform([1, 0]) == 1.0  # log2(2)
    assert factors.kl_to_uniform([[0.5, 0.5], [0.75, 0.25]]) == close(
        [0, 0.75 * math.log2(1.5) + 0.25 * math.log2(0.5)]
    )
    # Numpy's own SD of three tenths is not zero.
    assert np.full(3, 0.1).std() != 0
    assert factors.population_sd([0.1, 0.1, 0.1]) == 0
    assert factors.population_sd([1, 3]) == 1
    design = Design.of([AB, BA], [2, 1])
    assert factors.histograms([[0, 0], [1, 0]], design).tolist() == [[3, 0], [1, 2]]
    assert factors.flipping([[0, 0], [1, 0]], design).tolist() == [False, True]
    assert factors.flipping([[0], [1]], Design.of([AB])).tolist() == [False, False]


def test_the_statistics_as_a_row() -> None:
    row = factors.as_row(build_cell("cyclic", 3, 5, 1).fast)
    assert row["n_items"] == 5
    assert isinstance(row["f"], list)
    assert len(row) == 30


@pytest.mark.parametrize(
    ("contents", "gold", "message"),
    [
        (np.zeros((0, 2), dtype=int), [], "do not fit"),
        ([[0, 1, 1]], [0], "do not fit"),
        ([[0, 1]], [0, 1], "do not fit"),
        ([0, 1], [0], "do not fit"),
        ([[0, -1]], [0], "contents outside 0..1"),
        ([[0, 2]], [0], "contents outside 0..1"),
        ([[0, 1]], [2], "gold outside 0..1"),
    ],
)
def test_errors(contents, gold, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cell_statistics(contents, gold, Design.of([AB, BA]))


@pytest.mark.parametrize(
    "design", [Design.of([[AB, BA]] * 3), Design.of([AB, BA], [[1, 1]] * 3)], ids=["own", "counts"]
)
def test_a_design_for_another_number_of_items(design: Design) -> None:
    with pytest.raises(ValueError):
        cell_statistics([[0, 1], [1, 1]], [0, 0], design)


def sizes() -> list[tuple[str, int, int]]:
    """Kind, K and items of the cells that are compared with the slow loop."""
    found = []
    for kind in KINDS:
        largest = {"all": 5, "latin": 4}.get(kind, 26)
        ks = [k for k in (*range(2, 11), 26) if k <= largest]
        found += [(kind, k, 4 if k == 26 else 14) for k in ks]
    return [*found, ("all", 6, 3), ("cyclic", 4, 1), ("own", 3, 1)]


@pytest.mark.parametrize(("kind", "k", "n"), sizes())
def test_every_statistic_of_the_slow_loop(kind: str, k: int, n: int) -> None:
    own = kind in ("weighted", "own", "own-counts", "own-balanced")
    for seed in range(1 if k > 5 else 4):
        cell = build_cell(kind, k, n, 100 * k + seed)
        assert differences(cell.fast, cell.slow, SINGLE if own else ()) == []


@pytest.mark.parametrize("kind", ["weighted", "own", "own-counts", "own-balanced"])
def test_single_orderings_are_found_in_every_design(kind: str) -> None:
    # Canonical accuracy, fluctuation rate and cap wherever every item holds their orderings.
    for seed in range(20):
        cell = build_cell(kind, 2, 3, seed)
        found, expected = cell.fast, cell.slow
        assert differences(found, {name: expected[name] for name in SINGLE}) == []


@PROPERTY
@given(cells())
def test_any_cell_agrees_with_the_slow_loop(cell: Cell) -> None:
    assert differences(cell.fast, cell.slow, SINGLE) == []


@PROPERTY
@given(cells())
def test_contents_and_positions_are_inverse(cell: Cell) -> None:
    pi = cell.design.orderings
    positions = factors.positions_of(cell.contents, pi)
    rows = np.broadcast_to(pi, (*cell.contents.shape, cell.design.k))
    for q, s in np.ndindex(cell.contents.shape):
        assert positions[q, s] == rows[q, s].tolist()[cell.contents[q, s]]
    assert (factors.contents_of(positions, pi) == cell.contents).all()


@PROPERTY
@given(cells(kinds=("cyclic",), ks=(2,)))
def test_letters_and_right_letters_agree_for_two_options(cell: Cell) -> None:
    # A flipping item chooses one letter twice, and is right once, at that letter (B.2).
    assert np.array_equal(cell.fast.h, cell.fast.g, equal_nan=True)


@PROPERTY
@given(cells())
def test_relabelled_contents(cell: Cell) -> None:
    k = cell.design.k
    new = np.random.default_rng(k).permutation(k)
    moved = np.empty_like(cell.design.orderings)
    moved[..., new] = cell.design.orderings  # content new[j] stands where j stood
    renamed = Cell(new[cell.contents], new[cell.gold], Design.of(moved, cell.design.counts))
    assert differences(renamed.fast, vars(cell.fast), SINGLE) == []


@PROPERTY
@given(cells())
def test_items_that_are_repeated_change_nothing(cell: Cell) -> None:
    thrice = np.tile(np.arange(len(cell.gold)), 3)
    again = Cell(cell.contents[thrice], cell.gold[thrice], cell.design.take_items(thrice)).fast
    assert again.n_items == 3 * len(cell.gold)
    assert differences(again, vars(cell.fast), ("n_items",)) == []


@PROPERTY
@given(cells(kinds=BALANCED))
def test_accuracy_by_letter_is_the_stable_part_and_the_flipping_part(cell: Cell) -> None:
    s = cell.fast
    flipping_part = s.flip_rate * s.h if s.flip_rate > 0 else 0.0
    assert np.abs(s.accuracy_by_letter - (s.stable_correct + flipping_part)).max() <= TOLERANCE
    # Each letter shows the correct content equally often, so A is the mean of the A_j.
    assert abs(s.accuracy_by_letter.mean() - s.accuracy) <= TOLERANCE


@PROPERTY
@given(cells(kinds=("multiset", "all", "cyclic")))
def test_multiplicities_are_literal_copies(cell: Cell) -> None:
    counts = np.arange(len(cell.design.orderings)) % 3 + 1
    counted = Cell(cell.contents, cell.gold, Design.of(cell.design.orderings, counts))
    columns = np.repeat(np.arange(len(counts)), counts)
    written = Cell(cell.contents[:, columns], cell.gold, Design.of(cell.design.orderings[columns]))
    assert differences(counted.fast, vars(written.fast)) == []


def test_order_of_the_orderings_does_not_matter() -> None:
    # The canonical and the half rotation are found by their permutation.
    for k in (3, 4, 7):
        cell = build_cell("cyclic", k, 12, k)
        order = np.random.default_rng(k).permutation(k)
        moved = Cell(cell.contents[:, order], cell.gold, Design.of(cell.design.orderings[order]))
        assert differences(moved.fast, vars(cell.fast)) == []
        right = cell.contents[:, 0] == cell.gold
        assert moved.fast.canonical_accuracy == right.mean()


def test_canonical_accuracy_without_the_canonical_ordering() -> None:
    design = Design.of(cyclic(4)[1:])
    s = cell_statistics([[0, 0, 0]], [0], design)
    assert np.isnan([s.canonical_accuracy, s.fluctuation_rate, s.flip_cap]).all()
    assert identity(4).tolist() not in design.orderings.tolist()


def test_the_slow_loop_agrees_where_all_items_flip() -> None:
    # Every answer is letter A: FL = 1 and g = f = (1, 0, ..., 0).
    k = 10
    contents = [[(-s) % k for s in range(k)]] * 3
    cell = Cell(np.array(contents), np.array([0, 4, 9]), Design.of(cyclic(k)))
    assert differences(cell.fast, cell.slow) == []
    assert (cell.fast.flip_rate, cell.fast.skew) == (1.0, close(0.3))  # sqrt(.1 * .9)
    assert slow.statistics(*cell.literal(), [0, 4, 9], k)["accuracy"] == close(0.1)
