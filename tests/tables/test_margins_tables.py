"""Tables 5, 7 and 10 and the prose of Section 5: every entry against the slow loop, odd cohorts."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from optionbias.tables.margins import accuracy_thirds, table5, table7, text_5
from optionbias.tables.reliability import table9
from optionbias.tables.second_prior import table10
from optionbias.tables.table import Table, latex, markdown, typst
from slow.tables.margins import TABLES
from synthetic import ODD, odd, standard

DRAWS = 40


def text(inputs) -> Table:
    """The prose of Section 5 as a table."""
    return Table("text", "", text_5(inputs))


MAKERS = {"5": table5, "7": table7, "10": table10, "text-5": text}


@pytest.mark.parametrize("number", list(MAKERS))
def test_every_entry_is_the_slow_loops(number: str) -> None:
    tidy = MAKERS[number](standard().inputs(DRAWS)).tidy().set_index(["row", "column"])
    expected = TABLES[number](standard())
    assert sorted(tidy.index) == sorted(expected)
    for key, values in expected.items():
        found = tidy.loc[key, ["value", "ci_low", "ci_high"]].astype(float)
        assert np.allclose(found, values, rtol=0, atol=1e-10, equal_nan=True), key
        assert np.isfinite(values).all(), key


def test_thirds_by_hand() -> None:
    # Five cells: sizes 2, 2 and 1. Cells 1 and 3 tie at .4 and keep their order, so 1 comes first.
    cells = pd.DataFrame({"accuracy": [0.9, 0.4, 0.1, 0.4, 0.6]})
    least, middle, most = (np.flatnonzero(third).tolist() for third in accuracy_thirds(cells))
    assert (least, middle, most) == ([1, 2], [3, 4], [0])


def inputs_of(rows: list[tuple[str, str, int, float]]) -> SimpleNamespace:
    """What Table 7 reads: (checkpoint, benchmark, K, every AUC) of each cell."""
    cells = pd.DataFrame([r[:3] for r in rows], columns=["checkpoint", "benchmark", "K"])
    names = [
        "auc_gap", "auc_entropy", "auc_stable_correct", "auc_stable_wrong", "auc_left_out",
        "auc_left_out_correct", "auc_left_out_wrong", "auc_always_wrong",
        "auc_left_out_stratified",
    ]  # fmt: skip
    margins = cells.drop(columns="K").assign(**{n: [r[3] for r in rows] for n in names})
    return SimpleNamespace(
        first_token=cells.astype({"checkpoint": "string", "benchmark": "string"}),
        read=lambda name: margins,
        draws=30,
        seed=1,
        few_checkpoints_note=lambda checkpoints: "",
    )


def test_table_7_leaves_out_two_options_and_undefined_cells_by_hand() -> None:
    # K >= 3 and defined: .6, .7 and .9, whose median is .7.
    rows = [("A", "x", 4, 0.9), ("A", "y", 2, 0.1), ("B", "x", 4, math.nan), ("B", "z", 3, 0.6)]
    tidy = table7(inputs_of([*rows, ("C", "x", 4, 0.7)])).tidy()
    assert (tidy["value"] == 0.7).all()
    assert (tidy["n"] == 3).all()
    # One checkpoint alone: every draw is that cell.
    tidy = table7(inputs_of([("A", "x", 4, 0.9)])).tidy()
    assert (tidy[["value", "ci_low", "ci_high"]] == 0.9).all(axis=None)


def test_rows_and_columns_of_the_paper() -> None:
    tidy = table5(standard().inputs()).tidy()
    assert list(zip(tidy["row"], tidy["column"], strict=True))[:5] == [
        (row, "canonical-order AUC, flipping against stable")
        for row in (
            "Top-two gap, all cells", "Top-two gap, least accurate third",
            "Top-two gap, middle accurate third", "Top-two gap, most accurate third",
            "Entropy, all cells",
        )
    ]  # fmt: skip
    blocks = text_5(standard().inputs())
    assert [b.table for b in blocks] == ["text-5.1", "text-5.2"]


def test_one_number_has_one_interval() -> None:
    inputs = standard().inputs()
    prose = text(inputs).tidy().set_index("column")
    tables = [t(inputs).tidy().set_index("row") for t in (table9, table5)]
    columns = ["value", "ci_low", "ci_high", "n"]
    nine = tables[0][tables[0]["column"] == "spearman with accuracy"]
    pairs = [
        ("spearman(flip rate, accuracy)", nine.loc["Flip rate"]),
        ("median AUC top-two gap, flipping vs stable", tables[1].loc["Top-two gap, all cells"]),
    ]
    for column, row in pairs:
        assert prose.loc[column, columns].tolist() == row[columns].tolist()


def test_few_cells_and_checkpoints_are_said() -> None:
    inputs = standard().inputs()
    assert table5(inputs).note == table7(inputs).note
    assert table5(inputs).note.startswith("rests on 5 checkpoints")
    assert table10(inputs).note == "rests on 19 cells"


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("number", list(MAKERS))
def test_cohorts_that_leave_statistics_undefined(number: str, name: str) -> None:
    table = MAKERS[number](odd(name).inputs())
    for entry in table.tidy().to_dict("records"):
        numbers = [entry[c] for c in ("value", "ci_low", "ci_high")]
        assert not np.isinf(numbers).any()
        if np.isnan(entry["value"]):
            assert "undefined" in entry["note"]
            assert np.isnan(numbers).all()
    for write in (markdown, latex, typst):
        assert "nan" not in write(table)
    rows = set(table.tidy()["row"])
    # A row does not vanish because it is undefined.
    assert rows == set(MAKERS[number](standard().inputs()).tidy()["row"])


def test_two_options_have_no_table_7_but_a_table_5() -> None:
    inputs = odd("two options only").inputs()
    assert table7(inputs).tidy()["value"].isna().all()
    five = table5(inputs).tidy().set_index("row")["value"]
    assert five.isna().to_dict() == {row: row.endswith("K=4") for row in five.index}
    # Two letters: the permuted prior is the prior turned round.
    cosine = [five[f"Cosine of g and {p}, all cells"] for p in ("prior", "letter-permuted prior")]
    assert cosine[0] == pytest.approx(-cosine[1])
