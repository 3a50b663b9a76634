"""Variance shares of the log pooled SD, the pools they are taken over, and leave-one-out refits."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.block_draws import BlockDraws
from optionbias.leave_one_out import leave_one_out
from optionbias.pools import Pools
from optionbias.variance_shares import (
    log_factors,
    shares_in_draws,
    skew_and_accuracy,
    skew_share,
    variance_shares,
)
from slow import nulls as slow
from strategies import SEED
from synthetic import FEW, NAN


def cells_of(flip_rates: list[float], skews: list[float]) -> pd.DataFrame:
    """Cells of a checkpoint each, accuracy falling."""
    sds = [f * s if f > 0 else 0.0 for f, s in zip(flip_rates, skews, strict=True)]
    n = len(sds)
    return pd.DataFrame(
        {
            "checkpoint": [f"m{i:02d}" for i in range(n)], "benchmark": "x", "flip_rate": flip_rates,
            "skew": skews, "pooled_sd": sds, "accuracy": np.linspace(0.9, 0.1, n),
        }
    )  # fmt: skip


def shares(cells: pd.DataFrame) -> list[float]:
    """The three shares over the cells as they are."""
    return shares_in_draws(log_factors(cells), BlockDraws.whole(len(cells)))[0].tolist()


def test_shares_by_hand() -> None:
    # Log FL differs by 3 and log skew by 1: variances 9/4 and 1/4, covariance 3/4, together
    # (3 + 1)^2 / 4 = 4.
    cells = cells_of([math.exp(-3), 1.0], [0.1 * math.exp(-1), 0.1])
    assert shares(cells) == pytest.approx([9 / 16, 1 / 16, 6 / 16])
    # A cell that never flips and one without skew have no logs.
    more = cells_of([math.exp(-3), 1.0, 0.0, 0.5], [0.1 * math.exp(-1), 0.1, NAN, 0.0])
    assert shares(more) == pytest.approx([9 / 16, 1 / 16, 6 / 16])
    draws = BlockDraws.of(range(4), 30, SEED, "x")
    assert variance_shares(more, draws).skew.n == 2
    assert skew_and_accuracy(more, draws).n == 3


def test_opposite_factors_have_no_share() -> None:
    # Equal pooled SDs: nothing varies, although both factors do.
    assert np.isnan(shares(cells_of([0.5, 0.25], [0.1, 0.2]))).all()
    assert np.isnan(shares(cells_of([], []))).all()
    assert np.isnan(shares(cells_of([0.3], [0.1]))).all()


@st.composite
def factors(draw: st.DrawFn) -> pd.DataFrame:
    """Cells of which some never flip or have no skew."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(2, 12))
    flips = rng.integers(0, 9, n) / 8
    skews = np.where(flips > 0, rng.integers(0, 9, n) / 20, NAN)
    return cells_of(flips.tolist(), skews.tolist())


@FEW
@given(factors())
def test_shares_sum_to_one_and_are_the_slow_loops(cells: pd.DataFrame) -> None:
    draws = BlockDraws.of(cells["checkpoint"].to_list(), 20, SEED, "x")
    found = shares_in_draws(log_factors(cells), draws)
    sums = found.sum(axis=1)
    assert np.allclose(sums[~np.isnan(sums)], 1)
    for row, weights in zip(found, draws.weights.astype(int).tolist(), strict=True):
        expected = slow.shares(cells["flip_rate"].to_list(), cells["skew"].to_list(), weights)
        assert row == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@FEW
@given(factors(), st.floats(0.01, 1))
def test_a_common_factor_changes_no_share(cells: pd.DataFrame, scale: float) -> None:
    smaller = cells.assign(
        flip_rate=scale * cells["flip_rate"], pooled_sd=scale * cells["pooled_sd"]
    )
    assert shares(smaller) == pytest.approx(shares(cells), rel=1e-6, abs=1e-6, nan_ok=True)


# --- pools -----------------------------------------------------------------------------------


def rows(readout: str, items: dict[tuple[str, str], int], **columns: str) -> list[dict]:
    """Rows of `cells` with their usable items."""
    plain = {"readout": readout, "design": "cyclic", "operation": "none", "subset": "all"}
    return [
        {"checkpoint": c, "benchmark": b, "n_items": n, **plain, **columns}
        for (c, b), n in items.items()
    ]


def names(cells: pd.DataFrame) -> list[tuple[str, str]]:
    """(checkpoint, benchmark) of each row."""
    return list(zip(cells["checkpoint"], cells["benchmark"], strict=True))


def test_pools_by_hand() -> None:
    # Modes of x: 10 and 20 tie at two cells, so 20 counts and the least is 18; y has no first-token.
    cells = pd.DataFrame(
        [
            *rows("first-token", {("d", "x"): 20, ("a", "x"): 10, ("b", "x"): 10, ("c", "x"): 20}),
            *rows("chain-of-thought", {("a", "x"): 17, ("b", "x"): 18, ("c", "x"): 19}),
            *rows("chain-of-thought", {("a", "y"): 3}),
            *rows("direct-answer", {("a", "x"): 1, ("d", "x"): 20, ("a", "y"): 3}),
            *rows("five-shot", {("a", "x"): 20, ("b", "x"): 20}),
            # None of these is an uncorrected cell on all items and cyclic orderings.
            *rows("direct-answer", {("b", "x"): 20}, operation="pride"),
            *rows("direct-answer", {("b", "x"): 20}, subset="evaluation"),
            *rows("direct-answer", {("b", "x"): 20}, design="all"),
        ]
    )
    pools = Pools.of(cells)
    assert pools.modal_items == {"x": 20}
    # Sorted; the first-token readout is not filtered though two cells have 10 of 20.
    assert names(pools.own("first-token")) == [(c, "x") for c in "abcd"]
    assert names(pools.filtered("first-token")) == [("c", "x"), ("d", "x")]
    assert names(pools.own("chain-of-thought")) == [("a", "y"), ("b", "x"), ("c", "x")]
    # Only a on x was run under all three readouts, and with too few items for the filter.
    for readout in ("first-token", "chain-of-thought", "direct-answer", "five-shot"):
        assert names(pools.common(readout)) == [("a", "x")]
    assert names(pools.common("closed")) == []


def test_nine_tenths_is_exact() -> None:
    # 0.9 * 70 is 63.00000000000001 in floating point, and 63 of 70 items are 90%.
    first = rows("first-token", {("a", "x"): 70})
    cells = pd.DataFrame([*first, *rows("five-shot", {("a", "x"): 63, ("b", "x"): 62})])
    assert names(Pools.of(cells).own("five-shot")) == [("a", "x")]


# --- leave one out ---------------------------------------------------------------------------


def test_leave_one_out_by_hand() -> None:
    cells = pd.DataFrame({"checkpoint": ["b", "a", "b"], "benchmark": "x", "v": [1.0, 5.0, 3.0]})
    refits = leave_one_out(cells, "checkpoint", lambda c: float(c["v"].mean()))
    # Without a the mean is 2, without b it is 5.
    assert (refits.value, refits.low, refits.high) == (3, 2, 5)
    assert (refits.refits, refits.defined) == (2, 2)
    # Without its only benchmark nothing is left.
    alone = leave_one_out(cells, "benchmark", lambda c: float(c["v"].mean()))
    assert (alone.refits, alone.defined) == (1, 0)
    assert math.isnan(alone.low)


def test_the_skew_share_of_a_refit() -> None:
    cells = cells_of([math.exp(-3), 1.0, 0.5], [0.1 * math.exp(-1), 0.1, 0.2])
    refits = leave_one_out(cells, "checkpoint", skew_share)
    assert refits.low <= 1 / 16 <= refits.high
    assert refits.defined == 2  # the other two have equal pooled SDs without the first
