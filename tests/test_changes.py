"""Changes between cells: by hand, every row against the slow loop, and what must hold of them."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from families import families
from optionbias.analysis import Settings
from optionbias.cell import ScoringError
from optionbias.changes import COLUMNS, Patterns, analyse, drawn_factors, pooled_sd
from optionbias.factors import population_sd
from optionbias.opposite import (
    Share,
    change,
    flip_rate_share,
    median,
    moves_opposite,
    opposite,
    post_training_pairs,
    reverse,
    scale_trends,
)
from optionbias.orderings import cyclic
from optionbias.resampling import draw_weights
from optionbias.sweep import Sweep
from slow import changes as slow
from slow.tables.changes import DRAWS, comparisons_of
from strategies import PROPERTY, SEED
from synthetic import FEW, NAN, answers, standard, steady


def changes_of(*sweeps: Sweep, benchmark: str = "x", draws: int = 60) -> pd.DataFrame:
    """The analysis of one benchmark's sweeps."""
    return pd.DataFrame(analyse(benchmark, sweeps, Settings(SEED, draws, 1)), columns=list(COLUMNS))


def pairs_of(*sweeps: Sweep, **options) -> pd.DataFrame:
    """Its checkpoint pairs."""
    frame = changes_of(*sweeps, **options)
    return frame[frame["kind"] == "pair"].reset_index(drop=True)


# --- by hand ---------------------------------------------------------------------------------


def test_factors_by_hand() -> None:
    # K = 2. Letters (A, B) are content 0 twice and (B, A) content 1 twice: stable. (A, A) flips.
    # First cell: one of two flips, positions 3 A and 1 B: f = (3/4, 1/4), SD 1/4, and per-item KL
    # (1 + 0) / 2. Second: nothing flips.
    pi = cyclic(2)
    one = Patterns.of(np.array([[0, 0], [0, 1]]), pi)
    other = Patterns.of(np.array([[1, 0], [0, 1]]), pi)
    assert one.flips.tolist() == [True, False]
    assert one.counts.tolist() == [[2, 0], [1, 1]]
    factors = drawn_factors([one, other], 40, SEED, "name")
    assert factors.flips.tolist() == [1, 0]
    assert factors.pooled_sd.tolist() == [0.25, 0]
    assert factors.per_item_kl.tolist() == [0.5, 0]
    # In a draw that takes the first item w times of 2, w items flip: f = ((2 + w) / 4, ...), so
    # the SD is w / 4.
    w = draw_weights(2, 40, SEED, "name")[:, 0]
    assert factors.drawn_flips.tolist() == [w.tolist(), [0] * 40]
    assert factors.drawn_pooled_sd.tolist() == [(w / 4).tolist(), [0] * 40]


def test_opposite_moves_by_hand() -> None:
    x = [1, -1, 1, -1, 0, 1, NAN, NAN]
    y = [-1, 1, 1, -1, 1, 0, 1, NAN]
    assert moves_opposite(x, y).tolist() == [True, True] + [False] * 6
    # The product of two tiny changes is not lost.
    assert moves_opposite([1e-300], [-1e-300]).tolist() == [True]
    assert Share.of([True, False, False, False]) == Share(0.25, 4)
    assert math.isnan(Share.of([]).value)
    assert median([3, NAN, 1, 2]) == 2
    assert math.isnan(median([NAN]))


def rows(**columns: list[float]) -> pd.DataFrame:
    """Changes given by both ends of every statistic."""
    return pd.DataFrame(
        {f"{name}_{end}": [pair[i] for pair in pairs]
         for name, pairs in columns.items() for i, end in enumerate(("from", "to"))}
    )  # fmt: skip


def test_shares_of_the_log_change_by_hand() -> None:
    # FL 0.4 to 0.2 and SD 0.04 to 0.01: log 2 of log 4 is half. FL 0.4 to 0.8, SD 0.04 to 0.01:
    # the skew falls by 8: minus a half. An SD or flip rate of zero, or an equal SD, has no share.
    frame = rows(
        flip_rate=[(0.4, 0.2), (0.4, 0.8), (0.4, 0.2), (0.4, 0.0), (0.4, 0.2)],
        pooled_sd=[(0.04, 0.01), (0.04, 0.01), (0.04, 0.0), (0.04, 0.0), (0.04, 0.04)],
    )
    found = flip_rate_share(frame).tolist()
    assert found[:2] == pytest.approx([0.5, -0.5])
    assert all(math.isnan(share) for share in found[2:])


def test_a_per_item_kl_that_differs_by_rounding_does_not_move() -> None:
    frame = rows(flip_rate=[(0.1, 0.2)] * 2, per_item_kl=[(0.3, 0.3 - 1e-15), (0.3, 0.3 - 1e-9)])
    assert opposite(frame, "per_item_kl").tolist() == [False, True]
    assert change(frame, "per_item_kl")[0] == 0


def test_post_training_pairs_go_from_the_base_to_its_release() -> None:
    frame = families().analysis("changes", 40)
    pairs = post_training_pairs(frame, families().cohort)
    # Chat-Fern comes before its base in the order of names, and is turned.
    assert list(zip(pairs["checkpoint"], pairs["other"], pairs["benchmark"], strict=True)) == [
        *(("Fern-3B", "Chat-Fern", b) for b in ("four", "ten", "two")),
        *(("Fern-8B", "Fern-8B-it", b) for b in ("four", "ten", "two")),
    ]
    stored = frame[(frame["checkpoint"] == "Chat-Fern") & (frame["other"] == "Fern-3B")]
    turned = pairs[pairs["other"] == "Chat-Fern"].reset_index(drop=True)
    for statistic in ("flip_rate", "pooled_sd", "per_item_kl"):
        assert np.array_equal(change(turned, statistic), -change(stored, statistic))
    assert np.array_equal(turned["flip_rate_low"], -stored["flip_rate_high"])
    assert np.array_equal(turned["pooled_sd_high"], -stored["pooled_sd_low"])
    twice = reverse(reverse(stored))
    assert twice.equals(stored)


def cohort(*checkpoints: tuple[str, str, float, str]) -> dict:
    """A cohort of (name, family, size, training)."""
    keys = ("name", "family", "params_b", "training")
    return {"checkpoints": [dict(zip(keys, c, strict=True)) for c in checkpoints]}


def test_scale_trends_by_hand() -> None:
    known = cohort(
        ("a", "F", 1, "base"), ("b", "F", 2, "base"), ("c", "G", 4, "base"), ("d", "F", 4, "post"),
        ("e", "F", 2, "base"),
    )  # fmt: skip
    cells = pd.DataFrame(
        {
            "checkpoint": ["a", "b", "c", "d", "e"], "benchmark": "x",
            "flip_rate": [0.5, 0.4, 0.3, 0.1, 0.4], "pooled_sd": [0.1, 0.2, 0.3, 0.1, 0.2],
            # Equal but for rounding: ranks tie, and no correlation is defined.
            "per_item_kl": [0.3, 0.1 + 0.2, 0.3, 0.9, 0.3],
        }
    )  # fmt: skip
    # F has two base sizes only.
    assert scale_trends(cells, known).empty
    # Named with F, c is the third size, but d is post-trained. Sizes 1, 2, 4, 2 have ranks 1, 2.5,
    # 4, 2.5, the flip rates exactly the reverse, the pooled SDs the same.
    known["checkpoints"][2]["scale_group"] = "F"
    (trend,) = scale_trends(cells, known).to_dict("records")
    assert (trend["group"], trend["training"], trend["benchmark"]) == ("F", "base", "x")
    assert trend["checkpoints"] == 4
    assert trend["flip_rate"] == pytest.approx(-1)
    assert trend["pooled_sd"] == pytest.approx(1)
    assert math.isnan(trend["per_item_kl"])


# --- against the slow loop -------------------------------------------------------------------


def test_every_row_is_the_slow_loops() -> None:
    frame = families().analysis("changes", DRAWS)
    comparisons = comparisons_of(families())
    expected = {("pair", *key): found for key, found in comparisons.pairs.items()}
    expected |= {("pride", *key, ""): found for key, found in comparisons.pride.items()}
    assert len(frame) == len(expected)
    for row in frame.to_dict("records"):
        found = expected[row["kind"], row["benchmark"], row["checkpoint"], row["other"]]
        assert row["n_items"] == found["n_items"]
        for name in ("flip_rate", "pooled_sd", "per_item_kl"):
            ends = [row[f"{name}_from"], row[f"{name}_to"]]
            assert ends == pytest.approx(found[name], abs=1e-10)
        for name in ("flip_rate", "pooled_sd"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            assert ends == pytest.approx(found[f"{name}_interval"], abs=1e-10)
            assert row[f"{name}_resolved"] == found[f"{name}_resolved"]
    # Items that one of the two lacks are not compared.
    four = frame[(frame["benchmark"] == "four") & (frame["kind"] == "pair")]
    assert set(four["n_items"]) == {33, 34, 36}


def test_changes_under_pride_are_those_of_the_cells() -> None:
    inputs = standard().inputs(40)
    frame = inputs.read("changes")
    cells = inputs.cells[inputs.cells["subset"] == "evaluation"]
    cells = cells[(cells["readout"] == "first-token")].set_index(
        ["checkpoint", "benchmark", "operation"]
    )
    for row in frame[frame["kind"] == "pride"].to_dict("records"):
        for end, operation in (("from", "none"), ("to", "pride")):
            cell = cells.loc[(row["checkpoint"], row["benchmark"], operation)]
            assert row["n_items"] == cell["n_items"]
            for name in ("flip_rate", "pooled_sd", "per_item_kl"):
                assert row[f"{name}_{end}"] == pytest.approx(cell[name], abs=1e-12)


# --- what must hold --------------------------------------------------------------------------


@PROPERTY
@given(st.integers(2, 12), st.integers(1, 60), st.integers(0, 10_000))
def test_pooled_sd_is_exact_and_blind_to_the_order_of_letters(k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(n * k, rng.dirichlet(np.ones(k)), size=3).T
    found = pooled_sd(counts[:-1], n, k)
    for column, sd in zip(counts.T, found, strict=True):
        assert abs(sd - population_sd(column / (n * k))) <= 1e-12
    assert np.array_equal(pooled_sd(rng.permutation(counts)[:-1], n, k), found)
    assert pooled_sd(np.full((k - 1, 1), n), n, k)[0] == 0


@FEW
@given(st.integers(0, 10_000), st.sampled_from([2, 4, 5, 10]))
def test_draws_are_of_the_two_cells_items_together(seed: int, k: int) -> None:
    # The draws of two cells are those of the literally replicated pairs of answers.
    rng = np.random.default_rng(seed)
    n, pi = int(rng.integers(1, 25)), cyclic(k)
    choices = rng.integers(k, size=(2, n, k))
    factors = drawn_factors([Patterns.of(choice, pi) for choice in choices], 5, SEED, "name")
    items = [
        [([int(np.argwhere(pi[s] == p)[0, 0]) for s, p in enumerate(row)], row) for row in side]
        for side in choices.tolist()
    ]
    for d, weights in enumerate(draw_weights(n, 5, SEED, "name").tolist()):
        taken = [i for i, weight in enumerate(weights) for _ in range(weight)]
        for c, side in enumerate(items):
            drawn = [side[i] for i in taken]
            assert factors.drawn_flips[c, d] == round(n * slow.flip_rate(drawn))
            assert abs(factors.drawn_pooled_sd[c, d] - slow.pooled_sd(drawn, k)) <= 1e-12


def test_equal_answers_change_nothing() -> None:
    one = answers("A", "x", 4)
    row = pairs_of(one, replace(one, metadata={**one.metadata, "checkpoint": "B"})).iloc[0]
    for name in ("flip_rate", "pooled_sd"):
        assert (row[f"{name}_low"], row[f"{name}_high"]) == (0, 0)
        assert not row[f"{name}_resolved"]


def test_a_clear_change_is_resolved_and_its_direction_is_that_of_the_names() -> None:
    flipping, stable = answers("A", "x", 4, n=60), steady("B", "x", 4, n=60)
    row = pairs_of(flipping, stable).iloc[0]
    assert (row["checkpoint"], row["other"], row["flip_rate_to"]) == ("A", "B", 0)
    assert row["flip_rate_resolved"] and row["flip_rate_high"] < 0
    renamed = replace(flipping, metadata={**flipping.metadata, "checkpoint": "C"})
    turned = pairs_of(stable, renamed).iloc[0]
    assert turned["flip_rate_low"] == -row["flip_rate_high"]
    assert turned["pooled_sd_low"] == -row["pooled_sd_high"]


def test_a_change_does_not_depend_on_other_cells_or_their_order() -> None:
    sweeps = [answers(c, "x", 4, ability=a) for c, a in (("A", 0.3), ("B", 1.0), ("C", 2.0))]
    sweeps.append(answers("D", "x", 4, unanswered=[(5, 0)]))
    key = ["kind", "checkpoint", "other"]
    whole = changes_of(*sweeps).set_index(key).sort_index()
    assert len(whole) == 6 + 4
    assert changes_of(*reversed(sweeps)).set_index(key).sort_index().equals(whole)
    for few in ([0, 1], [1, 3], [2]):
        part = changes_of(*(sweeps[i] for i in few)).set_index(key).sort_index()
        assert part.equals(whole.loc[part.index])


def test_items_that_only_one_cell_answered_do_not_count() -> None:
    # Without its last ten items, the first cell is compared as the second one's equal in items.
    one, other = answers("A", "x", 4), answers("B", "x", 4)
    short = replace(
        other, items=other.items[:20], gold=other.gold[:20], choice=other.choice[:20],
        logp=other.logp[:20],
    )  # fmt: skip
    both = replace(
        one, items=one.items[:20], gold=one.gold[:20], choice=one.choice[:20], logp=one.logp[:20]
    )
    found, expected = pairs_of(one, short), pairs_of(both, short)
    assert found.equals(expected)
    assert found["n_items"].tolist() == [20]


def test_cells_that_share_no_item_are_compared_without_a_result() -> None:
    one = answers("A", "x", 4, n=6)
    other = replace(answers("B", "x", 4, n=6), items=np.array([f"z{i}" for i in range(6)], object))
    row = pairs_of(one, other).iloc[0]
    assert row["n_items"] == 0
    assert math.isnan(row["flip_rate_from"]) and math.isnan(row["pooled_sd_low"])
    assert not (row["flip_rate_resolved"] or row["pooled_sd_resolved"])


def test_cells_without_log_probabilities_have_no_pride() -> None:
    told = [replace(answers(c, "x", 4), logp=None) for c in ("A", "B")]
    assert changes_of(*told)["kind"].tolist() == ["pair"]
    # One usable item is too few for a cell.
    assert changes_of(answers("A", "x", 4, n=1)).empty


def test_a_sweep_without_a_cyclic_ordering_is_named() -> None:
    with pytest.raises(ScoringError, match="lacks cyclic ordering 2"):
        changes_of(answers("A", "x", 4, orderings=cyclic(4)[[0, 1, 3]]))
