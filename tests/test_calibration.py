"""The held-out calibration split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.calibration import calibration_mask, calibration_rank, calibration_size
from slow import operations as slow
from strategies import PROPERTY

names = st.lists(st.text(max_size=8).filter(str.isprintable), min_size=1, max_size=60, unique=True)


def test_order_by_hand() -> None:
    # SHA-256 of "7|calibration|toy|a", "...|b" and "...|c" begins 5dd4, b158 and 9a7d.
    assert calibration_rank(7, "toy", ["a", "b", "c"]) == ["a", "c", "b"]
    assert calibration_mask(7, "toy", ["c", "b", "a"]).tolist() == [False, False, True]


def test_size_by_hand() -> None:
    # floor(0.05 n + 0.5), at least one: 29 -> floor(1.95), 30 -> floor(2.0), 50 -> floor(3.0).
    expected = {1: 1, 9: 1, 10: 1, 29: 1, 30: 2, 49: 2, 50: 3, 10_042: 502}
    assert {n: calibration_size(n) for n in expected} == expected


def test_size_never_suffers_from_rounding() -> None:
    # The halves lie at n = 20 j + 10, where 0.05 n + 0.5 is whole: (n + 10) // 20 in integers.
    assert all(calibration_size(n) == max(1, (n + 10) // 20) for n in range(1, 20_001))


@pytest.mark.parametrize("n", [1, 2, 30, 333])
def test_the_slow_loop_takes_the_same_items(n: int) -> None:
    items = [f"item-{i}" for i in range(n)]
    mask = calibration_mask(20261016, "exam", items)
    assert mask.dtype == np.bool_
    chosen = [item for item, taken in zip(items, mask, strict=True) if taken]
    assert sorted(chosen) == sorted(slow.calibration_ids(20261016, "exam", items))


@PROPERTY
@given(names, st.randoms())
def test_the_split_depends_on_the_items_alone(items: list[str], random) -> None:
    mask = calibration_mask(3, "b", items)
    assert mask.sum() == calibration_size(len(items))
    taken = {item for item, chosen in zip(items, mask, strict=True) if chosen}
    assert taken == set(slow.calibration_ids(3, "b", items))
    moved = random.sample(items, len(items))
    again = calibration_mask(3, "b", moved)
    assert {item for item, chosen in zip(moved, again, strict=True) if chosen} == taken


@PROPERTY
@given(names)
def test_a_missing_item_does_not_reorder_the_others(items: list[str]) -> None:
    order = calibration_rank(3, "b", items)
    assert calibration_rank(3, "b", items[1:]) == [item for item in order if item != items[0]]


def test_seed_and_benchmark_have_splits_of_their_own() -> None:
    items = [str(i) for i in range(100)]
    splits = {
        tuple(calibration_mask(seed, benchmark, items))
        for seed in (1, 2)
        for benchmark in ("x", "y")
    }
    assert len(splits) == 4
