"""Numbers of Sections 1, 4, A.1 and B.3: by hand, and every one against slow loops."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from optionbias.orderings import all_orderings
from optionbias.tables.inputs import Inputs
from optionbias.tables.panel import text_1, text_4, text_a1, text_b3
from optionbias.tables.table import Block
from slow.tables.panel import TABLES
from strategies import SEED
from synthetic import answers, comparison, odd, score_run, standard

MAKERS = {"text-1": text_1, "text-4": text_4, "text-A.1": text_a1, "text-B.3": text_b3}


def values(block: Block) -> dict[tuple[str, str], float]:
    """(row, column) -> value."""
    return {(e.row, e.column): e.value for e in block.entries}


@pytest.mark.parametrize("section", list(MAKERS))
def test_every_number_is_the_slow_loops(section: str) -> None:
    block = MAKERS[section](standard().inputs(draws=40))
    expected = TABLES[section](standard())
    assert block.table == section
    assert set(values(block)) == set(expected)
    for e in block.entries:
        value = expected[e.row, e.column]
        whole = value if isinstance(value, tuple) else (value, math.nan, math.nan)
        found = (e.value, e.ci_low, e.ci_high)
        assert np.allclose(found, whole, rtol=0, atol=1e-10, equal_nan=True), e


def test_what_operations_take_away_by_hand() -> None:
    # Flip rates 1/2 and 1/2 fall to 1/4 and 1/20: their mean from 0.5 to 0.15, by 70%.
    # Placement ranges 0.2 and 0.4, mean 0.3: PriDe's 0.1 and 0.2 are 50% less; the product's 0.1
    # and 0.05, mean 0.075, 75% less; the mean of both, 0.1125, 62.5% less.
    frame = comparison(
        {
            ("A", "x", "pride"): {"placement_range": 0.1},
            ("A", "x", "reversal"): {"placement_range": 0.1, "flip_rate": 0.25},
            ("B", "x", "none"): {"placement_range": 0.4},
            ("B", "x", "pride"): {"placement_range": 0.2},
            ("B", "x", "reversal"): {"placement_range": 0.05, "flip_rate": 0.05},
        },
        [("A", "x"), ("B", "x")],
    )
    inputs = SimpleNamespace(comparison=frame, draws=400, seed=SEED)
    entries = {(e.row, e.column): e for e in text_1(inputs).entries}
    fall = "fall of placement range"
    # A quarter of the draws takes A alone, a quarter B alone: the interval's ends are their falls.
    # A: 1/2 to 1/4, and 0.2 to 0.1 and 0.1; B: 1/2 to 1/20, and 0.4 to 0.2 and 0.05.
    by_hand = {
        ("reversal product", "flipping items removed"): (70, 50, 90),
        ("PriDe", fall): (50, 50, 50),
        ("reversal product", fall): (75, 50, 87.5),
        ("PriDe and reversal product", fall): (62.5, 50, 68.75),
    }
    for key, expected in by_hand.items():
        e = entries[key]
        assert (e.value, e.ci_low, e.ci_high) == pytest.approx(expected), key
        assert (e.unit, e.n) == ("%", 2)
    assert set(entries) == set(by_hand)


def test_nothing_to_compare_has_no_numbers() -> None:
    assert text_1(odd("two options only").inputs()).entries == []


@pytest.fixture(scope="module")
def panel() -> Inputs:
    """Three checkpoints on x and, but for C, on y; more under other readouts."""
    every = {"readout": "all-orderings", "orderings": all_orderings(4)}
    sweeps = [answers(c, "x", 4) for c in "ABC"]
    # One item of y is unusable for B: 30 and 29 usable items are equally many cells.
    sweeps += [answers("A", "y", 4), answers("B", "y", 4, unanswered=[(0, 0)])]
    # D never ran first-token, nor did any checkpoint on z; an all-orderings sweep without a usable
    # item counts nowhere.
    sweeps += [answers("D", "x", 4, readout="five-shot"), answers("A", "z", 4, readout="five-shot")]
    sweeps += [answers("A", "x", 4, 5, **every), answers("D", "x", 4, 5, **every)]
    sweeps += [answers("A", "y", 4, 5, **every)]
    sweeps += [answers("C", "y", 4, 2, unanswered=[(0, 1), (1, 1)], **every)]
    details = {"A": {"family": "F"}, "B": {"family": "F"}, "C": {"family": "G"}}
    return score_run(sweeps, {**details, "D": {"family": "H"}, "y": {"title": "MMLU"}}).inputs()


def test_the_size_of_the_panel_by_hand(panel: Inputs) -> None:
    # A, B and C; families F and G; benchmarks x and y.
    assert values(text_4(panel)) == {
        ("panel", "checkpoints"): 3,
        ("panel", "families"): 2,
        ("panel", "benchmarks"): 2,
    }


def test_what_part_of_the_panel_enters_by_hand(panel: Inputs) -> None:
    assert values(text_a1(panel)) == {
        ("filtered pool", "smallest share of modal usable items"): 90,
        # All three ran x alone.
        ("benchmarks run on every checkpoint", "count"): 1,
        # A and D, on x and y.
        ("all-ordering analyses", "checkpoints"): 2,
        ("all-ordering analyses", "benchmarks"): 2,
        ("all-ordering item partition", "checkpoints"): 2,
        # The largest on a tie.
        ("MMLU", "items"): 30,
    }


def test_the_share_of_cells_within_the_bound_by_hand() -> None:
    mine = {
        "readout": "first-token", "operation": "none", "subset": "all",
        "identity": "divergence bound",
    }  # fmt: skip
    rows = [{**mine, "residual": r} for r in (-0.2, 0.0, 1e-13, 2e-12)]
    # Others do not count, however far they are out.
    for name, other in (
        ("readout", "five-shot"), ("operation", "vote"), ("subset", "evaluation"),
        ("identity", "flip cap"),
    ):  # fmt: skip
        rows.append({**mine, name: other, "residual": 1.0})
    frame = pd.DataFrame(rows)
    (e,) = text_b3(SimpleNamespace(read=lambda name: {"identities": frame}[name])).entries
    # Three of four; 1e-13 is a rounding error, 2e-12 is not.
    assert (e.row, e.column) == ("first-token cells", "KL bound holds")
    assert (e.value, e.unit, e.n) == (75, "%", 4)
