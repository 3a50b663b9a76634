"""Tables 17 to 20 and the prose of B.1 and E: every entry against slow loops, odd cohorts, texts."""

import csv
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from all_orderings import all_orderings_run, everywhere
from optionbias.orderings import all_orderings
from optionbias.tables.balanced_sets import table18, text_e2
from optionbias.tables.designs import table17, table19, table20, text_e1, text_e3
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Table, write_table
from slow.tables import balanced_sets, designs
from slow.tables.designs import DRAWS
from synthetic import ODD, Run, odd, score_run, standard, steady

TABLES = designs.TABLES | balanced_sets.TABLES


def prose(inputs: Inputs) -> Table:
    """The blocks of B.1 and E."""
    return Table("text", "", [*text_e1(inputs), text_e2(inputs), text_e3(inputs)])


MAKERS: dict[str, Callable[[Inputs], Table]] = {
    "17": table17, "18": table18, "19": table19, "20": table20, "text": prose,
}  # fmt: skip
RUNS = {"standard": standard, "all orderings": all_orderings_run}


def numbers(run: Run, name: str) -> dict[tuple[str, str], tuple[float, ...]]:
    """(row, column) -> value and interval of the table under test, undefined as NaN."""
    tidy = MAKERS[name.split("-")[0]](run.inputs(draws=DRAWS)).tidy()
    # `position balanced` holds words.
    tidy = tidy[(tidy["table"] == name) & (tidy["column"] != "position balanced")]
    assert not tidy.duplicated(["row", "column"]).any()
    return {
        (e["row"], e["column"]): tuple(
            math.nan if e[x] is None else float(e[x]) for x in ("value", "ci_low", "ci_high")
        )
        for e in tidy.to_dict("records")
    }


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("name", list(TABLES))
def test_every_entry_is_the_slow_loops(name: str, run: str) -> None:
    found, expected = numbers(RUNS[run](), name), TABLES[name](RUNS[run]())
    assert set(found) == set(expected)
    for key, value in expected.items():
        whole = value if isinstance(value, tuple) else (value, math.nan, math.nan)
        assert found[key] == pytest.approx(whole, rel=0, abs=1e-10, nan_ok=True), key


@pytest.mark.parametrize("name", list(TABLES))
def test_what_is_compared_is_defined(name: str) -> None:
    values = numbers(all_orderings_run(), name)
    missing = {key for key, value in values.items() if math.isnan(value[0])}
    assert missing <= {("Cyclic", "median residual / bound")}


# --- texts ---------------------------------------------------------------------------------------

SETS = ("flip rate, cyclic set", "flip rate, other sets")
RANGES = ("placement range, cyclic set", "placement range, other sets")
ELSEWHERE = "cyclic-stable items flipping elsewhere"
RESIDUALS = ("relative residual, median", "relative residual, largest")
# What the paper reports of these tables.
REPORTED = {
    "17": {
        "FL_cyc <= FL_full holds": ["share of cells"],
        "relative undercount": ["mean over cells"],
        "spearman(accuracy, flip rate)": ["cyclic", "all K!"],
        "cyclic, K orderings": ["mean flip rate"],
    },
    "18": {
        "All cells, uncorrected, level": [*SETS, *RANGES, ELSEWHERE],
        "Unrounded cells, uncorrected, level": [*SETS, *RANGES, ELSEWHERE],
        "Unrounded cells, PriDe, change": [*SETS, *RANGES],
        "Unrounded cells, PriDe, level": [ELSEWHERE],
        "Unrounded cells, Reversal product, change": [*SETS, *RANGES],
        "Unrounded cells, Reversal product, level": [ELSEWHERE],
        "Unrounded cells, PriDe then reversal, change": [*SETS, *RANGES],
        "Unrounded cells, PriDe then reversal, level": [ELSEWHERE],
    },
    "19": {
        row: [
            "position balanced", *RESIDUALS, "spearman flip rate", "spearman skew",
            "spearman pooled SD", "per-item minus pooled SD magnitude",
        ]
        for row in (
            "Cyclic", "All 24 orderings", "Latin square", "Gold at each position",
            "Random set per item",
        )
    },
    "20": {
        row: ["largest corrected absolute residual", "pooled SD spearman", "corrected SD spearman"]
        for row in (
            "Cyclic", "Random set of 4 orderings shared by all items",
            "Random 4 orderings per item",
        )
    },
    "text-B.1": {"all-ordering cells and random draws": ["deviation bound holds"]},
    "text-E.1": {
        "all-K! cells": [
            "mean flip-rate undercount of the cyclic set",
            "cyclic vs random four-subset flip rate, mean per-cell excess",
            "cyclic flip rate above its exact four-subset expectation",
        ],
        "6 checkpoints": ["correctness-changing items found by the cyclic set"],
    },
    "text-E.2": {
        "K=4": ["balanced sets without an ordering and its reversal"],
        "all-K! cells, uncorrected": ["cyclic-stable items flipping on a given other set"],
        "unrounded cells, PriDe": ["items certified"],
        "unrounded cells, PriDe then reversal": ["items certified"],
        "unrounded cells, Reversal product": [
            "change in flip rate", "cyclic-stable items flipping elsewhere against uncorrected",
        ],
    },
    "text-E.3": {"random subsets of four orderings": ["median relative residual"]},
}  # fmt: skip


@pytest.mark.parametrize("name", list(REPORTED))
def test_every_reported_row_and_column_is_there(name: str) -> None:
    tidy = MAKERS[name.split("-")[0]](all_orderings_run().inputs(DRAWS)).tidy()
    tidy = tidy[tidy["table"] == name]
    found = set(zip(tidy["row"], tidy["column"], strict=True))
    assert {(row, column) for row, columns in REPORTED[name].items() for column in columns} <= found


def test_units_and_notes() -> None:
    inputs = all_orderings_run().inputs(DRAWS)
    rows = {(e.row, e.column): e for b in prose(inputs).blocks for e in b.entries}
    found = rows["6 checkpoints", "correctness-changing items found by the cyclic set"]
    assert (found.unit, found.n) == ("%", 7)
    assert found.note == "pooled over the cells of 4 checkpoints"
    excess = rows["all-K! cells", "cyclic vs random four-subset flip rate, mean per-cell excess"]
    # The cell that never flips has no relative excess.
    assert (excess.unit, excess.n) == ("% relative", 6)
    entry = next(
        e for e in table20(inputs).blocks[0].entries
        if (e.row, e.column) == ("Random 4 orderings per item", "corrected SD spearman")
    )  # fmt: skip
    assert entry.note == "median and 2.5-97.5% range over draws, not a confidence interval"
    tidy = table18(inputs).tidy().set_index(["row", "column"])
    assert tidy.loc[("Unrounded cells, PriDe, change", "flip rate, other sets"), "unit"] == "pp"
    assert tidy.loc[("All cells, uncorrected, level", "flip rate, other sets"), "unit"] == "%"
    assert "range over sets" in tidy.loc[("All cells, uncorrected, level", SETS[1]), "note"]
    words = table19(inputs).tidy()
    words = words[words["column"] == "position balanced"]["value"].to_list()
    assert words == ["yes", "yes", "yes", "gold only", "no", "no"]


# --- cohorts that lack things ----------------------------------------------------------------


def check(table: Table, folder: Path) -> None:
    """Undefined values are explained, and no file says nan."""
    for entry in (e for b in table.blocks for e in b.entries):
        if entry.value is None or entry.value != entry.value:
            assert entry.note, entry
            assert not (math.isfinite(entry.ci_low) or math.isfinite(entry.ci_high)), entry
    paths = [folder / f"table.{ending}" for ending in ("csv", "md", "tex", "typ")]
    write_table(table, paths)
    with open(paths[0], newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert not {"nan", "inf", "-inf", "None"} & set(row.values()), row


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("number", list(MAKERS))
def test_runs_without_all_orderings_say_so(number: str, name: str, tmp_path: Path) -> None:
    table = MAKERS[number](odd(name).inputs(DRAWS))
    check(table, tmp_path)
    notes = [e.note for b in table.blocks for e in b.entries if e.value is None]
    assert notes
    assert all("under all orderings" in note for note in notes)


@cache
def steady_run() -> Run:
    """Two cells that never flip, one of a single item, one whose answers were generated."""
    everywhere_options = {"readout": "all-orderings", "orderings": all_orderings(4)}
    return score_run(
        [
            steady("A", "x", 4, 6, **everywhere_options),
            steady("B", "x", 4, 6, **everywhere_options),
            everywhere("C", "y", n=1),
        ]
    )


@cache
def generated_run() -> Run:
    """One cell without probabilities."""
    return score_run([everywhere("A", "x", generated=True)])


@cache
def three_run() -> Run:
    """Cells of three options alone."""
    return score_run([everywhere(c, "x", 3, 10, ability=a) for c, a in (("A", 0.5), ("B", 1.5))])


@cache
def five_run() -> Run:
    """A cell of five options, for which no Latin-square sets are enumerated."""
    return score_run([everywhere("A", "x", 5, 5), everywhere("B", "x", 5, 5)])


@pytest.mark.parametrize("make", [steady_run, generated_run, three_run, five_run])
@pytest.mark.parametrize("number", list(MAKERS))
def test_odd_cells(number: str, make: Callable[[], Run], tmp_path: Path) -> None:
    check(MAKERS[number](make().inputs(DRAWS)), tmp_path)


def test_other_option_counts_are_named() -> None:
    inputs = three_run().inputs(DRAWS)
    table = table19(inputs)
    assert table.note.startswith("no cell with four options: cells with three")
    assert "All 6 orderings" in {e.row for e in table.blocks[0].entries}
    columns = {e.column for e in text_e1(inputs)[1].entries}
    assert "cyclic vs random three-subset flip rate, mean per-cell excess" in columns
    notes = {e.note for e in text_e2(inputs).entries if e.value is None}
    assert notes == {"no cell with four options was run under all orderings"}
    squares = {
        e.note
        for e in table19(five_run().inputs(DRAWS)).blocks[0].entries
        if e.row == "Latin square" and e.column != "position balanced"
    }
    assert squares == {"Latin-square sets are enumerated for at most four options"}
