"""Scoring: what a sweep says beside its answers, ties, and the random item halves."""

import numpy as np
import pytest

from optionbias import scoring
from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals
from optionbias.seeds import generator
from optionbias.sweep import Sweep
from slow import factors as slow_factors
from slow import orderings as slow_orderings
from strategies import SEED, TOLERANCE, build_sweep, pick, random_logits, score, sweep_of


def letters_sweep(orderings: np.ndarray, letters: list[list[int]], **options: object) -> Sweep:
    """A sweep whose chosen letters are given; -1 where there is no answer."""
    chosen = np.array(letters)
    logits = np.eye(orderings.shape[1])[np.maximum(chosen, 0)]
    unanswered = [tuple(where) for where in np.argwhere(chosen < 0)]
    return build_sweep(orderings, logits, [0] * len(letters), unanswered, **options)


def repeated(letters: list[list[int]]) -> Sweep:
    """A closed sweep of K = 3: the rotations, then pi_0 again."""
    orderings = cyclic(3)[[0, 1, 2, 0]]
    return letters_sweep(
        orderings, letters, readout="closed", repeats={"3": 0}, generated=True, checkpoint="alpha"
    )


def test_repeats_by_hand() -> None:
    # Letters under pi_0, pi_1, pi_2 and pi_0 again; content at letter r of pi_s is r - s mod 3.
    #   a: 0 0 0 1 are contents 0, 2, 1, 1: the repeat differs, both reorderings differ.
    #   b: 2 0 1 2 are contents 2, 2, 2, 2: nothing differs.
    #   c: 1 2 1 1 are contents 1, 1, 2, 1: only pi_2 differs.
    #   d and e miss an answer, so they count for neither.
    letters = [[0, 0, 0, 1], [2, 0, 1, 2], [1, 2, 1, 1], [0, 0, 0, -1], [0, -1, 0, 1]]
    measured = scoring.measures(repeated(letters))
    assert measured["repeat_disagreement"] == pytest.approx(1 / 3)
    # Pairs with pi_1: 1 of 3 items; with pi_2: 2 of 3; mean 1/2.
    assert measured["reorder_disagreement"] == pytest.approx(1 / 2)


def test_a_repeat_counts_for_no_factor() -> None:
    letters = [[0, 1, 2, 1], [2, 0, 1, 2], [1, 2, 1, 1], [0, 1, 2, -1]]
    scores = score(repeated(letters))
    (row,) = pick(scores.cells, operation="none", subset="all")
    # Contents over the rotations: 0 0 0, 2 2 2, 1 1 2, 0 0 0. The item without a repeat counts.
    assert (row["n_items"], row["m"], row["flip_rate"]) == (4, 3, 0.25)
    assert row["repeat_disagreement"] == pytest.approx(1 / 3)


def test_a_repeat_counts_for_no_factor_of_all_orderings() -> None:
    # pi_0 under a new index, with other answers: the rows are those without it.
    orderings = all_orderings(3)
    logits = random_logits(np.random.default_rng(2), 6, orderings)
    again = logits[:, :1, ::-1]
    entries = {"readout": "all-orderings", "checkpoint": "alpha"}
    plain = build_sweep(orderings, logits, [0, 1, 2] * 2, **entries)
    more = build_sweep(
        np.concatenate([orderings, orderings[:1]]),
        np.concatenate([logits, again], axis=1),
        [0, 1, 2] * 2,
        repeats={"6": 0},
        **entries,
    )
    found, expected = (pick(score(sweep).cells, design="all") for sweep in (more, plain))
    assert (len(found), found[0]["m"]) == (1, 6)
    assert repr({**found[0], **expected[0]}) == repr(found[0])
    assert found[0]["repeat_disagreement"] > 0


def test_no_repeats_no_disagreement() -> None:
    (row,) = pick(score(sweep_of("alpha")).cells, operation="none", subset="all")
    assert "repeat_disagreement" not in row
    assert "reorder_disagreement" not in row
    assert scoring.measures(repeated([[0, 0, 0, -1]])).keys() == {"fallback_share"}


def test_a_repeated_ordering_that_is_not_cyclic() -> None:
    orderings = cyclic_and_reversals(3)[[0, 1, 2, 3, 4, 5, 3]]
    logits = random_logits(np.random.default_rng(1), 5, orderings)
    sweep = build_sweep(orderings, logits, [0] * 5, repeats={"6": 3})
    assert len(pick(score(sweep).cells, operation="none", subset="all")) == 1


def test_median_mass_is_that_of_the_cyclic_queries() -> None:
    # Cyclic: .2, .4, .6, .8 and nothing measured twice; the reversals' mass is left aside.
    mass = np.full((2, 6), 0.9)
    mass[:, :3] = [[0.2, 0.4, np.nan], [0.6, 0.8, np.nan]]
    orderings = cyclic_and_reversals(3)
    logits = random_logits(np.random.default_rng(1), 2, orderings)
    measured = scoring.measures(build_sweep(orderings, logits, [0, 0], mass=mass))
    assert measured["median_mass"] == pytest.approx(0.5)
    nothing = build_sweep(orderings, logits, [0, 0], mass=np.full((2, 6), np.nan))
    assert "median_mass" not in scoring.measures(nothing)


def test_ties_by_hand() -> None:
    # Item 0: (.4, .4, .2) under every cyclic and reversed ordering. Products by letter: .4 * .2,
    # .4 * .4, .2 * .4: no tie, B wins. Items 1 and 2 are (.6, .2, .2): .12, .04, .12, a tie.
    rows = np.log([[0.4, 0.4, 0.2], [0.6, 0.2, 0.2], [0.6, 0.2, 0.2]])
    logits = np.repeat(rows[:, None], 6, axis=1)
    scores = score(build_sweep(cyclic_and_reversals(3), logits, [0, 0, 0]))
    counted = {row["operation"]: row["ties"] for row in scores.ties}
    # `none` takes what is stored; every item is voted from three contents, once each.
    assert (counted["none"], counted["reversal"], counted["vote"]) == (0, 6, 3)


def test_items_without_a_reversal_break_no_tie_of_it() -> None:
    # Item 1 ties A and B under every ordering, and has no answer to one reversal. The products
    # of the others do not tie: .1 * .3, .6 * .6, .3 * .1 and .2 * .2, .6 * .6, .2 * .2.
    rows = np.log([[0.1, 0.6, 0.3], [0.4, 0.4, 0.2], [0.2, 0.6, 0.2]])
    logits = np.repeat(rows[:, None], 6, axis=1)
    sweep = build_sweep(cyclic_and_reversals(3), logits, [0, 0, 0], unanswered=[(1, 4)])
    (row,) = pick(score(sweep).ties, operation="reversal")
    assert row["ties"] == 0


def test_halves_by_name() -> None:
    # floor(7/2) = 3 members, in a named stream of permutations.
    halves = scoring.random_halves(7, 5, 3, "table9/halves/toy")
    assert halves.sum(axis=1).tolist() == [3] * 5
    stream = generator(3, "table9/halves/toy")
    for half in halves:
        assert set(np.flatnonzero(half)) == set(stream.permutation(7)[:3].tolist())
    assert (scoring.random_halves(7, 2, 3, "table9/halves/toy") == halves[:2]).all()
    assert (scoring.random_halves(7, 5, 3, "table9/halves/exam") != halves).any()


@pytest.mark.parametrize("k", [2, 4])
def test_halves_against_the_slow_loop(k: int) -> None:
    sweeps = [sweep_of("alpha", k, 15), sweep_of("beta", k, 15)]
    scores = score(*sweeps, repetitions=20)
    assert len(scores.halves) == 40
    stream = generator(SEED, "table9/halves/toy")
    firsts = [set(stream.permutation(15)[:7].tolist()) for _ in range(20)]
    pis = slow_orderings.cyclic(k)
    for sweep in sweeps:
        rows = pick(scores.halves, checkpoint=sweep.metadata["checkpoint"])
        contents = [[pis[s].index(sweep.choice[q, s]) for s in range(k)] for q in range(15)]
        for repetition, (row, first) in enumerate(zip(rows, firsts, strict=True)):
            assert row["repetition"] == repetition
            for label, members in (("a", first), ("b", set(range(15)) - first)):
                chosen = [contents[q] for q in sorted(members)]
                expected = slow_factors.statistics(
                    chosen, [pis] * len(chosen), [0] * len(chosen), k
                )
                for name in ("flip_rate", "skew"):
                    found = row[f"{name}_{label}"]
                    assert np.isclose(found, expected[name], rtol=0, atol=TOLERANCE, equal_nan=True)


def test_a_half_without_flips_has_no_skew() -> None:
    # Letters 0 1 under the two rotations are content 0 twice; item 1 alone flips.
    letters = [[0, 1], [0, 0], [0, 1], [0, 1]]
    scores = score(letters_sweep(cyclic(2), letters, checkpoint="alpha"), repetitions=6)
    for row in scores.halves:
        halves = [(row[f"flip_rate_{half}"], row[f"skew_{half}"]) for half in ("a", "b")]
        flips, stable = sorted(halves, reverse=True)
        assert flips == (0.5, 0.5)
        assert stable[0] == 0
        assert np.isnan(stable[1])


def test_halves_of_a_cell_do_not_depend_on_the_other_cells() -> None:
    # The halves are the benchmark's: a checkpoint that answers more items does not move them.
    fewer = sweep_of("alpha", unanswered=[(3, 1), (5, 2)])
    alone, together = score(fewer), score(fewer, sweep_of("beta"))
    assert pick(together.halves, checkpoint="alpha") == alone.halves


def test_sweeps_of_other_items_are_refused() -> None:
    # The same ids with other gold contents: two versions of a benchmark under one name.
    orderings = cyclic_and_reversals(3)
    logits = random_logits(np.random.default_rng(3), 3, orderings)
    one = build_sweep(orderings, logits, [0, 1, 2], checkpoint="alpha")
    two = build_sweep(orderings, logits, [0, 2, 2], checkpoint="beta")
    with pytest.raises(
        scoring.ScoringError, match="has gold 2, another sweep of the benchmark says 1"
    ):
        score(one, two)
