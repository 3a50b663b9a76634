"""Certified answers: by hand, against the slow loop, and against every extreme of the envelope."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.certified import ENVELOPE, certified, log_bounds, product
from optionbias.operations import product_scores
from optionbias.orderings import reversal
from slow import designs as slow
from strategies import choose, log_softmax
from synthetic import FEW

OPERATIONS = ("none", "pride", "reversal", "pride+reversal")


def test_bounds_by_hand() -> None:
    # A probability that may vanish has no lower bound, and none exceeds one.
    bounds = log_bounds(np.log([[0.25, 0.75 - 1e-7, 1e-7], [1 - 2e-7, 1e-7, 1e-7]]))
    assert bounds.low[0, :2] == pytest.approx(np.log([0.25 - 5e-7, 0.75 - 6e-7]), abs=1e-12)
    assert bounds.low[0, 2] == -np.inf
    assert bounds.high[0] == pytest.approx(np.log([0.25 + 5e-7, 0.75 + 4e-7, 6e-7]), abs=1e-9)
    assert bounds.high[1, 0] == 0


@pytest.mark.parametrize(("lead", "holds"), [(0.99e-6, False), (1.01e-6, True)])
def test_two_near_letters_by_hand(lead: float, holds: bool) -> None:
    # Either may move by 5e-7 towards the other: a lead of 1e-6 is needed.
    p = np.array([[0.4 + lead / 2, 0.4 - lead / 2, 0.2]])
    assert certified([0], log_bounds(np.log(p))).tolist() == [holds]


def test_a_prior_moves_the_border() -> None:
    # Divided by (2/3, 1/3), letters at 0.5 and 0.25 are level; a lead of the first by x survives
    # if (0.5 + x - 5e-7) / 2 > 0.25 + 5e-7, that is x > 1.5e-6.
    shift = np.log([2 / 3, 1 / 3, 1.0])
    for lead, holds in ((1.4e-6, False), (1.6e-6, True)):
        bounds = log_bounds(np.log([[0.5 + lead, 0.25, 0.25 - lead]])).less(shift)
        bounds.high[:, 2] = -9  # the third letter is no rival here
        assert certified([0], bounds).tolist() == [holds]


def test_the_product_reads_the_reversal_backwards() -> None:
    # The content at the first letter has 0.5 and 0.4, that at the second 0.3 and 0.35, at the
    # third 0.2 and 0.25: the first is certified though letter C leads under the reversal.
    presented, mirrored = (log_bounds(np.log([p])) for p in ([0.5, 0.3, 0.2], [0.25, 0.35, 0.4]))
    total = product(presented, mirrored)
    assert total.low[0, 0] == pytest.approx(np.log((0.5 - 5e-7) * (0.4 - 5e-7)))
    assert total.high[0, 1] == pytest.approx(np.log((0.3 + 5e-7) * (0.35 + 5e-7)))
    assert certified([0], total).all()


def near_ties(seed: int, n: int, k: int) -> np.ndarray:
    """Queries (n, k) whose letters lie within a few millionths of each other."""
    rng = np.random.default_rng(seed)
    return log_softmax(rng.normal(size=(n, k)) * rng.choice([1e-6, 4e-6, 1e-5, 1.0], size=(n, 1)))


@given(st.integers(0, 9999), st.sampled_from(OPERATIONS), st.sampled_from([3, 4]))
@FEW
def test_an_answer_is_certified_exactly_where_no_extreme_changes_it(
    seed: int, operation: str, k: int
) -> None:
    rng = np.random.default_rng(seed)
    logp, mirrored = near_ties(seed, 4, k), near_ties(seed + 1, 4, k)
    shift = np.log(rng.dirichlet(np.full(k, 9.0))) if "pride" in operation else np.zeros(k)
    if rng.random() < 0.5:
        shift = shift * 1e-6  # a prior that leaves the letters near
    both = operation.endswith("reversal")

    def scores(p: np.ndarray, mirror: np.ndarray) -> np.ndarray:
        with np.errstate(divide="ignore"):
            found = np.log(p) - shift
            return product_scores(found, np.log(mirror) - shift) if both else found

    bounds, other = log_bounds(logp), log_bounds(mirrored)
    whole = product(bounds, other).less(shift + shift[::-1]) if both else bounds.less(shift)
    chosen, _ = choose(scores(np.exp(logp), np.exp(mirrored)))
    # The scores are monotone in every probability, so the extremes of the envelope settle it.
    keeps = np.ones(len(chosen), dtype=bool)
    for signs in itertools.product((-1, 1), repeat=2 * k if both else k):
        moved = np.array(signs) * ENVELOPE
        p = np.clip(np.exp(logp) + moved[:k], 0, 1)
        mirror = np.clip(np.exp(mirrored) + (moved[k:] if both else 0), 0, 1)
        found = scores(p, mirror)
        own = np.take_along_axis(found, chosen[:, None], axis=1)
        np.put_along_axis(found, chosen[:, None], -np.inf, axis=1)
        keeps &= own[:, 0] - found.max(axis=1) > 1e-9
    assert certified(chosen, whole).tolist() == keeps.tolist()


def test_six_decimals_keep_every_certified_answer() -> None:
    logp, mirrored = near_ties(5, 400, 4), near_ties(6, 400, 4)
    before, _ = choose(product_scores(logp, mirrored))
    kept = certified(before, product(log_bounds(logp), log_bounds(mirrored)))
    after, _ = choose(product_scores(*(np.log(np.exp(x).round(6)) for x in (logp, mirrored))))
    assert (before == after)[kept].all()
    # Some of the others do change, so the certificate is needed.
    assert kept.any()
    assert (before != after)[~kept].any()


@given(st.integers(0, 9999), st.sampled_from(OPERATIONS))
@FEW
def test_it_is_the_slow_loop(seed: int, operation: str) -> None:
    k = 4
    rng = np.random.default_rng(seed)
    pi = rng.permutation(k)
    logp, mirrored = near_ties(seed, 5, k), near_ties(seed + 1, 5, k)
    prior = rng.dirichlet(np.full(k, 1e11)) if "pride" in operation else None
    shift = np.zeros(k) if prior is None else np.log(prior)
    bounds = log_bounds(logp).less(shift)
    scores = logp - shift
    if operation.endswith("reversal"):
        bounds = product(bounds, log_bounds(mirrored).less(shift))
        scores = product_scores(scores, mirrored - shift)
    positions, _ = choose(scores)
    found = certified(positions, bounds)
    shown, back = tuple(pi.tolist()), tuple(reversal(pi).tolist())
    for q in range(len(logp)):
        rows = {shown: logp[q].tolist(), back: mirrored[q].tolist()}
        given_prior = None if prior is None else prior.tolist()
        assert shown[slow.answer(operation, rows, shown, given_prior)] == positions[q]
        assert slow.is_certified(operation, rows, shown, given_prior) == found[q]
