"""Figure 2: why the pooled SD is the flip rate times the skew, on a constructed example."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure, SubFigure

from optionbias.figures import style
from optionbias.figures.schematic import (
    DARK,
    FLIPPING,
    STABLE,
    TEXT_SIZE,
    orderings_grid,
    share_bars,
)

TITLE = "Only items that flip can make the pooled shares uneven"


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`; it is the same for every cohort."""
    frame = frame.assign(label=frame["label"].astype("object").fillna(""))
    figure = plt.figure(figsize=(style.TWO_COLUMNS, 2.35))
    left, middle, right = figure.subfigures(1, 3, width_ratios=[0.75, 1.35, 1.75])
    _rotation(left, frame)
    _items(middle, frame)
    _pooling(right, frame)
    return figure


def _rotation(panel: SubFigure, frame: pd.DataFrame) -> None:
    panel.suptitle("Every option visits\nevery letter once", fontsize=7)
    axes = panel.subplots(2, 1, height_ratios=[2.6, 1])
    orderings_grid(axes[0], frame[frame["panel"] == "rotation"])
    axes[1].set_axis_off()
    marks = [
        axes[1].plot([], [], "o", ms=6, color=DARK, mec="none")[0],
        axes[1].plot([], [], "*", ms=6, color="gold", mec=DARK, mew=0.4)[0],
        axes[1].plot([], [], color=DARK, lw=0.8, ls=(0, (3, 2)))[0],
    ]
    labels = ["choice", "gold option", "1/K"]
    axes[1].legend(marks, labels, loc="center", frameon=False, fontsize=TEXT_SIZE, borderaxespad=0)


def _items(panel: SubFigure, frame: pd.DataFrame) -> None:
    title = "Answers that stay on an option spread;\nanswers that flip can pile up"
    panel.suptitle(title, fontsize=7)
    axes = panel.subplots(2, 2, height_ratios=[2.6, 1])
    for i, (name, colour) in enumerate((("stable-wrong", STABLE), ("flipping", FLIPPING))):
        orderings_grid(axes[0, i], frame[frame["panel"] == name])
        axes[0, i].set_title(f"{name.capitalize()} item", fontsize=6.5)
        shares = frame.loc[frame["panel"] == f"{name} shares", "value"].tolist()
        share_bars(axes[1, i], shares, colour, 0.8)
    axes[1, 0].set_ylabel("answers", fontsize=TEXT_SIZE, labelpad=1)
    for axis in axes[:, 1]:
        axis.set_yticks([])


def _pooling(panel: SubFigure, frame: pd.DataFrame) -> None:
    values = frame.set_index("panel")["value"]
    fl, skew, sd = (float(values[name]) for name in ("flip_rate", "skew", "pooled_sd"))
    panel.suptitle("Pooling weights them:\nf = (1 − FL) × even share + FL × g", fontsize=7)
    axes = panel.subplots(1, 3)
    parts = (
        ("even", f"{1 - fl:.2f} ×", "even share\n(stable items)", STABLE),
        ("g", f"+  {fl:.2f} ×", "g\n(flipping items)", FLIPPING),
        ("f", "=", "f\n(all answers)", DARK),
    )
    for axis, (name, weight, label, colour) in zip(axes, parts, strict=True):
        share_bars(axis, frame.loc[frame["panel"] == name, "value"].tolist(), colour, 0.6)
        axis.set_title(weight, fontsize=6.5)
        axis.set_xlabel(label, fontsize=6.5)
    for axis in axes[1:]:
        axis.set_yticks([])
    panel.supxlabel(f"std(f) = FL × std(g): {sd:.3f} = {fl:.2f} × {skew:.3f}", fontsize=7)
