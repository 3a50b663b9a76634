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
from optionbias.tables.table import Block, Entry, Table, write_table
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


def sections_of(inputs: Inputs) -> dict[str, list[Entry]]:
    """Section -> its entries, those of the functions in their order."""
    found: dict[str, list[Entry]] = {}
    for text in TEXTS:
        for block in blocks_of(text, inputs):
            found[block.table] = [*found.get(block.table, []), *block.entries]
    return found


def test_every_block_under_the_heading_of_its_section() -> None:
    expected = sections_of(standard().inputs())
    found = prose().blocks
    assert {b.table: repr(b.entries) for b in found} == {
        name: repr(entries) for name, entries in expected.items() if entries
    }
    # Sections before appendices, each once.
    names = [b.table for b in found]
    sections = [name for name in names if name[len("text-")].isdigit()]
    assert names == sorted(sections) + sorted(set(names) - set(sections))
    headings = {b.table: b.heading for b in found}
    assert headings["text-5.1"] == "Section 5.1"
    assert headings["text-D.2"] == "Appendix D.2"


@pytest.mark.parametrize("name", ["two options only", "no first-token readout"])
def test_sections_without_a_number_are_left_out(name: str) -> None:
    inputs = odd(name).inputs()
    every = sections_of(inputs)
    found = {b.table for b in table_text(inputs).blocks}
    assert found == {name for name, entries in every.items() if entries}
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
