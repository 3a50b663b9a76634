"""Correlations with accuracy on disjoint data: by hand, and what must not matter."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optionbias.disjoint import (
    Scope,
    benchmark_disjoint,
    item_disjoint,
    ordering_disjoint,
    own_orderings,
)
from optionbias.folds import STATISTICS
from strategies import SEED
from synthetic import FEW, NAN


def first_token(flips: dict[tuple[str, str], float], accuracy: dict[tuple[str, str], float]):
    """Cells whose statistics all equal the flip rate but for the pooled ones, which are zero."""
    rows = [
        {
            "checkpoint": c, "benchmark": b, **dict.fromkeys(STATISTICS, value), "kl": 0.0,
            "pooled_sd": 0.0, "accuracy": accuracy[c, b],
        }
        for (c, b), value in flips.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def folds(kind: str, **lists: list[list[float]]) -> pd.DataFrame:
    """Rows of `folds` of checkpoints m0, m1, ...; statistics that are not given are `flip_rate`."""
    n = len(lists["flip_rate"])
    rows = {name: lists.get(name, lists["flip_rate"]) for name in STATISTICS}
    rows |= {"accuracy": lists["accuracy"], "own_accuracy": lists.get("own", lists["accuracy"])}
    return pd.DataFrame(
        {"checkpoint": [f"m{i}" for i in range(n)], "benchmark": "x", "kind": kind, **rows}
    )


def test_benchmark_disjoint_by_hand() -> None:
    # Accuracies of a, b, c: 0.1, 0.2, 0.3 on x; 0.5, 0.9, 0.7 on y. Flip rates fall from a to c on
    # both. x against y: flips 3, 2, 1 and accuracies 1, 3, 2: -1/2. y against x: -1. Mean -3/4.
    # z is not run on c and takes no part, as accuracy or as flip rate.
    accuracy = {("a", "x"): 0.1, ("b", "x"): 0.2, ("c", "x"): 0.3}
    accuracy |= {("a", "y"): 0.5, ("b", "y"): 0.9, ("c", "y"): 0.7}
    accuracy |= {("a", "z"): 0.9, ("b", "z"): 0.0}
    flips = {cell: {"a": 0.9, "b": 0.5, "c": 0.1}[cell[0]] for cell in accuracy}
    scope = benchmark_disjoint(first_token(flips, accuracy), 50, SEED)
    assert scope.correlations["flip_rate"].value == pytest.approx(-0.75)
    assert scope.correlations["flip_rate"].n == 6
    assert scope.checkpoints == ["a", "b", "c"]
    # A statistic that is zero everywhere has no ranks, nor have its gaps.
    assert math.isnan(scope.correlations["kl"].value)
    assert set(scope.gaps) == {("flip_rate", "kl"), ("flip_rate", "pooled_sd")}
    assert all(math.isnan(gap.value) for gap in scope.gaps.values())


def test_one_benchmark_has_no_other() -> None:
    accuracy = {(c, "x"): a for c, a in (("a", 0.1), ("b", 0.2), ("c", 0.3))}
    scope = benchmark_disjoint(first_token(accuracy, accuracy), 10, SEED)
    assert math.isnan(scope.correlations["flip_rate"].value)
    assert scope.correlations["flip_rate"].n == 0


def test_item_disjoint_by_hand() -> None:
    # Two rotations. In the first the statistic falls with accuracy (-1); in the second the ranks are
    # 1, 2, 3 and 1, 3, 2 (1/2): mean -1/4. Pooled KL: -1 in both, so the gap is 1/4 - 1.
    frame = folds(
        "items",
        flip_rate=[[0.3, 0.1], [0.2, 0.2], [0.1, 0.3]],
        accuracy=[[0.1, 0.1], [0.2, 0.9], [0.3, 0.5]],
        kl=[[0.3, 0.9], [0.2, 0.1], [0.1, 0.5]],
    )
    scope = item_disjoint(frame, 50, SEED)
    assert scope.correlations["per_item_kl"].value == pytest.approx(-0.25)
    assert scope.correlations["kl"].value == pytest.approx(-1)
    assert scope.gaps["per_item_kl", "kl"].value == pytest.approx(-0.75)
    assert scope.gaps["per_item_sd", "pooled_sd"].value == 0
    # A cell without an item in the second fold counts in the first rotation alone: there two cells
    # are left, whose ranks agree.
    frame.at[1, "accuracy"] = [0.2, NAN]
    again = item_disjoint(frame, 50, SEED)
    assert again.correlations["per_item_kl"].value == pytest.approx((-1 + 1) / 2)


def test_orderings_by_hand() -> None:
    frame = folds(
        "orderings",
        flip_rate=[[0.3], [0.2], [0.1]],
        accuracy=[[0.1], [0.9], [0.5]],
        own=[[0.1], [0.2], [0.3]],
    )
    other = folds("items", flip_rate=[[0.1], [0.2]], accuracy=[[0.1], [0.2]])
    both = pd.concat([frame, other], ignore_index=True)
    assert ordering_disjoint(both, 20, SEED).correlations["flip_rate"].value == pytest.approx(-0.5)
    assert own_orderings(both, 20, SEED).correlations["flip_rate"].value == pytest.approx(-1)


def numbers(scope: Scope) -> list[float]:
    """A scope as numbers, undefined as -9."""
    entries = [*scope.correlations.values(), *scope.gaps.values()]
    found = [[e.value, e.interval.low, e.interval.high, e.interval.left_out, e.n] for e in entries]
    return np.nan_to_num(np.array(found, dtype=float), nan=-9).ravel().tolist()


@st.composite
def runs(draw: st.DrawFn) -> pd.DataFrame:
    """Rows of both kinds with ties and gaps."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    rows = []
    for kind, turns in (("items", 5), ("orderings", 1)):
        for c in range(draw(st.integers(1, 5))):
            for b in range(draw(st.integers(1, 2))):
                values = rng.integers(0, 7, (len(STATISTICS) + 2, turns)) / 8
                values[-2, rng.random(turns) < 0.1] = NAN
                row = dict(zip((*STATISTICS, "accuracy", "own_accuracy"), values, strict=True))
                rows.append({"checkpoint": f"m{c}", "benchmark": f"b{b}", "kind": kind, **row})
    return pd.DataFrame(rows)


@settings(FEW, max_examples=10)
@given(runs(), st.randoms(use_true_random=False))
def test_row_order_and_rising_functions_change_nothing(frame, random) -> None:
    order = random.sample(range(len(frame)), len(frame))
    again = frame.iloc[order].copy()
    for name in STATISTICS:
        again[name] = [3 * np.asarray(v) ** 3 + 1 for v in again[name]]
    for make in (item_disjoint, ordering_disjoint, own_orderings):
        expected = numbers(make(frame, 20, SEED))
        assert numbers(make(again, 20, SEED)) == pytest.approx(expected, abs=1e-12)


@settings(FEW, max_examples=10)
@given(runs())
def test_turning_the_accuracy_round_turns_every_correlation(frame) -> None:
    turned = frame.assign(accuracy=[1 - np.asarray(v) for v in frame["accuracy"]])
    one, other = (item_disjoint(f, 20, SEED) for f in (frame, turned))
    for name in STATISTICS:
        a, b = one.correlations[name], other.correlations[name]
        assert a.value == pytest.approx(-b.value, abs=1e-12, nan_ok=True)
        assert a.interval.low == pytest.approx(-b.interval.high, abs=1e-12, nan_ok=True)
    for pair, gap in one.gaps.items():
        assert gap.value == pytest.approx(other.gaps[pair].value, abs=1e-12, nan_ok=True)
