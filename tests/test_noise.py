"""The noise floor: a sweep against its re-reads, by hand, by a slow loop, and as identities."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.noise import NoiseError, compare, near_ties, noise_floor, top_two_gap
from optionbias.orderings import cyclic
from optionbias.scoring import score_benchmark
from optionbias.summary import summary
from optionbias.sweep import Sweep, letter_argmax
from optionbias.tables.inputs import floor_note


def sweep(logits: Any, **metadata: Any) -> Sweep:
    """A K = 3 sweep under the cyclic orderings from logits (n, 3, 3)."""
    logits = np.asarray(logits, dtype=np.float64)
    logp = (logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)).astype(np.float32)
    told = {"checkpoint": "M", "benchmark": "B", "readout": "first-token", "dtype": "float32"}
    items = np.array([f"i{q}" for q in range(len(logits))], dtype=object)
    gold = np.zeros(len(logits), dtype=np.int8)
    return Sweep(told | metadata, items, gold, cyclic(3), logp, letter_argmax(logp), source="s")


# Item i0 follows its content 0 (positions 0, 1, 2), item i1 always answers letter A.
FIRST = [[[2, 0, 0], [0, 2, 0], [0, 0, 2]], [[0.5, 0, 0], [1, 0, 0], [1, 0, 0]]]
# Read again: i0 answers letter A under ordering 1, i1 letter B under ordering 0.
AGAIN = [[[2, 0, 0], [2, 0, 0], [0, 0, 2]], [[0, 0.5, 0], [1, 0, 0], [1, 0, 0]]]


def test_by_hand() -> None:
    """2 of 6 answers differ. Contents: i0 0 0 0 then 0 2 0 (it flips now); i1 A under rotations 0, 1, 2
    is content 0, 2, 1 and then 1, 2, 1: it flips in both. The largest change of a log-probability is
    that of i0 under ordering 1, from 0 to 2 of the logits: exactly 2. No gap changes: the same numbers
    in another order."""
    found = compare(sweep(FIRST), sweep(AGAIN, dtype="bfloat16"))
    assert found["n_items"] == 2 and found["n_queries"] == 6 and found["changed"] == 2
    assert found["repeat_disagreement"] == pytest.approx(1 / 3)
    assert (found["flip_rate"], found["flip_rate_again"], found["flips_changed"]) == (0.5, 1.0, 1)
    assert found["largest_change"] == pytest.approx(2.0, abs=1e-6)
    assert found["gap_noise"] == pytest.approx(0.0, abs=1e-6)
    assert found["dtype"] == "bfloat16"


def test_near_ties_by_hand() -> None:
    """Gaps are 2, 2, 2, .5, 1, 1: below 1.5 there are three, below .5 none (not smaller)."""
    assert near_ties(sweep(FIRST), 1.5) == 3
    assert near_ties(sweep(FIRST), 0.49) == 0
    assert near_ties(sweep(FIRST), math.nan) is None
    assert near_ties(replace(sweep(FIRST), logp=None), 1.0) is None


@given(
    st.lists(st.lists(st.lists(st.floats(-3, 3), min_size=3, max_size=3), min_size=3, max_size=3),
             min_size=1, max_size=6),
    st.lists(st.floats(-1, 1), min_size=54, max_size=54),
)  # fmt: skip
def test_against_a_slow_loop(logits: list[Any], noise: list[float]) -> None:
    first = np.array(logits)
    second = first + np.array(noise)[: first.size].reshape(first.shape)
    one, two = sweep(first), sweep(second)
    found = compare(one, two)
    changed = flips = flips_again = flipped = 0
    for q in range(len(one.items)):
        contents: list[set[int]] = [set(), set()]
        for s, pi in enumerate(one.orderings.tolist()):
            changed += one.choice[q, s] != two.choice[q, s]
            for side, each in enumerate((one, two)):
                contents[side].add(pi.index(int(each.choice[q, s])))
        flips += len(contents[0]) > 1
        flips_again += len(contents[1]) > 1
        flipped += (len(contents[0]) > 1) != (len(contents[1]) > 1)
    n = len(one.items)
    assert found["changed"] == changed and found["flips_changed"] == flipped
    assert found["flip_rate"] * n == pytest.approx(flips)
    assert found["flip_rate_again"] * n == pytest.approx(flips_again)
    # An answer changes only where the gap was smaller than twice the largest change.
    moved = one.choice != two.choice
    assert (top_two_gap(one.logp.astype(float))[moved] <= 2 * found["largest_change"] + 1e-6).all()
    # The two flip rates differ by no more than the share of items with a changed answer.
    assert abs(flips - flips_again) <= moved.any(axis=1).sum()


def test_a_pure_repeat_has_no_noise() -> None:
    found = compare(sweep(FIRST), sweep(FIRST))
    assert found["changed"] == found["flips_changed"] == 0
    assert found["largest_change"] == found["gap_noise"] == 0


def test_a_sample_is_compared_by_item_not_by_row() -> None:
    again = sweep(AGAIN)
    part = replace(
        again,
        items=again.items[1:],
        gold=again.gold[1:],
        logp=again.logp[1:],
        choice=again.choice[1:],
    )
    found = compare(sweep(FIRST), part)
    assert (found["n_items"], found["changed"]) == (1, 1)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"orderings": cyclic(3)[::-1]}, "not the orderings of s"),
        ({"items": np.array(["i0", "x"], dtype=object)}, "item 'x' is not in s"),
        ({"gold": np.ones(2, dtype=np.int8)}, "other correct answers than s"),
    ],
)
def test_a_reread_of_something_else_is_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(NoiseError, match=f"again: {said}"):
        compare(sweep(FIRST), replace(sweep(AGAIN), source="again", **changed))


def test_a_cell_gets_its_largest_disagreement_and_the_near_ties_of_its_own_dtype() -> None:
    """`alone` changes 2 of 6 answers and no gap; bfloat16 none, but every gap by 1 or more."""
    alone, other = sweep(AGAIN), sweep(np.array(FIRST) * 2)
    rows, floor = noise_floor(sweep(FIRST), {"alone": alone, "bfloat16": other})
    assert [row["variant"] for row in rows] == ["alone", "bfloat16"]
    assert floor["repeat_disagreement"] == pytest.approx(1 / 3)
    assert floor["near_ties"] == 0
    assert noise_floor(sweep(FIRST), {"bfloat16": other})[1]["near_ties"] == 3  # gaps below 2
    assert noise_floor(sweep(FIRST), {}) == ([], {})


def test_scores_summary_and_table_show_it_beside_the_flip_rate() -> None:
    many = [*FIRST, *FIRST]
    scores = score_benchmark(
        "B", [sweep(many)], 1, 2, rereads=lambda _: {"alone": sweep([*AGAIN, *AGAIN])}
    )
    cells = pd.DataFrame(scores.cells)
    assert cells["repeat_disagreement"].tolist() == pytest.approx([1 / 3] * len(cells))
    for column in ("median_mass", "near_ties"):
        cells[column] = cells.get(column, np.nan)
    page = summary(cells, pd.DataFrame(scores.identities), pd.DataFrame(scores.sweeps), "c", 0.1)
    assert "| flip rate | repeat disagreement | near ties | skew |" in page
    assert "**Noise floor.**" in page
    assert (
        floor_note(cells)
        == f"repeat disagreement: mean 0.3333, largest 0.3333 over {len(cells)} cells"
    )
    assert floor_note(cells.assign(repeat_disagreement=np.nan)) == ""
