"""Tables 1 and 21: every number against the slow loops, every statistic with its definition."""

import math
from dataclasses import fields
from types import SimpleNamespace

import pandas as pd
import pytest

from optionbias.design import Design
from optionbias.factors import CellStatistics, as_row, cell_statistics
from optionbias.identities import residuals
from optionbias.orderings import cyclic
from optionbias.tables.definitions import definitions, table21
from optionbias.tables.identities import table1
from slow.tables import identities as slow
from synthetic import ODD, odd, standard

BOUNDS = ("Flip rate", "Two-order disagreement", "Forward KL")


def numbers(inputs) -> dict[tuple[str, str], float]:
    """The numbers of Table 1."""
    tidy = table1(inputs).tidy()
    kept = tidy[~tidy["column"].isin(["definition", "under balanced orderings"])]
    return {(r["row"], r["column"]): r["value"] for r in kept.to_dict("records")}


def test_every_number_of_table_1_is_the_slow_loops() -> None:
    found, expected = numbers(standard().inputs(draws=40)), slow.table1(standard())
    assert found.keys() == expected.keys()
    assert max(abs(found[key] - expected[key]) for key in found) <= 1e-10
    tidy = table1(standard().inputs()).tidy()
    assert set(tidy["n"].dropna()) == {19}
    # Every row is defined and says what it is under balanced orderings.
    for column in ("definition", "under balanced orderings"):
        texts = tidy.loc[tidy["column"] == column, "value"]
        assert len(texts) == 7 and texts.str.len().min() > 5


def made(letters: list[list[int]], gold: list[int]) -> SimpleNamespace:
    """What Table 1 reads, for one cell with K = 2 and the given letters."""
    design = Design.of(cyclic(2))
    z = [[(r - s) % 2 for s, r in enumerate(row)] for row in letters]
    statistics = cell_statistics(z, gold, design)
    found = residuals(statistics, z, design)
    key = {"readout": "first-token", "design": "cyclic", "operation": "none", "subset": "all"}
    frame = pd.DataFrame([{**key, "identity": i, "residual": r} for i, r in found.items()])
    cells = pd.DataFrame([as_row(statistics) | {"repeat_disagreement": math.nan}])
    return SimpleNamespace(first_token=cells, read=lambda name: {"identities": frame}[name])


def test_table_1_by_hand() -> None:
    # Two options, four items, letters under both orderings. Content 0 is on A, then on B.
    # AB and BA keep contents 0 and 1: stable. AA and AA take contents 0, 1: they flip onto A.
    found = numbers(made([[0, 1], [1, 0], [0, 0], [0, 0]], gold=[0, 0, 0, 0]))
    # FL = 1/2. Right answers: item 1 twice, items 3 and 4 at pi_0 each: A = 4/8, cap min(1, 2/2).
    assert found["Flip rate", "mean of the statistic"] == 0.5
    assert found["Flip rate", "mean of the right side"] == 1
    # Only two orderings: the disagreement is the flip rate.
    assert found["Two-order disagreement", "mean of the statistic"] == 0.5
    # f = (6/8, 2/8), SD 1/4; g = (1, 0), SD 1/2.
    assert found["Pooled SD", "mean of the statistic"] == 0.25
    assert found["Pooled SD", "mean of the right side"] == 0.5 * 0.5
    # Gold on A: items 1, 3, 4 right of four; on B: item 1. Range 1/2; h = (1, 0), range 1.
    assert found["Placement range", "mean of the statistic"] == 0.5
    assert found["Balanced RStd", "mean of the right side"] == 0.5 * 0.5
    # KL(f) = 3/4 log2(3/2) + 1/4 log2(1/2); KL(g) = 1 bit.
    kl = 0.75 * math.log2(1.5) - 0.25
    assert found["Forward KL", "mean of the statistic"] == pytest.approx(kl, abs=1e-15)
    assert found["Forward KL", "mean of the right side"] == 0.5
    assert all(found[row, "violated bounds"] == 0 for row in BOUNDS)


def test_violated_bounds_are_counted_and_differences_shown() -> None:
    inputs = standard().inputs()
    frame = inputs.read("identities").copy()
    mine = (
        (frame["readout"] == "first-token") & (frame["design"] == "cyclic")
        & (frame["operation"] == "none") & (frame["subset"] == "all")
    )  # fmt: skip
    frame.loc[mine & (frame["identity"] == "flip cap"), "residual"] = 0.1
    one = frame[mine & (frame["identity"] == "divergence bound")].index[0]
    frame.loc[one, "residual"] = 2e-12
    frame.loc[frame[mine & (frame["identity"] == "pooling identity")].index[3], "residual"] = 0.25
    # What other operations and subsets leave is not counted.
    frame.loc[~mine, "residual"] = 9.0
    found = numbers(SimpleNamespace(first_token=inputs.first_token, read=lambda name: frame))
    assert [found[row, "violated bounds"] for row in BOUNDS] == [19, 0, 1]
    assert found["Pooled SD", "largest absolute difference"] == 0.25


@pytest.mark.parametrize("name", list(ODD))
def test_table_1_of_odd_cohorts(name: str) -> None:
    found = numbers(odd(name).inputs())
    empty = name in ("no first-token readout", "cells of one item")
    assert all(math.isnan(v) == empty for v in found.values())
    tidy = table1(odd(name).inputs()).tidy()
    numeric = tidy[tidy["n"].notna()]
    assert set(numeric["note"]) == ({"no first-token cell"} if empty else {""})


def test_every_statistic_is_defined_once() -> None:
    named = [name for row in definitions() for name in row.split(", ")]
    assert sorted(named) == sorted(field.name for field in fields(CellStatistics))
    assert all(text and not text.endswith(".") for text in definitions().values())
    # An entry that runs over two lines is read whole, and no further.
    assert definitions()["fluctuation_rate"] == (
        "share of items that choose different contents under pi_0 and pi_floor(K/2) (Appendix F)"
    )


def test_table_21_reads_nothing_and_names_the_related_measures() -> None:
    tidy = table21(None).tidy().set_index(["row", "column"])["value"]
    related = tidy.xs("related measure", level="column")
    assert related[related != ""].to_dict() == {
        "flip_rate": "ReCon (Cocchieri et al., 2026)",
        "pooled_sd": "RStd (Zheng et al., 2024)",
        "fluctuation_rate": "Fluctuation rate (Wei et al., 2024)",
        "kl": "CKLD (Choi et al., 2025)",
    }
    assert tidy["flip_rate", "definition"].startswith("FL, share of items whose chosen content")
