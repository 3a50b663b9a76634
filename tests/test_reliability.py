"""Table 9: by hand, every entry against a literal loop from the sweeps, and properties."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.design import Design
from optionbias.factors import cell_statistics
from optionbias.orderings import cyclic
from optionbias.reliability import over_cells, split_half, within_benchmarks
from optionbias.tables.reliability import table9
from slow.tables import reliability as slow
from strategies import SEED
from synthetic import FEW, NAN, standard


def halves_of(*repetitions: list[tuple[float, float]], benchmark: str = "x") -> pd.DataFrame:
    """Skews of both halves, one list of cells a repetition."""
    return pd.DataFrame(
        [
            {"checkpoint": f"m{i}", "benchmark": benchmark, "repetition": r, "skew_a": a, "skew_b": b}
            for r, cells in enumerate(repetitions)
            for i, (a, b) in enumerate(cells)
        ]
    )  # fmt: skip


def cells_of(skews: list[float], accuracies: list[float], benchmark: str = "x") -> pd.DataFrame:
    """Cells of one benchmark."""
    names = [f"m{i}" for i in range(len(skews))]
    return pd.DataFrame(
        {"checkpoint": names, "benchmark": benchmark, "skew": skews, "accuracy": accuracies}
    )


# Ranks 1, 2, 3 against 1, 3, 2: r = 1 - 6 (0 + 1 + 1) / (3 * 8) = 1/2.
HALF_RIGHT = [(0.1, 0.1), (0.2, 0.3), (0.3, 0.2)]
IN_ORDER = [(0.1, 0.2), (0.2, 0.4), (0.3, 0.6)]


def test_split_half_by_hand() -> None:
    # One repetition gives 1/2, the other 1: the mean is 3/4, and 2 * 3/4 / (7/4) = 6/7.
    halves = halves_of(HALF_RIGHT, IN_ORDER)
    assert split_half(halves, "skew") == pytest.approx(0.75)
    row = over_cells(cells_of([0.1, 0.2, 0.3], [0.9, 0.5, 0.1]), halves, "skew", 5, SEED)
    assert row.split_half == pytest.approx(0.75)
    assert row.spearman_brown == pytest.approx(6 / 7)
    # Accuracy falls as skew rises.
    assert (row.with_accuracy, row.n) == (-1, 3)


def test_undefined_halves_by_hand() -> None:
    # A cell without a skew in a half is left out of that repetition alone: there the other two
    # cells rank alike (r = 1), so the mean is (1/2 + 1) / 2.
    gap = [(0.1, NAN), (0.2, 0.2), (0.3, 0.3)]
    assert split_half(halves_of(HALF_RIGHT, gap), "skew") == pytest.approx(0.75)
    # A repetition with constant ranks says nothing; with no other, nothing is known.
    flat = [(0.1, 0.2), (0.1, 0.3)]
    assert split_half(halves_of(HALF_RIGHT, flat), "skew") == pytest.approx(0.5)
    assert math.isnan(split_half(halves_of(flat), "skew"))
    assert math.isnan(split_half(halves_of([(NAN, NAN)]), "skew"))


def test_within_benchmarks_by_hand() -> None:
    # x: skew falls with accuracy (-1); y: 1/2 as above; z: one cell, undefined. Medians over x and
    # y: -1/4 for accuracy, split halves 1 and 1/2, corrected 1 and 2/3.
    cells = pd.concat(
        [
            cells_of([0.1, 0.2, 0.3], [0.9, 0.5, 0.1]),
            cells_of([0.1, 0.2, 0.3], [0.1, 0.9, 0.5], "y"),
            cells_of([0.1], [0.9], "z"),
        ]
    )
    halves = pd.concat(
        [
            halves_of(IN_ORDER),
            halves_of(HALF_RIGHT, benchmark="y"),
            halves_of([(0.1, 0.1)], benchmark="z"),
        ]
    )
    row = within_benchmarks(cells, halves, "skew", 40, SEED)
    assert row.with_accuracy == pytest.approx(-0.25)
    assert row.split_half == pytest.approx(0.75)
    assert row.spearman_brown == pytest.approx((1 + 2 / 3) / 2)
    assert row.n == 3


# --- against the slow loop -------------------------------------------------------------------


def test_every_entry_of_table_9_is_the_slow_loops() -> None:
    tidy = table9(standard().inputs(draws=40)).tidy().set_index(["row", "column"])
    expected = slow.table9(standard())
    assert list(tidy.index) == list(expected)
    for key, value in expected.items():
        whole = value if isinstance(value, tuple) else (value, NAN, NAN)
        found = tidy.loc[key, ["value", "ci_low", "ci_high"]].astype(float)
        assert np.allclose(found, whole, rtol=0, atol=1e-10, equal_nan=True), key
    # Nineteen cells, two of which never flip; four benchmarks.
    assert tidy["n"].tolist() == [19] * 3 + [17] * 3 + [4] * 3


# --- properties ------------------------------------------------------------------------------


@st.composite
def runs(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Cells and their halves with ties and gaps, over one to three benchmarks."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    cells, halves = [], []
    for benchmark in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 6))

        def skews(n: int = n) -> list[float]:
            return [NAN if rng.random() < 0.1 else rng.integers(0, 7) / 8 for _ in range(n)]

        cells.append(cells_of(skews(), (rng.integers(0, 9, n) / 8).tolist(), f"b{benchmark}"))
        pairs = [list(zip(skews(), skews(), strict=True)) for _ in range(3)]
        halves.append(halves_of(*pairs, benchmark=f"b{benchmark}"))
    return pd.concat(cells, ignore_index=True), pd.concat(halves, ignore_index=True)


def numbers(row) -> list[float]:
    """A row as numbers, undefined as -9, to compare."""
    found = [row.with_accuracy, row.interval.low, row.interval.high, row.interval.left_out]
    return np.nan_to_num([*found, row.split_half, row.spearman_brown, row.n], nan=-9).tolist()


@FEW
@given(runs(), st.randoms(use_true_random=False))
def test_row_order_and_order_preserving_names_change_nothing(run, random) -> None:
    cells, halves = run
    order = random.sample(range(len(cells)), len(cells))
    again = cells.assign(checkpoint="model-" + cells["checkpoint"]).iloc[order]
    for statistic in (over_cells, within_benchmarks):
        expected = numbers(statistic(cells, halves, "skew", 20, SEED))
        assert numbers(statistic(again, halves, "skew", 20, SEED)) == expected


@FEW
@given(runs())
def test_a_rising_function_of_the_factor_changes_nothing(run) -> None:
    cells, halves = run
    for statistic in (over_cells, within_benchmarks):
        expected = numbers(statistic(cells, halves, "skew", 20, SEED))
        raised = halves.assign(skew_a=np.exp(halves["skew_a"]), skew_b=halves["skew_b"] ** 3)
        found = numbers(
            statistic(cells.assign(skew=3 * cells["skew"] + 1), raised, "skew", 20, SEED)
        )
        assert found == pytest.approx(expected, abs=1e-12)


@FEW
@given(runs())
def test_swapping_the_halves_changes_nothing(run) -> None:
    _, halves = run
    swapped = halves.rename(columns={"skew_a": "skew_b", "skew_b": "skew_a"})
    found, expected = split_half(swapped, "skew"), split_half(halves, "skew")
    assert found == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("k", [4, 10])
def test_cells_that_differ_in_letters_alone_tie(k: int) -> None:
    # Answers given one rotation later land one letter later: g is rotated, its SD is the same, and
    # ranks must see a tie and not the last digit of a sum taken in another order.
    contents = np.random.default_rng(3).integers(k, size=(25, k))
    gold, design = np.zeros(25, dtype=np.int64), Design.of(cyclic(k))
    skews = [
        cell_statistics(np.roll(contents, shift, axis=1), gold, design).skew for shift in range(k)
    ]
    assert skews == [skews[0]] * k


def test_one_benchmark_is_its_own_median() -> None:
    cells, halves = standard().inputs().first_token, standard().inputs().halves
    alone = cells[cells["benchmark"] == "other"], halves[halves["benchmark"] == "other"]
    inside, over = (f(*alone, "skew", 30, SEED) for f in (within_benchmarks, over_cells))
    assert inside.with_accuracy == over.with_accuracy
    assert (inside.split_half, inside.spearman_brown) == (over.split_half, over.spearman_brown)


@pytest.mark.parametrize("statistic", [over_cells, within_benchmarks])
def test_no_cell_at_all(statistic) -> None:
    inputs = standard().inputs()
    row = statistic(inputs.first_token.iloc[:0], inputs.halves.iloc[:0], "skew", 10, SEED)
    assert row.n == 0
    assert np.isnan([row.with_accuracy, row.split_half, row.spearman_brown]).all()
