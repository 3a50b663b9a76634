"""The item bootstrap: multiplicities, totals, and intervals by selection."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from optionbias.item_draws import BLOCK, central_interval, multiplicity_blocks, resampled_totals
from optionbias.resampling import draw_weights, percentile_interval
from strategies import PROPERTY, SEED


@pytest.mark.parametrize(("n", "draws"), [(1, 3), (7, BLOCK), (12, 2 * BLOCK + 1), (300, 20)])
def test_blocks_are_the_draws_by_that_name(n: int, draws: int) -> None:
    blocks = list(multiplicity_blocks(n, draws, SEED, "a/name"))
    assert max(map(len, blocks)) <= BLOCK
    assert np.array_equal(np.concatenate(blocks), draw_weights(n, draws, SEED, "a/name"))


def test_totals_by_hand() -> None:
    # Item 0 counts (1, 5), item 1 counts (10, -1); a draw of 2 of them with multiplicities (2, 0),
    # (1, 1) or (0, 2) totals (2, 10), (11, 4) or (20, -2).
    totals = resampled_totals([[1, 5], [10, -1]], 50, SEED, "x")
    weights = draw_weights(2, 50, SEED, "x")
    known = {2: (2, 10), 1: (11, 4), 0: (20, -2)}
    assert list(map(tuple, totals.T)) == [known[w] for w in weights[:, 0].tolist()]
    assert len(set(weights[:, 0].tolist())) == 3


def test_totals_are_exact_where_float32_is_not() -> None:
    # 2^24 + 1 is not a float32.
    large = 2**24 + 1
    totals = resampled_totals([[large], [0]], 30, SEED, "x")
    weights = draw_weights(2, 30, SEED, "x")[:, 0]
    assert totals.dtype == np.float64
    assert np.array_equal(totals[0], large * weights)
    # The largest total that float32 is trusted with is below 2^24.
    assert resampled_totals([[2**23 - 1], [0]], 3, SEED, "x").dtype == np.float32
    assert resampled_totals([[2**23], [0]], 3, SEED, "x").dtype == np.float64


@PROPERTY
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 10_000))
def test_totals_are_those_of_the_items_taken(columns: int, n: int, seed: int) -> None:
    features = np.random.default_rng(seed).integers(-10, 11, size=(n, columns)).astype(np.int8)
    totals = resampled_totals(features, 7, SEED, "x")
    for total, weights in zip(totals.T, draw_weights(n, 7, SEED, "x"), strict=True):
        taken = np.repeat(features.astype(int), weights, axis=0)
        assert len(taken) == n
        assert np.array_equal(total, taken.sum(axis=0))


def test_joint_patterns_are_drawn_as_a_multinomial() -> None:
    # Seven items of three joint patterns (flips in the first cell, in the second): 2 flip in the
    # first alone, 1 in both, 4 in neither. The counts of a draw are multinomial(7; 2/7, 1/7, 4/7),
    # and the two totals show them: (first alone + both, both).
    features = np.array([[1, 0]] * 2 + [[1, 1]] + [[0, 0]] * 4)
    draws = 10_000
    first, second = resampled_totals(features, draws, SEED, "x")
    found: dict[tuple[int, int], int] = {}
    for pair in zip((first - second).astype(int), second.astype(int), strict=True):
        found[pair] = found.get(pair, 0) + 1
    factorial = [1, 1, 2, 6, 24, 120, 720, 5040]
    expected = {}
    for a, b in itertools.product(range(8), repeat=2):
        if a + b <= 7:
            ways = 5040 / (factorial[a] * factorial[b] * factorial[7 - a - b])
            expected[a, b] = draws * ways * (2 / 7) ** a * (1 / 7) ** b * (4 / 7) ** (7 - a - b)
    assert set(found) <= set(expected)
    # Cells too rare for the chi-square are taken together.
    often = [key for key, e in expected.items() if e >= 5]
    counts = [found.get(key, 0) for key in often]
    means = [expected[key] for key in often]
    counts.append(draws - sum(counts))
    means.append(draws - sum(means))
    assert chisquare(counts, means).pvalue > 0.001


@PROPERTY
@given(
    st.integers(1, 130),
    st.sampled_from([0.5, 0.9, 0.95, 0.975]),
    st.sampled_from(["whole", "real"]),
    st.integers(0, 10_000),
)
def test_intervals_are_numpys(draws: int, level: float, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, draws))
    if kind == "whole":
        values = (3 * values).astype(np.int32)
    low, high = central_interval(values, level)
    tail = (1 - level) / 2
    expected = np.quantile(values, [tail, 1 - tail], axis=-1)
    assert np.abs(np.array([low, high]) - expected).max() <= 1e-12
    # Nothing is moved in the array that was given.
    again = percentile_interval(values[0], level)
    assert (again.low, again.high) == pytest.approx((low[0], high[0]), abs=1e-12)


def test_an_interval_of_ten_thousand_draws_by_hand() -> None:
    # 0, 1, ..., 9999 shuffled: at place 9999 * 0.025 the value is 249.975.
    values = np.random.default_rng(1).permutation(10_000).astype(np.float64)
    low, high = central_interval(values)
    assert float(low) == pytest.approx(249.975, abs=1e-9)
    assert float(high) == pytest.approx(9749.025, abs=1e-9)
