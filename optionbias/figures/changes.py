"""Figure 9: between a base checkpoint and its release, the pooled SD need not move as the flip rate."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from optionbias.figures import style

TITLE = "Change in log pooled SD against change in log flip rate from base to release"
OPPOSITE, SAME, SHADE = "0.25", "0.62", "0.94"
# (opposite, resolved) -> what the legend says
KINDS = {
    (True, True): "opposite, both resolved",
    (True, False): "opposite, not both resolved",
    (False, True): "same way, both resolved",
    (False, False): "same way, not both resolved",
}


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, axis = plt.subplots(figsize=(style.ONE_COLUMN, 3.0))
    shown = frame[np.isfinite(frame[["x", "y"]].astype(float)).all(axis=1)]
    across, up = (_reach(shown[name]) for name in ("x", "y"))
    for corner in ((-across, 0), (0, -up)):
        axis.add_patch(Rectangle(corner, across, up, color=SHADE, lw=0, zorder=0))
    axis.axhline(0, color=style.LIGHT_GREY, lw=0.6, zorder=1)
    axis.axvline(0, color=style.LIGHT_GREY, lw=0.6, zorder=1)
    size = style.marker_size(len(shown))
    # Opposite moves are the fewer: drawn last, and of another shape for print without greys.
    for (opposite, resolved), label in reversed(KINDS.items()):
        chosen = shown[
            (shown["opposite"].astype(bool) == opposite)
            & (shown["resolved"].astype(bool) == resolved)
        ]
        colour = OPPOSITE if opposite else SAME
        axis.scatter(
            chosen["x"], chosen["y"], s=size, marker="D" if opposite else "o", linewidths=0.7,
            edgecolors=colour, facecolors=colour if resolved else "none", label=label,
            zorder=3 if opposite else 2,
        )  # fmt: skip
    axis.set(
        xlim=(-across, across), ylim=(-up, up), xlabel=r"$\Delta$ log flip rate, release minus base",
        ylabel=r"$\Delta$ log pooled SD",
    )  # fmt: skip
    style.heading(figure, cohort, _said(len(shown), len(frame)))
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(
        handles[::-1], labels[::-1], loc="outside lower center", ncol=2, frameon=False,
        handletextpad=0.1, columnspacing=1.0,
    )  # fmt: skip
    return figure


def _reach(values: pd.Series) -> float:
    """Half the width of an axis about zero."""
    largest = float(values.abs().max()) if len(values) else 0.0
    return 1.08 * largest if largest > 0 else 1.0


def _said(shown: int, pairs: int) -> str:
    if pairs == 0:
        return "no base checkpoint with its release"
    drawn = f"{pairs} pairs" if pairs > 1 else "1 pair"
    if shown < pairs:
        drawn += f", {pairs - shown} without a logarithm not drawn"
    return drawn
