"""The cap null: by hand, against slow permutations of exact rates, and what it must keep."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.nulls import (
    STRATA,
    cap_null,
    permutation_p,
    permuted_correlations,
    stratum,
)
from optionbias.seeds import generator
from slow import nulls as slow
from strategies import SEED
from synthetic import FEW, NAN


def cells_of(flips: list[Fraction], accuracies: list[Fraction], k: int = 4) -> pd.DataFrame:
    """First-token cells with the caps and scaled flip rates that `cells` would hold."""
    accuracy = np.array([float(a) for a in accuracies])
    cap = np.minimum(1.0, k * (1 - accuracy))
    flip_rate = np.array([float(f) for f in flips])
    with np.errstate(invalid="ignore", divide="ignore"):
        scaled = np.where(cap > 0, flip_rate / cap, NAN)
    return pd.DataFrame(
        {
            "K": k, "flip_rate": flip_rate, "accuracy": accuracy, "flip_cap": cap,
            "scaled_flip_rate": scaled,
        }
    )  # fmt: skip


def test_two_cells_by_hand() -> None:
    # Both caps are one: a permutation keeps or swaps two rates, so r is -1 or 1, and each reaches
    # the observed -1 in magnitude: P = (1 + 20) / (1 + 20).
    cells = cells_of([Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(1, 2)])
    null = cap_null(cells, 20, SEED, "x")
    assert (null.observed, null.p, null.n) == (-1, 1, 2)
    assert (null.interval.low, null.interval.high) == (-1, 1)


def test_the_permutation_p_by_hand() -> None:
    # Of four, -0.5 and 0.7 reach 0.5 in magnitude, one by less than 1e-12 too little counts too.
    assert permutation_p(-0.5, [0.2, -0.5, 0.7, 0.5 - 1e-13]) == (1 + 3) / (1 + 4)
    assert permutation_p(0.9, [0.2, -0.5]) == 1 / 3
    assert math.isnan(permutation_p(NAN, [0.2]))


def test_strata_by_hand() -> None:
    # K = 4: accuracy 3/4 leaves a cap of exactly one, 4/5 one of 4/5, 1 a cap of zero.
    shares = [Fraction(1, 2), Fraction(3, 4), Fraction(4, 5), Fraction(1)]
    cells = cells_of([Fraction(1, 10)] * 3 + [Fraction(0)], shares)
    # An accuracy summed in another order can end one digit higher: its cap still equals one.
    cells.loc[1, "accuracy"] += 1e-16
    cells.loc[1, "flip_cap"] = 1 - 4e-16
    found = {name: stratum(cells, 4, name)["accuracy"].round(3).to_list() for name in STRATA}
    assert found == {
        "all": [0.5, 0.75, 0.8],
        "binding": [0.8],
        "cap equal to one": [0.5, 0.75],
    }
    assert stratum(cells, 2, "all").empty


def test_products_that_are_equal_tie() -> None:
    # Scaled 3/5 * cap 2/5 = scaled 4/5 * cap 3/10 = 6/25, which floats miss by a digit or not:
    # three rates of which two are equal under the identity.
    scaled, cap = np.array([0.6, 0.8, 0.9]), np.array([0.4, 0.3, 0.9])
    scaled[0] += 1e-16
    r = permuted_correlations(scaled, cap, np.array([1.0, 2.0, 3.0]), 200, SEED, "x")
    # Ranks 1.5, 1.5, 3 against 1, 2, 3.
    assert np.isclose(r, math.sqrt(3) / 2).any()


def test_undefined_nulls() -> None:
    for flips, accuracies in (([], []), ([0.5], [0.5]), ([0.1, 0.2], [0.5, 0.5])):
        rates = [Fraction(f) for f in flips], [Fraction(a) for a in accuracies]
        null = cap_null(cells_of(*rates), 10, SEED, "x")
        assert np.isnan([null.observed, null.median, null.p, null.interval.low]).all()
        assert null.n == len(flips)


@st.composite
def exact_cells(draw: st.DrawFn) -> tuple[list[Fraction], list[Fraction], int]:
    """Flip rates within their caps, accuracies below one, and K; many ties."""
    k = draw(st.sampled_from([2, 4, 10]))
    n = draw(st.integers(3, 9))
    items = draw(st.sampled_from([6, 12]))
    rights = draw(st.lists(st.integers(0, items * k - 1), min_size=n, max_size=n))
    accuracies = [Fraction(r, items * k) for r in rights]
    flips = [
        Fraction(draw(st.integers(0, math.floor(items * slow.cap(a, k)))), items)
        for a in accuracies
    ]
    return flips, accuracies, k


@FEW
@given(exact_cells())
def test_as_the_slow_permutations(given_cells) -> None:
    flips, accuracies, k = given_cells
    orders = generator(SEED, "x").permuted([list(range(len(flips)))] * 25, axis=1).tolist()
    expected = slow.cap_null(flips, accuracies, k, orders)
    found = cap_null(cells_of(flips, accuracies, k), 25, SEED, "x")
    numbers = {
        "observed": found.observed,
        "median": found.median,
        "low": found.interval.low,
        "high": found.interval.high,
        "P": found.p,
    }
    assert numbers == pytest.approx(expected, rel=0, abs=1e-10, nan_ok=True)


@FEW
@given(exact_cells())
def test_cells_at_their_caps_give_the_observed_correlation(given_cells) -> None:
    # Every scaled flip rate is one, so every permutation is the sample: the cap explains all.
    _, accuracies, k = given_cells
    caps = [slow.cap(a, k) for a in accuracies]
    null = cap_null(cells_of(caps, accuracies, k), 15, SEED, "x")
    if not math.isnan(null.observed):
        assert null.median == pytest.approx(null.observed, abs=1e-12)
        assert null.interval.high - null.interval.low < 1e-12
        assert null.p == 1
