"""Table 16 and D.5: every number against the slow loops, cohorts that lack comparisons."""

import math

import pytest

from families import families
from optionbias.tables.changes import table16, text_d5
from optionbias.tables.table import WRITERS
from slow.tables import changes as slow
from synthetic import ODD, odd, standard

RUNS = {"standard": standard, "families": families}


def numbers(tidy) -> dict[tuple[str, str], float]:
    """The values by row and column."""
    return {(r["row"], r["column"]): r["value"] for r in tidy.to_dict("records")}


def differs(found: float, expected: float) -> float:
    """Absolute difference; none between two undefined values."""
    return 0.0 if math.isnan(found) and math.isnan(expected) else abs(found - expected)


@pytest.mark.parametrize("run", list(RUNS))
def test_every_number_is_the_slow_loops(run: str) -> None:
    inputs = RUNS[run]().inputs(draws=slow.DRAWS)
    block = text_d5(inputs)
    assert block.table == "text-D.5"
    text = {(e.row, e.column): e.value for e in block.entries}
    for found, expected in (
        (numbers(table16(inputs).tidy()), slow.table16(RUNS[run]())),
        (text, slow.text_d5(RUNS[run]())),
    ):
        assert found.keys() == expected.keys()
        assert max(differs(found[key], expected[key]) for key in found) <= 1e-10


def test_the_families_have_every_kind_of_comparison() -> None:
    tidy = table16(families().inputs(draws=slow.DRAWS)).tidy().set_index(["row", "column"])
    # Two pairs and a trend of the base checkpoints (the distilled one among them) on each of
    # three benchmarks, six checkpoints to pair, six cells to correct.
    counts = {
        "Post-training pairs": 6, "Checkpoint pairs": 45, "Scale trends": 3, "PriDe cells": 18,
    }  # fmt: skip
    for row, n in counts.items():
        assert set(tidy.loc[row].drop("opposite if resolved", errors="ignore")["n"]) == {n}
    assert tidy.notna().loc[:, "value"].all()
    # The last column rests on the resolved ones alone, and trends are not resampled.
    resolved = tidy.xs("opposite if resolved", level="column")["n"]
    assert set(resolved.index) == set(counts) - {"Scale trends"}
    assert 0 < resolved["Checkpoint pairs"] < 45


@pytest.mark.parametrize("name", list(ODD))
def test_cohorts_that_lack_comparisons(name: str) -> None:
    inputs = odd(name).inputs(draws=20)
    table = table16(inputs)
    for writer in WRITERS.values():
        writer(table)
    for entry in [*table.blocks[0].entries, *text_d5(inputs).entries]:
        assert math.isnan(entry.value) == (entry.n == 0) == bool(entry.note), entry
    if name == "no cell flips":
        # Nothing changes: no move is opposite, but three pairs and three cells were compared.
        found = table.tidy().set_index(["row", "column"])
        for row in ("Checkpoint pairs", "PriDe cells"):
            assert found.loc[(row, "pooled SD opposite"), ["value", "n"]].tolist() == [0, 3]
            assert found.loc[(row, "opposite if resolved"), "n"] == 0
