"""Every table and figure of the catalogue: its files, the statistics it declares, odd cohorts."""

import csv
import math
import re
from importlib import import_module
from pathlib import Path

import pytest
import typst

from optionbias.catalogue import FIGURES, TABLES
from optionbias.frames import write_parquet
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Table, write_table
from strategies import SEED
from synthetic import DRAWS, ODD, Run, odd, standard

FORMATS = ("csv", "md", "tex", "typ")


def made(number: str, inputs: Inputs) -> Table:
    """A table of the catalogue."""
    module, function = TABLES[number][0].split(":")
    table: Table = getattr(import_module(module), function)(inputs)
    return table


def only(run: Run, files: tuple[str, ...], folder: Path) -> Inputs:
    """Inputs from a folder that holds these statistics files alone."""
    for name in files:
        write_parquet(folder / f"{name}.parquet", run.inputs().read(name))
    return Inputs(folder, run.cohort, DRAWS, SEED)


def write(run: Run, folder: Path) -> dict[str, Table]:
    """Every table in every format."""
    tables = {number: made(number, run.inputs()) for number in TABLES}
    for number, table in tables.items():
        write_table(table, [folder / f"table{number}.{ending}" for ending in FORMATS])
    return tables


def check_files(folder: Path) -> None:
    """Whole-number counts, no negative zero, and Typst that compiles."""
    source = ""
    for number in TABLES:
        with open(folder / f"table{number}.csv", newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                assert (
                    row["table"].startswith("text-") if number == "text" else row["table"] == number
                )
                values = [row[name] for name in ("value", "ci_low", "ci_high")]
                assert not re.search(r"(^|\s)-0(\.0*)?(\s|$)", " ".join(values)), row
                assert not {"nan", "inf", "-inf", "<NA>", "None"} & set(values), row
        for ending in FORMATS[1:]:
            text = (folder / f"table{number}.{ending}").read_text(encoding="utf-8")
            assert not re.search(r"[-\u2212]\$?0\.?0*(?![\d.,])", text), f"table{number}.{ending}"
            assert not re.search(r"\b(nan|inf|None)\b|<NA>", text), f"table{number}.{ending}"
        source += (
            (folder / f"table{number}.typ")
            .read_text(encoding="utf-8")
            .replace(f"<table-{number}>", "")
        )
    assert typst.compile(source.encode()).startswith(b"%PDF")


def test_files_of_the_standard_run(tmp_path: Path) -> None:
    write(standard(), tmp_path / "a")
    check_files(tmp_path / "a")
    write(standard(), tmp_path / "b")
    names = sorted(p.name for p in (tmp_path / "a").iterdir())
    assert names == sorted(f"table{n}.{ending}" for n in TABLES for ending in FORMATS)
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_counts_are_written_as_whole_numbers(tmp_path: Path) -> None:
    write(standard(), tmp_path)
    for number in TABLES:
        with open(tmp_path / f"table{number}.csv", newline="", encoding="utf-8") as file:
            counts = {row["n"] for row in csv.DictReader(file)}
        assert all(re.fullmatch(r"\d*", n) for n in counts), (number, sorted(counts))


@pytest.mark.parametrize("name", list(ODD))
@pytest.mark.parametrize("number", list(TABLES))
def test_cohorts_that_leave_statistics_undefined(name: str, number: str) -> None:
    table = made(number, odd(name).inputs())
    tidy = table.tidy()
    for entry in tidy.to_dict("records"):
        numbers = (entry["value"], entry["ci_low"], entry["ci_high"])
        assert not any(isinstance(v, float) and math.isinf(v) for v in numbers)
        undefined = entry["value"] is None or entry["value"] != entry["value"]
        if undefined and (number, entry["row"]) != ("2", "Majority vote"):
            assert entry["note"], entry
            assert (entry["ci_low"], entry["ci_high"]) != (0, 0)


@pytest.mark.parametrize("name", ["two options only", "one cell", "no cell flips"])
def test_files_of_odd_cohorts(name: str, tmp_path: Path) -> None:
    write(odd(name), tmp_path)
    check_files(tmp_path)


@pytest.mark.parametrize("number", sorted(TABLES))
def test_a_table_reads_the_files_it_declares(number: str, tmp_path: Path) -> None:
    run = standard()
    table = made(number, only(run, TABLES[number][1], tmp_path))
    assert table.number == number
    assert table.tidy().equals(made(number, run.inputs()).tidy())


@pytest.mark.parametrize("number", sorted(FIGURES))
def test_a_figure_reads_the_files_it_declares(number: str, tmp_path: Path) -> None:
    run = standard()
    _, module, files = FIGURES[number]
    data = import_module(module).data
    assert data(only(run, files, tmp_path)).equals(data(run.inputs()))
