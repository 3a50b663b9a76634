"""Item folds and held-out orderings: by hand, against cell statistics fold by fold, and the slow loop."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from many_readouts import many_readouts
from optionbias.analysis import Settings
from optionbias.cell import ScoringError
from optionbias.design import Design
from optionbias.factors import cell_statistics, contents_of
from optionbias.folds import COLUMNS, FOLDS, STATISTICS, analyse, item_folds
from optionbias.orderings import all_orderings, cyclic
from slow.cells import cells_of, correct_share
from slow.tables.controls import item_parts
from strategies import SEED, build_sweep
from synthetic import FEW, answers, standard

SETTINGS = Settings(SEED, 10, 2)


def sweep_of(positions, gold, orderings, unanswered=(), **metadata):
    """A sweep of chosen positions."""
    k = np.shape(orderings)[-1]
    return build_sweep(
        orderings, 9.0 * np.eye(k)[np.asarray(positions)], gold, unanswered, **metadata
    )


@FEW
@given(st.integers(0, 60), st.sampled_from(["x", "y"]))
def test_folds_are_equal_up_to_one(n: int, benchmark: str) -> None:
    sizes = np.bincount(item_folds(n, SEED, benchmark), minlength=FOLDS)
    assert sizes.sum() == n
    assert sizes.max() - sizes.min() <= 1


def test_five_items_by_hand() -> None:
    # K = 2, one item a fold. Positions under both orderings; under the second one content 0 is shown
    # second: (0, 1) keeps content 0, (0, 0) flips to 1, (1, 0) keeps content 1.
    positions = [(0, 1), (0, 0), (0, 0), (1, 0), (1, 1)]
    (row,) = analyse("x", [sweep_of(positions, [0] * 5, cyclic(2))], SETTINGS)
    assert set(row) == set(COLUMNS)
    assert (row["kind"], row["n_items"]) == ("items", 5)
    correct = [1, 0.5, 0.5, 0, 0.5]
    flips = [0, 1, 1, 0, 1]
    for turn in range(FOLDS):
        (held,) = np.flatnonzero(item_folds(5, SEED, "x") == turn)
        assert row["accuracy"][turn] == correct[held]
        assert row["own_accuracy"][turn] == (sum(correct) - correct[held]) / 4
        assert row["flip_rate"][turn] == (3 - flips[held]) / 4
        # With two options both orderings are the pair, and a flip is a bit of entropy of contents
        # and a bit of KL of positions.
        for name in ("fluctuation_rate", "pairwise_disagreement", "choice_entropy", "per_item_kl"):
            assert row[name][turn] == pytest.approx((3 - flips[held]) / 4)
        # A flipping item is always at one position: SD 1/2.
        assert row["per_item_sd"][turn] == pytest.approx((3 - flips[held]) / 8)
        # Of the eight answers left, five are A without a stable item (5/8 - 1/2), four without one
        # that sticks to A, six without the one that sticks to B.
        pooled = [1 / 8, 0, 0, 1 / 8, 1 / 4][held]
        assert row["pooled_sd"][turn] == pytest.approx(pooled, abs=1e-12)


@FEW
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 4, 10]), st.integers(2, 25))
def test_as_cell_statistics_of_the_folds(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    positions, gold = rng.integers(k, size=(n, k)), rng.integers(k, size=n)
    steady = rng.random(n) < 0.4
    positions[steady] = (gold[steady, None] + np.arange(k)) % k
    missing = [(int(q), int(rng.integers(k))) for q in np.flatnonzero(rng.random(n) < 0.1)]
    rows = analyse("x", [sweep_of(positions, gold, cyclic(k), missing)], SETTINGS)
    usable = np.ones(n, dtype=bool)
    usable[[q for q, _ in missing]] = False
    if usable.sum() < 2:
        assert rows == []
        return
    design, contents = Design.of(cyclic(k)), contents_of(positions, cyclic(k))
    folds = item_folds(n, SEED, "x")
    for turn in range(FOLDS):
        for mask, names in ((folds != turn, STATISTICS), (folds == turn, ("accuracy",))):
            mask = mask & usable
            if not mask.any():
                assert all(math.isnan(rows[0][name][turn]) for name in names)
                continue
            expected = cell_statistics(contents[mask], gold[mask], design)
            for name in names:
                found = rows[0][name][turn]
                assert found == pytest.approx(getattr(expected, name), abs=1e-12), name


def test_as_the_slow_loop() -> None:
    found = standard().analysis("folds")
    cells = found[found["kind"] == "items"].set_index(["checkpoint", "benchmark"])
    parts = item_parts(cells_of(standard(), "first-token"))
    assert len(cells) == len(parts[0]) == 19
    for turn, part in enumerate(parts):
        for cell, statistics, accuracy in part:
            row = cells.loc[cell.name]
            for name, value in {**statistics, "accuracy": accuracy}.items():
                assert row[name][turn] == pytest.approx(value, abs=1e-12), (cell.name, name)


def test_held_out_orderings_as_the_slow_loop() -> None:
    found = many_readouts().analysis("folds")
    rows = found[found["kind"] == "orderings"].set_index(["checkpoint", "benchmark"])
    cells = cells_of(many_readouts(), "all-orderings", every_ordering=True)
    assert len(rows) == len(cells) == 6
    for cell in cells:
        row = rows.loc[cell.name]
        held_out = float(correct_share(cell.other_contents, cell.gold))
        expected = {name: cell.found[name] for name in STATISTICS}
        expected |= {"accuracy": held_out, "own_accuracy": float(cell.accuracy)}
        for name, value in expected.items():
            assert row[name].tolist() == pytest.approx([value], abs=1e-12), name


def test_an_all_orderings_cell_by_hand() -> None:
    # K = 3: the item is correct on the three cyclic orderings and on one of the other three; a second
    # likewise; a third misses an answer that no cyclic ordering asks for, and does not count.
    pi = all_orderings(3)
    spins = cyclic(3).tolist()
    gold_at = pi[:, 0]
    keep = [row.tolist() in spins for row in pi]
    keep[keep.index(False)] = True
    positions = np.where(keep, gold_at, (gold_at + 1) % 3)
    sweep = sweep_of([positions] * 3, [0] * 3, pi, [(2, 1)], readout="all-orderings")
    assert pi[1].tolist() not in spins
    (row,) = analyse("x", [sweep], SETTINGS)
    assert (row["kind"], row["n_items"]) == ("orderings", 2)
    assert row["accuracy"] == [pytest.approx(1 / 3)]
    assert row["own_accuracy"] == [1.0]
    assert row["flip_rate"] == [0.0]


def test_two_options_have_no_other_ordering() -> None:
    sweep = sweep_of([(0, 1)] * 3, [0] * 3, all_orderings(2), readout="all-orderings")
    (row,) = analyse("x", [sweep], SETTINGS)
    assert math.isnan(row["accuracy"][0])
    assert row["own_accuracy"] == [1.0]


def test_a_cell_of_one_usable_item_is_left_out() -> None:
    for readout, pi in (("first-token", cyclic(4)), ("all-orderings", all_orderings(4))):
        sweep = answers("A", "x", 4, 2, orderings=pi, readout=readout, unanswered=[(0, 0)])
        assert analyse("x", [sweep], SETTINGS) == []


def test_a_sweep_without_a_cyclic_ordering_is_named() -> None:
    sweep = answers("A", "x", 4, 6, orderings=cyclic(4)[1:])
    with pytest.raises(ScoringError, match=r"here\.parquet: the sweep lacks a cyclic ordering"):
        analyse("x", [sweep], SETTINGS)


def test_folds_of_a_cell_do_not_depend_on_its_answers() -> None:
    whole, gap = (answers("A", "x", 4, 23, unanswered=u) for u in ([], [(4, 2)]))
    fold = item_folds(23, SEED, "x")[4]
    (full,), (less,) = (analyse("x", [s], SETTINGS) for s in (whole, gap))
    for turn in range(FOLDS):
        # The item is in one fold: the accuracy on the others is untouched.
        if turn != fold:
            assert full["accuracy"][turn] == less["accuracy"][turn]
