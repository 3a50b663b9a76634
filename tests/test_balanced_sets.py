"""The operations on every balanced set: by hand, against `operations.apply`, and over sets."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_orderings import all_orderings_run, everywhere
from optionbias.analysis import Settings
from optionbias.balanced_sets import COLUMNS, analyse, set_statistics, twelve_sets
from optionbias.calibration import calibration_mask
from optionbias.design import Design
from optionbias.factors import cell_statistics, contents_of
from optionbias.identities import IdentityError
from optionbias.operations import Queries, apply, normalised
from optionbias.orderings import cyclic, reversal
from optionbias.set_effects import SetEffects, other_sets
from strategies import SEED
from synthetic import FEW

SETTINGS = Settings(SEED, 40, 2)


def test_the_twelve_sets() -> None:
    sets = twelve_sets()
    assert sets.shape == (12, 4, 4)
    assert sets[0].tolist() == cyclic(4).tolist()
    assert len({str(some.tolist()) for some in sets}) == 12
    # They use every ordering, each in two sets.
    _, counts = np.unique(sets.reshape(-1, 4), axis=0, return_counts=True)
    assert counts.tolist() == [2] * 24


def test_two_items_by_hand() -> None:
    # Two sets of two orderings of two options. Item 0 (gold 0) is stable on the first and flips on
    # the second, item 1 (gold 1) chooses the first letter throughout, so it flips on both.
    sets = np.array([[[0, 1], [1, 0]], [[0, 1], [1, 0]]])
    first = np.array([[0, 0], [0, 1]])
    second = np.array([[0, 1], [0, 1]])
    found = set_statistics([first, second], sets, np.array([0, 1], dtype=np.int8), "here")
    assert found["flip_rate"] == [1 / 2, 1]
    # First letter: both right, second: item 0 alone. On the second set both answer the first
    # letter always, where each is right once: 100% against 0.
    assert found["placement_range"] == [1 / 2, 1]
    # The one item that is stable on the first set flips on the second.
    assert math.isnan(found["flips_elsewhere"][0])
    assert found["flips_elsewhere"][1] == 1
    empty = set_statistics([first[:0], second[:0]], sets, np.array([], dtype=np.int8), "here")
    assert all(math.isnan(x) for values in empty.values() for x in values)


@given(st.integers(0, 999), st.integers(1, 8))
@FEW
def test_every_set_is_cell_statistics(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    sets, gold = twelve_sets(), rng.integers(4, size=n).astype(np.int8)
    chosen = [rng.integers(4, size=(n, 4)) for _ in sets]
    for z in chosen:
        stable = rng.random(n) < 0.5
        z[stable] = z[stable][:, :1]
    found = set_statistics(chosen, sets, gold, "any")
    for i, (z, orderings) in enumerate(zip(chosen, sets, strict=True)):
        expected = cell_statistics(z, gold, Design.of(orderings))
        assert found["flip_rate"][i] == expected.flip_rate
        assert found["placement_range"][i] == pytest.approx(expected.placement_range, abs=1e-15)


def test_an_unbalanced_set_names_cell_and_set() -> None:
    sets = twelve_sets().copy()
    sets[3] = sets[3][[0, 0, 0, 0]]
    chosen = [np.zeros((3, 4), dtype=int)] * 12
    with pytest.raises(
        IdentityError, match=r"^here/balanced set 3: pooling identity fails by 0\.4"
    ):
        set_statistics(chosen, sets, np.zeros(3, dtype=np.int8), "here")


@pytest.mark.parametrize(
    ("operation", "prior"),
    [
        ("pride", "set"),
        ("pride", "cyclic"),
        ("reversal", ""),
        ("pride+reversal", "set"),
        ("pride+reversal", "cyclic"),
    ],
)
def test_answers_are_those_of_the_operations(operation: str, prior: str) -> None:
    # With plain letters every answer is certified, so all evaluation items are kept.
    sweep = everywhere("A", "x", n=40, ability=2.0)
    rows = [
        row
        for row in analyse("x", [sweep], SETTINGS)
        if (row["operation"], row["prior"]) == (operation, prior)
    ]
    assert len(rows) == 1
    assert sweep.logp is not None
    calibration = calibration_mask(SEED, "x", sweep.items.tolist())
    assert rows[0]["n_items"] == rows[0]["n_evaluation"] == 38
    for i, orderings in enumerate(twelve_sets()):
        shown = cyclic(4) if prior == "cyclic" else orderings
        logp, mirrored = (
            normalised(sweep.logp[:, sweep.index_of(pi)]) for pi in (orderings, reversal(orderings))
        )
        # The calibration items' queries decide the prior; what they answer counts nowhere.
        logp[calibration] = normalised(sweep.logp[calibration][:, sweep.index_of(shown)])
        choice = sweep.choice[:, sweep.index_of(orderings)]
        queries = Queries(orderings, choice, logp, mirrored, calibration)
        answers = apply(operation, queries).positions[~calibration]
        design = Design.of(orderings)
        gold = sweep.gold[~calibration]
        after = cell_statistics(contents_of(answers, orderings), gold, design)
        before = cell_statistics(contents_of(choice[~calibration], orderings), gold, design)
        assert rows[0]["flip_rate"][i] == after.flip_rate
        assert rows[0]["uncorrected_flip_rate"][i] == before.flip_rate
        assert rows[0]["placement_range"][i] == pytest.approx(after.placement_range, abs=1e-15)


def test_which_cells_have_rows() -> None:
    frame = all_orderings_run().analysis("balanced_sets")
    assert list(frame.columns) == list(COLUMNS)
    counts = frame.groupby(["benchmark", "checkpoint"]).size().to_dict()
    # Four options only; C has no item of the quiz with all answers; B stores no probabilities.
    assert counts == {
        ("exam", "A"): 6, ("exam", "B"): 6, ("exam", "C"): 6, ("exam", "D"): 6,
        ("quiz", "A"): 6, ("quiz", "B"): 1, ("quiz", "D"): 6,
    }  # fmt: skip
    generated = frame[(frame["benchmark"] == "quiz") & (frame["checkpoint"] == "B")]
    assert not generated["unrounded"].any()
    near = frame[(frame["benchmark"] == "exam") & (frame["checkpoint"] == "C")]
    corrected = near[near["operation"] == "pride"]
    # Letters within a few millionths: some answers are certified, some are not.
    assert (corrected["n_items"] < corrected["n_evaluation"]).all()


def test_a_cell_of_one_item_has_no_operations() -> None:
    rows = analyse("x", [everywhere("A", "x", n=1)], SETTINGS)
    assert [row["operation"] for row in rows] == ["none"]


# --- over cells and sets -------------------------------------------------------------------------


def rows_of(*cells: dict[str, object]) -> pd.DataFrame:
    """Rows of the analysis on three sets."""
    plain = {
        "benchmark": "x", "operation": "pride", "prior": "set", "n_items": 8, "n_evaluation": 10,
        "flip_rate": [0.2, 0.4, 0.6], "placement_range": [0.0] * 3,
        "flips_elsewhere": [math.nan, 0.1, 0.3], "uncorrected_flip_rate": [0.5, 0.5, 0.5],
        "uncorrected_placement_range": [0.1] * 3, "uncorrected_flips_elsewhere": [math.nan, 0.2, 0.2],
    }  # fmt: skip
    return pd.DataFrame([{**plain, **cell} for cell in cells])


def test_means_over_cells_then_sets_by_hand() -> None:
    rows = rows_of(
        {"checkpoint": "b"},
        {"checkpoint": "a", "flip_rate": [0.4, 0.8, 0.6], "n_items": 10},
    )
    effects = SetEffects.of(rows, "pride", "set")
    assert effects.checkpoints == ["a", "b"]
    # Changes of a are -0.1, 0.3, 0.1 and of b -0.3, -0.1, 0.1.
    assert effects.change("flip_rate") == pytest.approx([-0.2, 0.1, 0.1])
    others = other_sets(effects.level("flip_rate"))
    assert (others.value, others.interval.low, others.interval.high) == pytest.approx(
        (0.6, 0.6, 0.6)
    )
    assert effects.share_kept == pytest.approx(0.9)


def test_cells_without_stable_items_are_left_out() -> None:
    none = [math.nan] * 3
    rows = rows_of({"checkpoint": "a"}, {"checkpoint": "b", "flips_elsewhere": none})
    effects = SetEffects.of(rows, "pride", "set")
    elsewhere = effects.flips_elsewhere(30, SEED)
    assert (elsewhere.value, elsewhere.n) == (pytest.approx(0.2), 1)
    # A draw of b alone has no value; every other has that of a.
    assert (elsewhere.interval.low, elsewhere.interval.high) == pytest.approx((0.2, 0.2))
    assert 0 < elsewhere.interval.left_out < 1
