"""Which cells an analysis of a readout counts: unfiltered, filtered and common pools (A.1).

A cell that was run is one with a row of uncorrected answers under the cyclic orderings.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import pandas as pd

COMMON_READOUTS = ("first-token", "chain-of-thought", "direct-answer")
LEAST_SHARE = Fraction(9, 10)


@dataclass(frozen=True)
class Pools:
    """The pools of every readout.

    Attributes:
        cells: uncorrected cells under the cyclic orderings on all items, every readout, sorted by
            checkpoint and benchmark.
    """

    cells: pd.DataFrame

    @classmethod
    def of(cls, cells: pd.DataFrame) -> Pools:
        """The pools of the rows of `cells`."""
        rows = cells[
            (cells["design"] == "cyclic")
            & (cells["operation"] == "none")
            & (cells["subset"] == "all")
        ]
        return cls(rows.sort_values(["checkpoint", "benchmark"], kind="stable"))

    def unfiltered(self, readout: str) -> pd.DataFrame:
        """Every cell run under a readout."""
        return self.cells[self.cells["readout"] == readout].reset_index(drop=True)

    def filtered(self, readout: str) -> pd.DataFrame:
        """The cells with at least 90% of their benchmark's modal usable items (`modal_items`).

        Cells of a benchmark without a first-token cell have nothing to be held against and are kept.
        """
        rows = self.unfiltered(readout)
        return _kept(
            rows,
            [
                items >= LEAST_SHARE * self.modal_items.get(benchmark, 0)
                for items, benchmark in zip(rows["n_items"], rows["benchmark"], strict=True)
            ],
        )

    def own(self, readout: str) -> pd.DataFrame:
        """A readout's own pool: filtered, but every cell run for the first-token readout."""
        return self.unfiltered(readout) if readout == "first-token" else self.filtered(readout)

    def common(self, readout: str) -> pd.DataFrame:
        """The cells run under the first-token, chain-of-thought and direct-answer readouts, unfiltered.

        The statistics are those under `readout`; another readout than the three counts on those of
        the cells that it was run on.
        """
        rows = self.unfiltered(readout)
        return _kept(rows, [cell in self._run_under_all for cell in _names(rows)])

    @cached_property
    def modal_items(self) -> dict[str, int]:
        """Benchmark -> modal usable item count of its first-token cells, the largest if modes tie."""
        grouped = self.unfiltered("first-token").groupby("benchmark")["n_items"]
        return {str(benchmark): int(counts.mode().max()) for benchmark, counts in grouped}

    @cached_property
    def _run_under_all(self) -> set[tuple[str, str]]:
        return set.intersection(
            *(set(_names(self.unfiltered(readout))) for readout in COMMON_READOUTS)
        )


def _names(rows: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(rows["checkpoint"], rows["benchmark"], strict=True))


def _kept(rows: pd.DataFrame, keep: list[bool]) -> pd.DataFrame:
    return rows[np.array(keep, dtype=bool)].reset_index(drop=True)
