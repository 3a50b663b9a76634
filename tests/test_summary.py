"""The summary page: states and flags by hand, and every number of its tables."""

import re

import pandas as pd
import pytest
from markdown_it import MarkdownIt

from optionbias.summary import state, summary
from synthetic import ODD, OPERATION_TEXTS, Run, answers, odd, score_run, standard

SHOWN = ("accuracy", "flip_rate", "skew", "pooled_sd", "placement_range")


def page_of(run: Run, small_mass: float = 0.5) -> str:
    """The page of a run."""
    frames = (
        pd.read_parquet(run.folder / f"{n}.parquet") for n in ("cells", "identities", "sweeps")
    )
    return summary(*frames, "synthetic", small_mass)


def tables_of(page: str) -> list[list[list[str]]]:
    """Cells of every table of the page, as a GitHub reader would see them."""
    tables: list[list[list[str]]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(page):
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type == "inline" and tables and token.level > 2:
            tables[-1][-1].append(token.content)
    return tables


def shown(value: float) -> str:
    """A number as the page prints it."""
    return "" if value != value else f"{value:.3f}"


@pytest.mark.parametrize(
    ("flip_rate", "expected"),
    [
        (0.0, "all stable"),
        (0.001, "between"),
        (0.5, "between"),
        (0.999, "between"),
        (1.0, "all flips"),
    ],
)
def test_states(flip_rate: float, expected: str) -> None:
    assert state(flip_rate) == expected


def test_counts_by_hand() -> None:
    page = page_of(standard())
    assert page.startswith("# Cohort synthetic\n")
    # Of 19 first-token cells two never flip (Zeta-70B on four and two) and three always do
    # (Alpha-1B, Alpha-1B-it and Gamma.8B on ten); one five-shot cell and the cyclic part of one
    # all-orderings cell come on top.
    cells = pd.read_parquet(standard().folder / "cells.parquet")
    plain = cells[
        (cells["design"] == "cyclic") & (cells["operation"] == "none") & (cells["subset"] == "all")
    ]
    first = plain[plain["readout"] == "first-token"]["flip_rate"]
    assert [(first == 0).sum(), (first == 1).sum()] == [2, 3]
    others = plain[plain["readout"] != "first-token"]["flip_rate"]
    between = 14 + int(((others > 0) & (others < 1)).sum())
    flips = 3 + int((others == 1).sum())
    assert (
        f"\n21 cells before any operation: {between} between, {flips} all flips, 2 all stable. "
        in page
    )


def test_every_row_of_the_first_readout() -> None:
    page = page_of(standard())
    assert page.index("## First-token (zero-shot)") < page.index("## Five-shot")
    assert page.index("## Five-shot") < page.index("## All orderings")
    before, after, *_ = tables_of(page)
    assert before[0] == [
        "checkpoint", "benchmark", "K", "items", "accuracy", "flip rate", "skew", "pooled SD",
        "placement range", "letter mass", "cell",
    ]  # fmt: skip
    assert after[0] == [
        "checkpoint", "benchmark", "operation", "items", "accuracy", "flip rate", "skew",
        "pooled SD", "placement range",
    ]  # fmt: skip
    cells = pd.read_parquet(standard().folder / "cells.parquet")
    cells = cells[cells["readout"] == "first-token"]
    plain = cells[(cells["subset"] == "all") & (cells["operation"] == "none")]
    expected = sorted(
        (r["checkpoint"], r["K"], r["benchmark"], r["n_items"], *map(shown, (r[s] for s in SHOWN)))
        for r in plain.to_dict("records")
    )
    found = [(row[0], int(row[2]), row[1], int(row[3]), *row[4:9]) for row in before[1:]]
    assert found == expected
    for row in before[1:]:
        assert row[9] == ""  # no letter mass was stored
        assert row[10] == state(float(row[5]))
    evaluation = cells[cells["subset"] == "evaluation"]
    order = list(OPERATION_TEXTS.values())
    expected = sorted(
        (
            r["checkpoint"], r["K"], r["benchmark"], order.index(OPERATION_TEXTS[r["operation"]]),
            r["n_items"], *map(shown, (r[s] for s in SHOWN)),
        )
        for r in evaluation.to_dict("records")
    )  # fmt: skip
    k = dict(zip(plain["benchmark"], plain["K"], strict=True))
    found = [(r[0], k[r[1]], r[1], order.index(r[2]), int(r[3]), *r[4:]) for r in after[1:]]
    assert found == expected
    # Two-option cells have no reversal product: five operations, not eight.
    two = [row[2] for row in after[1:] if row[:2] == ["Alpha-1B", "two"]]
    assert two == ["Baseline", "PriDe", "Batch calibration", "PriDe then batch", "Majority vote"]


def test_letter_mass_is_shown_and_flagged() -> None:
    mass = {"A": 0.9, "B": 0.1}
    plain = [answers(c, "four", 4) for c in mass]
    sweeps = [
        answers(c, "four", 4, mass=[[mass[c]] * 8] * len(s.items))
        for c, s in zip(mass, plain, strict=True)
    ]
    page = page_of(score_run(sweeps))
    assert [row[9] for row in tables_of(page)[0][1:]] == ["0.900", "0.100"]
    assert "**Small letter mass.**" in page
    assert "B on four, first-token (0.100)." in page
    assert "A on four" not in page
    assert "Small letter mass" not in page_of(score_run(sweeps), small_mass=0.05)
    assert "Small letter mass" not in page_of(standard())


def test_identities_are_counted_once_a_cell_operation_and_subset() -> None:
    identities = pd.read_parquet(standard().folder / "identities.parquet")
    cells = pd.read_parquet(standard().folder / "cells.parquet")
    page = page_of(standard())
    assert f"Asserted on each of {len(cells)} cells, operations and item subsets" in page
    worst = identities.groupby("identity")["residual"].max()
    rows = tables_of(page)[-1]
    assert rows[1:] == [[name, f"{value:.1e}"] for name, value in worst.sort_index().items()]
    assert all(float(row[1]) <= 1e-12 for row in rows[1:])


@pytest.mark.parametrize("name", list(ODD))
def test_odd_cohorts_have_a_page(name: str) -> None:
    page = page_of(odd(name))
    for table in tables_of(page):
        assert len({len(row) for row in table}) == 1
    assert not re.search(r"\b(nan|None|inf)\b|<NA>", page)
    assert not re.search(r"-0\.0*(?!\d)", page)
    assert page.endswith("\n")
    assert page == page_of(odd(name))
    if name == "no cell flips":
        assert "3 cells before any operation: 0 between, 0 all flips, 3 all stable." in page
    if name == "cells of one item":
        assert "0 cells before any operation: 0 between" in page


def test_cells_that_were_left_out_are_named() -> None:
    page = page_of(odd("cells of one item"))
    assert "**Left out.** These cells have fewer than two items" in page
    assert page_of(standard()).count("**Left out.**") == 0
