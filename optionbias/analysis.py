"""Analyses: statistics that need the items of a benchmark's sweeps, beyond the rows of `cells`.

An analysis is a module with `COLUMNS` and `analyse(benchmark, sweeps, settings)`, which returns one
mapping a row; `catalogue.ANALYSES` names it and the sweeps it reads. Its rows for all benchmarks
become `results/statistics/{name}.parquet`, which tables and figures read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd

from optionbias.catalogue import ANALYSES
from optionbias.sweep import Sweep, read_cell_sweep

SORTED_BY = ("benchmark", "checkpoint", "readout")


@dataclass(frozen=True)
class Settings:
    """What an analysis may know of the configuration.

    Attributes:
        seed: the configured seed.
        draws: bootstrap draws.
        repetitions: random item halves.
        benchmarks: all benchmarks that the analysis reads.
    """

    seed: int
    draws: int
    repetitions: int
    benchmarks: tuple[str, ...] = ()


def cells_of(name: str, cohort: dict[str, Any]) -> list[tuple[str, str, str]]:
    """The (readout, benchmark, checkpoint) that an analysis reads, in the cohort's order."""
    entry = ANALYSES[name]
    k = {benchmark["name"]: benchmark["K"] for benchmark in cohort["benchmarks"]}
    return [
        (readout, benchmark, checkpoint)
        for readout, benchmark, checkpoint in cohort["cells"]
        if entry.reads(readout, k[benchmark])
    ]


def as_frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Rows of an analysis with its columns, sorted by benchmark, checkpoint and readout."""
    columns = list(import_module(ANALYSES[name].module).COLUMNS)
    frame = pd.DataFrame(rows, columns=columns)
    by = [column for column in SORTED_BY if column in columns]
    return frame.sort_values(by, kind="stable", ignore_index=True)


def run(
    name: str, root: Path, cohort: dict[str, Any], seed: int, draws: int, repetitions: int
) -> pd.DataFrame:
    """Carry out an analysis on the sweeps under `root`, one benchmark after the other.

    Args:
        name: a key of `catalogue.ANALYSES`.
        root: folder of `{readout}/{benchmark}/{checkpoint}.parquet`.
        cohort: `results/cohort.json`.
        seed, draws, repetitions: see `Settings`.

    Raises:
        SweepError: a sweep that cannot be trusted.
    """
    analyse = import_module(ANALYSES[name].module).analyse
    k = {benchmark["name"]: benchmark["K"] for benchmark in cohort["benchmarks"]}
    cells = cells_of(name, cohort)

    def sweeps(benchmark: str) -> Iterator[Sweep]:
        for readout, other, checkpoint in cells:
            if other == benchmark:
                path = root / readout / benchmark / f"{checkpoint}.parquet"
                yield read_cell_sweep(path, k[benchmark])

    benchmarks = tuple(sorted({cell[1] for cell in cells}))
    settings = Settings(seed, draws, repetitions, benchmarks)
    rows: list[dict[str, Any]] = []
    for benchmark in benchmarks:
        rows += analyse(benchmark, sweeps(benchmark), settings)
    return as_frame(name, rows)
