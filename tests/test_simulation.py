"""The generative model of simulated cohorts: its equations, query by query, and its recovery."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from optionbias import simulation
from optionbias.cell import answer_cell
from optionbias.cohort import read_cohort
from optionbias.orderings import cyclic, reversal
from optionbias.seeds import generator
from optionbias.simulation import READOUT, ability, known_prior, simulated_sweep, truth
from optionbias.sweep import read_sweep, write_sweep
from strategies import SEED

COHORT = Path(__file__).resolve().parents[1] / "workflow" / "cohorts" / "simulated.yaml"
ONE = {"name": "One-3B", "family": "One", "params_b": 3.0, "training": "base"}
POST = {**ONE, "name": "One-3B-post", "training": "post"}
CLOSED = {"name": "Shut", "family": "Shut", "training": "post", "closed": True}
FOUR = {"name": "four", "K": 4, "size": 9, "difficulty": 0.3}


def test_every_query_by_the_equations() -> None:
    """x_r = u(content at r) + b_qr + NOISE: one query at a time from the same named streams."""

    def stream(name: str, *shape: int) -> Any:
        rng = generator(SEED, f"simulation/{name}")
        return rng.standard_normal(shape, dtype=np.float32).tolist()

    theta = 1.1 * math.log10(3.0) + 0.25 * stream("ability/family/One", 1)[0]
    theta += 0.12 * stream("ability/checkpoint/One-3B", 1)[0]
    assert ability(ONE, SEED) == pytest.approx(theta, abs=1e-6)
    parts = [
        stream("preference/family/One/4", 4),
        stream("preference/checkpoint/One-3B/4", 4),
        stream("preference/cell/One-3B/four", 4),
    ]
    summed = [sum(values) for values in zip(*parts, strict=True)]
    mean = sum(summed) / 4
    sd = math.sqrt(sum((x - mean) ** 2 for x in summed) / 4)
    # (K / 4) ** LEAN_BY_K is 1 for four options.
    lean = 0.35 * math.exp(-0.9 * theta + 0.8 * stream("lean/One-3B/four", 1)[0])
    preference = [lean * (x - mean) / sd for x in summed]
    assert truth(ONE, FOUR, "first-token", SEED).preference == pytest.approx(preference, abs=1e-6)

    gold = generator(SEED, "simulation/gold/four").integers(0, 4, 9, dtype=np.int8).tolist()
    difficulty = [0.3 + d for d in stream("difficulty/four", 9)]
    attraction, private = stream("attraction/four", 9, 4), stream("private/One-3B/four", 9, 4)
    letters = stream("letters/One-3B/four", 9, 4)
    sweep = simulated_sweep(ONE, FOUR, "first-token", SEED)
    assert sweep.logp is not None
    assert sweep.gold.tolist() == gold
    for s, pi in enumerate(sweep.orderings.tolist()):
        noise = stream(f"query/first-token/One-3B/four/{'-'.join(map(str, pi))}/0", 9, 4)
        for q in range(9):
            x = [0.0] * 4
            for j in range(4):
                u = 0.6 * attraction[q][j] + 0.5 * private[q][j]
                if j == gold[q]:
                    u += math.log(1 + math.exp(theta - difficulty[q]))
                r = pi[j]
                x[r] = math.exp(0.35 * theta) * u + preference[r] + lean * letters[q][r]
                x[r] += 0.6 * noise[q][r]
            total = math.log(sum(math.exp(v) for v in x))
            assert sweep.logp[q, s] == pytest.approx([v - total for v in x], abs=1e-5)


def test_all_orderings_hold_the_queries_of_the_first_token_sweep() -> None:
    first = simulated_sweep(ONE, FOUR, "first-token", SEED)
    whole = simulated_sweep(ONE, FOUR, "all-orderings", SEED)
    assert first.logp is not None
    assert whole.logp is not None
    assert len(whole.orderings) == 24
    columns = whole.index_of(first.orderings)
    assert (whole.logp[:, columns] == first.logp).all()
    assert (first.orderings[4:] == reversal(cyclic(4))).all()


def test_a_cell_does_not_depend_on_other_cells_or_on_the_order_of_calls() -> None:
    alone = simulated_sweep(ONE, FOUR, "five-shot", SEED)
    simulated_sweep(POST, FOUR, "five-shot", SEED)
    again = simulated_sweep(ONE, FOUR, "five-shot", SEED)
    assert alone.logp is not None
    assert again.logp is not None
    assert (alone.logp == again.logp).all()
    assert ability(POST, SEED) > ability(ONE, SEED)


@pytest.mark.parametrize("readout", READOUT)
@pytest.mark.parametrize("k", [2, 4])
def test_every_readout_is_a_sweep_of_the_file_format(readout: str, k: int, tmp_path: Path) -> None:
    checkpoint = CLOSED if readout == "closed" else ONE
    sweep = simulated_sweep(checkpoint, {**FOUR, "K": k, "size": 60}, readout, SEED)
    write_sweep(tmp_path / "a.parquet", sweep)
    read = read_sweep(tmp_path / "a.parquet")
    assert read.metadata["simulated"] is True
    assert (read.logp is None) == READOUT[readout].generated
    assert (read.repeats == {k: 0}) == (readout == "closed")


def test_some_generated_answers_are_missing_but_no_closed_one() -> None:
    many = {**FOUR, "size": 400}
    sweeps = [
        simulated_sweep({**ONE, "name": f"M{i}"}, many, "chain-of-thought", SEED) for i in range(60)
    ]
    shares = [float((sweep.choice < 0).mean()) for sweep in sweeps]
    # At most one half is asked for; 1,600 queries have a standard error of 0.0125.
    assert min(shares) < 0.01 < 0.1 < max(shares) < 0.55
    assert (simulated_sweep(CLOSED, FOUR, "closed", SEED).choice >= 0).all()


def test_what_went_in_comes_out() -> None:
    """Preferences, priors and the order of abilities, from twelve checkpoints and 600 items."""
    benchmark = {"name": "b", "K": 4, "size": 600, "difficulty": 0.0}
    abilities, accuracies = [], []
    for i, size in enumerate(np.geomspace(0.5, 70, 12)):
        checkpoint = {**ONE, "name": f"M{i}", "family": f"F{i}", "params_b": float(size)}
        known = truth(checkpoint, benchmark, "first-token", SEED)
        sweep = simulated_sweep(checkpoint, benchmark, "first-token", SEED)
        cell = answer_cell(sweep, "b", SEED, ("none", "pride"))
        assert cell is not None
        prior = cell.answers["pride"].priors["pride"]
        # 30 calibration items, each with its own preference of SD lean: what is left of that in the
        # mean is lean / sqrt(30), about a fifth of the preference itself.
        assert np.corrcoef(np.log(prior), known.preference)[0, 1] > 0.8
        assert np.abs(prior - known_prior(known, SEED)).sum() / 2 < 0.1
        abilities.append(known.ability)
        accuracies.append(float((cell.answers["none"].positions == _gold(cell)).mean()))
    assert spearmanr(abilities, accuracies).statistic > 0.9


def _gold(cell: Any) -> Any:
    """Position of the correct content in each cyclic ordering."""
    return (cell.gold[:, None] + np.arange(4)) % 4


def test_the_known_prior_is_uniform_without_a_preference() -> None:
    flat = simulation.Truth(0.0, np.zeros(5))
    assert known_prior(flat, SEED) == pytest.approx(np.full(5, 0.2), abs=0.01)


def test_the_cohort_has_the_papers_size() -> None:
    cohort = read_cohort(COHORT, {})
    open_weight = [c for c in cohort.checkpoints.values() if not c.get("closed")]
    assert (len(open_weight), len({c["family"] for c in open_weight})) == (41, 7)
    sizes = {b["title"]: (b["K"], b["size"]) for b in cohort.benchmarks.values()}
    # Rows of the paper's Table 4, and Section A.1 for MMLU.
    assert sizes["PIQA"] == (2, 1838)
    assert sizes["HellaSwag"] == (4, 10042)
    assert sizes["MMLU"] == (4, 535)
    assert len(sizes) == 12
    counts = {
        readout: len(list(cells))
        for readout, cells in itertools.groupby(c.readout for c in cohort.cells)
    }
    assert counts["first-token"] == 41 * 12
    assert counts["direct-answer"] == 41 * 5 + 2
    assert counts["all-orderings"] == 8 * 4
    assert counts["closed"] == 3
