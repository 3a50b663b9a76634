"""Analyses: which cells they read, in which order, and what stops them."""

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pytest

from families import families
from optionbias.analysis import SORTED_BY, Settings, as_frame, cells_of, run
from optionbias.catalogue import ANALYSES, FIGURES, TABLES, Analysis
from optionbias.frames import COLUMNS, write_parquet
from optionbias.sweep import READOUTS, Sweep, SweepError, write_sweep
from strategies import SEED
from synthetic import DRAWS, REPETITIONS, Run, answers, key_of, standard

COHORT = {
    "name": "toy",
    "checkpoints": [{"name": c} for c in ("A", "B", "Shut")],
    "benchmarks": [{"name": "four", "K": 4}, {"name": "ten", "K": 10}, {"name": "two", "K": 2}],
    # As JSON holds them: lists, by readout, benchmark and checkpoint.
    "cells": [
        ["first-token", "four", "A"],
        ["first-token", "four", "B"],
        ["first-token", "ten", "A"],
        ["first-token", "two", "B"],
        ["chain-of-thought", "four", "A"],
        ["all-orderings", "four", "B"],
        ["all-orderings", "two", "B"],
        ["closed", "four", "Shut"],
    ],
}
FIRST = [("first-token", "four", "A"), ("first-token", "four", "B"), ("first-token", "ten", "A")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("margins", [*FIRST, ("first-token", "two", "B")]),
        ("transitions", FIRST),
        ("injections", FIRST[:2]),
        (
            "folds",
            [*FIRST, ("first-token", "two", "B"), ("all-orderings", "four", "B"), ("all-orderings", "two", "B")],
        ),
        ("closed", [("closed", "four", "Shut")]),
        ("designs", [("all-orderings", "four", "B")]),
    ],
)  # fmt: skip
def test_cells_that_an_analysis_reads(name: str, expected: list[tuple[str, str, str]]) -> None:
    assert cells_of(name, COHORT) == expected


def test_the_limits_of_an_analysis_are_included() -> None:
    entry = Analysis("x", ("closed", "five-shot"), least_k=3, most_k=5)
    read = {(r, k) for r in READOUTS for k in range(2, 8) if entry.reads(r, k)}
    assert read == {(r, k) for r in ("closed", "five-shot") for k in (3, 4, 5)}


# --- the contract, with an analysis made up for it ---------------------------------------------


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Any]]:
    """Register the analysis `toy`; returns a function that sets what it does, and its calls."""

    def register(columns: tuple[str, ...], rows: Callable[[Sweep], dict[str, Any]]) -> list[Any]:
        calls: list[Any] = []

        def analyse(benchmark: str, sweeps: Iterable[Sweep], settings: Settings) -> list[Any]:
            assert isinstance(sweeps, Iterator)
            calls.append((benchmark, settings))
            return [rows(sweep) for sweep in sweeps]

        module = ModuleType("toy_analysis")
        module.COLUMNS, module.analyse = columns, analyse  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "toy_analysis", module)
        monkeypatch.setitem(ANALYSES, "toy", Analysis("toy_analysis", ("first-token", "five-shot")))
        return calls

    return register


def write(root: Path, sweep: Sweep) -> Path:
    """Write a sweep where the workflow keeps it."""
    m = sweep.metadata
    path = root / m["readout"] / m["benchmark"] / f"{m['checkpoint']}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_sweep(path, sweep)
    return path


def test_rows_are_sorted_and_have_their_columns(toy) -> None:
    toy(("readout", "checkpoint", "benchmark", "step", "value"), dict)
    keys = [("y", "A", "r1", 0), ("x", "B", "r2", 0), ("x", "A", "r2", 1), ("x", "A", "r2", 0), ("x", "A", "r1", 0)]  # fmt: skip
    names = ("benchmark", "checkpoint", "readout", "step")
    rows = [{**dict(zip(names, key, strict=True)), "extra": 1} for key in keys]
    frame = as_frame("toy", rows)
    assert list(frame.columns) == ["readout", "checkpoint", "benchmark", "step", "value"]
    # By benchmark, checkpoint, readout; rows that share these stay as they came.
    assert list(frame[list(names)].itertuples(index=False, name=None)) == [
        ("x", "A", "r1", 0), ("x", "A", "r2", 1), ("x", "A", "r2", 0), ("x", "B", "r2", 0), ("y", "A", "r1", 0),
    ]  # fmt: skip
    assert list(frame.index) == list(range(5))
    assert frame["value"].isna().all()
    empty = as_frame("toy", [])
    assert empty.empty
    assert list(empty.columns) == list(frame.columns)


def test_each_benchmark_is_analysed_once_on_its_own_sweeps(toy, tmp_path: Path) -> None:
    calls = toy((*SORTED_BY, "n"), lambda s: {**s.metadata, "n": len(s.items)})
    sweeps = [
        answers(c, b, k, n, readout=r)
        for c, b, k, n, r in [
            ("B", "two", 2, 7, "first-token"),
            ("A", "two", 2, 6, "five-shot"),
            ("A", "four", 4, 5, "first-token"),
            ("A", "two", 2, 8, "closed"),
        ]
    ]
    cells = [[s.metadata[key] for key in ("readout", "benchmark", "checkpoint")] for s in sweeps]
    for sweep in sweeps:
        write(tmp_path, sweep)
    frame = run("toy", tmp_path, {**COHORT, "cells": cells}, SEED, 11, 3)
    # Sorted benchmarks, whatever the cells' order; every call knows all of them.
    settings = Settings(SEED, 11, 3, ("four", "two"))
    assert calls == [("four", settings), ("two", settings)]
    assert list(frame.itertuples(index=False, name=None)) == [
        ("four", "A", "first-token", 5),
        ("two", "A", "five-shot", 6),
        ("two", "B", "first-token", 7),
    ]
    none = run("toy", tmp_path, {**COHORT, "cells": []}, SEED, 11, 3)
    assert (len(none), len(calls)) == (0, 2)


def test_a_sweep_of_another_cell_is_named(toy, tmp_path: Path) -> None:
    toy(SORTED_BY, lambda s: s.metadata)
    cohort = {**COHORT, "cells": COHORT["cells"][:2]}
    path, other = (write(tmp_path, answers(c, "four", 4, 5)) for c in ("A", "B"))
    assert len(run("toy", tmp_path, cohort, SEED, 11, 3)) == 2
    whole = other.read_bytes()
    other.write_bytes(path.read_bytes())
    with pytest.raises(SweepError) as caught:
        run("toy", tmp_path, cohort, SEED, 11, 3)
    assert str(caught.value) == (
        f"{other}: the metadata's `checkpoint` is 'A', not 'B': is this the file of another cell?"
    )
    other.write_bytes(whole[:-9])
    with pytest.raises(SweepError, match="not a whole Parquet file") as caught:
        run("toy", tmp_path, cohort, SEED, 11, 3)
    assert str(caught.value).startswith(f"{other}: ")
    other.unlink()
    with pytest.raises(SweepError, match="no such sweep file") as caught:
        run("toy", tmp_path, cohort, SEED, 11, 3)
    assert str(caught.value).startswith(f"{other}: ")
    # Another K than the cohort's is another benchmark of the same name.
    write(tmp_path, answers("B", "four", 4, 5))
    wrong = [{"name": "four", "K": 3}]
    with pytest.raises(SweepError, match="`K` is 4, not 3"):
        run("toy", tmp_path, {**cohort, "benchmarks": wrong}, SEED, 11, 3)


# --- the catalogue ---------------------------------------------------------------------------


@cache
def written(make: Callable[[], Run]) -> tuple[Run, Path]:
    """A run whose sweeps are files."""
    made = make()
    for sweep in made.sweeps:
        write(made.folder / "sweeps", sweep)
    return made, made.folder / "sweeps"


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_from_files_as_from_memory(name: str, tmp_path: Path) -> None:
    made, root = written(families if name == "closed" else standard)
    cohort = {**made.cohort, "cells": [key_of(s) for s in made.sweeps]}
    frame = run(name, root, cohort, SEED, DRAWS, REPETITIONS)
    write_parquet(tmp_path / "a.parquet", frame)
    again = pd.read_parquet(tmp_path / "a.parquet")
    assert again.equals(made.analysis(name))
    columns = list(import_module(ANALYSES[name].module).COLUMNS)
    assert list(again.columns) == columns
    by = [column for column in SORTED_BY if column in columns]
    assert again[by].equals(again[by].sort_values(by, kind="stable", ignore_index=True))
    expected = {cell[1] for cell in cells_of(name, made.cohort)}
    assert set(again["benchmark"]) <= expected
    assert len(again) or not expected


@pytest.mark.parametrize("name", sorted(ANALYSES))
def test_every_analysis_has_its_module(name: str) -> None:
    entry = ANALYSES[name]
    module = import_module(entry.module)
    assert isinstance(module.COLUMNS, tuple)
    assert len(set(module.COLUMNS)) == len(module.COLUMNS)
    assert "benchmark" in module.COLUMNS
    assert callable(module.analyse)
    assert set(entry.readouts) <= set(READOUTS)
    assert 2 <= entry.least_k <= entry.most_k <= 26
    # An analysis would overwrite a table of the scores.
    assert name not in COLUMNS


def test_every_table_and_figure_has_its_module_and_files() -> None:
    files = {*COLUMNS, *ANALYSES}
    assert list(TABLES) == [*map(str, range(1, 22)), "noise", "text"]
    for place, reads in TABLES.values():
        module, function = place.split(":")
        assert callable(getattr(import_module(module), function))
        assert set(reads) <= files, place
    assert list(FIGURES) == [*map(str, range(1, 10))]
    for drawn, computed, reads in FIGURES.values():
        assert callable(import_module(drawn).draw)
        assert import_module(drawn).TITLE
        assert callable(import_module(computed).data)
        assert set(reads) <= files, drawn
    # What no table and no figure reads would be computed for nothing.
    read = {name for _, names in TABLES.values() for name in names}
    read |= {name for *_, names in FIGURES.values() for name in names}
    assert set(ANALYSES) <= read
