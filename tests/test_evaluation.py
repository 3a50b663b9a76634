"""Answers from shifted scores are those of `operations.apply`, on the items of the comparison."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optionbias.cell import answer_cell
from optionbias.evaluation import (
    EvaluationItems,
    Priors,
    mirrored_shift,
    product_scores,
    shifted_answers,
)
from optionbias.operations import Queries, apply, normalised
from optionbias.orderings import cyclic, cyclic_and_reversals
from strategies import SEED, build_sweep, random_logits
from synthetic import FEW, answers


def certain(rng: np.random.Generator, logp: np.ndarray) -> np.ndarray:
    """Some queries made certain of one letter, and some sure that one letter is wrong."""
    sure, excluded = rng.random((2, *logp.shape[:2])) < 0.2
    letter = rng.integers(logp.shape[-1], size=logp.shape[:2])[..., None]
    at = np.arange(logp.shape[-1]) == letter
    logp = np.where(excluded[..., None] & at, -np.inf, logp)
    return np.where(sure[..., None], np.where(at, 0.0, -np.inf), logp)


@FEW
@given(st.integers(0, 10_000), st.integers(3, 6), st.integers(2, 12))
def test_shifted_answers_are_those_of_apply(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    pi = cyclic(k)
    # Half of them in steps of one half, so that sums tie.
    logits = [np.round(2 * random_logits(rng, n, pi)) / 2 for _ in range(2)]
    logp, mirrored = (normalised(certain(rng, normalised(x))) for x in logits)
    calibration = np.arange(n) < 1 + n // 4
    queries = Queries(pi, logp.argmax(axis=-1).astype(np.int8), logp, mirrored, calibration)
    priors = Priors.of(logp[calibration])
    product = product_scores(logp, mirrored)
    found = {op: (logp, priors.shift(op)) for op in ("pride", "batch", "pride+batch")}
    found["reversal"] = (product, np.zeros(k))
    for op in ("pride", "batch", "pride+batch"):
        found[f"{op}+reversal"] = (product, mirrored_shift(priors.shift(op)))
    for operation, (scores, shift) in found.items():
        expected = apply(operation, queries)
        positions, tied = shifted_answers(scores, shift)
        assert np.array_equal(positions, expected.positions), operation
        assert np.array_equal(tied.sum(axis=1), expected.tied), operation
    assert np.array_equal(priors.pride, apply("pride", queries).priors["pride"])
    second = apply("pride+batch", queries).priors["batch-after-pride"]
    assert np.array_equal(priors.batch_after_pride, second)


def test_variants_are_answered_one_by_one() -> None:
    rng = np.random.default_rng(3)
    logp = np.array([normalised(random_logits(rng, 5, cyclic(4))) for _ in range(3)])
    shifts = rng.normal(size=(3, 4))
    together, _ = shifted_answers(logp, shifts)
    for variant in range(3):
        alone, _ = shifted_answers(logp[variant], shifts[variant])
        assert np.array_equal(together[variant], alone)


def test_evaluation_items_by_hand() -> None:
    # 30 items: 2 are calibration items (floor(1.5 + 0.5)). Of the others one was not answered under
    # the second cyclic ordering, one not under a reversal; with one item less, 29 items have 1
    # (floor(1.45 + 0.5)).
    plain = answer_cell(answers("A", "x", 4), "x", SEED, ())
    assert plain is not None
    items = EvaluationItems.of(plain)
    assert items is not None
    assert (len(items.gold), len(items.calibration)) == (28, 2)
    evaluated = np.flatnonzero(~plain.calibration)
    gaps = [(int(evaluated[3]), 1), (int(evaluated[5]), 6)]
    cell = answer_cell(answers("A", "x", 4, unanswered=gaps), "x", SEED, ())
    assert cell is not None
    items = EvaluationItems.of(cell)
    assert items is not None
    assert len(items.calibration) == 1
    assert len(items.gold) == 27
    for array in (items.choice, items.logp, items.reversed_logp):
        assert len(array) == 27
    assert np.isfinite(items.logp).all()
    assert np.isfinite(items.reversed_logp).all()


def test_cells_without_evaluation_items() -> None:
    two = answer_cell(answers("A", "x", 2), "x", SEED, ())
    unmirrored = answer_cell(answers("A", "x", 4, orderings=cyclic(4)), "x", SEED, ())
    generated = answer_cell(answers("A", "x", 4, generated=True), "x", SEED, ())
    for cell in (two, unmirrored, generated):
        assert cell is not None
        assert EvaluationItems.of(cell) is None
    # Two items: one estimates the priors; the other misses the answer to a reversal.
    pi = cyclic_and_reversals(4)
    logits = random_logits(np.random.default_rng(1), 2, pi)
    for missing in (0, 1):
        sweep = build_sweep(pi, logits, [0, 1], [(missing, 5)])
        cell = answer_cell(sweep, "toy", SEED, ())
        assert cell is not None
        is_calibration = bool(cell.calibration[missing])
        assert (EvaluationItems.of(cell) is None) is not is_calibration
