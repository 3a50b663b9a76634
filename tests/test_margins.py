"""Canonical margins: by hand, every row against the slow loop, and what must hold of them."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.analysis import Settings
from optionbias.margins import (
    COLUMNS,
    STATES,
    Margins,
    analyse,
    margin,
    peer_strata,
    read_margins,
)
from optionbias.orderings import cyclic
from slow import margins as slow
from slow.tables import margins as slow_tables
from strategies import SEED, build_sweep, log_softmax
from synthetic import FEW, answers, standard

SETTINGS = Settings(SEED, 10, 3)
NAN = float("nan")


def sweep_of(contents: list[list[int]], gold: list[int], gaps: list[float], **named: Any) -> Any:
    """A sweep with these answers, and these top-two gaps under the canonical ordering.

    Two options share the canonical probability: (1 + gap) / 2 and (1 - gap) / 2.
    """
    z = np.array(contents)
    n, k = z.shape
    pi = cyclic(k)
    logits = np.full((n, k, k), -40.0)
    for q in range(n):
        for s in range(k):
            letter = pi[s][z[q, s]]
            logits[q, s, letter] = math.log((1 + gaps[q]) / 2)
            logits[q, s, (letter + 1) % k] = math.log((1 - gaps[q]) / 2)
    return build_sweep(pi, logits, np.array(gold), **named)


def rows_of(*sweeps: Any) -> list[dict[str, Any]]:
    """The analysis of one benchmark."""
    return analyse("toy", iter(sweeps), SETTINGS)


# K = 3; the gold content is 0 throughout.
CONTENTS = [
    [0, 0, 0],  # stable-correct
    [1, 1, 1],  # stable-wrong
    [0, 1, 1],  # flips, but only through the canonical answer, which is correct
    [1, 0, 2],  # flips, canonical answer wrong
    [1, 2, 2],  # flips, always wrong, the two others agree
    [0, 0, 1],  # flips, canonical answer correct
]
GAPS = [0.9, 0.3, 0.5, 0.1, 0.2, 0.7]


def test_margin_by_hand() -> None:
    # Probabilities 1/2, 1/4, 1/8, 1/8: gap 1/4; entropy 1/2 + 2/4 + 3/8 + 3/8 = 7/4 bits.
    stored = np.log2([[0.125, 0.5, 0.25, 0.125]]).astype(np.float32) * math.log(2)
    gap, entropy = margin(stored + 5.0)
    assert gap == pytest.approx([0.25], abs=1e-6)
    assert entropy == pytest.approx([1.75], abs=1e-6)


def test_certain_and_undecided_rows_by_hand() -> None:
    gap, entropy = margin([[0.0, -900.0], [-3.0, -3.0]])
    assert gap.tolist() == [1.0, 0.0]
    assert entropy == pytest.approx([0.0, 1.0], abs=1e-15)


def test_the_aucs_of_a_cell_by_hand() -> None:
    (row,) = rows_of(sweep_of(CONTENTS, [0] * 6, GAPS))
    assert (row["K"], row["n_items"]) == (3, 6)
    # Flipping gaps .5 .1 .2 .7 against stable .9 .3; a smaller gap wins: against .9 all four,
    # against .3 those of .1 and .2: 6 of 8.
    assert row["auc_gap"] == 6 / 8
    # With two options a larger entropy is a smaller gap.
    assert row["auc_entropy"] == 6 / 8
    assert row["auc_stable_correct"] == 1
    assert row["auc_stable_wrong"] == 2 / 4
    # The last two answers disagree for items 3 (.1) and 5 (.7) alone; others .9 .3 .5 .2:
    # .1 wins four, .7 wins one.
    assert row["auc_left_out"] == 5 / 8
    # Canonical answer correct: 0 (.9), 2 (.5), 5 (.7, marked): wins one of two.
    assert row["auc_left_out_correct"] == 1 / 2
    # Canonical answer wrong: 1 (.3), 3 (.1, marked), 4 (.2): wins two of two.
    assert row["auc_left_out_wrong"] == 1
    # Always wrong: 1 (.3) is stable, 4 (.2) flips.
    assert row["auc_always_wrong"] == 1
    # No other checkpoint.
    assert math.isnan(row["auc_left_out_stratified"])


def test_the_bins_of_a_cell_by_hand() -> None:
    # A gap of .32 is in bin [.30, .35), of 1 in the last: with one item in six each.
    (row,) = rows_of(sweep_of(CONTENTS, [0] * 6, [0.92, 0.32, 0.52, 0.12, 0.22, 1 - 1e-9]))
    filled = {state: np.flatnonzero(row[state]).tolist() for state in STATES}
    assert filled == {
        "stable_correct": [18],
        "stable_wrong": [6],
        "flipping": [2, 4, 10, 19],
    }
    assert set(np.concatenate([row[s] for s in STATES]).tolist()) == {0.0, 1 / 6}


def test_peer_strata_by_hand() -> None:
    # K = 2 and three peers: six answers. 0, 1 and 2 of 6 lie in [0, .2), [0, .2) and [.2, .4);
    # 6 of 6 closes the last bin. With five peers of K = 2, 2 of 10 is .2, the next bin's edge, and
    # 6 of 10 is .6. Two peers are too few. The first item's own canonical answer is wrong.
    correct = np.array([0, 1, 2, 6, 2, 6, 4])
    peers = np.array([3, 3, 3, 3, 5, 5, 2])
    n = len(peers)
    none = np.zeros(n)
    own = np.arange(n) > 0
    m = Margins(none, none, none, none, none, own, none, 2)
    assert peer_strata(m, correct, peers).tolist() == [0, 5, 6, 9, 6, 8, -1]


def test_peers_are_the_other_checkpoints_that_have_the_item() -> None:
    # Items 0 to 3 with gaps .1 .2 .3 .4, canonical answer correct, the others disagreeing on 0
    # and 3 alone. Peers: on items 0 and 1 the three others are always right, on 2 and 3 always
    # wrong, so 0 is compared with 1 (won) and 3 with 2 (lost): 1 of 2.
    mine = sweep_of([[0, 1, 2], [0, 0, 0], [0, 0, 0], [0, 1, 2]], [0] * 4, [0.1, 0.2, 0.3, 0.4])
    theirs = [[0] * 3, [0] * 3, [1] * 3, [1] * 3]
    others = [
        sweep_of(theirs, [0] * 4, [0.5] * 4, checkpoint=f"m{i}", unanswered=[]) for i in range(3)
    ]
    row, *rest = rows_of(mine, *others)
    assert row["auc_left_out_stratified"] == 0.5
    # The others flip on nothing.
    assert all(math.isnan(r["auc_left_out_stratified"]) for r in rest)
    # Where one of them misses item 2, it has two peers left: 3 has none to be compared with.
    gone = sweep_of(theirs, [0] * 4, [0.5] * 4, checkpoint="m2", unanswered=[(2, 1)])
    row, *_ = rows_of(mine, *others[:2], gone)
    assert row["auc_left_out_stratified"] == 1


def test_two_options_leave_one_other_answer_which_never_disagrees() -> None:
    (row,) = rows_of(sweep_of([[0, 0], [0, 1], [1, 1]], [0] * 3, [0.9, 0.1, 0.5]))
    assert row["auc_gap"] == 1
    left_out = [row[c] for c in COLUMNS if c.startswith("auc_left_out")]
    assert np.isnan(left_out).all()


def test_a_sweep_without_probabilities_gives_no_row() -> None:
    sweep = build_sweep(cyclic(3), np.zeros((4, 3, 3)), np.zeros(4), generated=True)
    assert rows_of(sweep) == []
    assert rows_of(answers("A", "toy", 3, n=1)) == []


# --- against the slow loop -------------------------------------------------------------------


def test_every_row_is_the_slow_loops() -> None:
    frame = standard().analysis("margins")
    assert tuple(frame.columns) == COLUMNS
    seen = 0
    for benchmark, sweeps in slow_tables.first_token(standard()).items():
        cells = {
            c: {i: item for i, (item, _) in slow_tables.items_of(s).items()}
            for c, s in sweeps.items()
        }
        for checkpoint, cell in cells.items():
            rows = frame[(frame["checkpoint"] == checkpoint) & (frame["benchmark"] == benchmark)]
            (row,) = rows.to_dict("records")
            expected = slow.aucs(cell)
            expected["auc_left_out_stratified"] = slow.stratified(checkpoint, cells)
            for name, value in expected.items():
                assert row[name] == pytest.approx(value, abs=1e-12, nan_ok=True), (row, name)
            for state in STATES:
                assert np.array_equal(row[state], slow.shares(cell, state))
            seen += 1
    assert seen == len(frame) == 19
    defined = frame[[c for c in COLUMNS if c.startswith("auc")]].notna().sum()
    assert (defined >= 4).all()


# --- properties ------------------------------------------------------------------------------


@FEW
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 4, 7]))
def test_the_margin_is_blind_to_which_letter_holds_what(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    stored = log_softmax(rng.normal(size=(6, k)) * 3).astype(np.float32)
    gap, entropy = margin(stored)
    again = margin(rng.permuted(stored, axis=1))
    # To the last digit: such rows tie.
    assert np.array_equal(gap, again[0])
    assert np.array_equal(entropy, again[1])
    assert ((gap >= 0) & (gap <= 1)).all()
    assert ((entropy >= 0) & (entropy <= math.log2(k) + 1e-12)).all()


@FEW
@given(st.integers(0, 10_000), st.sampled_from([2, 3, 4]))
def test_the_states_partition_the_items(seed: int, k: int) -> None:
    sweep = answers(f"m{seed}", "toy", k, 12, ability=1.5)
    m = read_margins(sweep, "toy", SEED)
    assert np.array_equal(np.sum(list(m.states().values()), axis=0), np.ones(12))
    (row,) = rows_of(sweep)
    assert sum(sum(row[state]) for state in STATES) == pytest.approx(1, abs=1e-12)
    assert sum(row["flipping"]) == pytest.approx(m.flips.mean(), abs=1e-12)


@FEW
@given(st.integers(0, 10_000))
def test_flipping_against_stable_is_the_mean_over_both_kinds_of_stable(seed: int) -> None:
    # Pairs with stable items are those with stable-correct ones and those with stable-wrong ones.
    sweep = answers(f"m{seed}", "toy", 3, 20, ability=1.0, noise=0.4)
    (row,) = rows_of(sweep)
    parts = [(row[f"auc_{s}"], sum(row[s])) for s in ("stable_correct", "stable_wrong")]
    defined = [(a, w) for a, w in parts if w > 0]
    if defined and row["auc_gap"] == row["auc_gap"]:
        mean = sum(a * w for a, w in defined) / sum(w for _, w in defined)
        assert row["auc_gap"] == pytest.approx(mean, abs=1e-12)


@FEW
@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
def test_rows_do_not_depend_on_the_order_of_sweeps(seed: int, random) -> None:
    sweeps = [answers(f"m{i}", f"toy{seed}", 3, 14) for i in range(5)]
    shuffled = random.sample(sweeps, 5)

    def by_name(rows: list[dict[str, Any]]) -> list[list[float]]:
        ordered = sorted(rows, key=lambda row: row["checkpoint"])
        return [[row[c] for c in COLUMNS if c.startswith("auc")] for row in ordered]

    assert np.array_equal(by_name(rows_of(*sweeps)), by_name(rows_of(*shuffled)), equal_nan=True)
