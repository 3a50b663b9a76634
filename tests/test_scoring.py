"""Scoring a benchmark: usable items, subsets, operations and priors of small sweeps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from optionbias import factors, scoring
from optionbias.cell import ScoringError
from optionbias.identities import IdentityError
from optionbias.operations import OPERATIONS
from optionbias.orderings import all_orderings, cyclic, reversal
from optionbias.scoring import CELL_COLUMNS, score_benchmark
from optionbias.sweep import Sweep
from slow import factors as slow_factors
from slow import operations as slow
from slow import orderings as slow_orderings
from strategies import SEED, TOLERANCE, pick, score, sweep_of

WITH_PRIOR = ["pride", "batch", "pride+reversal", "batch+reversal", "pride+batch"]
WITH_REVERSAL = ["reversal", "pride+reversal", "batch+reversal"]


def alpha() -> Sweep:
    """Item 3 lacks an answer under pi_1, item 5 under a reversal alone."""
    return sweep_of("alpha", unanswered=[(3, 1), (5, 6)])


def slow_cell(sweep: Sweep, operation: str) -> dict[str, Any]:
    """The slow loop's answers of one operation: items, calibration, usable ones, contents."""
    k, found = sweep.k, [tuple(pi) for pi in sweep.orderings.tolist()]
    presented = [found.index(pi) for pi in slow_orderings.cyclic(k)]
    mirrored = [found.index(slow_orderings.reversal(found[s])) for s in presented]
    items = [q for q in range(len(sweep.items)) if all(sweep.choice[q, s] >= 0 for s in presented)]
    names = [sweep.items[q] for q in items]
    held_out = set(slow.calibration_ids(SEED, "toy", names))
    answered = [all(sweep.choice[q, s] >= 0 for s in mirrored) for q in items]
    even = [0.0] * k
    positions, _ = slow.apply(
        operation,
        [[sweep.logp[q, s].tolist() for s in presented] for q in items],
        [
            [sweep.logp[q, s].tolist() if whole else even for s in mirrored]
            for q, whole in zip(items, answered, strict=True)
        ],
        [[int(sweep.choice[q, s]) for s in presented] for q in items],
        slow_orderings.cyclic(k),
        [i for i, name in enumerate(names) if name in held_out],
    )
    contents = [
        [found[s].index(p) for s, p in zip(presented, row, strict=True)] for row in positions
    ]
    needed = operation.endswith("reversal")
    usable = [whole or not needed for whole in answered]
    return {
        "gold": [int(sweep.gold[q]) for q in items],
        "held_out": [name in held_out for name in names],
        "usable": usable,
        "answered": answered,
        "contents": contents,
        "names": names,
    }


def slow_statistics(sweep: Sweep, operation: str, subset: str) -> dict[str, Any]:
    """The slow loop's statistics of one row of the cells table."""
    cell = slow_cell(sweep, operation)
    chosen = [
        i
        for i in range(len(cell["gold"]))
        if cell["usable"][i] and (subset == "all" or not cell["held_out"][i])
    ]
    return slow_factors.statistics(
        [cell["contents"][i] for i in chosen],
        [slow_orderings.cyclic(sweep.k)] * len(chosen),
        [cell["gold"][i] for i in chosen],
        sweep.k,
    )


def row_differences(row: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Statistics of a row that are not those of the slow loop."""
    return [
        name
        for name, value in expected.items()
        if not np.allclose(row[name], value, rtol=0, atol=TOLERANCE, equal_nan=True)
    ]


@pytest.mark.parametrize(("k", "n"), [(3, 31), (4, 40), (10, 12)])
def test_every_row_of_the_slow_loop(k: int, n: int) -> None:
    sweeps = [sweep_of("alpha", k, n, unanswered=[(3, 1), (5, k + 2)]), sweep_of("beta", k, n)]
    scores = score(*sweeps)
    for sweep in sweeps:
        name = sweep.metadata["checkpoint"]
        for operation in OPERATIONS:
            for subset in ("all", "evaluation"):
                rows = pick(scores.cells, checkpoint=name, operation=operation, subset=subset)
                if subset == "all" and operation in WITH_PRIOR:
                    assert rows == []
                    continue
                (row,) = rows
                assert row_differences(row, slow_statistics(sweep, operation, subset)) == []


def test_columns() -> None:
    scores = score(alpha(), sweep_of("beta"))
    assert len(scores.cells) == 2 * (8 + 3)  # evaluation rows, and all items without a prior
    for row in scores.cells:
        assert set(row) <= set(CELL_COLUMNS)
        assert (row["benchmark"], row["readout"], row["design"]) == ("toy", "first-token", "cyclic")
        assert row["alpha"] == (1.0 if row["operation"] in WITH_PRIOR else None)
        assert (row["K"], row["m"]) == (4, 4)
    assert max(row["residual"] for row in scores.identities) <= TOLERANCE
    assert len(scores.identities) == len(scores.cells) * 9


def test_unusable_items() -> None:
    scores = score(alpha())
    # 40 items, one without an answer under pi_1: 39, of which floor(1.95 + .5) = 2 calibration.
    counts = {(row["operation"], row["subset"]): row["n_items"] for row in scores.cells}
    held_out = {row["item"] for row in scores.calibration}
    assert len(held_out) == 2
    assert "q003" not in held_out
    assert counts["none", "all"] == counts["vote", "all"] == 39
    assert counts["none", "evaluation"] == counts["pride", "evaluation"] == 37
    # The item without a reversed answer leaves only what reads the reversal.
    assert "q005" not in held_out
    assert counts["reversal", "all"] == 38
    assert [counts[operation, "evaluation"] for operation in WITH_REVERSAL] == [36] * 3


def test_comparisons_use_items_that_all_operations_answer() -> None:
    sweeps = [alpha(), sweep_of("beta", unanswered=[(8, 0)])]
    scores = score(*sweeps)
    cells = {s.metadata["checkpoint"]: {op: slow_cell(s, op) for op in OPERATIONS} for s in sweeps}
    eligible = {
        name: [
            i
            for i in range(len(own["none"]["gold"]))
            if own["none"]["answered"][i] and not own["none"]["held_out"][i]
        ]
        for name, own in cells.items()
    }
    shared = set.intersection(
        *({cells[name]["none"]["names"][i] for i in chosen} for name, chosen in eligible.items())
    )
    assert not shared & {"q003", "q005", "q008"}
    assert len(scores.comparison) == 2 * len(OPERATIONS)
    for row in scores.comparison:
        cell, chosen = cells[row["checkpoint"]][row["operation"]], eligible[row["checkpoint"]]
        expected = slow_factors.statistics(
            [cell["contents"][i] for i in chosen],
            [slow_orderings.cyclic(4)] * len(chosen),
            [cell["gold"][i] for i in chosen],
            4,
        )
        names = ("n_items", "accuracy", "flip_rate", "skew", "pooled_sd", "placement_range")
        expected = {name: expected[name] for name in (*names, "stable_wrong")}
        assert row_differences(row, expected) == []
        correct = [0] * 4
        for i, name in enumerate(cell["names"]):
            for s in range(4):
                correct[s] += name in shared and cell["contents"][i][s] == cell["gold"][i]
        assert (row["n_shared"], row["shared_correct"]) == (len(shared), correct)


def test_two_options_have_no_reversal() -> None:
    scores = score(sweep_of("alpha", k=2))
    operations = {row["operation"] for row in scores.cells}
    assert operations == set(OPERATIONS) - set(WITH_REVERSAL)
    assert scores.comparison == []


def test_generated_answers() -> None:
    sweep = sweep_of("alpha", orderings=cyclic(4), generated=True, readout="chain-of-thought")
    scores = score(replace(sweep, metadata={**sweep.metadata, "fallback_share": 0.25}))
    assert {row["operation"] for row in scores.cells} == {"none", "vote"}
    assert all(row["fallback_share"] == 0.25 for row in scores.cells)
    assert (scores.priors, scores.comparison, scores.halves) == ([], [], [])
    assert len(scores.calibration) == 2


def test_all_orderings() -> None:
    sweep = sweep_of(
        "alpha", n=9, orderings=all_orderings(4), readout="all-orderings", unanswered=[(2, 23)]
    )
    scores = score(sweep)
    (row,) = pick(scores.cells, design="all")
    assert (row["operation"], row["subset"], row["m"], row["n_items"]) == ("none", "all", 24, 8)
    usable = [q for q in range(9) if q != 2]
    pis = slow_orderings.all_orderings(4)
    expected = slow_factors.statistics(
        [[pis[s].index(sweep.choice[q, s]) for s in range(24)] for q in usable],
        [pis] * 8,
        [int(sweep.gold[q]) for q in usable],
        4,
    )
    assert row_differences(row, expected) == []
    # pi[23] = (3, 2, 1, 0) is a reversal, not a rotation: item 2 counts for the cyclic rows.
    (row,) = pick(scores.cells, design="cyclic", operation="none", subset="all")
    assert row["n_items"] == 9
    assert row_differences(row, slow_statistics(sweep, "none", "all")) == []
    assert len(pick(scores.cells, design="cyclic")) == 11
    assert scores.comparison == []  # compared under first-token alone


def test_the_order_of_a_sweep_s_orderings_does_not_matter() -> None:
    sweep = alpha()
    order = np.random.default_rng(1).permutation(8)
    moved = replace(
        sweep,
        orderings=sweep.orderings[order],
        logp=sweep.logp[:, order],
        choice=sweep.choice[:, order],
    )
    found, expected = score(moved), score(sweep)
    for row, other in zip(found.cells, expected.cells, strict=True):
        assert all(np.array_equal(row[name], other[name], equal_nan=True) for name in ("f", "g"))
    assert found.priors == expected.priors


def test_calibration_items_are_shared_between_checkpoints() -> None:
    scores = score(sweep_of("alpha"), sweep_of("beta", unanswered=[(9, 4)]))
    splits = [
        [row["item"] for row in pick(scores.calibration, checkpoint=name)]
        for name in ("alpha", "beta")
    ]
    expected = slow.calibration_ids(SEED, "toy", [f"q{i:03d}" for i in range(40)])
    assert splits == [sorted(expected)] * 2


def test_priors_never_see_evaluation_items() -> None:
    sweep = sweep_of("alpha")
    scores = score(sweep)
    held_out = [row["item"] for row in scores.calibration]
    evaluation = ~np.isin(sweep.items.astype(str), held_out)
    other = sweep_of("gamma")
    logp, choice = sweep.logp.copy(), sweep.choice.copy()
    logp[evaluation], choice[evaluation] = other.logp[evaluation], other.choice[evaluation]
    moved = score(replace(sweep, logp=logp, choice=choice))
    assert [row["prior"] for row in scores.priors] == ["pride", "batch", "batch-after-pride"]
    assert moved.priors == scores.priors
    assert moved.cells[0]["f"] != scores.cells[0]["f"]
    # And they are those of the slow loop on the calibration items' cyclic queries.
    rows = sweep.logp[~evaluation][:, :4].tolist()
    expected = {"pride": slow.pride_prior(rows), "batch": slow.batch_prior(rows)}
    for row in scores.priors[:2]:
        assert np.abs(np.subtract(row["values"], expected[row["prior"]])).max() <= TOLERANCE


def test_gold_labels_change_no_prior_and_no_answer() -> None:
    sweep = alpha()
    moved = replace(sweep, gold=((sweep.gold + 1) % 4).astype(np.int8))
    one, two = score(sweep), score(moved)
    assert one.priors == two.priors
    assert one.calibration == two.calibration
    assert one.ties == two.ties
    for row, other in zip(one.cells, two.cells, strict=True):
        for name in ("f", "g", "flip_rate", "choice_entropy", "b"):
            assert np.array_equal(row[name], other[name], equal_nan=True)
    a, b = (scoring.answer_cell(s, "toy", SEED) for s in (sweep, moved))
    for operation in OPERATIONS:
        assert (a.answers[operation].positions == b.answers[operation].positions).all()
    assert one.cells[0]["accuracy"] != two.cells[0]["accuracy"]


def test_cells_do_not_depend_on_the_other_cells() -> None:
    alone, together = score(alpha()), score(sweep_of("zeta"), alpha(), sweep_of("beta"))
    for table in ("cells", "priors", "calibration", "ties", "identities"):
        own = pick(getattr(together, table), checkpoint="alpha")
        for row, other in zip(own, getattr(alone, table), strict=True):
            assert repr(row) == repr(other)


def test_small_cells() -> None:
    unanswered = [(q, 0) for q in range(40) if q not in (4, 6)]
    scores = score(sweep_of("alpha", unanswered=unanswered))
    counts = {(row["operation"], row["subset"]): row["n_items"] for row in scores.cells}
    assert (counts["none", "all"], counts["pride", "evaluation"]) == (2, 1)
    one = score(sweep_of("alpha", unanswered=[*unanswered, (4, 0)]))
    assert (one.cells, one.calibration, one.halves) == ([], [], [])


def test_a_sweep_without_a_cyclic_ordering() -> None:
    with pytest.raises(ScoringError, match=r"here\.parquet: the sweep lacks cyclic ordering 2"):
        score(sweep_of("alpha", orderings=cyclic(4)[[0, 1, 3]]))


def test_a_sweep_without_all_reversals() -> None:
    pi = np.concatenate([cyclic(4), reversal(cyclic(4))[:3]])
    scores = score(sweep_of("alpha", orderings=pi))
    assert {row["operation"] for row in scores.cells} == set(OPERATIONS) - set(WITH_REVERSAL)


@pytest.mark.parametrize("name", ["pooled_sd", "balanced_rstd", "corrected_sd"])
def test_a_broken_statistic_stops_the_run(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    def broken(contents: Any, gold: Any, design: Any) -> factors.CellStatistics:
        found = factors.cell_statistics(contents, gold, design)
        return replace(found, **{name: getattr(found, name) + 1e-9})

    monkeypatch.setattr(scoring, "cell_statistics", broken)
    with pytest.raises(IdentityError, match=r"^first-token/toy/alpha/none/all: "):
        score(alpha())


def test_a_broken_count_stops_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    # Flips that show under the last ordering alone are overlooked.
    plain = factors.flipping
    monkeypatch.setattr(
        factors,
        "flipping",
        lambda z, design: plain(np.where(np.arange(4) < 3, z, z[:, :1]), design),
    )
    with pytest.raises(IdentityError, match=r"^first-token/toy/alpha/none/all: "):
        score(alpha())


def of_kind(simulated: bool, name: str = "alpha") -> Sweep:
    """A sweep that says of itself whether it is simulated."""
    sweep = sweep_of(name, **({"simulated": True} if simulated else {}))
    return replace(sweep, source=f"{name}.parquet")


@pytest.mark.parametrize("cohort", [True, False])
def test_simulated_and_real_answers_share_no_cohort(cohort: bool) -> None:
    assert score_benchmark("toy", [of_kind(cohort)], SEED, 2, cohort).simulated is cohort
    mixed = [of_kind(cohort), of_kind(not cohort, "beta")]
    with pytest.raises(ScoringError) as caught:
        score_benchmark("toy", mixed, SEED, 2, cohort)
    assert str(caught.value) == (
        f"beta.parquet: simulated and real answers never share a cohort; the cohort's key "
        f"`simulated` is {cohort}, this sweep's is {not cohort}"
    )


def part_of(sweep: Sweep, items: list[int], gold: dict[int, int] | None = None) -> Sweep:
    """A sweep of some items, other contents being correct for some of them."""
    golds = sweep.gold.copy()
    for item, content in (gold or {}).items():
        golds[item] = content
    return replace(
        sweep,
        items=sweep.items[items],
        gold=golds[items],
        logp=sweep.logp[items],
        choice=sweep.choice[items],
        source=f"{sweep.metadata['checkpoint']}.parquet",
    )


def test_sweeps_of_some_items_agree_on_what_is_correct() -> None:
    alpha, beta = sweep_of("alpha"), sweep_of("beta")
    scores = score(part_of(alpha, list(range(20))), part_of(beta, list(range(10, 40))))
    assert [row["n_items"] for row in scores.sweeps] == [20, 30]


@pytest.mark.parametrize("whole", [True, False])
def test_sweeps_that_contradict_each_other(whole: bool) -> None:
    alpha, beta, gamma = (sweep_of(name) for name in ("alpha", "beta", "gamma"))
    right = int(alpha.gold[25])
    wrong = (right + 1) % 4
    # Item 25 is known from the first sweep, or from the second alone.
    first = part_of(alpha, list(range(40 if whole else 20)))
    sweeps = [first, part_of(beta, list(range(40))), part_of(gamma, list(range(40)), {25: wrong})]
    with pytest.raises(ScoringError) as caught:
        score(*sweeps)
    assert str(caught.value) == (
        f"gamma.parquet: item 'q025' has gold {wrong}, another sweep of the benchmark says {right}: "
        f"they are not answers to the same items"
    )
