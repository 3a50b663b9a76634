"""Tables 14 and 15 and the numbers of D.4: by hand, every entry against a slow loop, odd cohorts."""

import math
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Table
from optionbias.tables.transitions import Transitions, table14, table15, text_d4
from optionbias.transitions import COLUMNS, OPERATIONS
from slow.tables import transitions as slow
from strategies import SEED
from synthetic import FEW, NAN, ODD, odd, standard

DRAWS = 40
NO_CELL = "no first-token cell with at least three options and reversed orderings"


def text(inputs: Any) -> Table:
    return Table("text", "", [text_d4(inputs)])


MAKERS = {"14": table14, "15": table15, "text-D.4": text}


def inputs_of(rows: Mapping[tuple[str, str, str], Mapping[str, Any]], draws: int = 200) -> Any:
    """Inputs whose cells have ten items; rows name what differs from nothing happening."""
    plain = {
        "K": 4, "n_items": 10, "n_flipping": 5, "n_stopped": 0, "n_started": 0,
        "n_stopped_wrong": 0, "favoured_share": 0.25,
    }  # fmt: skip
    cells = sorted({key[:2] for key in rows})
    frame = pd.DataFrame(
        [
            {"checkpoint": c, "benchmark": b, "operation": op, **plain, **rows.get((c, b, op), {})}
            for c, b in cells
            for op in OPERATIONS
        ],
        columns=list(COLUMNS),
    )
    return SimpleNamespace(
        read=lambda name: {"transitions": frame}[name], draws=draws, seed=SEED,
        few_checkpoints_note=lambda checkpoints: "",
    )  # fmt: skip


def value_of(table: Table, row: str, column: str) -> float:
    return float(table.tidy().set_index(["row", "column"]).loc[(row, column), "value"])


def test_table_14_by_hand() -> None:
    # PriDe in two cells of ten items: 1 and 3 stop, of which 1 and 0 end wrong; a third cell
    # resolves nothing. Means over three cells of the shares of items, over two of the others.
    inputs = inputs_of(
        {
            ("A", "x", "pride"): {"n_stopped": 1, "n_stopped_wrong": 1, "favoured_share": 0.2},
            ("A", "y", "pride"): {"n_stopped": 3, "n_started": 2, "favoured_share": 0.4},
            ("B", "x", "pride"): {"n_started": 1, "favoured_share": NAN},
        }
    )
    table = table14(inputs)
    assert value_of(table, "PriDe", "stop flipping") == pytest.approx(100 * 4 / 30)
    assert value_of(table, "PriDe", "start flipping") == pytest.approx(100 * 3 / 30)
    assert value_of(table, "PriDe", "resolved flips settling wrong") == pytest.approx(50)
    assert value_of(table, "PriDe", "former flips on favoured letter") == pytest.approx(30)
    tidy = table.tidy().set_index(["row", "column"])
    assert tidy.loc["PriDe", "n"].tolist() == [3, 3, 2, 2]
    # The others resolve nothing.
    other = tidy.loc[("Batch", "resolved flips settling wrong")]
    assert math.isnan(other["value"])
    assert other["note"] == "no cell holds such items"
    assert value_of(table, "Baseline", "former flips on favoured letter") == pytest.approx(25)


def test_text_by_hand() -> None:
    # Corrections: PriDe +1 and -2 of ten items (mean -5 pp), batch +2 and +1 (15 pp), PriDe then
    # batch none: (5 + 15 + 0) / 3 in magnitude. The product resolves 4 of ten, all wrong, and 1 of
    # ten, right: 50% over cells, 4 / (4 + 1) weighted by their share of resolved items.
    inputs = inputs_of(
        {
            ("A", "x", "pride"): {"n_started": 1},
            ("B", "x", "pride"): {"n_stopped": 3, "n_started": 1},
            ("A", "x", "batch"): {"n_started": 2},
            ("B", "x", "batch"): {"n_stopped": 1, "n_started": 2},
            ("A", "x", "reversal"): {"n_stopped": 4, "n_stopped_wrong": 4},
            ("B", "x", "reversal"): {"n_stopped": 1},
        }
    )
    found = text(inputs)
    net = "net change of flip rate"
    assert value_of(found, "K>=3, PriDe", net) == pytest.approx(-5)
    assert value_of(found, "K>=3, Batch", net) == pytest.approx(15)
    assert value_of(found, "K>=3, reversal product", net) == pytest.approx(-25)
    assert value_of(found, "K>=3, corrections", f"{net}, magnitude") == pytest.approx(20 / 3)
    wrong, row = "resolved flips settling wrong", "K>=3, reversal product"
    assert value_of(found, row, wrong) == pytest.approx(50)
    weighted = f"{wrong}, cells weighted by their share of resolved items"
    assert value_of(found, row, weighted) == pytest.approx(80)


@pytest.mark.parametrize("number", list(MAKERS))
def test_every_entry_is_the_slow_loops(number: str) -> None:
    tidy = MAKERS[number](standard().inputs(DRAWS)).tidy().set_index(["row", "column"])
    expected = slow.TABLES[number](standard(), DRAWS)
    assert set(tidy.index) == set(expected)
    for key, values in expected.items():
        found = tidy.loc[key, ["value", "ci_low", "ci_high"]].astype(float)
        assert np.allclose(found, values, rtol=0, atol=1e-10, equal_nan=True), key
    assert tidy["note"].str.startswith("rests on 5 checkpoints").all()


@FEW
@given(st.lists(st.tuples(*[st.integers(0, 5)] * 3), min_size=1, max_size=6))
def test_what_the_weighted_share_is(cells: list[tuple[int, int, int]]) -> None:
    rows = {
        (f"m{i}", "x", "reversal"): {
            "n_stopped": stopped,
            "n_started": started,
            "n_stopped_wrong": min(wrong, stopped),
        }
        for i, (stopped, started, wrong) in enumerate(cells)
    }
    found = Transitions.of(inputs_of(rows, draws=20))
    assert found is not None
    weighted = found.mean_by_resolved("reversal")
    plain = found.mean(found.share("reversal", "n_stopped_wrong", "n_stopped"))
    shares = [min(s, w) / s for s, _, w in cells if s]
    assert weighted.n == plain.n == len(shares)
    if not shares:
        assert math.isnan(weighted.value)
        assert math.isnan(plain.value)
        return
    # All cells have ten items, so items count alike: it is the share of all resolved items.
    counts = [(r["n_stopped_wrong"], r["n_stopped"]) for r in rows.values()]
    assert weighted.value == pytest.approx(sum(w for w, _ in counts) / sum(s for _, s in counts))
    assert plain.value == pytest.approx(math.fsum(shares) / len(shares))
    assert weighted.interval.low <= weighted.interval.high


def test_layout() -> None:
    table = table14(standard().inputs(DRAWS))
    (block,) = table.blocks
    assert list(dict.fromkeys(e.row for e in block.entries)) == list(slow.ROWS.values())
    assert list(dict.fromkeys(e.column for e in block.entries)) == list(slow.COLUMNS.values())
    # The baseline changes nothing, for certain.
    baseline = table.tidy().set_index(["row", "column"]).loc["Baseline"]
    assert baseline["value"].tolist()[:2] == [0, 0]
    assert baseline["ci_low"].isna().tolist() == [True, True, True, False]
    table = table15(standard().inputs(DRAWS))
    assert [len(block.entries) for block in table.blocks] == [6, 3]
    assert text_d4(standard().inputs(DRAWS)).table == "text-D.4"


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("number", list(MAKERS))
def test_cohorts_that_leave_statistics_undefined(number: str, name: str) -> None:
    inputs: Inputs = odd(name).inputs(DRAWS)
    tidy = MAKERS[number](inputs).tidy()
    for entry in tidy.to_dict("records"):
        if entry["value"] is None or entry["value"] != entry["value"]:
            assert entry["note"], entry
            assert math.isnan(entry["ci_low"])
    if name in ("two options only", "no reversals", "no first-token readout", "cells of one item"):
        assert tidy["note"].tolist() == [NO_CELL]
    if name == "no cell flips" and number == "15":
        assert tidy["value"].isna().all()
