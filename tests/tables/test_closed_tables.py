"""Table 13, C.2 and C.5: every number against the slow loops, cohorts without closed models."""

import math

import pytest

from families import asked_twice, families
from optionbias.tables.closed import table13, text_c2
from optionbias.tables.table import WRITERS
from slow.tables import closed as slow
from synthetic import NAN, ODD, answers, odd, score_run, standard

EXCLUDES = ("closed models", "models whose reorder minus repeat interval excludes zero")


def test_every_number_of_table_13_is_the_slow_loops() -> None:
    tidy = table13(families().inputs(draws=slow.DRAWS)).tidy()
    expected = slow.table13(families())
    assert [(r["row"], r["column"]) for r in tidy.to_dict("records")] == list(expected)
    for entry in tidy.to_dict("records"):
        wanted = expected[entry["row"], entry["column"]]
        found = [entry["value"], entry["ci_low"], entry["ci_high"]]
        ends = wanted if isinstance(wanted, tuple) else (wanted, NAN, NAN)
        for a, b in zip(found, ends, strict=True):
            assert math.isnan(a) if math.isnan(b) else abs(a - b) <= 1e-10, entry
    # Two items miss an answer; the flip rate needs no second call on ordering 0.
    n = tidy.set_index(["row", "column"])["n"]
    assert n["Oracle", "flip rate"] == 29
    assert n["Oracle", "repeat disagreement"] == 28


@pytest.mark.parametrize("run", [standard, families])
def test_the_uniformity_test_rejects_as_the_slow_loop(run) -> None:
    blocks = text_c2(run().inputs())
    assert [b.table for b in blocks] == ["text-C.2", "text-C.5"]
    found = {(e.row, e.column): e.value for b in blocks for e in b.entries}
    expected = slow.text_c2(run())
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        if math.isnan(value):
            assert found[key] is None
        else:
            assert abs(found[key] - value) <= 1e-10
    if run is families:
        # Neither no cell nor every cell; one of the two models leans on a letter.
        assert 0 < found["first-token cells", "uniform position choice rejected after Holm"] < 100
        assert found["closed models", "models with a detected positional skew"] == 1


def test_closed_models_on_two_benchmarks_are_told_apart() -> None:
    run = score_run(
        [asked_twice("Oracle", "four"), asked_twice("Oracle", "other", drift=0.6)],
        {"four": {"title": "Four options"}},
    )
    tidy = table13(run.inputs(draws=20)).tidy()
    rows = list(dict.fromkeys(tidy["row"]))
    assert rows == ["Oracle, Four options", "Oracle, other", "closed models"]
    # Cells are two, models one.
    assert tidy.set_index(["row", "column"]).loc[EXCLUDES, "n"] == 1


def test_a_closed_model_that_was_not_asked_twice() -> None:
    run = score_run([answers("A", "four", 4, readout="closed")])
    tidy = table13(run.inputs(draws=20)).tidy().set_index(["row", "column"])
    assert tidy.loc[("A", "flip rate"), "value"] > 0
    for column in ("repeat disagreement", "reorder disagreement", "reorder minus repeat"):
        assert math.isnan(tidy.loc[("A", column), "value"])
        assert tidy.loc[("A", column), "note"] == "no ordering was asked twice"
    assert tidy.loc[EXCLUDES, "note"] == "no ordering was asked twice"


@pytest.mark.parametrize("name", list(ODD))
def test_cohorts_without_closed_models(name: str) -> None:
    inputs = odd(name).inputs(draws=20)
    table = table13(inputs)
    for writer in WRITERS.values():
        writer(table)
    (entry,) = table.blocks[0].entries
    assert (entry.row, entry.column) == EXCLUDES
    assert entry.value is None and entry.note == "no closed model was asked"
    cells, closed = (block.entries[0] for block in text_c2(inputs))
    assert closed.value is None and closed.note
    assert (cells.value is None) == bool(cells.note) == (cells.n == 0)
