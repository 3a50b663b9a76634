"""Tables 17 to 20 and the prose of B.1 and E: every entry against slow loops, odd cohorts, texts."""

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from all_orderings import all_orderings_run, everywhere
from optionbias.catalogue import TEXTS
from optionbias.orderings import all_orderings
from optionbias.tables.balanced_sets import table18, text_e2
from optionbias.tables.designs import table17, table19, table20, text_e1, text_e3
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import WRITERS, Block, Table
from slow.tables.designs import DRAWS, TABLES
from synthetic import ODD, Run, odd, score_run, standard, steady


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
