"""Table 6 and the prose of Sections 6, D.1 and D.2: every entry by the slow loops, and what is undefined."""

import math

import numpy as np
import pytest

from optionbias.tables.operations import text_6
from optionbias.tables.strengths import table6, text_d1, text_d2
from optionbias.tables.table import Block, Table
from slow.tables.strengths import TABLES
from synthetic import ODD, Run, odd, score_run, standard, steady

CORRECTIONS = ("PriDe", "batch calibration", "PriDe then batch")
MIRRORING = "spearman(std(b_sym)/std(b), change in log skew under reversal)"


def blocks_of(run: Run, draws: int = 40) -> dict[str, list[Block]]:
    """The blocks of each table or section, as the slow loops name them."""
    inputs = run.inputs(draws)
    return {
        "6": table6(inputs).blocks,
        "text-6": [text_6(inputs)],
        "text-D.1": [text_d1(inputs)],
        "text-D.2": text_d2(inputs),
    }


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_entry_is_the_slow_loops(name: str) -> None:
    entries = {
        (e.row, e.column): (e.value, e.ci_low, e.ci_high)
        for block in blocks_of(standard())[name]
        for e in block.entries
    }
    expected = TABLES[name](standard())
    assert set(entries) == set(expected)
    for key, values in expected.items():
        found = np.array(entries[key], dtype=float)
        assert np.allclose(found, values, rtol=0, atol=1e-10), key


def test_table_6_is_laid_out_as_the_paper_does() -> None:
    table = table6(standard().inputs())
    tidy = table.tidy()
    assert list(dict.fromkeys(tidy["row"])) == [
        "dlog skew, estimated", "dlog skew, permuted", "dlog skew, difference",
        "dlog flip rate, estimated", "dlog flip rate, permuted", "dlog flip rate, difference",
        "d accuracy, estimated", "d accuracy, permuted", "d accuracy, difference",
    ]  # fmt: skip
    assert tidy["column"].tolist() == ["alpha=0.5", "alpha=1"] * 9
    assert tidy["unit"].tolist() == [""] * 12 + ["pp"] * 6
    # All nineteen cells for accuracy; two never flip, and a zero skew takes others out.
    n = tidy.set_index(["row", "column"])["n"]
    assert (n[["d accuracy, estimated", "d accuracy, permuted"]] == 19).all()
    assert (n["dlog flip rate, estimated"] <= 17).all()
    assert (n["dlog skew, permuted"] == n["dlog skew, estimated"]).all()


def test_texts_carry_the_reported_rows_and_sections() -> None:
    inputs = standard().inputs()
    blocks = [text_6(inputs), text_d1(inputs), *text_d2(inputs)]
    tidy = Table("text", "", blocks).tidy()
    rows = set(zip(tidy["table"], tidy["row"], tidy["column"], strict=True))
    assert {
        ("text-6", "K>=3 cells", "balanced RStd, baseline"),
        ("text-6", "K>=3 cells", "balanced RStd, PriDe"),
        ("text-6", "K>=3 cells", "balanced RStd, reversal product"),
        ("text-6", "K=4 cells", "mean std(b_sym)/std(b)"),
        ("text-D.2", "cells of the reversal comparison", MIRRORING),
        ("text-D.2", "K=4 cells of the reversal comparison", MIRRORING),
    } <= rows
    assert {
        ("text-6", "all first-token cells", f"{change}, {correction}")
        for change in ("dlog flip rate", "dlog skew")
        for correction in CORRECTIONS
    } <= rows
    assert not tidy.duplicated(["table", "row", "column"]).any()
    assert (tidy["unit"][tidy["column"].str.startswith("rank reversals")] == "% of pairs").all()


def test_one_number_of_one_set_of_cells_has_one_interval() -> None:
    # Batch calibration alone is in Sections 6 and D.1, PriDe alone in Section 6 and Table 6.
    entries = {
        (name, e.row, e.column): e
        for name, found in blocks_of(standard()).items()
        for b in found
        for e in b.entries
    }
    cells = "all first-token cells"
    for change in ("dlog flip rate", "dlog skew"):
        for one, other in (
            (("text-6", cells, f"{change}, batch calibration"), ("text-D.1", cells)),
            (("text-6", cells, f"{change}, PriDe"), ("6", f"{change}, estimated")),
        ):
            column = one[2] if other[0] == "text-D.1" else "alpha=1"
            both = [entries[one], entries[(*other, column)]]
            assert [e.n for e in both] == [17, 17]
            ends = [(e.value, e.ci_low, e.ci_high) for e in both]
            assert ends[0] == pytest.approx(ends[1], abs=1e-12)


@pytest.mark.parametrize("name", list(ODD))
def test_what_is_undefined_is_noted(name: str) -> None:
    blocks = blocks_of(odd(name), 20)
    for entry in (e for found in blocks.values() for b in found for e in b.entries):
        undefined = entry.value is None or math.isnan(entry.value)
        assert not undefined or (entry.note and math.isnan(entry.ci_low)), entry
        assert undefined or math.isfinite(entry.value)
    values = {
        (e.row, e.column): e.value
        for found in blocks.values()
        for b in found
        for e in b.entries
        if e.value is not None
    }
    if name in ("no first-token readout", "cells of one item"):
        assert values == {}
    elif name == "no cell flips":
        # Only accuracies, placement and pairs are left, and nothing moves them.
        assert set(values.values()) == {0.0}
        assert ("d accuracy, permuted", "alpha=1") in values
    else:
        assert ("dlog flip rate, difference", "alpha=0.5") in values
        reads_reversals = name not in ("two options only", "no reversals")
        assert any(row == "K>=3 cells" for row, _ in values) == reads_reversals
        assert ("K=4 cells", "mean std(b_sym)/std(b)") in values or not reads_reversals


def test_a_checkpoint_whose_letter_preference_is_flat_has_no_share() -> None:
    # Every rotation of a steady item holds the same numbers: b is flat but for rounding.
    run = score_run([steady(c, "four", 4) for c in ("A", "B")])
    assert np.isnan(run.analysis("strengths")["symmetric_share"].to_numpy(dtype=float)).all()
