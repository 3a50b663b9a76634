"""Option-symbol priors, their permutations, and what dividing them out does."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optionbias import priors
from optionbias.operations import OPERATIONS, Queries, apply
from optionbias.orderings import cyclic
from slow import operations as slow
from strategies import PROPERTY, TOLERANCE, letter_logits, log_softmax, random_logits

logits = st.floats(-6, 6).map(lambda x: round(x, 3))
preferences = st.sampled_from([2, 3, 4, 5, 7]).flatmap(
    lambda k: arrays(np.float64, k, elements=logits)
)


def close(expected: object) -> object:
    """Approximate equality at numerical precision."""
    return pytest.approx(expected, abs=1e-13, rel=1e-13)


def test_priors_by_hand() -> None:
    # Item 0: rows (.8, .2) and (.5, .5); sqrt(.8 * .5) : sqrt(.2 * .5) = 2 : 1. Item 1 is even.
    logp = np.log([[[0.8, 0.2], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]])
    assert priors.pride_prior(logp) == close([(2 / 3 + 1 / 2) / 2, (1 / 3 + 1 / 2) / 2])
    assert priors.batch_prior(logp) == close([(0.8 + 3 * 0.5) / 4, (0.2 + 3 * 0.5) / 4])


def test_floor_by_hand() -> None:
    # Probability 0 becomes 1e-12 and the row is renormalised.
    with np.errstate(divide="ignore"):
        logp = np.log([[[1.0, 0.0], [1.0, 0.0]]])
    total = 1 + 1e-12
    for estimate in priors.ESTIMATORS.values():
        assert estimate(logp) == pytest.approx([1 / total, 1e-12 / total], rel=1e-12)


def test_floor_is_applied_to_float64_probabilities() -> None:
    stored = np.array([[-0.1, -math.log(10)]], dtype=np.float32)
    found = priors.floored(stored)
    assert found.dtype == np.float64
    assert found.sum() == close(1)


def test_division_by_hand() -> None:
    # (1/2, 1/2) / (2/3, 1/3) is 3/4 : 3/2 = 1 : 2; with alpha = 1/2 it is 1 : sqrt(2).
    half = math.sqrt(2)
    row, prior = np.log([0.5, 0.5]), [2 / 3, 1 / 3]
    assert np.exp(priors.divide_out(row, prior)) == close([1 / 3, 2 / 3])
    assert np.exp(priors.divide_out(row, prior, 0.5)) == close([1 / (1 + half), half / (1 + half)])
    assert np.exp(priors.divide_out(row, prior, -1)) == close([2 / 3, 1 / 3])


@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 10, 26])
def test_the_slow_loop_estimates_the_same(k: int) -> None:
    rng = np.random.default_rng(k)
    logp = log_softmax(random_logits(rng, 7, cyclic(k), noise=3))
    logp[0, 0, 0] = -40  # below the floor
    logp = log_softmax(logp)
    rows = logp.tolist()
    for name, reference in (("pride", slow.pride_prior), ("batch", slow.batch_prior)):
        prior = priors.ESTIMATORS[name](logp)
        assert np.abs(prior - reference(rows)).max() <= TOLERANCE
        assert prior.sum() == close(1)
        for alpha in (1.0, 0.5, 0.0, -1.0):
            found = priors.divide_out(logp, prior, alpha)
            expected = [[slow.correct(row, prior, alpha) for row in item] for item in rows]
            assert np.abs(found - expected).max() <= TOLERANCE


@PROPERTY
@given(preferences, st.integers(0, 99))
def test_a_pure_letter_preference_is_recovered(letters: np.ndarray, seed: int) -> None:
    # Content strengths average out over the cyclic orderings in the log, so the geometric mean
    # is the letter preference; without contents the arithmetic mean is it too.
    k = len(letters)
    preference = np.exp(log_softmax(letters))
    strengths = np.random.default_rng(seed).normal(size=(4, k))
    answered = log_softmax(letter_logits(strengths, cyclic(k), letters))
    assert np.abs(priors.pride_prior(answered) - preference).max() <= TOLERANCE
    # Dividing it out leaves the content strengths alone.
    without = log_softmax(letter_logits(strengths, cyclic(k)))
    assert np.abs(priors.divide_out(answered, preference) - without).max() <= TOLERANCE
    alone = log_softmax(letter_logits(strengths * 0, cyclic(k), letters))
    for estimate in priors.ESTIMATORS.values():
        assert np.abs(estimate(alone) - preference).max() <= TOLERANCE


@PROPERTY
@given(preferences, st.integers(0, 99))
def test_alpha_zero_is_the_identity(letters: np.ndarray, seed: int) -> None:
    k = len(letters)
    logp = log_softmax(random_logits(np.random.default_rng(seed), 3, cyclic(k)))
    assert np.abs(priors.divide_out(logp, np.exp(log_softmax(letters)), 0) - logp).max() <= 1e-14


@PROPERTY
@given(preferences, st.sampled_from([0.5, 1.0, 2.0]))
def test_strengths_add_up(letters: np.ndarray, alpha: float) -> None:
    prior = np.exp(log_softmax(letters))
    logp = log_softmax(random_logits(np.random.default_rng(5), 3, cyclic(len(letters))))
    twice = priors.divide_out(priors.divide_out(logp, prior, alpha), prior, alpha)
    assert np.abs(twice - priors.divide_out(logp, prior, 2 * alpha)).max() <= TOLERANCE


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_permuting_a_uniform_prior_changes_nothing(k: int) -> None:
    uniform = np.full(k, 1 / k)
    permuted = priors.permuted_priors(uniform, seed=1)
    assert (permuted == uniform).all()
    logp = log_softmax(random_logits(np.random.default_rng(k), 3, cyclic(k)))
    assert np.abs(priors.divide_out(logp, permuted[0]) - logp).max() <= TOLERANCE


@pytest.mark.parametrize("k", [2, 3, 4])
def test_all_permutations_of_few_letters(k: int) -> None:
    prior = np.arange(1, k + 1) / (k * (k + 1) / 2)
    found = priors.permuted_priors(prior, seed=1)
    assert found.tolist() == slow.permuted_priors(prior.tolist())
    assert len(found) == math.factorial(k) - 1
    assert (priors.permuted_priors(prior, seed=2) == found).all()


def test_permutations_by_hand() -> None:
    # Letters (A, B, C) of the prior moved by 021, 102, 120, 201, 210.
    found = priors.permuted_priors([0.5, 0.3, 0.2], seed=1)
    assert found.tolist() == [
        [0.5, 0.2, 0.3],
        [0.3, 0.5, 0.2],
        [0.3, 0.2, 0.5],
        [0.2, 0.5, 0.3],
        [0.2, 0.3, 0.5],
    ]


@pytest.mark.parametrize("k", [5, 6, 10, 26])
def test_drawn_permutations_of_many_letters(k: int) -> None:
    found = priors.letter_permutations(k, seed=1)
    assert found.shape == (24, k)
    assert (np.sort(found, axis=1) == np.arange(k)).all()
    assert len({tuple(row) for row in found.tolist()}) == 24
    assert tuple(range(k)) not in {tuple(row) for row in found.tolist()}
    assert (priors.letter_permutations(k, seed=1) == found).all()
    assert (priors.letter_permutations(k, seed=2) != found).any()


def test_drawn_permutations_are_uniform() -> None:
    # 24 of the 119 non-identity ones of K = 5 in each of 400 seeds: each letter stands first in
    # a share 24/119 (A: 23/119) of them; 9,600 draws have a standard error of about 0.004.
    first = np.array([priors.letter_permutations(5, seed)[:, 0] for seed in range(400)])
    shares = np.bincount(first.ravel(), minlength=5) / first.size
    assert np.abs(shares - [23 / 119, *[24 / 119] * 4]).max() < 0.02
    assert len({tuple(p) for s in range(60) for p in priors.letter_permutations(5, s)}) == 119


def test_all_permutations_are_letter_moves() -> None:
    moved = {tuple(row) for row in priors.letter_permutations(4, seed=1).tolist()}
    assert moved == set(permutations(range(4))) - {(0, 1, 2, 3)}


@pytest.mark.parametrize("operation", [op for op in OPERATIONS if "pride" in op or "batch" in op])
def test_a_prior_reads_calibration_items_alone(operation: str) -> None:
    rng = np.random.default_rng(3)
    logp, mirrored = (log_softmax(random_logits(rng, 12, cyclic(4))) for _ in range(2))
    calibration = np.arange(12) < 3
    choice = logp.argmax(axis=-1).astype(np.int8)
    found = apply(operation, Queries(cyclic(4), choice, logp, mirrored, calibration)).priors
    other = logp.copy()
    other[3:] = log_softmax(random_logits(rng, 9, cyclic(4)))
    moved = apply(operation, Queries(cyclic(4), choice, other, mirrored * 2, calibration)).priors
    assert found.keys() == moved.keys()
    assert all((found[name] == moved[name]).all() for name in found)
