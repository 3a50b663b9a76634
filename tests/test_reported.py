"""Agreement with the reported values: each verdict by hand, the file's faults, the page."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from optionbias.reported import (
    AGREEMENT_COLUMNS,
    COLUMNS,
    VERDICTS,
    ReportedError,
    Value,
    agreement,
    page,
    printed_decimals,
    read_reported,
    read_tables,
    verdict,
)
from strategies import PROPERTY
from test_scripts import run

FILE = Path(__file__).parents[1] / "paper" / "reported" / "two_factors.csv"
PAPER = {"name": "paper", "replicates": True}
OTHERS = (
    {"name": "mini"},
    {"name": "simulated", "replicates": False},
    {"name": "paper"},  # the name alone does not make it the paper's
    {"name": "mine", "replicates": True},
    {"name": "paper", "replicates": "true"},
)


def reported(*lines: str, folder: Path) -> pd.DataFrame:
    """The reported values of a file of these lines."""
    path = folder / "reported.csv"
    path.write_text("\n".join([",".join(COLUMNS), *lines]) + "\n", encoding="utf-8")
    return read_reported(path)


def tables(*rows: tuple[str, ...]) -> pd.DataFrame:
    """Rows of our tables: table, row, column, value, then ci_low, ci_high, unit, n where given."""
    names = ("table", "row", "column", "value", "ci_low", "ci_high", "unit", "n")
    filled = [dict(zip(names, (*row, "", "", "", ""), strict=False)) | {"note": ""} for row in rows]
    return pd.DataFrame(filled, columns=[*names, "note"], dtype=str)


# --- verdicts --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours", "decimals", "expected"),
    [
        # Inside the reported interval, whatever its own value.
        (Value(-0.316, -0.397, -0.238), Value(-0.390, -0.5, -0.3), 3, "inside"),
        # An end printed as -0.397 stands for everything from -0.3975 on.
        (Value(-0.316, -0.397, -0.238), Value(-0.3974), 3, "inside"),
        (Value(-0.316, -0.397, -0.238), Value(-0.3976), 3, "same sign"),
        # No interval: 0.848 to three digits is 0.8475 to 0.8485.
        (Value(0.848), Value(0.84851), 3, "same sign"),
        (Value(0.848), Value(0.8484), 3, "inside"),
        (Value(0.848), Value(0.8475), 3, "inside"),
        (Value(1838.0), Value(1838.0), 0, "inside"),
        # -0.41 is outside [-0.397, -0.238], but [-0.45, -0.39] reaches into it.
        (Value(-0.316, -0.397, -0.238), Value(-0.41, -0.45, -0.39), 3, "intervals overlap"),
        (Value(-0.316, -0.397, -0.238), Value(-0.45, -0.5, -0.4), 3, "same sign"),
        # Ours holds the reported value, which has no interval.
        (Value(16.7), Value(17.4, 16.2, 18.3), 1, "intervals overlap"),
        (Value(16.7), Value(18.4, 17.2, 19.3), 1, "same sign"),
        # Without an interval of ours nothing overlaps.
        (Value(0.132, 0.103, 0.165), Value(0.2), 3, "same sign"),
        (Value(0.132, 0.103, 0.165), Value(-0.2, -0.3, -0.1), 3, "differs"),
        # Zero has no side.
        (Value(0.0), Value(0.02, 0.01, 0.03), 2, "differs"),
        (Value(-0.0), Value(-0.004), 2, "inside"),
        (Value(4e-16), Value(3.4e-16), 16, "same sign"),
    ],
)
def test_verdicts_by_hand(theirs: Value, ours: Value, decimals: int, expected: str) -> None:
    assert verdict(theirs, ours, decimals) == expected


def test_words_are_stated_and_never_scored() -> None:
    said = verdict(Value(90.0), Value(87.31, 80.0, 92.0), 0, "approximate words: nine in ten")
    assert said == "in words: reported about 90, ours 87.3"
    said = verdict(Value(0.001), Value(0.0001), 3, "upper bound: printed <0.001")
    assert said == "in words: reported at most 0.001, ours 0.0001"
    # Equal to every digit is still no score.
    assert verdict(Value(33.0), Value(33.0), 0, "approximate: about a third").startswith("in words")


numbers = st.floats(-10, 10)


@PROPERTY
@given(numbers, numbers, st.floats(0, 3), st.floats(0, 3), st.integers(0, 4), st.booleans())
def test_a_verdict_is_the_same_with_all_signs_turned(x, y, a, b, decimals, plain) -> None:
    theirs = Value(x) if plain else Value(x, x - a, x + a)
    ours = Value(y, y - b, y + b)
    found = verdict(theirs, ours, decimals)
    turned = [Value(-v.value, -v.high, -v.low) for v in (theirs, ours)]
    assert verdict(*turned, decimals) == found
    assert found in VERDICTS
    # What is printed agrees with itself.
    assert verdict(theirs, Value(round(x, decimals)), decimals) == "inside"


def test_printed_decimals_are_the_most_of_a_column(tmp_path: Path) -> None:
    rows = reported(
        "two-factors,7,a,AUC,0.865,0.844,0.883,,",
        "two-factors,7,b,AUC,0.76,0.75,0.8,,",  # 0.760, 0.750, 0.800
        "two-factors,7,b,other,1,,,,",
        "two-factors,9,b,AUC,0.9,,,,",  # another table
        "two-factors,11,a,P,0.71,,,,",
        "two-factors,11,b,P,0.001,,,,upper bound: printed <0.001",  # words: not counted
        "two-factors,19,a,residual,0.07,,,,",
        "two-factors,19,b,residual,0.157,,,,",
        "two-factors,19,c,residual,5.5e-16,,,,",  # its own
        "two-factors,19,d,balanced,,,,,yes",
        folder=tmp_path,
    )
    joined = agreement(rows, tables(), PAPER)
    assert printed_decimals(joined) == [3, 3, 0, 1, 2, 3, 3, 3, 17, 0]


# --- joined with our tables ------------------------------------------------------------------


def example(folder: Path, cohort: dict) -> pd.DataFrame:
    """One row of each kind."""
    rows = reported(
        "two-factors,2,PriDe,dlog skew,-0.38,,,,",
        "two-factors,5,All,AUC,0.848,0.828,0.863,,",
        "two-factors,2,PriDe,d accuracy,0.5,,,pp,",
        "two-factors,6,skew,alpha,0.132,0.103,0.165,,",
        "two-factors,text-D.4,items,settled,90,,,%,approximate words: nine in ten",
        "two-factors,text-E.1,cells,undercount,0.095,,,,",
        "two-factors,19,Cyclic,position balanced,,,,,yes",
        "two-factors,19,Random,position balanced,,,,,no",
        "two-factors,3,Qwen3-8B,parameters,8,,,B,",
        "two-factors,2,Vote,dlog skew,0.1,,,,",
        folder=folder,
    )
    ours = tables(
        ("2", "PriDe", "dlog skew", "-0.3812", "-0.5", "-0.3", "", "12"),
        ("5", "All", "AUC", "0.81", "0.80", "0.83"),
        ("2", "PriDe", "d accuracy", "1.5", "1.2", "1.8", "pp"),
        ("6", "skew", "alpha", "-0.2"),
        ("text-D.4", "items", "settled", "87.3", "", "", "%", "7"),
        # A percentage where the paper gives a share.
        ("text-E.1", "cells", "undercount", "9.51", "9.1", "9.9", "pp"),
        ("19", "Cyclic", "position balanced", "yes"),
        ("19", "Random", "position balanced", "yes"),
        ("2", "Vote", "dlog skew", ""),  # undefined here
        ("2", "Vote", "nothing reported", "1"),
    )
    return agreement(rows, ours, cohort)


def test_each_reported_value_is_joined(tmp_path: Path) -> None:
    joined = example(tmp_path, PAPER)
    assert tuple(joined.columns) == AGREEMENT_COLUMNS
    assert joined["verdict"].tolist() == [
        "inside", "intervals overlap", "same sign", "differs",
        "in words: reported about 90, ours 87.3", "inside", "inside", "differs", "not run",
        "not run",
    ]  # fmt: skip
    first = joined.iloc[0]
    assert [first["ours"], first["ours_low"], first["ours_high"]] == [-0.3812, -0.5, -0.3]
    assert first["n"] == 12 and pd.isna(joined["n"][1])
    share = joined.iloc[5]
    assert share["reported"] == "0.095"
    assert [share["ours"], share["ours_high"]] == pytest.approx([0.0951, 0.099], abs=1e-15)
    assert joined.loc[6, ["reported", "ours", "note"]].tolist() == ["yes", "yes", ""]
    assert math.isnan(joined["ours"][8])


@pytest.mark.parametrize("cohort", OTHERS)
def test_no_verdict_on_another_cohort(cohort: dict, tmp_path: Path) -> None:
    joined = example(tmp_path, cohort)
    assert joined["verdict"].tolist() == ["other cohort"] * 8 + ["not run"] * 2
    text = page(joined, cohort)
    assert "**This cohort is not the paper's.**" in text
    assert not set(VERDICTS) - {"other cohort", "not run"} & set(
        re.findall(r"\| ([a-z ]+) \|", text)
    )
    assert "replicat" not in text


def test_one_value_given_twice_is_an_error(tmp_path: Path) -> None:
    rows = reported("two-factors,2,PriDe,dlog skew,-0.38,,,,", folder=tmp_path)
    twice = tables(("2", "PriDe", "dlog skew", "-0.3"), ("2", "PriDe", "dlog skew", "-0.4"))
    with pytest.raises(ReportedError, match="two different values of table 2, PriDe, dlog skew"):
        agreement(rows, twice, PAPER)
    # The same entry in two blocks is no contradiction.
    same = tables(("2", "PriDe", "dlog skew", "-0.3"), ("2", "PriDe", "dlog skew", "-0.3"))
    assert agreement(rows, same, PAPER)["ours"].tolist() == [-0.3]


# --- the file --------------------------------------------------------------------------------


def test_the_reported_file_holds_tables_and_sections_of_the_paper() -> None:
    rows = read_reported(FILE)
    assert len(rows) == 321
    for table in rows["table"]:
        known = table.isdigit() and 1 <= int(table) <= 21
        assert known or re.fullmatch(r"text-([1-9]|[A-G])(\.[1-9])?", table), table
    # Only numbers, names and short notes: no sentence of the paper.
    assert rows[["row", "column", "note"]].map(len).to_numpy().max() < 80


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("two-factors,22,a,b,1,,,,", "`table` is '22', neither 1 to 21 nor text- and a section"),
        ("two-factors,text-,a,b,1,,,,", "`table` is 'text-', neither"),
        ("two-factors,text,a,b,1,,,,", "`table` is 'text', neither"),
        ("other,2,a,b,1,,,,", "`paper` is 'other', not two-factors"),
        ("two-factors,2,a,,1,,,,", "`column` is empty"),
        ("two-factors,2,a,b,x,,,,", "`value` is not a number: 'x'"),
        ("two-factors,2,a,b,nan,,,,", "`value` is not a number: 'nan'"),
        ("two-factors,2,a,b,1,0.5,,,", "`ci_low` and `ci_high` go together"),
        ("two-factors,2,a,b,1,2,1,,", "`ci_low` is larger than `ci_high`"),
        ("two-factors,2,a,b,,,,,", "`value` is empty: then the note alone is the reported word"),
        ("two-factors,2,a,b,1,,,", "8 fields instead of 9"),
        ("two-factors,2,ok,ok,2,,,,", "the same table, row and column as line 2"),
    ],
)
def test_a_fault_of_the_file_is_one_line(line: str, fault: str, tmp_path: Path) -> None:
    with pytest.raises(ReportedError) as error:
        reported("two-factors,2,ok,ok,1,,,,", line, folder=tmp_path)
    message = str(error.value)
    assert message.startswith(f"{tmp_path}/reported.csv: line 3: {fault}")
    assert "\n" not in message


@pytest.mark.parametrize("content", [b"", b"a,b\n", b"\xff\n"])
def test_a_file_of_something_else_is_one_line(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(content)
    with pytest.raises(ReportedError, match=r"x\.csv: (the header|cannot be read)"):
        read_reported(path)
    with pytest.raises(ReportedError, match=r"no\.csv: cannot be read"):
        read_reported(tmp_path / "no.csv")


def test_a_folder_without_tables_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ReportedError, match="no table"):
        read_tables(tmp_path)


# --- the page and the script -----------------------------------------------------------------


def cells_of(text: str) -> list[list[str]]:
    """Rows of the page's tables as a GitHub reader would see them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and token.level > 2:
            rows[-1].append("".join(c.content for c in token.children or []))
    return rows


def test_the_page_shows_both_values_and_counts_verdicts(tmp_path: Path) -> None:
    text = page(example(tmp_path, PAPER), PAPER)
    rows = cells_of(text)
    assert [row[:2] for row in rows[1:7]] == [
        ["inside", "3"], ["intervals overlap", "1"], ["same sign", "1"], ["differs", "2"],
        ["in words", "1"], ["not run", "2"],
    ]  # fmt: skip
    assert "Of 10 reported values, 8 have a value of this run beside them." in text
    assert ["PriDe: dlog skew", "-0.38", "-0.38 [-0.50, -0.30]", "inside", ""] in rows
    assert [
        "All: AUC",
        "0.848 [0.828, 0.863]",
        "0.810 [0.800, 0.830]",
        "intervals overlap",
        "",
    ] in rows
    assert ["Cyclic: position balanced", "yes", "yes", "inside", ""] in rows
    assert ["Qwen3-8B: parameters (B)", "8", "", "not run", ""] in rows
    # Tables in order of their numbers, the prose last.
    heads = re.findall(r"^\*\*Table (\w+)\.\*\*|^\*Section (\S+)\*", text, re.MULTILINE)
    assert [a or b for a, b in heads] == ["2", "3", "5", "6", "19", "text", "D.4", "E.1"]
    assert "This cohort is marked as the paper's" in text


def test_the_page_escapes_what_markdown_would_read(tmp_path: Path) -> None:
    rows = reported("two-factors,2,a|b_c*d*,<b>[x],1,,,,`y`", folder=tmp_path)
    text = page(agreement(rows, tables(), PAPER), PAPER)
    assert cells_of(text)[-1] == ["a|b_c*d*: <b>[x]", "1", "", "not run", "`y`"]


def test_every_reported_value_is_on_the_page() -> None:
    joined = agreement(read_reported(FILE), tables(), {"name": "mini"})
    assert set(joined["verdict"]) == {"not run"}
    text = page(joined, {"name": "mini"})
    body = [row for row in cells_of(text) if row[3:4] == ["not run"]]
    assert len(body) == 321
    assert ["PriDe: dlog flip rate", "0.00", "", "not run", ""] in body
    assert ["Cyclic: relative residual, median", "4e-16", "", "not run", ""] in body
    assert not re.search(r"\b(nan|None|inf)\b|<NA>|-0\.0*(?!\d)", text)


def test_the_script_writes_both_files(tmp_path: Path) -> None:
    (tmp_path / "tables").mkdir()
    ours = tables(("4", "PIQA", "K", "2", "", "", "", "41"), ("4", "PIQA", "items", "1838"))
    ours.to_csv(tmp_path / "tables" / "table4.csv", index=False)
    cohort = tmp_path / "cohort.json"
    cohort.write_text(json.dumps(PAPER))
    paths = [str(tmp_path / "out" / name) for name in ("a.csv", "a.md")]
    arguments = ["--tables", str(tmp_path / "tables"), "--reported", str(FILE)]
    arguments += ["--cohort", str(cohort), "--csv", paths[0], "--page", paths[1]]
    done = run("agreement", *arguments)
    assert done.returncode == 0, done.stderr
    rows = pd.read_csv(paths[0], dtype=str, keep_default_na=False)
    assert tuple(rows.columns) == AGREEMENT_COLUMNS
    assert rows["verdict"].value_counts().to_dict() == {"not run": 319, "inside": 2}
    # The reported texts are copied as they stand in the file, in its order.
    source = read_reported(FILE)
    given = source["value"].where(source["value"] != "", source["note"])
    assert rows["reported"].tolist() == given.tolist()
    assert Path(paths[1]).read_text().startswith("# Agreement with the paper's reported values")
    (tmp_path / "bad.csv").write_text("nothing\n")
    arguments[3] = str(tmp_path / "bad.csv")
    done = run("agreement", *arguments)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and len(done.stderr.splitlines()) == 1
