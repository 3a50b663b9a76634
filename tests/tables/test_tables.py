"""Tables 2, 3 and 4: every number against slow loops, texts, cohorts that lack things."""

import math

import numpy as np
import pytest

from optionbias.tables.description import table3, table4
from optionbias.tables.operations import table2
from slow.tables.operations import TABLES as OPERATIONS
from slow.tables.panel import TABLES as PANEL
from synthetic import ODD, OPERATION_TEXTS, answers, odd, score_run, standard

MAKERS = {"2": table2, "3": table3, "4": table4}


# --- against the slow loops ------------------------------------------------------------------


@pytest.mark.parametrize("number", list(MAKERS))
def test_every_number_is_the_slow_loops(number: str) -> None:
    table = MAKERS[number](standard().inputs(draws=40))
    found = {
        (e.row, e.column): (e.value, e.ci_low, e.ci_high)
        for block in table.blocks
        for e in block.entries
        if not isinstance(e.value, str)
    }
    expected = {**OPERATIONS, **PANEL}[number](standard())
    assert set(found) == set(expected)
    for key, value in expected.items():
        whole = value if isinstance(value, tuple) else (value, math.nan, math.nan)
        ours = np.array(found[key], dtype=float)
        assert np.allclose(ours, whole, rtol=0, atol=1e-10, equal_nan=True), key


# --- texts and values ------------------------------------------------------------------------


def test_table_2_is_laid_out_as_the_paper_does() -> None:
    table = table2(standard().inputs())
    assert [b.heading for b in table.blocks] == ["Operations", "Paired differences"]
    pairs = [
        ("Reversal product", "PriDe"),
        ("Reversal product", "Batch calibration"),
        ("PriDe then reversal", "PriDe"),
        ("PriDe then reversal", "Reversal product"),
        ("Batch then reversal", "Batch calibration"),
        ("Batch then reversal", "Reversal product"),
        ("PriDe then batch", "PriDe"),
        ("PriDe then batch", "Batch calibration"),
    ]
    rows = [*OPERATION_TEXTS.values(), *(f"{one} minus {other}" for one, other in pairs)]
    columns = {
        "dlog flip rate": "", "dlog skew": "", "placement range": "pp",
        "rank reversals": "% of pairs", "d accuracy": "pp", "d stable-wrong": "pp",
    }  # fmt: skip
    entries = [e for block in table.blocks for e in block.entries]
    assert [(e.row, e.column) for e in entries] == [(r, c) for r in rows for c in columns]
    assert [e.unit for e in entries] == [*columns.values()] * len(rows)
    # Five checkpoints: said at every interval.
    few = "rests on 5 checkpoints, so intervals over checkpoints are only indicative"
    notes = table.tidy().set_index(["row", "column"])["note"]
    assert notes["PriDe", "dlog skew"].startswith(few)


def test_table_3_by_hand() -> None:
    table = table3(standard().inputs())
    # By family, then size, then name.
    assert list(dict.fromkeys(table.tidy()["row"])) == [
        "Alpha-1B", "Alpha-1B-it", "Gamma.8B", "Beta_2B", "Zeta-70B",
    ]  # fmt: skip
    tidy = table.tidy().set_index(["row", "column"])
    assert tidy.loc[("Gamma.8B", "parameters"), ["value", "unit"]].tolist() == [0.25, "B"]
    row = tidy.loc["Alpha-1B-it"]["value"]
    assert row.to_dict() == {
        "family": "Alpha",
        "parameters": 1.0,
        "training": "post-trained",
        "base": "Alpha-1B",
        # The first twelve digits of what the sweeps name, once though five sweeps name it.
        "revision": "alpha-1b-it000000000",
    }
    assert tidy.loc[("Alpha-1B", "training"), "value"] == "base"
    assert tidy.loc[("Alpha-1B", "base"), "value"] == ""


def test_two_revisions_of_a_checkpoint_are_both_named() -> None:
    sweeps = [answers("A", b, 4, revision=r) for b, r in (("x", "b" * 40), ("y", "a" * 40))]
    tidy = table3(score_run(sweeps).inputs()).tidy().set_index(["row", "column"])
    assert tidy.loc[("A", "revision"), "value"] == "aaaaaaaaaaaa, bbbbbbbbbbbb"


def test_a_revision_that_no_sweep_names_is_not_stated() -> None:
    tidy = (
        table3(score_run([answers("A", "x", 4, revision=None)]).inputs())
        .tidy()
        .set_index(["row", "column"])
    )
    assert tidy.loc[("A", "revision"), "value"] == "not stated"


def test_a_revision_that_some_sweeps_name_is_named() -> None:
    sweeps = [answers("A", "x", 4, revision=None), answers("A", "y", 4, revision="abc")]
    tidy = table3(score_run(sweeps).inputs()).tidy().set_index(["row", "column"])
    assert tidy.loc[("A", "revision"), "value"] == "abc"


def test_table_4_by_hand() -> None:
    tidy = table4(standard().inputs()).tidy().set_index(["row", "column"])["value"]
    assert list(dict.fromkeys(row for row, _ in tidy.index)) == [
        "Four & more", "other", "ten", "two",
    ]  # fmt: skip
    # Five cells, four with all 40 items; five-shot and all-orderings sweeps are not counted.
    assert tidy["Four & more"].to_dict() == {
        "K": 4, "items": 40, "models": 5, "split": "test", "source": "a book", "licence": "MIT",
    }  # fmt: skip
    # Four checkpoints were run on it; one item of one of them is unusable.
    assert tidy["other"].tolist()[:3] == [4, 26, 4]
    assert tidy["ten"].tolist()[:3] == [10, 22, 5]
    assert tidy["two"].tolist() == [2, 30, 5, "not stated", "not stated", "not stated"]


def test_modal_items_on_a_tie_are_the_largest() -> None:
    run = score_run([answers("A", "x", 4), answers("B", "x", 4, unanswered=[(0, 0)])])
    tidy = table4(run.inputs()).tidy().set_index("column")["value"]
    assert run.inputs().first_token["n_items"].tolist() == [30, 29]
    assert tidy["items"] == 30


def test_few_checkpoints_note() -> None:
    inputs = standard().inputs()
    assert inputs.few_checkpoints_note(["a", "a"]).startswith("rests on 1 checkpoint, ")
    assert inputs.few_checkpoints_note("abcdefghi").startswith("rests on 9 checkpoints, ")
    assert inputs.few_checkpoints_note("abcdefghij") == ""


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ODD))
def test_cohorts_that_leave_statistics_undefined(name: str) -> None:
    tidy = table2(odd(name).inputs()).tidy()
    if name in ("two options only", "no reversals", "no first-token readout"):
        assert len(tidy) == 1
        assert "at least three options" in tidy["note"][0]
    if name in ("one checkpoint", "one cell"):
        level = tidy[(tidy["column"] == "rank reversals")]
        assert level["value"].isna().all()
    if name == "no cell flips":
        changes = tidy[tidy["column"].isin(["dlog flip rate", "dlog skew"])]
        assert changes["value"].isna().all()
        assert (tidy.loc[tidy["column"] == "placement range", "value"] == 0).all()
