"""Rank correlations in block draws: by hand, and against ranking the replicated sample."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.block_draws import BlockDraws, mean_of_defined, rank_correlation, tied
from optionbias.resampling import block_weights, weighted_spearman
from slow import resampling as slow
from strategies import SEED
from synthetic import FEW, NAN


def test_correlations_by_hand() -> None:
    # Cells 0 and 1 are block 0, cell 2 is block 1. Taken once each: ranks 1, 2, 3 against 1, 3, 2:
    # 1 - 6 * 2 / 24 = 1/2. Block 0 twice: x = 1, 1, 2, 2 and y = 1, 1, 3, 3 rise together. Block 1
    # twice: two copies of one cell have equal ranks.
    draws = BlockDraws(np.array([0, 0, 1]), np.array([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]]))
    (found,) = draws.spearman([[1, 2, 3]], [1, 3, 2])
    assert found[:2].tolist() == [0.5, 1.0]
    assert math.isnan(found[2])


def test_sums_by_hand() -> None:
    draws = BlockDraws(np.array([0, 0, 1]), np.array([[1.0, 1.0], [2.0, 0.0]]))
    assert draws.sums([[1.0], [2.0], [4.0]]).tolist() == [[7.0], [6.0]]


def test_equal_values_tie_whatever_their_last_digit() -> None:
    assert 0.1 + 0.2 != 0.3
    values = tied([0.5, 0.1 + 0.2, 0.3, 0.3 + 1e-9])
    assert values[1] == values[2]
    assert len(set(values.tolist())) == 3
    # Ranks 1.5, 1.5, 3 against 1, 2, 3: sum of products 1.5 over sqrt(1.5 * 2).
    assert rank_correlation([0.1 + 0.2, 0.3, 0.5], [1, 2, 3]) == pytest.approx(math.sqrt(3) / 2)


def test_mean_of_defined_by_hand() -> None:
    found = mean_of_defined([[1.0, NAN, NAN], [3.0, 5.0, NAN]])
    assert found[:2].tolist() == [2, 5]
    assert math.isnan(found[2])


@pytest.mark.parametrize("cells", [[], ["a"], ["a", "a"]])
def test_too_few_cells_are_undefined(cells: list[str]) -> None:
    draws = BlockDraws.of(cells, 3, SEED, "x")
    assert np.isnan(draws.spearman([np.ones(len(cells))], np.ones(len(cells)))).all()


@FEW
@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 5))
def test_as_ranking_the_replicated_sample(seed: int, n: int, blocks: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"m{i}" for i in rng.integers(blocks, size=n)]
    # Ties and gaps.
    x, y = rng.integers(0, 5, (2, n)) / 7
    x[rng.random(n) < 0.15] = NAN
    (found,) = BlockDraws.of(names, 25, SEED, "x").spearman([x], y)
    weights = block_weights(names, 25, SEED, "x")
    assert np.allclose(found, weighted_spearman(x, y, weights), rtol=0, atol=1e-12, equal_nan=True)
    kept = ~np.isnan(x)
    for value, row in zip(found, weights[:, kept].tolist(), strict=True):
        expected = slow.weighted_spearman(x[kept].tolist(), y[kept].tolist(), row)
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True)
