"""The AUC: by hand, against a loop over pairs, and what it must not depend on."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.auc import auc, stratified_auc
from slow import margins as slow
from strategies import PROPERTY

NAN = float("nan")


def test_pairs_by_hand() -> None:
    # Marked 3 and 1 against 2, 1 and 0: 3 wins three pairs, 1 wins one, ties one: 4.5 of 6.
    assert auc([3, 1, 2, 1, 0], [True, True, False, False, False]) == 4.5 / 6


def test_only_pairs_of_one_stratum_count_by_hand() -> None:
    # Stratum 0: 5 beats 4 (1 of 1). Stratum 1: 1 loses to 2 and ties with 1 (0.5 of 2). Stratum 2
    # holds a marked item alone. So 1.5 of 3, not the mean 5/8 of the strata's AUCs.
    scores = [5, 4, 1, 2, 1, 9]
    marked = [True, False, True, False, False, True]
    assert stratified_auc(scores, marked, [0, 0, 1, 1, 1, 2]) == 0.5


@pytest.mark.parametrize("marked", [[], [True, True], [False]])
def test_one_class_alone_has_no_auc(marked: list[bool]) -> None:
    assert math.isnan(auc(np.zeros(len(marked)), np.array(marked, dtype=bool)))


def test_strata_of_one_class_have_no_auc() -> None:
    assert math.isnan(stratified_auc([1, 2], [True, False], [0, 1]))


@st.composite
def samples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores with ties, which are marked, and strata."""
    n = draw(st.integers(0, 14))
    whole = st.lists(st.integers(-3, 3), min_size=n, max_size=n)
    marked = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    scores, strata = draw(whole), draw(whole)
    return np.array(scores, dtype=float), np.array(marked, dtype=bool), np.array(strata, dtype=int)


def same(a: float, b: float) -> bool:
    """Equal to the last digit, or both undefined."""
    return a == b or (math.isnan(a) and math.isnan(b))


@PROPERTY
@given(samples())
def test_every_value_is_the_loop_over_pairs(sample) -> None:
    scores, marked, strata = sample
    assert same(auc(scores, marked), slow.auc(scores[marked].tolist(), scores[~marked].tolist()))
    won = pairs = 0
    for label in set(strata.tolist()):
        inside = strata == label
        more = slow.pairs(scores[inside & marked].tolist(), scores[inside & ~marked].tolist())
        won, pairs = won + more[0], pairs + more[1]
    assert same(stratified_auc(scores, marked, strata), float(won / pairs) if pairs else NAN)


@PROPERTY
@given(samples())
def test_turning_the_score_or_the_classes_round_gives_the_complement(sample) -> None:
    scores, marked, strata = sample
    found = stratified_auc(scores, marked, strata)
    for other in (stratified_auc(-scores, marked, strata), stratified_auc(scores, ~marked, strata)):
        assert other == pytest.approx(1 - found, abs=1e-15, nan_ok=True)


@PROPERTY
@given(samples(), st.randoms(use_true_random=False))
def test_neither_item_order_nor_a_rising_score_matters(sample, random) -> None:
    scores, marked, strata = sample
    order = random.sample(range(len(scores)), len(scores))
    again = stratified_auc(np.exp(scores[order]), marked[order], 7 - 2 * strata[order])
    assert same(again, stratified_auc(scores, marked, strata))
