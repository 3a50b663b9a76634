"""The evaluation items that every operation of a cell can answer."""

import numpy as np

from optionbias.cell import answer_cell
from optionbias.evaluation import EvaluationItems
from optionbias.orderings import cyclic, cyclic_and_reversals
from strategies import SEED, build_sweep, random_logits
from synthetic import answers


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
