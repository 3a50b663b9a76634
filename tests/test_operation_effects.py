"""Effects of the operations: worked by hand, and properties (Table 2 has the slow loop's test)."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optionbias.operation_effects import Effects, operation_effects, reversing_pairs
from slow import operations as slow
from strategies import SEED
from synthetic import FEW, NAN, answers, comparison, random_comparison, score_run, standard

SIX = ("none", "pride", "batch", "reversal", "pride+reversal", "batch+reversal")
TWO = ("none", "pride", "batch", "pride+batch")
FACTORS = ("flip_rate", "skew")
LEVELS = ("placement_range", "accuracy", "stable_wrong")
PAIRS = (
    ("reversal", "pride"),
    ("reversal", "batch"),
    ("pride+reversal", "pride"),
    ("pride+reversal", "reversal"),
    ("batch+reversal", "batch"),
    ("batch+reversal", "reversal"),
    ("pride+batch", "pride"),
    ("pride+batch", "batch"),
)

seeds = st.integers(0, 10_000)
sizes = st.tuples(st.integers(1, 5), st.integers(1, 3))


def effects_of(frame: pd.DataFrame, draws: int = 10) -> Effects:
    """The effects of a comparison that has cells."""
    effects = operation_effects(frame, draws, SEED)
    assert effects is not None
    return effects


def same(found: float, expected: float) -> bool:
    """Equal within 1e-12, or both undefined."""
    return abs(found - expected) <= 1e-12 or (math.isnan(found) and math.isnan(expected))


def wiped(frame: pd.DataFrame, operation: str) -> pd.DataFrame:
    """The same cells, but nothing flips under one operation."""
    still = frame.copy()
    still.loc[still["operation"] == operation, list(FACTORS)] = [0.0, NAN]
    return still


def test_log_changes_by_hand() -> None:
    # PriDe takes the flip rate of A from 1/2 to 1/4 (log 1/2) and leaves B's; the reversal product
    # takes them to 1/8 (log 1/4) and to 0, so B is no common cell: PriDe's mean is over A alone.
    frame = comparison(
        {
            ("A", "x", "pride"): {"flip_rate": 0.25},
            ("A", "x", "reversal"): {"flip_rate": 0.125},
            ("B", "x", "reversal"): {"flip_rate": 0.0, "skew": NAN},
        },
        [("A", "x"), ("B", "x")],
    )
    effects = effects_of(frame)
    pride = effects.log_change("flip_rate", "pride")
    assert (pride.value, pride.n) == (pytest.approx(-math.log(2)), 1)
    assert effects.log_change("flip_rate", "none").value == 0
    difference = effects.log_change("flip_rate", "reversal", "pride")
    assert (difference.value, difference.n) == (pytest.approx(-math.log(2)), 1)
    # PriDe then batch reads no reversal, so B counts there: the mean of -log 2 and 0 below PriDe.
    both = effects.log_change("flip_rate", "pride+batch", "pride")
    assert (both.value, both.n) == (pytest.approx(math.log(2) / 2), 2)
    # The levels use both cells.
    assert effects.mean("placement_range", "pride").n == 2


def test_a_skew_of_zero_leaves_the_flip_rate_of_the_cell_in() -> None:
    # Factors have common cells of their own: at g uniform the skew is 0 while items still flip.
    frame = comparison({("A", "x", "batch"): {"skew": 0.0}}, [("A", "x"), ("B", "x")])
    effects = effects_of(frame)
    assert effects.log_change("flip_rate", "batch").n == 2
    assert effects.log_change("skew", "batch").n == 1


def test_interval_by_hand() -> None:
    # Draws take A twice, A and B, B twice: means 1, 2 and 3. Quantile 0.025 of three values lies
    # at 2 * 0.025 = 0.05 of the way from the first to the second, 0.975 at 0.95 from 2 to 3.
    weights = np.array([[2, 0], [1, 1], [0, 2]])
    accuracy = {"none": np.array([1.0, 3.0]), "pride": np.array([1.0, 2.0])}
    cells = [("A", "x"), ("B", "x")]
    effects = Effects(cells, {"accuracy": accuracy}, weights, {}, weights, {})
    level = effects.mean("accuracy", "none")
    assert (level.value, level.n) == (2, 2)
    assert (level.interval.low, level.interval.high) == (pytest.approx(1.05), pytest.approx(2.95))
    # Paired: 0 and -1, so the draws give 0, -1/2, -1.
    paired = effects.mean("accuracy", "pride", "none")
    assert paired.value == -0.5
    assert paired.interval.low == pytest.approx(-0.975)
    assert paired.interval.high == pytest.approx(-0.025)


def test_reversing_pairs_by_hand() -> None:
    # 0 against 1: -1 then +1, reverses. 0 against 2: 0 then -1, zero is neither sign. 1 against 2:
    # +1 then -2, reverses.
    matrix = reversing_pairs(np.array([[5, 5], [6, 4], [5, 6]]))
    assert matrix.tolist() == [[False, True, False], [True, False, True], [False, True, False]]


def ranked() -> Effects:
    """Three checkpoints on x, where two of three pairs reverse; two on y, where none does."""
    counts = {("0", "x"): [5, 5], ("1", "x"): [6, 4], ("2", "x"): [5, 6]}
    given = {
        (*cell, op): {"shared_correct": value}
        for cell, value in counts.items()
        for op in (*SIX, "pride+batch", "vote")
        if op != "reversal"  # there the plain, equal counts stay: no pair reverses
    }
    return effects_of(comparison(given, [*counts, ("0", "y"), ("1", "y")], k=2))


def test_rank_reversals_by_hand() -> None:
    # Pooled over benchmarks: 2 + 0 of 3 + 1.
    level = ranked().rank_reversals("none")
    assert (level.value, level.n) == (0.5, 4)
    assert ranked().rank_reversals("reversal").value == 0
    assert ranked().rank_reversals("reversal", "none").value == -0.5


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ((1, 1, 1), 2 / 4),
        ((2, 1, 0), 2 / 4),  # (0, 1) twice on x and twice on y; it reverses on x
        ((1, 0, 2), 0 / 2),  # (0, 2) twice on x; y holds one checkpoint once
        ((0, 2, 1), 2 / 2),  # (1, 2) twice on x; on y copies of checkpoint 1 make no pair
        ((3, 0, 0), NAN),  # copies of one checkpoint only: no pair at all
    ],
)
def test_rank_reversals_of_a_draw_by_hand(weights: tuple[int, ...], expected: float) -> None:
    e = ranked()
    # A second draw, of level 1/2, shows how the first is weighed and when it is left out.
    drawn = np.array([weights, (1, 1, 1)])
    e = Effects(e.cells, e.values, e.weights, e.reversing, drawn, e.members)
    interval = e.rank_reversals("none").interval
    if math.isnan(expected):
        assert (interval.low, interval.high, interval.left_out) == (0.5, 0.5, 0.5)
        assert interval.note == "undefined in 50.0% of draws"
        return
    low, high = sorted([expected, 0.5])
    assert interval.low == pytest.approx(low + 0.025 * (high - low))
    assert interval.high == pytest.approx(low + 0.975 * (high - low))
    assert interval.note == ""


def test_a_benchmark_without_shared_items_compares_no_pair() -> None:
    # No item of y was answered by both: its pair neither reverses nor keeps its order, so the level
    # is that of x alone; where nothing is shared anywhere it is undefined, not zero.
    counts = {"A": [5, 4], "B": [4, 5]}
    given = {
        (c, b, op): {"shared_correct": counts[c]} if b == "x" else {"shared_correct": [0, 0], "n_shared": 0}
        for c in counts for b in "xy" for op in (*SIX, "pride+batch", "vote")
    }  # fmt: skip
    cells = [(c, b) for c in counts for b in "xy"]
    level = effects_of(comparison(given, cells, k=2)).rank_reversals("none")
    assert (level.value, level.n) == (1, 1)
    alone = effects_of(comparison(given, [("A", "y"), ("B", "y")], k=2)).rank_reversals("none")
    assert math.isnan(alone.value)
    assert (alone.n, alone.interval.left_out) == (0, 1)


def test_a_checkpoint_without_scored_items_leaves_the_shared_items_of_the_others() -> None:
    # C answered the reversed orderings of its calibration items alone: it has no row to compare,
    # and the others share what they share without it.
    pair = [answers(c, "four", 4) for c in ("A", "B")]
    held_out = slow.calibration_ids(SEED, "four", pair[0].items.tolist())
    gone = [(i, 5) for i, item in enumerate(pair[0].items) if item not in held_out]
    without = score_run(pair).inputs().comparison
    found = score_run([*pair, answers("C", "four", 4, unanswered=gone)]).inputs().comparison
    assert set(found["checkpoint"]) == {"A", "B"}
    assert found["n_shared"].tolist() == without["n_shared"].tolist() == [28] * 16


def test_nothing_to_compare() -> None:
    assert operation_effects(comparison({}, []), 10, SEED) is None


def test_the_standard_run_tells_common_cells_apart() -> None:
    # Table 2's comparison with the slow loop says little unless some cells count for some only.
    effects = effects_of(standard().inputs().comparison)
    labels = ("flip_rate", "flip_rate/two corrections", "accuracy")
    assert [effects.mean(label, "pride").n for label in labels] == [12, 13, 14]


@FEW
@given(seeds, sizes)
def test_paired_differences_are_differences_of_means(seed: int, size: tuple[int, int]) -> None:
    effects = effects_of(random_comparison(seed, *size))
    for operation, minus in PAIRS:
        for level in LEVELS:
            means = [effects.mean(level, op).value for op in (operation, minus)]
            assert same(effects.mean(level, operation, minus).value, means[0] - means[1])
        for factor in FACTORS:
            two = "pride+batch" in (operation, minus)
            label = f"{factor}/two corrections" if two else factor
            found = effects.log_change(factor, operation, minus)
            both = [effects.mean(label, op) for op in (operation, minus)]
            assert same(found.value, both[0].value - both[1].value)
            assert found.n == both[0].n == both[1].n


@FEW
@given(seeds, sizes)
def test_common_cells_are_those_of_the_group(seed: int, size: tuple[int, int]) -> None:
    frame = random_comparison(seed, *size)
    effects = effects_of(frame)
    rows = frame.set_index(["checkpoint", "benchmark", "operation"])
    for factor in FACTORS:
        value = rows[factor].to_dict()
        for label, group in ((factor, SIX), (f"{factor}/two corrections", TWO)):
            expected = [all(value[*cell, op] > 0 for op in group) for cell in effects.cells]
            assert set(effects.values[label]) == set(group)  # the vote never counts
            for changes in effects.values[label].values():
                assert (~np.isnan(changes)).tolist() == expected


def estimates(effects: Effects, operations: tuple[str, ...]) -> list[list[float]]:
    """Everything that a table reads of some operations; undefined numbers as -9, to compare."""
    pairs = [(op, minus) for op, minus in PAIRS if {op, minus} <= set(operations)]
    found = []
    for operation, minus in [*((op, None) for op in operations), *pairs]:
        found += [effects.mean(level, operation, minus) for level in LEVELS]
        found.append(effects.rank_reversals(operation, minus))
        if operation != "vote":
            found += [effects.log_change(factor, operation, minus) for factor in FACTORS]
    numbers = [(e.value, e.interval.low, e.interval.high, e.interval.left_out, e.n) for e in found]
    return np.nan_to_num(np.array(numbers), nan=-9).tolist()


@FEW
@given(seeds, sizes, st.randoms(use_true_random=False))
def test_order_preserving_names_and_row_order_change_nothing(seed: int, size, random) -> None:
    every = (*SIX, "pride+batch", "vote")
    frame = random_comparison(seed, *size)
    order = random.sample(range(len(frame)), len(frame))
    renamed = frame.assign(checkpoint="model " + frame["checkpoint"] + "-it").iloc[order]
    expected = estimates(effects_of(frame), every)
    assert estimates(effects_of(renamed.reset_index(drop=True)), every) == expected


@FEW
@given(seeds, sizes)
def test_what_the_vote_and_pride_then_batch_do_not_touch(seed: int, size: tuple[int, int]) -> None:
    frame = random_comparison(seed, *size)
    expected = estimates(effects_of(frame), SIX)
    assert estimates(effects_of(wiped(frame, "pride+batch")), SIX) == expected
    moved = frame.copy()
    moved.loc[moved["operation"] == "vote", list(FACTORS)] = [0.9, 0.3]
    assert estimates(effects_of(moved), SIX) == expected


@FEW
@given(seeds, sizes)
def test_a_reversal_without_flips_empties_the_six_alone(seed: int, size: tuple[int, int]) -> None:
    frame = random_comparison(seed, *size)
    expected = estimates(effects_of(frame), ("pride+batch",))
    effects = effects_of(wiped(frame, "reversal"))
    assert estimates(effects, ("pride+batch",)) == expected
    for factor in FACTORS:
        change = effects.log_change(factor, "pride")
        assert (change.n, change.interval.left_out) == (0, 1)
        assert math.isnan(change.value)


@FEW
@given(
    arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(2, 4)), elements=st.integers(0, 4))
)
def test_reversing_pairs_are_symmetric(correct: np.ndarray) -> None:
    matrix = reversing_pairs(correct)
    assert (matrix == matrix.T).all()
    assert not matrix.diagonal().any()
    assert np.triu(matrix).sum() == slow.rank_reversals(correct.tolist())[0]
    # Which way round the checkpoints or the orderings are listed does not matter.
    assert (reversing_pairs(correct[:, ::-1]) == matrix).all()
    assert (reversing_pairs(correct[::-1]) == matrix[::-1, ::-1]).all()


@FEW
@given(seeds, sizes)
def test_draws_are_shared_by_cells_and_pairs(seed: int, size: tuple[int, int]) -> None:
    effects = effects_of(random_comparison(seed, *size))
    checkpoints = sorted({c for c, _ in effects.cells})
    columns = [checkpoints.index(c) for c, _ in effects.cells]
    assert (effects.weights == effects.checkpoint_weights[:, columns]).all()
    assert (effects.checkpoint_weights.sum(axis=1) == len(checkpoints)).all()
