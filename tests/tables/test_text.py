"""Table `text`: every block of the prose, its own numbers in the CSV, and the mark of simulated data."""

import csv
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from optionbias.catalogue import TEXTS
from optionbias.reported import is_table
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Table, write_table
from optionbias.tables.text import table_text
from synthetic import odd, standard


def blocks_of(text: str, inputs: Inputs) -> list[Block]:
    """What a function of the catalogue returns: a block, or several."""
    module, function = text.split(":")
    found = getattr(import_module(module), function)(inputs)
    return [found] if isinstance(found, Block) else list(found)


@cache
def prose() -> Table:
    """The table of the standard run."""
    return table_text(standard().inputs())


def test_every_block_in_the_order_of_the_paper() -> None:
    inputs = standard().inputs()
    expected = [b for text in TEXTS for b in blocks_of(text, inputs) if b.entries]
    found = prose().blocks
    assert [(b.heading, b.table) for b in found] == [(b.heading, b.table) for b in expected]
    assert [len(b.entries) for b in found] == [len(b.entries) for b in expected]
    # A heading stands once, over a section of its own.
    for names in ([b.heading for b in found], [b.table for b in found]):
        assert len(set(names)) == len(names)
        assert all(names)


@pytest.mark.parametrize("name", ["two options only", "no first-token readout"])
def test_sections_without_a_number_are_left_out(name: str) -> None:
    inputs = odd(name).inputs()
    every = [b for text in TEXTS for b in blocks_of(text, inputs)]
    found = table_text(inputs).blocks
    assert [b.table for b in found] == [b.table for b in every if b.entries]
    assert len(found) < len(every)


def rows_of(table: Table, folder: Path) -> list[dict[str, str]]:
    write_table(table, [folder / f"tabletext.{ending}" for ending in ("csv", "md", "tex", "typ")])
    with open(folder / "tabletext.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_csv_names_the_section_of_every_value(tmp_path: Path) -> None:
    rows = rows_of(prose(), tmp_path)
    assert [row["table"] for row in rows] == [b.table for b in prose().blocks for _ in b.entries]
    assert all(row["table"].startswith("text-") and is_table(row["table"]) for row in rows)
    keys = [(row["table"], row["row"], row["column"]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_simulated_data_are_marked_in_the_caption_and_in_every_row(tmp_path: Path) -> None:
    real = rows_of(prose(), tmp_path / "real")
    rows = rows_of(replace(prose(), simulated=True), tmp_path / "simulated")
    assert not any("simulated" in row["note"] for row in real)
    for row, other in zip(rows, real, strict=True):
        own = other["note"]
        assert row["note"] == (f"simulated data; {own}" if own else "simulated data")
        assert {**row, "note": ""} == {**other, "note": ""}
    for ending in ("md", "tex", "typ"):
        said = (tmp_path / "simulated" / f"tabletext.{ending}").read_text(encoding="utf-8")
        plain = (tmp_path / "real" / f"tabletext.{ending}").read_text(encoding="utf-8")
        assert said.count("Simulated data. Numbers of the prose") == 1
        assert said.replace("Simulated data. ", "") == plain
