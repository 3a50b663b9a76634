"""Choices after shifts are subtracted, against an argmax query by query."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import shifted_choices as module
from optionbias.orderings import cyclic
from optionbias.shifted_choices import TIE_TOLERANCE, shifted_choices
from strategies import PROPERTY, random_logits


def test_choices_by_hand() -> None:
    # Two items, one ordering, three letters; scores less (0, 0, 0) and less (2, 0, 1).
    logp = np.array([[[3.0, 2.0, 1.0]], [[0.0, 0.0, 5.0]]])
    # Item 0: 3 is the largest, then (1, 2, 0): letter 1. Item 1: 5, then (-2, 0, 4): letter 2.
    found = shifted_choices(logp, [[0, 0, 0], [2, 0, 1]])[0]
    assert found.tolist() == [[[0, 2]], [[1, 2]]]
    # Less (0, 0, 5) item 1 is all zeros: a tie goes to the lowest letter.
    assert shifted_choices(logp, [[0, 0, 5]])[0][0, 0, 1] == 0


def test_the_lowest_letter_within_the_tolerance_is_chosen() -> None:
    # The largest is the last; the first is close to it, or close to the middle alone.
    close, far = 0.9 * TIE_TOLERANCE, 1.8 * TIE_TOLERANCE
    for scores, letter in (((-close, -1.0, 0.0), 0), ((-far, -close, 0.0), 1), ((-far, -1, 0), 2)):
        assert shifted_choices([[scores]], np.zeros((1, 3)))[0] == letter


@PROPERTY
@given(
    st.integers(2, 12), st.integers(1, 9), st.integers(0, 999), st.sampled_from([1, 30, 50_000]),
    st.booleans(),
)  # fmt: skip
def test_every_query_by_a_loop(k: int, n: int, seed: int, block: int, coarse: bool) -> None:
    rng = np.random.default_rng(seed)
    scores = random_logits(rng, n, cyclic(k), noise=2)
    shifts = rng.normal(size=(3, k))
    if coarse:  # these tie often
        scores, shifts = np.round(scores), np.round(shifts)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    scores[0, 0] = -np.inf
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BLOCK", block)
        positions, tied = shifted_choices(scores, shifts)
    for c, q, s in np.ndindex(3, n, k):
        left = [float(a) - float(b) for a, b in zip(scores[q, s], shifts[c], strict=True)]
        close = [r for r in range(k) if left[r] >= max(left) - 1e-9]
        assert positions[c, s, q] == close[0]
        assert tied[c, s, q] == (len(close) > 1)


@PROPERTY
@given(st.integers(2, 6), st.integers(0, 999), st.floats(-3, 3), st.floats(-50, 50))
def test_a_constant_within_a_query_or_a_prior_changes_nothing(
    k: int, seed: int, in_prior: float, in_query: float
) -> None:
    rng = np.random.default_rng(seed)
    logits, log_priors = random_logits(rng, 5, cyclic(k)), rng.normal(size=(3, k))
    moved = logits + in_query * rng.normal(size=(5, k, 1))
    found, _ = shifted_choices(logits, log_priors)
    assert (found == shifted_choices(moved, log_priors + in_prior)[0]).all()
