"""Closed models: repeat and reorder disagreement and the interval of their difference."""

from dataclasses import replace

import numpy as np
import pytest

from families import asked_twice, families
from optionbias.analysis import Settings
from optionbias.closed import analyse, item_disagreements
from optionbias.orderings import cyclic
from optionbias.sweep import Sweep
from slow import changes as slow
from strategies import SEED
from synthetic import answers, standard


def closed(choice: list[list[int]], k: int = 2) -> Sweep:
    """A sweep of the cyclic orderings and ordering 0 once more."""
    orderings = np.concatenate([cyclic(k), cyclic(k)[:1]])
    metadata = {
        "checkpoint": "A", "benchmark": "x", "readout": "closed", "repeats": {str(k): 0},
    }  # fmt: skip
    items = np.array([f"q{i}" for i in range(len(choice))], dtype=object)
    gold = np.zeros(len(choice), dtype=np.int8)
    return Sweep(metadata, items, gold, orderings, None, np.array(choice, dtype=np.int8))


def rows(*sweeps: Sweep, draws: int = 200) -> list[dict]:
    """The analysis of sweeps of benchmark x."""
    return analyse("x", sweeps, Settings(SEED, draws, 1))


def test_disagreements_by_hand() -> None:
    # Letters under pi_0 = (0, 1), pi_1 = (1, 0) and pi_0 again. A, B, A: content 0 three times.
    # A, A, A: contents 0, 1, 0: reordering alone. A, B, B: contents 0, 0, 1: repeating alone.
    # A, A, B: both. The last item misses its second call.
    sweep = closed([[0, 1, 0], [0, 0, 0], [0, 1, 1], [0, 0, 1], [0, 0, -1]])
    repeat, reorder = item_disagreements(sweep)
    assert repeat.tolist() == [0, 0, 1, 1]
    assert reorder.tolist() == [0, 1, 0, 1]
    (row,) = rows(sweep)
    assert (row["n_items"], row["repeat_disagreement"], row["reorder_disagreement"]) == (
        4,
        0.5,
        0.5,
    )
    assert row["difference"] == 0
    assert row["difference_low"] < 0 < row["difference_high"]


def test_reorder_disagreement_is_the_mean_over_the_other_orderings() -> None:
    # K = 3, one item: content 0 under pi_0 twice, content 1 under pi_1, content 0 under pi_2: one
    # of two pairs disagrees, and resampling one item changes nothing.
    pi = cyclic(3)
    (row,) = rows(closed([[pi[0, 0], pi[1, 1], pi[2, 0], pi[0, 0]]], k=3))
    assert (row["repeat_disagreement"], row["reorder_disagreement"]) == (0, 0.5)
    assert (row["difference_low"], row["difference_high"]) == (0.5, 0.5)


def test_the_columns_order_does_not_matter() -> None:
    sweep = asked_twice("Oracle", "x")
    order = [4, 2, 0, 3, 1]  # ordering 0 is now at 0 (the second call) and 2
    shuffled = replace(
        sweep, orderings=sweep.orderings[order], choice=sweep.choice[:, order],
        metadata={**sweep.metadata, "repeats": {"2": 0}},
    )  # fmt: skip
    repeat, reorder = item_disagreements(shuffled)
    expected = list(slow.disagreements(shuffled).values())
    assert list(zip(repeat.tolist(), reorder.tolist(), strict=True)) == expected
    # Which of the two calls came first does not matter to whether they agree.
    assert np.array_equal(repeat, item_disagreements(sweep)[0])


def test_disagreements_are_the_slow_loops_and_those_of_the_cells() -> None:
    inputs = families().inputs()
    asked = inputs.read("closed").set_index("checkpoint")
    cells = inputs.cells
    cells = cells[(cells["readout"] == "closed") & (cells["subset"] == "all")]
    cells = cells[cells["operation"] == "none"].set_index("checkpoint")
    for sweep in (s for s in families().sweeps if s.metadata["readout"] == "closed"):
        checkpoint = sweep.metadata["checkpoint"]
        expected = list(slow.disagreements(sweep).values())
        found = zip(*(column.tolist() for column in item_disagreements(sweep)), strict=True)
        assert list(found) == expected
        for name in ("repeat_disagreement", "reorder_disagreement"):
            assert asked.loc[checkpoint, name] == pytest.approx(
                cells.loc[checkpoint, name], abs=1e-12
            )


def test_sweeps_that_ask_nothing_twice_have_no_row() -> None:
    assert rows(answers("A", "x", 4, readout="closed")) == []
    unanswered = closed([[0, 1, -1], [-1, 0, 0]])
    assert item_disagreements(unanswered) is None
    assert rows(unanswered) == []
    assert standard().inputs().read("closed").empty


def test_a_models_interval_does_not_depend_on_the_others() -> None:
    one, other = asked_twice("Oracle", "x"), asked_twice("Sibyl", "x")
    assert rows(one, other)[0] == rows(one)[0]
    assert rows(one, other)[1] == rows(other)[0]
