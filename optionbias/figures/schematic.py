"""Parts of the two schematic figures: orderings as grids of options, shares as bars against 1/K."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from numpy.typing import NDArray

from optionbias.orderings import LETTERS

TEXT_SIZE = 6.0
DARK = "0.15"
# What flips and what is stable, in both figures.
FLIPPING, STABLE = (0.84, 0.37, 0.0), "0.6"
# Options are told apart by their numbers; the tints only help the eye.
_TINTS = [sns.light_palette(colour, 10)[3] for colour in sns.color_palette("colorblind", 10)]


def orderings_grid(axis: Axes, rows: pd.DataFrame) -> None:
    """Rows are orderings, columns letters, and a cell's number is the option shown there.

    Args:
        axis: where it is drawn.
        rows: row (ordering), column (position), value (content), and label with `chosen` (a dark
            disc) and `gold` (a star) where they apply.
    """
    k = int(rows["column"].max()) + 1
    tints = np.empty((k, k, 3))
    for cell in rows.to_dict("records"):
        s, r, content = (int(cell[name]) for name in ("row", "column", "value"))
        marks = str(cell["label"]).split()
        chosen = "chosen" in marks
        tints[s, r] = _TINTS[content]
        if chosen:
            axis.plot(r, s, "o", ms=8.5, color=DARK, mec="none")
        if "gold" in marks:
            axis.plot(r + 0.33, s - 0.3, "*", ms=5.5, color="gold", mec=DARK, mew=0.4, zorder=4)
        colour = "white" if chosen else DARK
        axis.text(
            r, s + 0.02, str(content + 1), color=colour, size=TEXT_SIZE, ha="center", va="center"
        )
    cells(axis, tints, white_columns=True)
    axis.set_yticks(range(k), [f"\u03c0{chr(0x2080 + s)}" for s in range(k)])
    axis.spines[:].set_visible(False)


def cells(axis: Axes, colours: NDArray[np.float64], white_columns: bool = False) -> None:
    """A grid of colours (rows, letters, RGB), first row on top, letters above, white between rows."""
    n, k, _ = colours.shape
    axis.pcolormesh(np.arange(k + 1) - 0.5, np.arange(n + 1) - 0.5, colours, zorder=0)
    axis.hlines(np.arange(1, n) - 0.5, -0.5, k - 0.5, color="white", lw=0.9, zorder=0.5)
    if white_columns:
        axis.vlines(np.arange(1, k) - 0.5, -0.5, n - 0.5, color="white", lw=0.9, zorder=0.5)
    axis.set_ylim(n - 0.5, -0.5)
    letters_along(axis, k)
    axis.xaxis.tick_top()


def letters_along(axis: Axes, k: int) -> None:
    """Letters along the x axis, without tick marks."""
    axis.set_xlim(-0.5, k - 0.5)
    axis.set_xticks(range(k), list(LETTERS[:k]))
    axis.tick_params(length=0, pad=1.5, labelsize=TEXT_SIZE)


def share_bars(
    axis: Axes, shares: Sequence[float], colour: object, top: float, from_even: bool = False
) -> None:
    """Each letter's share as a bar from zero (or from 1/K), with 1/K dashed, up to `top`."""
    k = len(shares)
    bottom = 1 / k if from_even else 0.0
    axis.bar(range(k), np.asarray(shares) - bottom, 0.72, bottom=bottom, color=colour)
    axis.axhline(1 / k, color=DARK, lw=0.8, ls=(0, (3, 2)), zorder=3)
    axis.set_ylim(0, top)
    axis.set_yticks([0, 1 / k], ["0", f"1/{k}"])
    letters_along(axis, k)
