"""The numbers of B.2 and B.4: by hand, against a slow loop, and what a cosine must be."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optionbias.tables.placement import centred_cosine, text_b2, text_b4
from optionbias.tables.table import Table
from slow.tables import transitions as slow
from synthetic import FEW, NAN, ODD, odd, standard

MAKERS = {"text-B.2": text_b2, "text-B.4": text_b4}
OPPOSITE = "cells where skew falls while placement range rises"
MIRRORED, PRIDE = "K>=3, reversal vs PriDe then reversal", "K>=3, PriDe vs none"


def cell(checkpoint: str, operation: str, **values: Any) -> dict[str, Any]:
    """A row of `cells` on evaluation items."""
    plain = {
        "readout": "first-token", "design": "cyclic", "subset": "evaluation", "benchmark": "x",
        "K": 4, "skew": 0.2, "range_h": 0.3, "placement_range": 0.1,
        "g": [0.25] * 4, "h": [0.5] * 4,
    }  # fmt: skip
    return {**plain, "checkpoint": checkpoint, "operation": operation, **values}


def entries_of(number: str, inputs: Any) -> pd.DataFrame:
    return Table("text", "", [MAKERS[number](inputs)]).tidy().set_index(["row", "column"])


def b4(*rows: dict[str, Any]) -> pd.DataFrame:
    return entries_of("text-B.4", SimpleNamespace(cells=pd.DataFrame(list(rows))))


def test_alignment_by_hand() -> None:
    # The paper's item (0, 1, 0, 1): g = (1/2, 0, 1/2, 0). Correct content 0: it is answered at A
    # and C, h = (1, 0, 1, 0), cosine 1; h - g = (1/2, 0, 1/2, 0). Correct content 2: h = 0, no
    # direction; h - g = -g. SDs: h 1/2 and 0, h - g 1/4 and 1/4. A cell without flips counts for
    # nothing, one with other operations or options neither.
    g = [0.5, 0.0, 0.5, 0.0]
    found = b4(
        cell("A", "none", g=g, h=[1.0, 0.0, 1.0, 0.0]),
        cell("B", "none", g=g, h=[0.0] * 4),
        cell("C", "none", g=[NAN] * 4, h=[NAN] * 4),
        cell("A", "pride", g=g, h=g),
        cell("A", "none", K=5, g=[1.0, 0, 0, 0, 0], h=[0.0, 0, 0, 0, 1], benchmark="y"),
    )
    cosine = found.loc[("K=4 cells, evaluation items", "mean cosine(centred g, centred h)")]
    assert (float(cosine["value"]), cosine["n"]) == (pytest.approx(1), 1)
    difference = found.loc[("K=4 cells", "sd across letters of h-g")]
    assert (float(difference["value"]), difference["n"]) == (pytest.approx(1 / 4), 2)
    assert float(found.loc[("K=4 cells", "sd across letters of h"), "value"]) == pytest.approx(
        1 / 4
    )


def test_changes_by_hand() -> None:
    # From the reversal product to PriDe then reversal. A: the skew falls while the range rises; B:
    # both fall; C: the skew rises; D: undefined after (stays in the denominator); E has no
    # composition. Skew changes -.1, -.05, .1 and range(h) changes .2, -.1, .1 rank 1 2 3 and 3 1 2:
    # r = 1 - 6 (4 + 1 + 1) / 24 = -1/2.
    after = {
        "A": {"skew": 0.1, "range_h": 0.5, "placement_range": 0.2},
        "B": {"skew": 0.15, "range_h": 0.2, "placement_range": 0.05},
        "C": {"skew": 0.3, "range_h": 0.4, "placement_range": 0.2},
        "D": {"skew": NAN, "range_h": NAN, "placement_range": 0.2},
    }
    rows = [cell(c, "reversal") for c in "EDCBA"]
    rows += [cell(c, "pride+reversal", **values) for c, values in after.items()]
    found = b4(*rows)
    r = found.loc[(MIRRORED, "spearman(change in skew, change in range h)")]
    assert (float(r["value"]), r["n"]) == (pytest.approx(-0.5), 3)
    share = found.loc[(MIRRORED, OPPOSITE)]
    assert (float(share["value"]), share["n"], share["unit"]) == (25, 4, "%")
    nothing = found.loc[(PRIDE, OPPOSITE)]
    assert math.isnan(nothing["value"])
    assert nothing["note"]


def test_rounding_is_no_change() -> None:
    # 0.1 + 0.2 is not 0.3 in floating point: the skew does not fall, and equal changes tie.
    rows = [cell(c, "none", skew=0.3) for c in "AB"]
    rows += [
        cell("A", "pride", skew=0.3 - 1e-16, placement_range=0.3),
        cell("B", "pride", skew=0.1 + 0.2, placement_range=0.3),
    ]
    assert float(b4(*rows).loc[(PRIDE, OPPOSITE), "value"]) == 0
    frame = pd.DataFrame({"std_h": [0.1 + 0.2, 0.3, 0.5], "skew": [0.2, 0.2, 0.4]})
    inputs = SimpleNamespace(first_token=frame)
    assert float(entries_of("text-B.2", inputs)["value"].iloc[0]) == 1


@FEW
@given(arrays(np.int64, (2, 4), elements=st.integers(0, 9)), st.integers(1, 5))
def test_the_cosine_of_directions(vectors: np.ndarray, scale: int) -> None:
    g, h = vectors.astype(float)
    cosine = centred_cosine(g, h)
    if np.ptp(g) == 0 or np.ptp(h) == 0:
        assert math.isnan(cosine)
        return
    # A correlation over the letters, blind to where both vectors lie and how long they are.
    assert cosine == pytest.approx(np.corrcoef(g, h)[0, 1], abs=1e-12)
    assert centred_cosine(scale * g + 3, h - 1) == pytest.approx(cosine, abs=1e-12)
    assert centred_cosine(g, -h) == pytest.approx(-cosine, abs=1e-12)


@pytest.mark.parametrize("number", list(MAKERS))
def test_every_entry_is_the_slow_loops(number: str) -> None:
    found = entries_of(number, standard().inputs())["value"]
    expected = slow.TABLES[number](standard())
    assert set(found.index) == set(expected)
    for key, value in expected.items():
        assert float(found[key]) == pytest.approx(value, abs=1e-10), key


@pytest.mark.parametrize("name", list(ODD))
def test_cohorts_that_leave_statistics_undefined(name: str) -> None:
    for number in MAKERS:
        for entry in entries_of(number, odd(name).inputs()).to_dict("records"):
            if entry["value"] is None or entry["value"] != entry["value"]:
                assert entry["note"], entry
