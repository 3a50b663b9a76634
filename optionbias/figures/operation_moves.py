"""Figure 5: how each operation moves the two factors from no operation."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from optionbias.figures import style
from optionbias.tables import names

TITLE = "Mean change in log flip rate and log skew from no operation"
def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, axis = plt.subplots(figsize=(style.ONE_COLUMN, 2.9))
    known = {"none": (0.0, 0.0)} | {r["operation"]: (r["x"], r["y"]) for _, r in frame.iterrows()}
    axis.axhline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    axis.axvline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    axis.scatter(0, 0, color=style.OPERATION_STYLES["none"][0], s=22, zorder=3, label="no operation")
    for _, row in frame.iterrows():
        if not np.isfinite([row["x"], row["y"]]).all():
            continue
        colour, marker = style.OPERATION_STYLES[row["operation"]]
        if np.isfinite(known[row["parent"]]).all():
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 0.8, "shrinkA": 3, "shrinkB": 3}
            axis.annotate("", (row["x"], row["y"]), known[row["parent"]], arrowprops=arrow)
        bars = np.array([[row["x"] - row["x_low"]], [row["x_high"] - row["x"]]])
        tall = np.array([[row["y"] - row["y_low"]], [row["y_high"] - row["y"]]])
        # A percentile interval need not hold the estimate; bars have no negative length.
        axis.errorbar(
            row["x"], row["y"], xerr=np.clip(bars, 0, None), yerr=np.clip(tall, 0, None),
            color=colour, lw=0.5, alpha=0.6, zorder=1,
        )  # fmt: skip
        axis.scatter(
            row["x"], row["y"], color=colour, marker=marker, s=24, zorder=3, edgecolors="white",
            linewidths=0.3, label=names.OPERATION_NAMES[row["operation"]],
        )  # fmt: skip
    axis.set(xlabel=r"Mean $\Delta$ log flip rate", ylabel=r"Mean $\Delta$ log skew")
    if len(frame):
        rests = frame[["n_x", "n_y"]].to_numpy()
        low, high, checkpoints = int(rests.min()), int(rests.max()), int(frame["checkpoints"].iloc[0])
        cells = f"{low} to {high} cells" if low != high else f"{low} cell{'s' * (low != 1)}"
        style.heading(figure, cohort, f"{cells} of {checkpoints} checkpoint{'s' * (checkpoints != 1)}, K \u2265 3")
    else:
        style.heading(figure, cohort, "no cell with reversed orderings")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncol=2, frameon=False, handletextpad=0.2)
    return figure
