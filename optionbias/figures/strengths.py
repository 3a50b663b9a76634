"""Figure 4: the estimated prior divided out at several strengths, and the same with letters permuted."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optionbias.figures import style

TITLE = "Log-changes of the factors against the strength of the prior correction"
LABELS = {"skew": r"Mean $\Delta$ log skew", "flip_rate": r"Mean $\Delta$ log flip rate"}
ESTIMATED, PERMUTED = style.OPERATION_STYLES["pride"][0], style.OPERATION_STYLES["pride+batch"][0]
# series -> name, colour, marker, line
SERIES = {
    "estimated": ("estimated prior", ESTIMATED, "s", "-"),
    "permuted": ("letter-permuted prior", PERMUTED, "o", "--"),
}


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, axes = plt.subplots(1, 2, figsize=(style.ONE_COLUMN, 2.1), sharex=True, sharey=True)
    for axis, (panel, label) in zip(axes, LABELS.items(), strict=True):
        _panel(axis, frame[frame["panel"] == panel])
        axis.set(xlabel=r"Strength $\alpha$", ylabel=label)
        axis.set_xticks([0, 0.5, 1, 1.5])
        axis.set_xlim(-0.06, 1.56)
        axis.yaxis.set_tick_params(labelleft=True)
    if not frame["y"].notna().any():
        axes[0].set_ylim(-1, 1)  # nothing sets the scale
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=2, frameon=False
    )
    style.heading(figure, cohort, _said(frame))
    return figure


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axhline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    for series, (name, colour, marker, line) in SERIES.items():
        chosen = rows[rows["series"] == series].sort_values("x")
        x, y, low, high = (
            chosen[column].to_numpy(dtype=float) for column in ("x", "y", "y_low", "y_high")
        )
        axis.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        axis.plot(
            x, y, color=colour, marker=marker, ls=line, ms=3.2, mec="white", mew=0.3, label=name
        )  # fmt: skip


def _said(frame: pd.DataFrame) -> str:
    """Whose cells are drawn: the common cells vary with factor and strength."""
    if frame.empty:
        return "no first-token cell"
    low, high = int(frame["n"].min()), int(frame["n"].max())
    cells = f"{low} to {high} cells" if low != high else f"{low} cell{'s' * (low != 1)}"
    checkpoints = int(frame["checkpoints"].iloc[0])
    return f"{cells} of {checkpoints} checkpoint{'s' * (checkpoints != 1)}"
