"""Figure 8: the flip rate's correlation with accuracy against its cap null."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from optionbias.figures import style

TITLE = "The flip rate's association with accuracy against the cap null"
ROW_HEIGHT, MARGINS = 0.2, 1.0  # inches


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    height = MARGINS + ROW_HEIGHT * max(len(frame), 3)
    figure, axis = plt.subplots(figsize=(style.ONE_COLUMN, height))
    styles = style.k_styles([int(k) for k in frame["K"]])
    # A gap between option counts: places run down the axis.
    groups = np.unique(frame["K"].to_numpy(), return_inverse=True)[1] if len(frame) else np.empty(0)
    places = np.arange(len(frame)) + 0.5 * groups
    axis.axvline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    labelled: set[str] = set()

    def once(label: str) -> str:
        """The label for its first mark, none for the others."""
        first = label not in labelled
        labelled.add(label)
        return label if first else "_"

    for place, row in zip(places, frame.to_dict("records"), strict=True):
        if np.isfinite(row["null_median"]):
            axis.plot(
                [row["null_low"], row["null_high"]], [place, place], color=style.LIGHT_GREY, lw=5,
                solid_capstyle="butt", zorder=1, label=once("null, central 95%"),
            )  # fmt: skip
            axis.plot(
                row["null_median"], place, "|", color=style.GREY, ms=10, mew=1.2, zorder=2,
                label=once("null median"),
            )  # fmt: skip
        if not np.isfinite([row["observed"], row["null_median"]]).any():
            axis.annotate(
                "undefined", (0, place), color=style.GREY, fontsize=5.5, va="center",
                xytext=(3, 0), textcoords="offset points",
            )  # fmt: skip
        if np.isfinite(row["observed"]):
            colour, marker = styles[int(row["K"])]
            axis.scatter(
                row["observed"], place, s=16, color=colour, marker=marker, edgecolors="white",
                linewidths=0.3, zorder=3, clip_on=False, label=once(f"observed, K = {int(row['K'])}"),
            )  # fmt: skip
    axis.set_yticks(places, [_label(row) for row in frame.to_dict("records")])
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)
    axis.set(xlim=(-1.04, 1.04), xlabel="Spearman correlation with accuracy")
    axis.set_ylim(places[-1] + 0.6 if len(places) else 1, -0.6)
    style.heading(figure, cohort, "first-token readout" if len(frame) else "no first-token cell")
    if labelled:
        figure.legend(
            *axis.get_legend_handles_labels(), loc="outside lower center", ncol=2, frameon=False,
            handletextpad=0.4,
        )  # fmt: skip
    return figure


def _label(row: dict[Hashable, Any]) -> str:
    stratum = {"all": "all", "binding": "cap binds", "cap equal to one": "cap is one"}
    noun = "cell" if row["n"] == 1 else "cells"
    return f"K = {row['K']}, {stratum[row['stratum']]} ({row['n']} {noun})"
