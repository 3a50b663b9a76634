"""Operations: by hand, against the slow loop, and under ties."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optionbias import operations
from optionbias.operations import OPERATIONS, OperationError, Queries, apply
from optionbias.orderings import cyclic, reversal
from slow import operations as slow
from slow import orderings as slow_orderings
from strategies import PROPERTY, TOLERANCE, choose, letter_logits, log_softmax, random_logits

CORRECTIONS = [operation for operation in OPERATIONS if operation.startswith(("pride", "batch"))]
REVERSALS = [operation for operation in OPERATIONS if operation.endswith("reversal")]


def queries_of(logits: np.ndarray, mirrored: np.ndarray | None, calibration: int) -> Queries:
    """Queries of one cell under the cyclic orderings; its first items are calibration items."""
    logp = log_softmax(logits)
    return Queries(
        cyclic(logp.shape[-1]),
        logp.argmax(axis=-1).astype(np.int8),
        logp,
        None if mirrored is None else log_softmax(mirrored),
        np.arange(len(logp)) < calibration,
    )


def random_queries(k: int, n: int, seed: int, ties: bool = False) -> Queries:
    """A random cell; with `ties`, logits on a coarse grid plus offsets of 4e-10 or 3e-9."""
    rng = np.random.default_rng(seed)
    pair = [random_logits(rng, n, pi) for pi in (cyclic(k), reversal(cyclic(k)))]
    if ties:
        pair = [np.round(x) + rng.choice([0, 4e-10, 3e-9], size=x.shape) for x in pair]
    return queries_of(pair[0], pair[1] if k > 2 else None, max(1, n // 4))


def literal(queries: Queries) -> tuple:
    """The queries as the slow loop takes them."""
    mirrored = None if queries.reversed_logp is None else queries.reversed_logp.tolist()
    calibration = np.flatnonzero(queries.calibration).tolist()
    orderings = [tuple(pi) for pi in queries.orderings.tolist()]
    return queries.logp.tolist(), mirrored, queries.choice.tolist(), orderings, calibration


def tied(rows: list[list[list[float]]]) -> int:
    """Rows with more than one score within 1e-9 of the largest."""
    return sum(sum(max(row) - value <= 1e-9 for value in row) > 1 for item in rows for row in item)


def test_tie_rule_by_hand() -> None:
    rows = [[0, 5e-10], [0, 2e-9], [5e-10, 0], [0, 0], [-1, 0]]
    positions, ties = choose(np.array([rows]))
    assert positions[0].tolist() == [0, 1, 0, 0, 1]
    assert ties[0].tolist() == [True, False, True, True, False]
    # Only the distance to the largest counts: A is 1.6e-9 below C, B is 0.8e-9 below.
    positions, ties = choose(np.array([[[0, 0.8e-9, 1.6e-9], [-math.inf, -math.inf, 0]]]))
    assert (positions[0].tolist(), ties[0].tolist()) == ([1, 2], [True, False])
    # Exactly 1e-9 apart is within.
    assert choose(np.array([[[0, 1e-9]]]))[0] == slow.choose([0, 1e-9]) == 0


def test_reversal_product_by_hand() -> None:
    # pi_1 of K = 3 shows contents 2, 0, 1 at A, B, C; its reversal shows 1, 0, 2. Products by
    # content: 0: .5 * .1, 1: .3 * .6, 2: .2 * .3, read in the order 2, 0, 1: 6 : 5 : 18.
    forward, backward = np.log([0.2, 0.5, 0.3]), np.log([0.6, 0.1, 0.3])
    found = np.exp(operations.reversal_product(forward, backward))
    assert found == pytest.approx(np.array([6, 5, 18]) / 29)


def test_majority_vote_by_hand() -> None:
    # K = 4, letters 1, 2, 0, 0 are contents 1, 1, 2, 1: content 1, at letter (1 + s) mod 4.
    # Letters 0, 1, 3, 0 are contents 0, 0, 1, 1: a tie, so content 0, at letter s.
    positions, ties = operations.majority_vote([[1, 2, 0, 0], [0, 1, 3, 0]], cyclic(4))
    assert positions.tolist() == [[1, 2, 3, 0], [0, 1, 2, 3]]
    assert ties.tolist() == [False, True]


def test_letter_only_model_by_hand() -> None:
    # Every query has letter probabilities (.5, .3, .2). In the reversal product A and C tie
    # (.5 * .2 twice, .3 * .3); the prior is the row itself, so a correction leaves thirds.
    row = np.broadcast_to(np.log([0.5, 0.3, 0.2]), (2, 3, 3))
    queries = queries_of(row, row, 1)
    for operation in OPERATIONS:
        answers = apply(operation, queries)
        counted = {"none": 0, "vote": 2}.get(operation, 6)
        assert answers.ties == counted
        if operation != "vote":
            assert answers.positions.tolist() == [[0, 0, 0]] * 2
    assert np.exp(apply("reversal", queries).logp[1, 1]) == pytest.approx(
        np.array([10, 9, 10]) / 29
    )
    for operation in CORRECTIONS:
        assert np.exp(apply(operation, queries).logp) == pytest.approx(np.full((2, 3, 3), 1 / 3))
    # Always A is each content once: a tie, so content 0 at its letter s.
    assert apply("vote", queries).positions.tolist() == [[0, 1, 2]] * 2
    assert apply("vote", queries).logp is None


def test_pride_then_batch_by_hand() -> None:
    # Rows (.9, .1) and (.5, .5): geometric 3 : 1. PriDe leaves odds 9/3 = 3 and 1/3, whose
    # arithmetic mean is even, so the second prior is (1/2, 1/2).
    answers = apply("pride+batch", queries_of(np.log([[[0.9, 0.1], [0.5, 0.5]]]), None, 1))
    assert list(answers.priors) == ["pride", "batch-after-pride"]
    assert answers.priors["pride"] == pytest.approx([3 / 4, 1 / 4])
    assert answers.priors["batch-after-pride"] == pytest.approx([1 / 2, 1 / 2])
    assert np.exp(answers.logp[0]) == pytest.approx(np.array([[3, 1], [1, 3]]) / 4)
    assert answers.positions.tolist() == [[0, 1]]


@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.0, -1.0])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [2, 3, 4, 5, 7, 10, 26])
def test_every_operation_of_the_slow_loop(k: int, ties: bool, alpha: float) -> None:
    for seed in range(2):
        queries = random_queries(k, 13, seed, ties)
        for operation in OPERATIONS:
            if not operations.is_available(operation, queries):
                assert k == 2
                assert operation in REVERSALS
                continue
            positions, rows = slow.apply(operation, *literal(queries), alpha)
            found = apply(operation, queries, alpha)
            assert found.positions.tolist() == positions, operation
            if operation == "vote":
                assert found.logp is None
                continue
            assert np.abs(found.logp - rows).max() <= TOLERANCE
            assert np.abs(np.exp(found.logp).sum(axis=-1) - 1).max() <= TOLERANCE
            assert found.ties == (0 if operation == "none" else tied(rows))


def test_ties_are_there_to_be_broken() -> None:
    # The comparison above meets ties, and near-ties on both sides of the tolerance.
    queries = random_queries(4, 60, 0, ties=True)
    assert apply("reversal", queries).ties > 20
    total = queries.logp + queries.reversed_logp[..., ::-1]
    gaps = total.max(axis=-1, keepdims=True) - total
    assert ((gaps > 1e-10) & (gaps < 1e-9)).any()
    assert ((gaps > 1e-9) & (gaps < 1e-8)).any()


def test_none_takes_the_stored_choices() -> None:
    # Within the tolerance of a tie, but B was stored: `none` keeps it, a correction by alpha 0
    # applies the tie rule.
    queries = queries_of(np.array([[[0, 5e-10], [0, 0]]]), None, 1)
    assert apply("none", queries).positions.tolist() == [[1, 0]]
    answers = apply("pride", queries, alpha=0)
    assert (answers.positions.tolist(), answers.ties) == ([[0, 0]], 2)


def pieces(queries: Queries, names: list[str], alpha: float) -> tuple[list, list]:
    """Corrected presented and reversed rows, composed from the slow loop's pieces."""
    logp, mirrored, _, _, calibration = literal(queries)
    for name in names:
        estimate = slow.pride_prior if name == "pride" else slow.batch_prior
        prior = estimate([logp[q] for q in calibration])
        logp, mirrored = (
            [[slow.correct(row, prior, alpha) for row in item] for item in rows]
            for rows in (logp, mirrored)
        )
    return logp, mirrored


@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize(
    "names", [["pride"], ["batch"], ["batch", "pride"], ["pride", "batch", "pride"]]
)
def test_other_compositions(names: list[str], alpha: float) -> None:
    queries = random_queries(4, 13, 5)
    orderings = slow_orderings.cyclic(4)
    logp, mirrored = pieces(queries, names, alpha)
    chosen = [[slow.choose(row) for row in item] for item in logp]
    voted = apply("+".join([*names, "vote"]), queries, alpha)
    assert voted.positions.tolist() == [slow._vote(item, orderings) for item in chosen]
    assert voted.logp is None
    product = [
        [
            slow._product(a, b, pi, slow_orderings.reversal(pi))
            for a, b, pi in zip(item, other, orderings, strict=True)
        ]
        for item, other in zip(logp, mirrored, strict=True)
    ]
    both = apply("+".join([*names, "reversal"]), queries, alpha)
    assert np.abs(both.logp - product).max() <= TOLERANCE
    assert both.positions.tolist() == [[slow.choose(row) for row in item] for item in product]


def test_names_of_priors() -> None:
    queries = random_queries(3, 8, 1)
    found = apply("pride+batch+pride", queries).priors
    assert list(found) == ["pride", "batch-after-pride", "pride-after-batch-after-pride"]
    assert (found["pride"] == apply("pride+vote", queries).priors["pride"]).all()


@pytest.mark.parametrize(
    "operation",
    [
        *("", "+", "prid", "PRIDE", "pride+", "+reversal", "reversal+pride", "vote+reversal"),
        *("reversal+vote", "none+pride", "pride+none", "pride reversal", "vote+vote"),
    ],
)
def test_operations_that_do_not_exist(operation: str) -> None:
    for call in (operations.steps, operations.needs_prior):
        with pytest.raises(OperationError, match="is not a correction"):
            call(operation)
    with pytest.raises(OperationError, match=f"operation '{operation}'".replace("+", r"\+")):
        apply(operation, random_queries(3, 4, 0))


def test_steps() -> None:
    assert operations.steps("none") == ([], None)
    assert operations.steps("pride+batch") == (["pride", "batch"], None)
    assert operations.steps("batch+reversal") == (["batch"], "reversal")
    assert [op for op in OPERATIONS if operations.needs_prior(op)] == CORRECTIONS


def test_queries_that_are_not_there() -> None:
    full = random_queries(3, 6, 0)
    generated = replace(full, logp=None, reversed_logp=None)
    answerable = [op for op in OPERATIONS if operations.is_available(op, generated)]
    assert answerable == ["none", "vote"]
    assert apply("none", generated).logp is None
    assert (apply("none", generated).positions == full.choice).all()
    assert (apply("vote", generated).positions == apply("vote", full).positions).all()
    for operation in OPERATIONS:
        if operation not in answerable:
            with pytest.raises(OperationError, match="does not have"):
                apply(operation, generated)
    for operation in REVERSALS:
        with pytest.raises(OperationError, match="does not have"):
            apply(operation, replace(full, reversed_logp=None))
    for calibration in (None, np.zeros(6, dtype=bool)):
        with pytest.raises(OperationError, match="needs calibration items"):
            apply("pride", replace(full, calibration=calibration))


def test_a_product_needs_both_of_its_queries() -> None:
    half = replace(random_queries(3, 6, 0), logp=None)
    assert not operations.is_available("reversal", half)
    with pytest.raises(OperationError, match="does not have"):
        apply("reversal", half)


def test_stored_rows_are_renormalised_in_float64() -> None:
    stored = np.array([[-0.1, -2.3], [-0.2, -1.7]], dtype=np.float32)
    found = operations.normalised(stored)
    assert found.dtype == np.float64
    assert np.abs(np.exp(found).sum(axis=-1) - 1).max() <= 1e-15
    expected = [slow.log_softmax(row) for row in stored.tolist()]
    assert np.abs(found - expected).max() <= TOLERANCE


@PROPERTY
@given(st.integers(3, 6), st.integers(0, 99), st.data())
def test_the_product_cancels_an_odd_letter_preference(k: int, seed: int, data) -> None:
    # b_i = -b_{K-1-i}: a content at letter i stands at K-1-i in the reversal, so what the first
    # query gains the second loses, exactly; ties on the coarse grid stay ties.
    half = data.draw(arrays(np.float64, k // 2, elements=st.integers(-20, 20).map(lambda x: x / 8)))
    letters = np.concatenate([half, np.zeros(k % 2), -half[::-1]])
    rng = np.random.default_rng(seed)
    pair = [np.round(random_logits(rng, 5, cyclic(k)) * 2) / 2 for _ in range(2)]
    plain = apply("reversal", queries_of(pair[0], pair[1], 1))
    moved = apply("reversal", queries_of(pair[0] + letters, pair[1] + letters, 1))
    assert moved.positions.tolist() == plain.positions.tolist()
    assert moved.ties == plain.ties
    assert np.abs(moved.logp - plain.logp).max() <= TOLERANCE


@PROPERTY
@given(st.integers(2, 6), st.integers(0, 99), st.data())
def test_pride_cancels_any_letter_preference(k: int, seed: int, data) -> None:
    # One preference added to every query moves the prior by as much, up to the mean over items:
    # with one calibration item the correction takes all of it away.
    letters = data.draw(arrays(np.float64, k, elements=st.integers(-20, 20).map(lambda x: x / 8)))
    logits = random_logits(np.random.default_rng(seed), 5, cyclic(k))
    plain = apply("pride", queries_of(logits, None, 1))
    moved = apply("pride", queries_of(logits + letters, None, 1))
    assert np.abs(moved.logp - plain.logp).max() <= TOLERANCE
    assert moved.positions.tolist() == plain.positions.tolist()


@PROPERTY
@given(st.sampled_from(CORRECTIONS), st.integers(3, 5), st.integers(0, 99))
def test_alpha_zero_is_no_correction(operation: str, k: int, seed: int) -> None:
    queries = random_queries(k, 6, seed)
    found = apply(operation, queries, alpha=0)
    plain = apply("reversal" if operation in REVERSALS else "none", queries)
    assert np.abs(found.logp - plain.logp).max() <= TOLERANCE
    assert found.positions.tolist() == plain.positions.tolist()


@PROPERTY
@given(st.integers(2, 6), st.integers(0, 99))
def test_a_vote_never_flips(k: int, seed: int) -> None:
    queries = random_queries(k, 6, seed)
    contents = [
        [pi.tolist().index(position) for pi, position in zip(cyclic(k), row, strict=True)]
        for row in apply("vote", queries).positions
    ]
    assert all(len(set(row)) == 1 for row in contents)


def test_a_certain_answer_can_be_corrected() -> None:
    # Probability one on a letter: -inf elsewhere stays -inf and never wins.
    with np.errstate(divide="ignore"):
        logits = np.log(np.eye(3)[np.zeros((2, 3), dtype=int)])
    strengths = letter_logits([[1, 0, 0], [0, 1, 0]], cyclic(3))
    queries = replace(queries_of(strengths, strengths, 1), logp=logits)
    for operation in ("pride", "batch", "pride+reversal"):
        answers = apply(operation, queries)
        assert answers.positions.tolist() == [[0, 0, 0]] * 2
        assert not np.isnan(answers.logp).any()
