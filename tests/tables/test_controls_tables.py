"""Tables 8, 11, 12 and the prose of A.3 and A.5: every entry against slow loops from the sweeps."""

import math
from collections.abc import Callable

import pytest

from many_readouts import many_readouts
from optionbias.tables.cap_null import table11
from optionbias.tables.disjoint import table12
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import WRITERS, Block, Table
from optionbias.tables.variance_shares import table8, text_a3, text_a5
from slow.tables.controls import DRAWS, TABLES
from synthetic import ODD, Run, odd, standard


def as_table(make: Callable[[Inputs], Block]) -> Callable[[Inputs], Table]:
    """A block of the prose as a table of its own."""
    return lambda inputs: Table("text", "Prose.", [make(inputs)])


MAKERS = {
    "8": table8,
    "11": table11,
    "12": table12,
    "text-A.3": as_table(text_a3),
    "text-A.5": as_table(text_a5),
}
RUNS = {"standard": standard, "many readouts": many_readouts}


def numbers(run: Run, name: str) -> dict[tuple[str, str], tuple[float, ...]]:
    """(row, column) -> value and interval of the table under test, undefined as NaN."""
    tidy = MAKERS[name](run.inputs(draws=DRAWS)).tidy()
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


@pytest.mark.parametrize("name", list(MAKERS))
def test_most_of_what_is_compared_is_defined(name: str) -> None:
    values = [v[0] for v in numbers(many_readouts(), name).values()]
    assert sum(map(math.isnan, values)) <= 0.3 * len(values)


def test_table_8_has_the_reported_texts() -> None:
    tidy = table8(standard().inputs()).tidy().set_index(["row", "column"])
    top = ("Flip rate share", "Skew share", "Twice covariance")
    for row in top:
        assert list(tidy.loc[row].index) == ["All cells", "K=2", "K=4", "K=10"]
        assert tidy.loc[row]["note"].str.contains("97.5% interval").all()
    # Two cells never flip or have no skew; three shares sum to one.
    assert tidy.loc["Skew share"]["n"].tolist() == [17, 4, 8, 5]
    for column in ("All cells", "K=2", "K=4", "K=10"):
        assert sum(tidy.loc[(row, column), "value"] for row in top) == pytest.approx(1)


def test_own_and_common_pools_by_hand() -> None:
    tidy = table8(many_readouts().inputs()).tidy().set_index(["row", "column"])["n"]
    n = {row: tidy[row, "spearman(skew, accuracy)"] for row, _ in tidy.index if "pool" in row}
    # Three readouts on four: A to D; on other: all but B; on two: A and B. Of these 9, five-shot has
    # A, B, C on four and A, B on two. The filter takes C on four from the chain of thought's 11.
    cells = many_readouts().inputs().first_token
    assert cells["skew"].notna().all()
    assert n == {
        "First-token, own pool": 12,
        "First-token, common pool": 9,
        "Five-shot, own pool": 6,
        "Five-shot, common pool": 5,
        "Chain-of-thought, own pool": 10,
        "Chain-of-thought, common pool": 9,
        "Direct-answer, own pool": 10,
        "Direct-answer, common pool": 9,
    }


def test_cells_of_mostly_fallback_answers_by_hand() -> None:
    tidy = text_a3(many_readouts().inputs()).entries
    dropped = {e.row: (e.value, e.n) for e in tidy if e.column == "cells dropped"}
    # A on four (0.51) and A on two (0.8); one half is not more than half, and none recorded is kept.
    assert dropped == {
        "Chain-of-thought, own pool, at most half fallback answers": (2, 10),
        "Chain-of-thought, common pool, at most half fallback answers": (2, 9),
    }


def test_table_11_has_the_reported_texts() -> None:
    tidy = table11(standard().inputs()).tidy().set_index(["row", "column"])
    columns = ["observed spearman", "null median", "P", "cells"]
    for k in (2, 4, 10):
        for stratum in ("all", "binding", "cap equal to one"):
            assert list(tidy.loc[f"K={k}, {stratum}"].index) == columns
    assert tidy.loc[("K=4, all", "null median"), "note"] == "null 95% range"
    cells = tidy.xs("cells", level="column")["value"]
    # One four-option cell answers everything correctly and has no scaled flip rate.
    assert cells["K=4, all"] == 8
    assert cells["K=4, binding"] + cells["K=4, cap equal to one"] == 8


def test_table_12_has_the_reported_texts() -> None:
    tidy = table12(many_readouts().inputs()).tidy()
    columns = ["item-disjoint", "benchmark-disjoint", "ordering-disjoint"]
    for row in ("Flip rate", "Per-item KL to uniform", "Per-item selection-rate SD"):
        assert tidy.loc[tidy["row"] == row, "column"].tolist()[:3] == columns
    # Twelve first-token cells; three benchmarks on every checkpoint; three checkpoints on two.
    flips = tidy[tidy["row"] == "Flip rate"]
    assert flips["n"].tolist() == [12, 12, 6, 6]


@pytest.mark.parametrize("cohort", list(ODD))
@pytest.mark.parametrize("name", list(MAKERS))
def test_cohorts_that_leave_statistics_undefined(name: str, cohort: str) -> None:
    table = MAKERS[name](odd(cohort).inputs(draws=DRAWS))
    for entry in table.tidy().to_dict("records"):
        value = entry["value"]
        if value is None or math.isnan(value):
            assert "undefined" in entry["note"] or "no such cell" in entry["note"], entry
    for writer in WRITERS.values():
        assert "nan" not in writer(table)
