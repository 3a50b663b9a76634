"""Draws as weights, and the weighted statistics against the literally replicated sample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import spearmanr

from optionbias import resampling
from optionbias.seeds import generator
from slow import resampling as slow
from strategies import PROPERTY, TOLERANCE

# Halves up to 8: sums of them are exact, so equality below is equality.
halves = st.integers(-16, 16).map(lambda x: x / 2)
gappy = st.one_of(st.just(math.nan), halves)


@st.composite
def samples(draw: st.DrawFn, values: st.SearchStrategy[float] = gappy) -> tuple[np.ndarray, ...]:
    """Two variables with ties and gaps, and weights of several draws."""
    n = draw(st.integers(1, 9))
    x, y = (draw(arrays(np.float64, n, elements=values)) for _ in range(2))
    return x, y, draw(arrays(np.int64, (4, n), elements=st.integers(0, 3)))


def same(found: float, expected: float, tolerance: float = 0.0) -> bool:
    """Equal within a tolerance, or both undefined."""
    if math.isnan(found) or math.isnan(expected):
        return math.isnan(found) and math.isnan(expected)
    return abs(found - expected) <= tolerance


def test_weighted_statistics_by_hand() -> None:
    # Replicated: 1, 2, 10, 10, then 10, 10, 10, then nothing.
    weights = [[1, 1, 2], [0, 0, 3], [0, 0, 0]]
    mean = resampling.weighted_mean([1, 2, 10], weights)
    assert mean[:2].tolist() == [23 / 4, 10]
    median = resampling.weighted_median([1, 2, 10], weights)
    assert median[:2].tolist() == [6, 10]  # between 2 and 10
    assert np.isnan([mean[2], median[2]]).all()
    # A cell without the statistic counts for nothing: 1, 10, 10.
    assert resampling.weighted_mean([1, math.nan, 10], weights)[0] == 7
    assert resampling.weighted_median([1, math.nan, 10], weights)[0] == 10


def test_weighted_ranks_by_hand() -> None:
    # Replicated: 5, 5, 5, 7, 9, 9: ranks 2, 4 and 5.5.
    assert resampling.weighted_ranks([9, 5, 7], [[2, 3, 1]]).tolist() == [[5.5, 2, 4]]
    # Two cells of value 5 share their ranks: 5, 5, 5, 9 are 2, 2, 2, 4.
    assert resampling.weighted_ranks([5, 9, 5], [[1, 1, 2]]).tolist() == [[2, 4, 2]]


def test_weighted_spearman_by_hand() -> None:
    # 1 - 6 (0 + 1 + 1) / (3 * 8) = 1/2.
    assert resampling.spearman([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 2)
    # First cell twice: ranks (1.5, 1.5, 3, 4) and (1.5, 1.5, 4, 3), centred at 2.5: products
    # 1 + 1 + .75 + .75 = 3.5, squares 1 + 1 + .25 + 2.25 = 4.5.
    weights = [[2, 1, 1], [3, 0, 0], [0, 0, 0]]
    found = resampling.weighted_spearman([1, 2, 3], [1, 3, 2], weights)
    assert found[0] == pytest.approx(7 / 9)
    assert np.isnan(found[1:]).all()
    assert math.isnan(resampling.spearman([1, 1], [1, 2]))
    assert math.isnan(resampling.spearman([math.nan, 1], [1, 2]))
    assert resampling.spearman([1, math.nan, 3, 4], [2, 5, 3, 9]) == 1


@PROPERTY
@given(samples())
def test_weights_are_literal_copies(sample: tuple[np.ndarray, ...]) -> None:
    x, y, weights = sample
    keep = ~np.isnan(x)
    both = keep & ~np.isnan(y)
    mean = resampling.weighted_mean(x, weights)
    median = resampling.weighted_median(x, weights)
    rank = resampling.weighted_spearman(x, y, weights)
    for draw, w in enumerate(weights.tolist()):
        kept = [count for count, take in zip(w, keep, strict=True) if take]
        assert same(mean[draw], slow.weighted_mean(x[keep], kept))
        assert same(median[draw], slow.weighted_median(x[keep], kept))
        paired = [count for count, take in zip(w, both, strict=True) if take]
        expected = slow.weighted_spearman(x[both], y[both], paired)
        assert same(rank[draw], expected, TOLERANCE)


@PROPERTY
@given(samples(values=halves))
def test_weighted_ranks_are_those_of_the_copies(sample: tuple[np.ndarray, ...]) -> None:
    x, _, weights = sample
    ranks = resampling.weighted_ranks(x, weights)
    for draw, w in enumerate(weights):
        expected = slow._average_ranks(np.repeat(x, w).tolist())
        assert np.repeat(ranks[draw], w).tolist() == expected


@PROPERTY
@given(samples(values=st.floats(-1e6, 1e6)))
def test_any_values_against_copies(sample: tuple[np.ndarray, ...]) -> None:
    x, y, weights = sample
    scale = 1e6 * TOLERANCE
    for draw, w in enumerate(weights.tolist()):
        one = np.array([w])
        assert same(resampling.weighted_mean(x, one)[0], slow.weighted_mean(x, w), scale)
        assert same(resampling.weighted_median(x, weights)[draw], slow.weighted_median(x, w))
        found = resampling.weighted_spearman(x, y, one)[0]
        assert same(found, slow.weighted_spearman(x, y, w), TOLERANCE)


@pytest.mark.parametrize("ties", [False, True])
def test_many_cells_against_copies_and_scipy(ties: bool) -> None:
    rng = np.random.default_rng(int(ties))
    x, y = rng.normal(size=(2, 120))
    y += x
    if ties:
        x, y = np.round(x * 4), np.round(y * 4)
    weights = resampling.draw_weights(120, 5, 1, "ties")
    found = resampling.weighted_spearman(x, y, weights)
    for draw, w in enumerate(weights):
        copies = np.repeat(x, w), np.repeat(y, w)
        assert same(found[draw], slow.weighted_spearman(x, y, w.tolist()), TOLERANCE)
        assert same(found[draw], float(spearmanr(*copies).statistic), TOLERANCE)


def test_pearson_by_hand() -> None:
    # Values 0, 0, 4 against 1, 1, 3 and a weightless outlier: a straight line.
    found = resampling.weighted_pearson([0, 4, 9], [1, 3, -50], [[2, 1, 0], [1, 0, 0]])
    assert found[0] == pytest.approx(1)
    assert math.isnan(found[1])
    # Weights one: deviations (-1, 0, 1) and (-1, 1, 0): 1 / sqrt(2 * 2).
    assert resampling.weighted_pearson([1, 2, 3], [1, 3, 2], [[1, 1, 1]]) == pytest.approx(1 / 2)


def test_draws_are_counts_of_a_named_stream() -> None:
    weights = resampling.draw_weights(5, 40, 9, "table1/draws")
    taken = generator(9, "table1/draws").integers(0, 5, size=(40, 5)).tolist()
    assert weights.tolist() == [[row.count(unit) for unit in range(5)] for row in taken]
    assert (resampling.draw_weights(5, 40, 9, "table1/draws") == weights).all()
    assert (resampling.draw_weights(5, 40, 9, "table2/draws") != weights).any()
    assert (resampling.draw_weights(5, 40, 8, "table1/draws") != weights).any()
    # Fewer draws are the first of more.
    assert (resampling.draw_weights(5, 10, 9, "table1/draws") == weights[:10]).all()


def test_draws_are_uniform() -> None:
    # Each unit's weight is binomial(8, 1/8): mean 1, variance 7/8; standard error .0066.
    weights = resampling.draw_weights(8, 20_000, 1, "uniform")
    assert np.abs(weights.mean(axis=0) - 1).max() < 0.03
    assert np.abs(weights.var(axis=0) - 7 / 8).max() < 0.05


def test_blocks_share_their_weight() -> None:
    blocks = ["m2", "m10", "m2", "m1"]
    weights = resampling.block_weights(blocks, 30, 4, "x")
    # Checkpoints are sorted by name before the draw: m1, m10, m2.
    drawn = resampling.draw_weights(3, 30, 4, "x")
    assert (weights == drawn[:, [2, 1, 2, 0]]).all()
    # The other cells of a draw do not depend on how many cells a checkpoint has.
    assert (resampling.block_weights(["m1", "m10", "m2"], 30, 4, "x") == drawn).all()


def test_intervals_by_hand() -> None:
    # 0..100: the 2.5th percentile lies at place 2.5 of 100 steps.
    interval = resampling.percentile_interval(np.arange(101.0)[::-1])
    assert (interval.low, interval.high) == pytest.approx((2.5, 97.5))
    assert interval.left_out == 0
    assert interval.note == ""
    wide = resampling.percentile_interval(np.arange(101.0), level=0.975)
    assert (wide.low, wide.high) == pytest.approx((1.25, 98.75))
    gaps = resampling.percentile_interval([math.nan, 1, 1, 1])
    assert (gaps.low, gaps.high, gaps.left_out) == (1, 1, 0.25)
    assert gaps.note == "undefined in 25.0% of draws"
    assert resampling.percentile_interval([math.nan] + [0.0] * 99).note == ""  # 1% exactly
    for nothing in ([], [math.nan]):
        empty = resampling.percentile_interval(nothing)
        assert np.isnan([empty.low, empty.high]).all()
        assert empty.left_out == 1


@PROPERTY
@given(arrays(np.float64, st.integers(1, 40), elements=st.floats(-100, 100)))
def test_intervals_of_the_slow_loop(values: np.ndarray) -> None:
    interval = resampling.percentile_interval(values)
    assert same(interval.low, slow.percentile(values, 2.5), 1e-10)
    assert same(interval.high, slow.percentile(values, 97.5), 1e-10)


@pytest.mark.parametrize("r", [-1, -0.5, 0, 0.5, 1])
def test_spearman_brown(r: float) -> None:
    assert same(resampling.spearman_brown(r), slow.spearman_brown(r))


def test_spearman_brown_by_hand() -> None:
    assert resampling.spearman_brown(0.5) == pytest.approx(2 / 3)


def test_number_of_draws_by_default() -> None:
    assert resampling.DRAWS == 10_000
