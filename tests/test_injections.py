"""Added letter preferences: by hand, against the slow loop, and what mirroring must cancel."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias import injections
from optionbias.analysis import Settings
from optionbias.cell import answer_cell
from optionbias.design import Design
from optionbias.evaluation import EvaluationItems
from optionbias.factors import cell_statistics, contents_of
from optionbias.injections import (
    ALPHAS,
    CANCELLED,
    COLUMNS,
    OPERATIONS,
    SHAPES,
    InjectionError,
    analyse,
    direction,
    injected_cell,
    placement_ranges,
)
from optionbias.orderings import cyclic, cyclic_and_reversals, reversal
from slow import injections as slow
from slow import transitions as slow_transitions
from strategies import SEED, build_sweep, letter_logits, log_softmax, random_logits
from synthetic import FEW, answers, standard

SETTINGS = Settings(SEED, 10, 3)


def one_item(liked: list[float], gold: int) -> EvaluationItems:
    """One item without letter preference, and a calibration item that likes no content."""
    pi = cyclic(4)
    logp = log_softmax(letter_logits([liked], pi))
    mirrored = log_softmax(letter_logits([liked], reversal(pi)))
    calibration = log_softmax(np.zeros((1, 4, 4)))
    return EvaluationItems(
        Design.of(pi), np.array([gold]), logp.argmax(axis=-1), logp, mirrored, calibration
    )


def by_key(items: EvaluationItems) -> dict[tuple[str, str], dict[str, Any]]:
    return {(r["shape"], r["operation"]): r for r in injected_cell(items, "m, x")}


def test_directions_by_hand() -> None:
    for shape, entries in SHAPES.items():
        if shape != "letter A":
            assert direction(shape).tolist() == list(entries)
    # (1, 0, 0, 0) minus 1/4 is (3, -1, -1, -1) / 4, whose mean square is 12 / 64.
    assert direction("letter A") == pytest.approx(np.array([3, -1, -1, -1]) / math.sqrt(3))


def test_a_preference_for_letter_a_by_hand() -> None:
    # Content 0 is liked by one logit and correct. Letter A gains 4/sqrt(3) = 2.31 a strength on the
    # other letters: from 0.5 up (1.15) it wins wherever content 0 is not, so content 0 is right at
    # A alone; a negative strength makes A lose (1 - 1.15 < 0), so it is right everywhere else.
    rows = by_key(one_item([1, 0, 0, 0], 0))
    zero = ALPHAS.index(0.0)
    uncorrected = rows["letter A", "none"]
    assert uncorrected["placement_range"] == [float(alpha != 0) for alpha in ALPHAS]
    # The priors are the preference itself, and removed.
    for operation in ("pride", "batch", "pride+reversal"):
        assert rows["letter A", operation]["placement_range"] == [0.0] * len(ALPHAS)
    # In the product A and D gain 2.31 a strength on B and C, against two logits for content 0.
    # From 1 up: right at A and D, wrong at B and C, where A ties with D; likewise right at B and C
    # from -1 down, where B ties with C.
    product = rows["letter A", "reversal"]
    assert product["placement_range"] == [float(abs(alpha) >= 1) for alpha in ALPHAS]
    assert product["ties"] == [2 * (abs(alpha) >= 1) for alpha in ALPHAS]
    for shape in CANCELLED:
        assert rows[shape, "reversal"]["placement_range"] == [0.0] * len(ALPHAS)
    for shape in SHAPES:
        assert rows[shape, "none"]["placement_range"][zero] == 0.0
        assert rows[shape, "none"]["n_items"] == 1


def test_items_that_like_nothing_are_tied() -> None:
    # All four letters tie in all four answers; A is answered, right where the correct content is at
    # A. An added preference leaves the ties of letters that it treats alike.
    rows = by_key(one_item([0, 0, 0, 0], 2))
    for operation in OPERATIONS:
        assert rows["outer-inner", operation]["ties"] == [4] * len(ALPHAS)
        assert rows["outer-inner", operation]["placement_range"] == [1.0] * len(ALPHAS)
    assert rows["letter A", "none"]["ties"] == [4 * (alpha <= 0) for alpha in ALPHAS]


def test_every_placement_range_is_the_slow_loops() -> None:
    # Some queries are in steps of one half, so that the tie rule decides.
    pi = cyclic_and_reversals(4)
    rng = np.random.default_rng(11)
    logits = random_logits(rng, 14, pi)
    logits[::3] = np.round(2 * logits[::3]) / 2
    sweep = build_sweep(pi, logits, rng.integers(4, size=14), [(1, 2), (2, 6)], benchmark="MMLU-a")
    rows = analyse("MMLU-a", [sweep], SETTINGS)
    queries = slow_transitions.queries_of(sweep)
    assert queries is not None
    expected = slow.cell(queries)
    assert {(r["shape"], r["operation"]) for r in rows} == set(expected)
    ties = {
        shape: [
            slow.tied_answers(queries, [alpha * x for x in slow.direction(shape)])
            for alpha in ALPHAS
        ]
        for shape in SHAPES
    }
    for row in rows:
        assert set(row) == set(COLUMNS)
        assert row["mmlu"] is True
        assert row["n_items"] == len(queries.evaluated)
        found = row["placement_range"]
        assert found == pytest.approx(expected[row["shape"], row["operation"]], abs=1e-10)
        if row["operation"] == "reversal":
            assert row["ties"] == ties[row["shape"]]


def test_strength_zero_is_the_comparison() -> None:
    frame = standard().inputs().comparison
    plain = frame.set_index(["checkpoint", "benchmark", "operation"])["placement_range"]
    rows = standard().analysis("injections").to_dict("records")
    assert {r["benchmark"] for r in rows} == {"four", "other"}
    for row in rows:
        assert not row["mmlu"]
        found = row["placement_range"][ALPHAS.index(0.0)]
        key = (row["checkpoint"], row["benchmark"], row["operation"])
        assert found == pytest.approx(plain[key], abs=1e-12)


@FEW
@given(st.integers(0, 10_000), st.integers(2, 12), st.sampled_from([0.0, 0.25, 3.0]))
def test_the_product_never_notices_what_mirroring_cancels(seed: int, n: int, coarse: float) -> None:
    rng = np.random.default_rng(seed)
    pi = cyclic_and_reversals(4)
    logits = 3 * random_logits(rng, n, pi)
    if coarse:
        logits = coarse * np.round(logits / coarse)
    # Some letters are ruled out altogether; one always stays.
    logits[rng.random(logits.shape) < 0.05 * (rng.random() < 0.5)] = -np.inf
    logits[..., 0] = np.maximum(logits[..., 0], -9)
    gold = rng.integers(4, size=n)
    cell = answer_cell(build_sweep(pi, logits, gold), "toy", SEED, ())
    items = None if cell is None else EvaluationItems.of(cell)
    if items is None:
        return
    # Raises if a single answer changes.
    rows = by_key(items)
    for shape in CANCELLED:
        ranges = rows[shape, "reversal"]["placement_range"]
        assert ranges == [ranges[0]] * len(ALPHAS)


@FEW
@given(st.integers(0, 10_000), st.integers(1, 9))
def test_placement_ranges_are_those_of_the_cells(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    positions = rng.integers(4, size=(3, n, 4))
    pi = rng.permutation(cyclic(4))
    items = EvaluationItems(
        Design.of(pi), rng.integers(4, size=n), positions[0], *np.zeros((3, n, 4, 4))
    )
    for found, chosen in zip(placement_ranges(positions, items), positions, strict=True):
        statistics = cell_statistics(contents_of(chosen, pi), items.gold, items.design)
        assert found == pytest.approx(statistics.placement_range, abs=1e-12)


def test_an_answer_that_changes_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injections, "CANCELLED", ("front-back", "outer-inner"))
    # Twice 2 a strength on B and C, against two logits: wrong at B and C from alpha 1 up.
    message = r"m, x: 2 answers .* shape outer-inner at alpha = -2, which"
    with pytest.raises(InjectionError, match=message):
        injected_cell(one_item([1, 0, 0, 0], 0), "m, x")


def test_which_benchmarks_are_injected() -> None:
    small = answers("A", "x", 4, n=20)
    large = answers("B", "x", 4, n=1001)
    assert len(analyse("x", [small], SETTINGS)) == len(SHAPES) * len(OPERATIONS)
    assert analyse("x", [small, large], SETTINGS) == []
    assert analyse("MMLU", [large], SETTINGS)
    for name, mmlu in (("mmlu_five", True), ("MMLU", True), ("cmmlu", False)):
        rows = analyse(name, [small], SETTINGS)
        assert {row["mmlu"] for row in rows} == {mmlu}
    # Ten options, no reversals, two items of which one estimates the priors and one is left.
    assert analyse("mmlu_pro", [answers("A", "mmlu_pro", 10)], SETTINGS) == []
    assert analyse("mmlu", [answers("A", "mmlu", 4, orderings=cyclic(4))], SETTINGS) == []
    assert analyse("mmlu", [answers("A", "mmlu", 4, n=1)], SETTINGS) == []
    assert {r["n_items"] for r in analyse("mmlu", [answers("A", "mmlu", 4, n=2)], SETTINGS)} == {1}
