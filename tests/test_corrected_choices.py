"""Choices after priors are subtracted: the answers of `operations.apply`, without renormalising."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import corrected_choices
from optionbias.corrected_choices import corrected_positions
from optionbias.operations import TIE_TOLERANCE, Queries, apply, normalised
from optionbias.orderings import cyclic
from optionbias.priors import pride_prior
from strategies import PROPERTY, random_logits


def test_choices_by_hand() -> None:
    # Two items, one ordering, three letters; scores less (0, 0, 0) and less (2, 0, 1).
    logp = np.array([[[3.0, 2.0, 1.0]], [[0.0, 0.0, 5.0]]])
    # Item 0: 3 is the largest, then (1, 2, 0): letter 1. Item 1: 5, then (-2, 0, 4): letter 2.
    found = corrected_positions(logp, [[0, 0, 0], [2, 0, 1]])
    assert found.tolist() == [[[0, 2]], [[1, 2]]]
    # Less (0, 0, 5) item 1 is all zeros: a tie goes to the lowest letter.
    assert corrected_positions(logp, [[0, 0, 5]])[0, 0, 1] == 0


def test_the_lowest_letter_within_the_tolerance_is_chosen() -> None:
    # The largest is the last; the first is close to it, or close to the middle alone.
    close, far = 0.9 * TIE_TOLERANCE, 1.8 * TIE_TOLERANCE
    for scores, letter in (((-close, -1.0, 0.0), 0), ((-far, -close, 0.0), 1), ((-far, -1, 0), 2)):
        assert corrected_positions([[scores]], np.zeros((1, 3))) == letter


@PROPERTY
@given(
    st.integers(2, 12), st.integers(1, 9), st.integers(0, 999), st.sampled_from([1, 30, 50_000]),
    st.booleans(),
)  # fmt: skip
def test_every_answer_is_that_of_the_operation(
    k: int, n: int, seed: int, block: int, coarse: bool
) -> None:
    rng = np.random.default_rng(seed)
    logits = random_logits(rng, n + 1, cyclic(k), noise=2)
    # Coarse logits tie often, at alpha 0 exactly.
    logp = normalised(np.round(logits) if coarse else logits)
    calibration = np.arange(n + 1) == rng.integers(n + 1)
    queries = Queries(cyclic(k), logp.argmax(axis=-1).astype(np.int8), logp, None, calibration)
    prior = pride_prior(logp[calibration])
    alphas = (-1.0, 0.0, 0.5, 1.0, 1.5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corrected_choices, "BLOCK", block)
        found = corrected_positions(logp, [alpha * np.log(prior) for alpha in alphas])
    for alpha, positions in zip(alphas, found, strict=True):
        assert (apply("pride", queries, alpha).positions == positions.T).all()
    assert (queries.choice == found[1].T).all()


@PROPERTY
@given(st.integers(2, 6), st.integers(0, 999), st.floats(-3, 3), st.floats(-50, 50))
def test_a_constant_within_a_query_or_a_prior_changes_nothing(
    k: int, seed: int, in_prior: float, in_query: float
) -> None:
    rng = np.random.default_rng(seed)
    logits, log_priors = random_logits(rng, 5, cyclic(k)), rng.normal(size=(3, k))
    moved = logits + in_query * rng.normal(size=(5, k, 1))
    found = corrected_positions(logits, log_priors)
    assert (found == corrected_positions(moved, log_priors + in_prior)).all()
