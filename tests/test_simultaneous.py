"""Simultaneous intervals: by hand, against the slow loop, and what holding jointly means."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.simultaneous import simultaneous_intervals
from slow import nulls as slow
from synthetic import FEW, NAN


def ends(values, draws, level: float = 0.95) -> list[tuple[float, float]]:
    """Lower and upper ends."""
    return [(i.low, i.high) for i in simultaneous_intervals(values, draws, level)]


def test_by_hand() -> None:
    # Draws -1, 0, 1: standard deviation 1 (n - 1 = 2); |t| 1, 0, 1, whose 95% quantile is 1. A
    # second gap that is ten times the first has the same |t|.
    draws = np.array([[-1, -10], [0, 0], [1, 10]])
    assert ends([0, 0], draws) == [(-1, 1), (-10, 10)]
    # Both gaps: |t| is the larger. sd of 0, 0, 3 is sqrt(3); from 0 the |t| are 0, 0, sqrt(3), so
    # the maxima are 1, 0, sqrt(3), whose median is 1: reach 1 at level 1/2.
    draws = np.array([[-1, 0], [0, 0], [1, 3]])
    assert ends([0, 0], draws, 0.5) == [(-1, 1), pytest.approx((-math.sqrt(3), math.sqrt(3)))]


def test_undefined_and_constant_gaps() -> None:
    draws = np.array([[-1.0, 2.0], [0.0, 2.0], [1.0, 2.0], [NAN, 2.0]])
    first, second = simultaneous_intervals([0, 2], draws)
    # The last draw is left out for both; a gap that never varies is known.
    assert (first.low, first.high, first.left_out) == (-1, 1, 0.25)
    assert (second.low, second.high) == (2, 2)
    for gaps, given_draws in (([0, NAN], draws), ([0, 2], draws[3:]), ([0, 2], draws[:0])):
        assert np.isnan(ends(gaps, given_draws)).all()


@FEW
@given(st.integers(0, 10_000), st.integers(1, 3), st.integers(2, 30))
def test_joint_coverage_and_the_slow_loop(seed: int, m: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    gaps, draws = rng.normal(size=m), rng.normal(size=(n, m))
    found = np.array(ends(gaps, draws))
    assert found == pytest.approx(np.array(slow.simultaneous(gaps.tolist(), draws.tolist())))
    inside = ((draws >= 2 * gaps - found[:, 1] - 1e-12) & (draws <= found[:, 1] + 1e-12)).all(
        axis=1
    )
    # All gaps at once in 95% of the draws, up to the one that interpolation passes over.
    assert inside.sum() >= math.floor(0.95 * n)
    # One gap alone reaches no further.
    alone = ends(gaps[:1], draws[:, :1])[0]
    assert alone[1] <= found[0, 1] + 1e-12
