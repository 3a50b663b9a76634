"""Designs of Appendix E: draws, the evaluation of many designs, the analysis and its comparison."""

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_orderings import all_orderings_run, everywhere
from optionbias.analysis import Settings
from optionbias.cell import ScoringError
from optionbias.design import Design
from optionbias.design_comparison import Comparison, skew_shares
from optionbias.design_draws import DRAWS, gold_sets, own_sets, shared_sets
from optionbias.design_evaluation import (
    STATISTICS,
    AllOrderings,
    evaluate,
    expected_flip_rate,
    item_bounds,
    shared_bounds,
)
from optionbias.designs import DESIGNS, analyse, designs_of
from optionbias.factors import cell_statistics
from optionbias.identities import IdentityError
from optionbias.orderings import all_orderings, cyclic, find, latin_square_sets
from slow import designs as slow
from slow.tables.designs import designs as slow_designs
from strategies import SEED, build_sweep
from synthetic import FEW

SETTINGS = Settings(SEED, 40, 2)
SAME = ("flip_rate", "skew", "pooled_sd", "per_item_sd", "accuracy", "std_b", "corrected_sd")


def cell_of(contents: np.ndarray, gold: list[int], k: int) -> AllOrderings:
    """A cell with these contents (N, K!) under the orderings in lexicographic order."""
    orderings = all_orderings(k)
    positions = np.take_along_axis(orderings[None], contents[..., None], axis=2)[..., 0]
    return AllOrderings(
        "here", orderings, np.arange(len(orderings)), np.ones(len(contents), dtype=bool),
        contents.astype(np.int8), positions.astype(np.int8), np.array(gold, dtype=np.int8),
    )  # fmt: skip


def random_cell(k: int, n: int, seed: int) -> AllOrderings:
    """Items that keep a content, that keep a letter, and that choose at random."""
    rng = np.random.default_rng(seed)
    orderings = all_orderings(k)
    contents = rng.integers(k, size=(n, len(orderings)))
    for row in contents:
        kind = rng.integers(3)
        if kind == 0:
            row[:] = rng.integers(k)
        elif kind == 1:
            row[:] = np.argsort(orderings, axis=1)[:, rng.integers(k)]
    return cell_of(contents, rng.integers(k, size=n).tolist(), k)


# --- random sets -----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [3, 4, 5])
def test_random_sets_hold_distinct_orderings(k: int) -> None:
    gold = np.arange(7) % k
    sets = {
        (DRAWS, k, 1): shared_sets(k, SEED),
        (DRAWS, k, 7): own_sets(k, 7, "exam", SEED),
    }
    for shape, rows in sets.items():
        assert rows.shape == shape
        ordered = np.sort(rows, axis=1)
        assert (np.diff(ordered, axis=1) > 0).all()
        assert ordered.min() >= 0
        assert ordered.max() < math.factorial(k)
    rows = gold_sets(k, gold, "exam", SEED)
    # Row j shows the correct content at position j.
    shown = all_orderings(k)[rows, gold]
    assert (shown == np.arange(k)[None, :, None]).all()


def test_every_subset_is_as_likely() -> None:
    # K = 3: 100 draws of 600 items from the C(6, 3) = 20 subsets, 3000 of each expected with an SD
    # of sqrt(60000 * 0.05 * 0.95) = 53.
    rows = np.sort(own_sets(3, 600, "exam", SEED), axis=1)
    codes, counts = np.unique(rows[:, 0] * 36 + rows[:, 1] * 6 + rows[:, 2], return_counts=True)
    assert len(codes) == 20
    assert np.abs(counts - 3000).max() < 5 * 53
    # Each of the (K-1)! = 2 orderings of a gold draw: 30000 of 60000, SD 122.
    gold = gold_sets(3, np.zeros(600, dtype=int), "exam", SEED)[:, 0]
    assert abs(int((gold == gold.min()).sum()) - 30000) < 5 * 122


def test_sets_belong_to_their_name() -> None:
    assert (shared_sets(4, SEED) == shared_sets(4, SEED)).all()
    assert (shared_sets(4, SEED) != shared_sets(4, SEED + 1)).any()
    assert (own_sets(4, 5, "exam", SEED) != own_sets(4, 5, "quiz", SEED)).any()
    # Draws and items differ.
    own = own_sets(4, 50, "exam", SEED)
    assert (own[0] != own[1]).any()
    assert (own[..., 0] != own[..., 1]).any()


# --- one cell under many designs ---------------------------------------------------------------


def test_two_items_by_hand() -> None:
    # K = 3 under the first two orderings 012 and 021 and the third, 102. Item 0 keeps content 0
    # (gold), shown at positions 0, 0 and 1. Item 1 (gold 2) chooses contents 1, 1, 2, which are
    # at positions 1, 2 and 2.
    contents = np.zeros((2, 6), dtype=int)
    contents[1, :3] = [1, 1, 2]
    cell = cell_of(contents, [0, 2], 3)
    rows = np.array([[[0], [1], [2]]])
    bound = shared_bounds(cell.orderings, rows)
    found = {name: values[0] for name, values in evaluate(cell, rows, bound, "hand").items()}
    # f_0 = (2/3, 1/3, 0), f_1 = (0, 1/3, 2/3), so f = (1/3, 1/3, 1/3) and std(f) = 0 although
    # FL std(g) = 1/2 std(0, 1/3, 2/3) = 1/2 sqrt(2/27); each item's SD is sqrt(2/27).
    spread = math.sqrt(2 / 27)
    assert found["flip_rate"] == 1 / 2
    assert found["skew"] == pytest.approx(spread, abs=1e-15)
    assert found["pooled_sd"] == 0
    assert found["per_item_sd"] == pytest.approx(spread, abs=1e-15)
    # Item 0 is right three times, item 1 once: its correctness changes.
    assert found["accuracy"] == pytest.approx(4 / 6)
    assert found["changing"] == 1
    # b = 1/2 (f_0 - 1/3): std(b) = 1/2 std(f_0), and f - b has the SD of FL g.
    assert found["std_b"] == pytest.approx(spread / 2, abs=1e-15)
    assert found["corrected_sd"] == pytest.approx(spread / 2, abs=1e-15)
    assert found["residual"] == pytest.approx(spread / 2, abs=1e-15)
    assert found["corrected_residual"] <= 1e-16


@given(st.sampled_from([3, 4, 5]), st.integers(1, 9), st.integers(0, 999), st.booleans())
@FEW
def test_it_is_cell_statistics(k: int, n: int, seed: int, shared: bool) -> None:
    cell = random_cell(k, n, seed)
    rng = np.random.default_rng(seed)
    some = [rng.permuted(np.arange(len(cell.orderings)))[:k] for _ in range(1 if shared else n)]
    rows = np.array(some).T[None]
    if shared:
        bounds = shared_bounds(cell.orderings, rows)
        contents, design = cell.contents[:, some[0]], Design.of(cell.orderings[some[0]])
    else:
        bounds = item_bounds(cell.orderings, rows).max(axis=1)
        contents = np.array([z[columns] for z, columns in zip(cell.contents, some, strict=True)])
        design = Design.of(cell.orderings[np.array(some)])
    found = evaluate(cell, rows, bounds, "any")
    expected = cell_statistics(contents, cell.gold, design)
    assert bounds[0] == pytest.approx(expected.design_bound, abs=1e-15)
    for name in SAME:
        assert found[name][0] == pytest.approx(getattr(expected, name), abs=2e-15, nan_ok=True)
    # Counts are counts: shares of them are the same to the last digit.
    assert found["flip_rate"][0] == expected.flip_rate
    assert found["pooled_sd"][0] == expected.pooled_sd
    # And the proposition of B.1 holds: the design term is what separates the two sides.
    assert found["corrected_residual"][0] <= 1e-12
    assert found["residual"][0] <= found["std_b"][0] + 1e-12
    assert found["std_b"][0] <= (1 - found["flip_rate"][0]) * bounds[0] + 1e-12


def test_a_broken_identity_names_cell_design_and_draw() -> None:
    cell = random_cell(4, 6, 1)
    rows = find(cell.orderings, latin_square_sets(4))[..., None]
    bounds = np.zeros(len(rows))
    evaluate(cell, rows, bounds, "latin")
    # Answers that lie elsewhere than their contents were shown break it, from the first draw on.
    wrong = replace(cell, positions=np.zeros_like(cell.positions), contents=cell.contents * 0)
    with pytest.raises(IdentityError, match=r"^here/latin/0: corrected identity fails by 0\.433"):
        evaluate(wrong, rows, bounds, "latin")
    # An unbalanced set whose bound is said to be that of a balanced one.
    stable = cell_of(np.zeros((2, 24), dtype=int), [0, 0], 4)
    pair = np.array([[[0], [1], [2], [3]]])
    with pytest.raises(IdentityError, match="here/shared/0: design bound fails by"):
        evaluate(stable, pair, [0.0], "shared")


# --- the exact expectation ---------------------------------------------------------------------


def test_expectation_by_hand() -> None:
    # K = 3. An item that chose contents 0, 0, 0, 1, 1, 2 keeps one content on C(3, 3) = 1 of the
    # C(6, 3) = 20 subsets; an item that never changes flips on none: (19/20 + 0) / 2.
    contents = np.array([[0, 0, 0, 1, 1, 2], [2] * 6])
    assert expected_flip_rate(contents, 3, 3) == 19 / 40


@given(st.integers(0, 999), st.integers(1, 5))
@FEW
def test_expectation_is_the_mean_over_every_subset(seed: int, n: int) -> None:
    cell = random_cell(3, n, seed)
    z = cell.contents
    flips = [
        int((z[:, list(some)] != z[:, some[:1]]).any(axis=1).sum())
        for some in itertools.combinations(range(6), 3)
    ]
    assert expected_flip_rate(z, 3, 3) == float(Fraction(sum(flips), n * len(flips)))


# --- the analysis ------------------------------------------------------------------------------


def test_one_row_per_cell_and_design() -> None:
    frame = all_orderings_run().analysis("designs")
    cells = frame[["benchmark", "checkpoint"]].drop_duplicates()
    # One of the twelve cells has no item that was answered under all orderings.
    assert len(cells) == 11
    assert frame["design"].to_list() == list(DESIGNS) * 11
    exam = frame[(frame["benchmark"] == "exam") & (frame["checkpoint"] == "A")]
    assert set(exam["n_items"]) == {7}
    lengths = dict(zip(exam["design"], exam["flip_rate"].map(len), strict=True))
    assert lengths == {
        "cyclic": 1, "all": 1, "latin": 24, "gold": 100, "shared": 100, "own": 100, "expected": 1,
    }  # fmt: skip


def test_every_number_is_the_slow_loops() -> None:
    run = all_orderings_run()
    sweep = next(s for s in run.sweeps if s.metadata["benchmark"] == "exam")
    found = {row["design"]: row for row in analyse("exam", [sweep], SETTINGS)}
    for design, statistics in slow_designs(sweep).items():
        for name, values in statistics.items():
            assert found[design][name] == pytest.approx(values, abs=1e-12, nan_ok=True), design


def test_numbers_of_a_cell_do_not_depend_on_other_cells() -> None:
    sweeps = [s for s in all_orderings_run().sweeps if s.metadata["benchmark"] == "exam"]
    together = analyse("exam", sweeps, SETTINGS)
    alone = [row for sweep in reversed(sweeps) for row in analyse("exam", [sweep], SETTINGS)]
    frames = [
        pd.DataFrame(rows).sort_values(["checkpoint", "design"], ignore_index=True)
        for rows in (together, alone)
    ]
    assert frames[0].astype(str).equals(frames[1].astype(str))


@pytest.mark.parametrize(("k", "squares"), [(3, 2), (5, 0)])
def test_other_option_counts(k: int, squares: int) -> None:
    rows = analyse("x", [everywhere("A", "x", k, 6)], SETTINGS)
    by_design = {row["design"]: row for row in rows}
    assert len(by_design["latin"]["flip_rate"]) == squares
    # On every balanced design the pooled SD is the flip rate times the skew.
    for design in ("cyclic", "all", "latin"):
        assert max(by_design[design]["residual"], default=0) <= 1e-15
    assert by_design["cyclic"]["flip_rate"][0] <= by_design["all"]["flip_rate"][0]


def test_orderings_are_found_by_permutation() -> None:
    plain = everywhere("A", "x", 4, 8)
    order = np.random.default_rng(3).permutation(24)
    mixed = replace(
        plain,
        orderings=plain.orderings[order],
        choice=plain.choice[:, order],
        logp=plain.logp[:, order] if plain.logp is not None else None,
    )
    rows = [analyse("x", [sweep], SETTINGS) for sweep in (plain, mixed)]
    assert str(rows[0]) == str(rows[1])


def test_a_missing_ordering_is_an_error() -> None:
    pi = all_orderings(3)[[0, 1, 2, 3, 5]]
    sweep = build_sweep(pi, np.zeros((2, 5, 3)), [0, 1], readout="all-orderings")
    with pytest.raises(ScoringError, match=r"here\.parquet: .*lacks \[2, 0, 1\]"):
        analyse("x", [sweep], SETTINGS)


def test_shared_designs_are_the_same_for_all_items() -> None:
    drawn = designs_of(4, np.array([0, 1, 2], dtype=np.int8), "x", SEED)
    assert {name: rows.shape for name, (rows, _) in drawn.items()} == {
        "cyclic": (1, 4, 1), "latin": (24, 4, 1), "shared": (100, 4, 1),
        "gold": (100, 4, 3), "own": (100, 4, 3),
    }  # fmt: skip
    orderings = all_orderings(4)
    assert orderings[drawn["cyclic"][0][0, :, 0]].tolist() == cyclic(4).tolist()
    for name, (_, bounds) in drawn.items():
        # M = 0 where every content is at every position equally often, and there alone.
        assert (bounds.max() <= 1e-12) == (name in ("cyclic", "latin"))


# --- the comparison ------------------------------------------------------------------------------


def frame_of(cells: dict[str, Callable[[str], dict[str, list[float]]]], k: int = 4) -> pd.DataFrame:
    """Rows of the analysis: checkpoint -> statistics of each design."""
    nothing = {name: [math.nan] for name in STATISTICS}
    return pd.DataFrame(
        [
            {"checkpoint": c, "benchmark": "x", "K": k, "design": d, **nothing, **make(d)}
            for c, make in cells.items()
            for d in DESIGNS
        ]
    )


def test_relative_residuals_by_hand() -> None:
    # Cell a: residuals over pooled SD of 1/2 and 1/4, the third pooled SD is zero: median 3/8.
    values = {"residual": [0.1, 0.1, 0.3], "pooled_sd": [0.2, 0.4, 0.0]}
    none = {"residual": [0.1] * 3, "pooled_sd": [0.0] * 3}
    found = Comparison.of(frame_of({"a": lambda _: values, "b": lambda _: none}))
    assert found is not None
    assert found.relative_residuals("own") == pytest.approx([0.375, math.nan], nan_ok=True)


def test_residual_over_bound_leaves_balanced_draws_out() -> None:
    values = {"residual": [0.1, 0.2], "std_b": [0.4, 1e-13]}
    found = Comparison.of(frame_of({"a": lambda _: values}))
    assert found is not None
    assert found.residuals_over_bound("own").tolist() == [0.25]
    # 0.1 <= 0.4 holds and 0.2 <= 0 does not, on six designs.
    assert found.bound_holds() == (6, 12)


def test_cells_of_four_options_are_compared_first() -> None:
    def some(_: str) -> dict[str, list[float]]:
        return {"flip_rate": [0.5]}

    three, four = frame_of({"a": some, "b": some}, 3), frame_of({"c": some})
    both = Comparison.of(pd.concat([three, four]))
    alone = Comparison.of(three)
    assert both is not None
    assert (both.k, both.checkpoints) == (4, ["c"])
    assert alone is not None
    assert (alone.k, alone.checkpoints) == (3, ["a", "b"])
    assert Comparison.of(four[:0]) is None


def test_skew_shares_by_hand() -> None:
    # Cyclic: log skew 0, 1, 2 and log FL all 0: the skew is all of it. All: log FL = log skew / 2
    # negated, so log pooled SD = log skew / 2 and the skew's share is 1 / (1/4) = 4.
    def cell(x: float) -> Callable[[str], dict[str, list[float]]]:
        def values(design: str) -> dict[str, list[float]]:
            fl = -x / 2 if design == "all" else 0.0
            logs = {"flip_rate": fl, "skew": x, "pooled_sd": fl + x}
            return {name: [math.exp(value)] for name, value in logs.items()}

        return values

    found = Comparison.of(frame_of({f"m{x}": cell(float(x)) for x in range(3)}))
    assert found is not None
    shares = skew_shares(found, 20, SEED)
    assert shares.cyclic.value == pytest.approx(1)
    assert shares.all_orderings.value == pytest.approx(4)
    assert shares.gap.value == pytest.approx(3)
    assert (shares.gap.interval.low, shares.gap.interval.high) == pytest.approx((3, 3))
    assert shares.gap.n == 3


def test_slow_statistics_by_hand() -> None:
    # The two items of the example above, in the slow loop.
    items = [{(0, 1, 2): 0, (0, 2, 1): 0, (1, 0, 2): 0}, {(0, 1, 2): 1, (0, 2, 1): 1, (1, 0, 2): 2}]
    found = slow.statistics(items, [0, 2], [list(item) for item in items], 3)
    assert found["flip_rate"] == 1 / 2
    assert found["std_b"] == pytest.approx(math.sqrt(2 / 27) / 2)
