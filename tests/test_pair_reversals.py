"""Rank reversals with each pair of checkpoints on the items that those two share."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.operation_effects import operation_effects, reversing_pairs
from optionbias.operations import OPERATIONS
from optionbias.pair_reversals import pair_reversals, pairs
from optionbias.resampling import draw_weights
from slow import strengths as slow
from strategies import SEED
from synthetic import FEW, Run, answers, score_run, standard


def test_pairs_by_hand() -> None:
    # One operation, two orderings. On all of their own items: a (2, 0) and b (0, 1) reverse.
    # c shares q2 alone with a and with b: a (1, 0), b (0, 1), c (1, 1). a - c = (0, -1): no.
    items = [["q0", "q1", "q2"], ["q0", "q1", "q2"], ["q2", "q3"]]
    a = [[True, False, True], [False, False, False]]
    b = [[False, False, False], [False, False, True]]
    c = [[True, False], [True, True]]
    shared, reversing = pairs(items, [np.array([rows]) for rows in (a, b, c)])
    assert shared.tolist() == [[3, 3, 1], [3, 3, 1], [1, 1, 2]]
    assert reversing.astype(int).tolist() == [[[0, 1, 0], [1, 0, 0], [0, 0, 0]]]


def frame_of(*rows: tuple[str, list[str], list[int], list[bool]]) -> pd.DataFrame:
    """Rows of the analysis, all operations alike but PriDe, where nothing reverses."""
    return pd.DataFrame(
        [
            {
                "benchmark": benchmark, "operation": operation, "checkpoints": checkpoints,
                "shared_items": shared,
                "reversing": [operation != "pride" and r for r in reversing],
            }
            for benchmark, checkpoints, shared, reversing in rows
            for operation in OPERATIONS
        ]
    )  # fmt: skip


def test_levels_by_hand() -> None:
    # Two benchmarks: of the pairs (a, b), (a, c), (b, c) the first reverses and the last shares no
    # item; on the other benchmark (a, b) reverses. 2 of 3 pairs.
    rows = frame_of(
        ("x", ["a", "b", "c"], [5, 4, 0], [True, False, False]), ("y", ["a", "b"], [3], [True])
    )
    found = pair_reversals(rows, 50, SEED)
    level = found.level("none")
    assert (level.value, level.n) == (pytest.approx(2 / 3), 3)
    assert found.level("pride").value == 0
    assert found.level("pride", "none").value == pytest.approx(-2 / 3)
    # A draw with weights w: 2 w_a w_b of 2 w_a w_b + w_a w_c.
    w = draw_weights(3, 50, SEED, "table2/checkpoints/draws").astype(float)
    both = 2 * w[:, 0] * w[:, 1]
    every = both + w[:, 0] * w[:, 2]
    shares = (both / np.where(every > 0, every, np.nan))[every > 0]
    assert level.interval.low == pytest.approx(np.quantile(shares, 0.025))
    assert level.interval.high == pytest.approx(np.quantile(shares, 0.975))
    assert level.interval.left_out == pytest.approx((every == 0).mean())


def test_no_rows_and_no_pairs() -> None:
    assert pair_reversals(frame_of(), 10, SEED) is None
    alone = pair_reversals(frame_of(("x", ["a"], [], [])), 10, SEED).level("none")
    assert np.isnan(alone.value)
    assert alone.n == 0


@FEW
@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 999))
def test_checkpoints_with_the_same_items_reverse_as_in_table_2(c: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    correct = rng.random((c, 2, 4, n)) < 0.5
    shared, reversing = pairs([[f"q{i}" for i in range(n)]] * c, list(correct))
    assert (shared == n).all()
    for operation in range(2):
        assert (reversing[operation] == reversing_pairs(correct[:, operation].sum(axis=-1))).all()


def gaps() -> Run:
    """Four checkpoints on two benchmarks that answered different items; one shares none."""
    sweeps = []
    for i, checkpoint in enumerate(("A", "B", "C")):
        missing = [(q, s) for q, s in ((i, 0), (i + 3, 5), (2 * i + 8, 2))]
        sweeps.append(answers(checkpoint, "four", 4, 16, 0.4, unanswered=missing))
        sweeps.append(answers(checkpoint, "ten", 10, 9, 0.6, unanswered=[(i, 11)]))
    missing = [(q, 7) for q in range(13)]
    sweeps.append(answers("D", "four", 4, 16, 0.4, unanswered=missing))
    return score_run(sweeps)


@pytest.mark.parametrize("make", [standard, gaps])
def test_every_pair_is_the_slow_loops(make) -> None:
    run = make()
    rows = run.inputs().read("pair_reversals")
    cells = [slow.cell(s, SEED) for s in run.sweeps if s.metadata["readout"] == "first-token"]
    compared = 0
    for row in rows.to_dict("records"):
        here = [c for c in cells if c is not None and c.benchmark == row["benchmark"]]
        expected = slow.shared_pairs(here, row["operation"])
        names = [
            (a, b) for i, a in enumerate(row["checkpoints"]) for b in row["checkpoints"][i + 1 :]
        ]
        found = zip(row["shared_items"], row["reversing"], strict=True)
        assert dict(zip(names, found, strict=True)) == expected
        compared += len(expected)
    assert compared > 50
    assert {row["operation"] for row in rows.to_dict("records")} == set(OPERATIONS)


def test_the_level_of_a_run_without_gaps_is_that_of_table_2() -> None:
    run = score_run([answers(c, "four", 4, 20, 0.5) for c in ("A", "B", "C", "D")])
    inputs = run.inputs()
    effects = operation_effects(inputs.comparison, inputs.draws, inputs.seed)
    found = pair_reversals(inputs.read("pair_reversals"), inputs.draws, inputs.seed)
    for operation in OPERATIONS:
        assert found.level(operation) == effects.rank_reversals(operation), operation
