"""What tables and figures may read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from optionbias import origins

FEW_CHECKPOINTS = 10


@dataclass(frozen=True)
class Inputs:
    """Lazily read statistics of a run.

    Attributes:
        folder: results/statistics.
        cohort: the cohort as JSON (names, families, cells).
        draws: bootstrap draws.
        seed: the configured seed.
    """

    folder: Path
    cohort: dict[str, Any]
    draws: int
    seed: int

    def read(self, name: str) -> pd.DataFrame:
        """A statistics file: a frame of `frames.COLUMNS` or an analysis of `catalogue.ANALYSES`."""
        return pd.read_parquet(self.folder / f"{name}.parquet")

    def origins(self, names: Iterable[str]) -> origins.Origins:
        """Where the answers behind these statistics files come from."""
        return origins.of_statistics(self.folder / f"{name}.parquet" for name in names)

    @cached_property
    def cells(self) -> pd.DataFrame:
        """Per-cell statistics, every readout, operation and subset."""
        return self.read("cells")

    @cached_property
    def comparison(self) -> pd.DataFrame:
        """Operations on the same evaluation items of first-token cells with K >= 3."""
        return self.read("comparison")

    @cached_property
    def halves(self) -> pd.DataFrame:
        """Factors of random item halves of first-token cells."""
        return self.read("halves")

    @cached_property
    def sweeps(self) -> pd.DataFrame:
        """Provenance of every sweep: revision, dtype, backend, device."""
        return self.read("sweeps")

    @cached_property
    def first_token(self) -> pd.DataFrame:
        """The uncorrected first-token cells on all items, sorted by checkpoint and benchmark."""
        c = self.cells
        rows = c[
            (c["readout"] == "first-token")
            & (c["design"] == "cyclic")
            & (c["operation"] == "none")
            & (c["subset"] == "all")
        ]
        return rows.sort_values(["checkpoint", "benchmark"], kind="stable").reset_index(drop=True)

    def few_checkpoints_note(self, checkpoints: Iterable[str]) -> str:
        """What to say of intervals that resample few checkpoints; nothing from ten on."""
        n = len(set(checkpoints))
        if n >= FEW_CHECKPOINTS:
            return ""
        noun = "checkpoint" if n == 1 else "checkpoints"
        return f"rests on {n} {noun}, so intervals over checkpoints are only indicative"


def floor_note(cells: pd.DataFrame) -> str:
    """What is said beside a mean flip rate: the repeat disagreement of its cells; empty if not measured."""
    known = cells["repeat_disagreement"].dropna()
    if known.empty:
        return ""
    return f"repeat disagreement: mean {known.mean():.4f}, largest {known.max():.4f} over {len(known)} cells"
