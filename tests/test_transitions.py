"""What operations do to items: by hand, against the slow loop, and what the flip rates demand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.analysis import Settings
from optionbias.design import Design
from optionbias.evaluation import EvaluationItems
from optionbias.orderings import cyclic, cyclic_and_reversals, reversal
from optionbias.transitions import COLUMNS, OPERATIONS, SETTLED, analyse, cell_transitions
from slow import transitions as slow
from strategies import SEED, build_sweep, letter_logits, log_softmax, pick, random_logits, score
from synthetic import FEW, NAN, key_of, standard

SETTINGS = Settings(SEED, 10, 3)


def gap(*scores: float) -> float:
    """Difference of the two largest probabilities of a query."""
    p = sorted(math.exp(s) for s in scores)
    return (p[-1] - p[-2]) / sum(p)


def example() -> EvaluationItems:
    """Six items of three options, every query with the letter preference (2, 0, -2).

    The three cyclic orderings show the contents as 0 1 2, 2 0 1 and 1 2 0; the reversals as 2 1 0,
    1 0 2 and 0 2 1. The one calibration item likes no content, so both priors are the softmax of
    the preference, which corrections remove; opposite on mirrored letters, it cancels in the
    product too. Items by what they like:

    - 0 and 1, contents (1, 0, 0): each ordering's first letter wins, so contents 0, 2, 1, and
      2, 1, 0 in the reversals; without the preference content 0. Gold 0 and 1.
    - 2, contents (3, 0, -3): 0, 0, and 1 (2 against 1 for content 0, second) in the third; 0 in
      every reversal; without the preference content 0. Gold 2.
    - 3 and 4, contents (9, 0, 0): content 0 always. Gold 1 and 0.
    - 5: content 0 everywhere but without the preference content 1 under pi_0. Gold 0.
    """
    pi, preference = cyclic(3), np.array([2.0, 0.0, -2.0])
    liked = [[1, 0, 0], [1, 0, 0], [3, 0, -3], [9, 0, 0], [9, 0, 0], [0, 0, 0]]
    forward = letter_logits(liked, pi, preference)
    forward[5] = np.array([[-1, 0, -3], [0, 5, 0], [0, 0, 9]]) + preference
    backward = letter_logits(liked, reversal(pi), preference)
    logp, mirrored = log_softmax(forward), log_softmax(backward)
    return EvaluationItems(
        Design.of(pi), np.array([0, 1, 2, 1, 0, 0]), logp.argmax(axis=-1), logp, mirrored,
        log_softmax(letter_logits([[0, 0, 0]], pi, preference)),
    )  # fmt: skip


def test_transitions_by_hand() -> None:
    rows = {row["operation"]: row for row in cell_transitions(example())}
    assert tuple(rows) == OPERATIONS
    for row in rows.values():
        assert (row["K"], row["n_items"], row["n_flipping"]) == (3, 6, 3)
    # Nothing changes; the preferred letter A holds 3, 3 and 2 (pi_0, pi_2) of the 9 answers.
    none = rows["none"]
    assert (none["n_stopped"], none["n_started"], none["n_stopped_wrong"]) == (0, 0, 0)
    assert none["favoured_share"] == pytest.approx(8 / 9)
    # Every operation resolves items 0, 1 and 2 onto content 0, wrong for the last two, and makes
    # item 5 flip; content 0 is at each letter once.
    for operation in OPERATIONS[1:]:
        row = rows[operation]
        assert (row["n_stopped"], row["n_started"], row["n_stopped_wrong"]) == (3, 1, 2), operation
        assert row["favoured_share"] == pytest.approx(1 / 3)
    product = {name: rows["reversal"][name] for name in SETTLED}
    expected = {
        # Item 1: each content twice in its six queries, once in its cyclic ones; content 0 is last
        # under pi_2; content 1 was answered once. Item 2: content 0 five times of six, two of three.
        "unique_most_frequent": 1 / 2,
        "tied_most_frequent": 1 / 2,
        "unique_most_frequent_cyclic": 1 / 2,
        "tied_most_frequent_cyclic": 1 / 2,
        "in_every_top_two": 1 / 2,
        "wrong_under_every_cyclic": 1 / 2,
        "gap_settled_wrong": (gap(3, 0, -2) + gap(5, 0, -5)) / 2,
        "gap_settled_correct": gap(3, 0, -2),
        "gap_stable_wrong": gap(11, 0, -2),
    }
    assert product == pytest.approx(expected)
    for operation in set(OPERATIONS) - {"reversal"}:
        assert all(math.isnan(rows[operation][name]) for name in SETTLED)


def test_a_cell_that_never_flips() -> None:
    items = example()
    kept = np.array([3, 4])
    alone = EvaluationItems(
        items.design, items.gold[kept], items.choice[kept], items.logp[kept],
        items.reversed_logp[kept], items.calibration,
    )  # fmt: skip
    for row in cell_transitions(alone):
        assert (row["n_flipping"], row["n_stopped"], row["n_started"]) == (0, 0, 0)
        assert math.isnan(row["favoured_share"])
    product = cell_transitions(alone)[OPERATIONS.index("reversal")]
    assert {name for name in SETTLED if not math.isnan(product[name])} == {"gap_stable_wrong"}


def test_options_that_share_the_first_place_are_in_the_top_two() -> None:
    # K = 4, all contents but content 3 alike: no letter beats any of the first three, so content 0
    # is among the top two although three share the first place.
    pi = cyclic(4)
    logp = log_softmax(letter_logits([[0, 0, 0, -9]], pi))
    forward = logp.copy()
    # Content 1 a little ahead in one cyclic query, so that the item flips.
    forward[0, 1] = log_softmax(letter_logits([[0, 1, 0, -9]], pi))[0, 1]
    backward = log_softmax(letter_logits([[3, 0, 0, -9]], reversal(pi)))
    items = EvaluationItems(
        Design.of(pi), np.array([2]), forward.argmax(axis=-1), forward, backward,
        log_softmax(np.zeros((1, 4, 4))),
    )  # fmt: skip
    product = cell_transitions(items)[OPERATIONS.index("reversal")]
    assert (product["n_stopped_wrong"], product["in_every_top_two"]) == (1, 1.0)


def test_every_row_is_the_slow_loops() -> None:
    run = standard()
    frame = run.analysis("transitions")
    assert tuple(frame.columns) == COLUMNS
    rows = {(r["checkpoint"], r["benchmark"], r["operation"]): r for r in frame.to_dict("records")}
    expected = {}
    for sweep in run.sweeps:
        readout, benchmark, checkpoint = key_of(sweep)
        queries = slow.queries_of(sweep) if readout == "first-token" else None
        if queries is None:
            continue
        cell = slow.cell_of(queries)
        for operation in slow.OPERATIONS:
            expected[checkpoint, benchmark, operation] = {"K": sweep.k} | slow.moves(
                cell, operation
            )
        expected[checkpoint, benchmark, "reversal"] |= slow.settled(cell)
    assert set(rows) == set(expected)
    for key, values in expected.items():
        for name in COLUMNS[3:]:
            wanted = values.get(name, NAN)
            assert rows[key][name] == pytest.approx(wanted, abs=1e-10, nan_ok=True), (key, name)


@FEW
@given(st.integers(0, 10_000), st.integers(3, 5), st.integers(2, 30))
def test_moves_add_up_to_the_comparison(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    pi = cyclic_and_reversals(k)
    unanswered = [(int(q), int(rng.integers(2 * k))) for q in np.flatnonzero(rng.random(n) < 0.1)]
    gold = rng.integers(k, size=n)
    sweep = build_sweep(pi, random_logits(rng, n, pi), gold, unanswered)
    rows = analyse("toy", [sweep], SETTINGS)
    compared = score(sweep).comparison
    assert bool(rows) == bool(compared)
    for row in rows:
        (found,) = pick(compared, operation=row["operation"])
        assert row["n_items"] == found["n_items"]
        flipping = row["n_flipping"] - row["n_stopped"] + row["n_started"]
        assert flipping / row["n_items"] == found["flip_rate"]
        # Who was stable-wrong before may flip or, through a composition, change its content.
        assert row["n_stopped_wrong"] <= row["n_stopped"] <= row["n_flipping"]
        assert row["n_stopped_wrong"] / row["n_items"] <= found["stable_wrong"] + 1e-12
        assert not row["favoured_share"] > 1
    for row in pick(rows, operation="reversal"):
        for suffix in ("", "_cyclic"):
            together = row[f"unique_most_frequent{suffix}"] + row[f"tied_most_frequent{suffix}"]
            assert not together > 1 + 1e-12
        assert math.isnan(row["in_every_top_two"]) == (row["n_stopped_wrong"] == 0)
