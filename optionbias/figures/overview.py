"""Figure 1: one pooled SD from different behaviours, and what each operation moves."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure

from optionbias.figures import style
from optionbias.figures.schematic import (
    DARK,
    FLIPPING,
    STABLE,
    TEXT_SIZE,
    cells,
    orderings_grid,
    share_bars,
)
from optionbias.tables import names

TITLE = "The same pooled SD from different behaviours, and what each operation moves"
STAYS = {"option": "Stays on option 2", "letter": "Stays on letter A"}
LONGEST_NAME = 24


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure = plt.figure(figsize=(style.TWO_COLUMNS, 2.75))
    left, middle, right = figure.subfigures(1, 3, width_ratios=[1.0, 1.2, 1.25])
    frame = frame.assign(label=frame["label"].astype("object").fillna(""))
    _flip(left, frame[frame["panel"] == "a"])
    _models(middle, frame)
    _moves(right, frame[frame["panel"] == "c"], cohort)
    return figure


def _title(panel: SubFigure, letter: str, text: str) -> None:
    panel.suptitle(f"({letter}) {text}", fontsize=7)


def _flip(panel: SubFigure, rows: pd.DataFrame) -> None:
    _title(panel, "a", "A flip")
    grids, bars = panel.subplots(2, 2, height_ratios=[2.6, 1])
    for i, (series, title) in enumerate(STAYS.items()):
        mine = rows[rows["series"] == series]
        orderings_grid(grids[i], mine)
        grids[i].set_title(title, fontsize=6.5)
        chosen = mine[mine["label"] == "chosen"]
        k = len(chosen)
        shares = [float((chosen["column"] == r).mean()) for r in range(k)]
        share_bars(bars[i], shares, STABLE if series == "option" else FLIPPING, 1.05)
        options = chosen["value"].nunique()
        said = "1 option: no flip" if options == 1 else f"{options} options: a flip"
        bars[i].set_xlabel(said, fontsize=TEXT_SIZE, labelpad=1)
    bars[0].set_ylabel("answers", fontsize=TEXT_SIZE, labelpad=1)
    for axis in (grids[1], bars[1]):
        axis.set_yticks([])


def _models(panel: SubFigure, frame: pd.DataFrame) -> None:
    _title(panel, "b", "Flip rate × skew = pooled SD")
    axes = panel.subplots(3, 2, height_ratios=[2.2, 1, 1])
    values = frame[frame["panel"] == "statistics"].set_index(["series", "label"])["value"]
    for i, series in enumerate(("X", "Y")):
        mine = frame[frame["series"] == series]
        _questions(axes[0, i], mine[mine["panel"] == "questions"])
        fl, skew, sd = (values[series, name] for name in ("flip_rate", "skew", "pooled_sd"))
        title = f"Model {series}\n{fl:.2f} × {skew:.3f} = {sd:.3f}"
        axes[0, i].set_title(title, fontsize=TEXT_SIZE)
        shares = mine[mine["panel"] == "shares"].sort_values("column")
        top = 1.05 * float(frame.loc[frame["panel"] == "shares", "value"].max())
        for axis, label, colour in zip(
            axes[1:, i], ("flipped", "all"), (FLIPPING, DARK), strict=True
        ):
            row = shares.loc[shares["label"] == label, "value"].tolist()
            share_bars(axis, row, colour, top, from_even=True)
            axis.set_ylabel(label, fontsize=TEXT_SIZE, labelpad=1)
            if i:
                axis.set_yticks([])
                axis.set_ylabel("")
    axes[0, 0].set_ylabel("questions", fontsize=TEXT_SIZE, labelpad=1)


def _questions(axis: Axes, rows: pd.DataFrame) -> None:
    """Rows are questions; the darker a cell, the more of the question's answers fall there."""
    n, k = int(rows["row"].max()) + 1, int(rows["column"].max()) + 1
    colours = np.ones((n, k, 3))
    for cell in rows.to_dict("records"):
        colour = to_rgb(FLIPPING if cell["label"] == "flipping" else STABLE)
        where = int(cell["row"]), int(cell["column"])
        colours[where] = 1 - cell["value"] * (1 - np.array(colour))
    cells(axis, colours)
    axis.set_yticks([])
    axis.spines[:].set(color="0.8", visible=True)


def _moves(panel: SubFigure, rows: pd.DataFrame, cohort: str) -> None:
    short = cohort if len(cohort) <= LONGEST_NAME else f"{cohort[: LONGEST_NAME - 1]}…"
    _title(panel, "c", f"Measured, cohort {short}")
    axis = panel.subplots()
    axis.set(xlabel="Flip rate", ylabel="Positional skew")
    points = rows[np.isfinite(rows[["x", "y"]].astype(float)).all(axis=1)]
    if not (points["series"] == "none").any():
        axis.set(xticks=[], yticks=[])
        none, flipless = (
            "no cell with reversed\norderings",
            "no cell with both factors\nunder every operation",
        )
        why = none if rows.empty else flipless
        axis.text(0.5, 0.5, why, transform=axis.transAxes, ha="center", va="center")
        return
    place = points.set_index("series")[["x", "y"]].astype(float)
    x0, y0 = place.loc["none"].to_numpy(dtype=float)
    low, high = place.min(), place.max()
    pad = np.maximum(0.15 * (high - low), 0.05 * high)
    left, bottom = np.maximum(low - pad, 0)
    # Room above the highest point for the curve to be seen to rise.
    top = max(high["y"] + pad["y"], min(x0 * y0 / low["x"], 1.3 * high["y"]))
    axis.set(xlim=(left, high["x"] + pad["x"]), ylim=(bottom, top))
    x = np.linspace(left, high["x"] + pad["x"], 201)[1:]
    axis.plot(x, x0 * y0 / x, color=style.GREY, lw=0.8, ls="--", label="equal pooled SD", zorder=0)
    for operation, (x1, y1) in place.iterrows():
        colour, marker = style.OPERATION_STYLES[str(operation)]
        if operation != "none":
            arrow = {"arrowstyle": "-|>", "color": colour, "lw": 0.9, "shrinkA": 3, "shrinkB": 3}
            axis.annotate("", (x1, y1), (x0, y0), arrowprops=arrow)
        axis.scatter(
            x1, y1, color=colour, marker=marker, s=24, zorder=3, edgecolors="white",
            linewidths=0.3, label=names.OPERATION_NAMES[str(operation)],
        )  # fmt: skip
    n = int(rows["n"].min())
    axis.set_title(f"geometric means, {n} cell{'s' * (n != 1)}, K \u2265 3", fontsize=6.5)
    panel.legend(
        *axis.get_legend_handles_labels(), loc="outside lower center", ncol=2, frameon=False,
        handletextpad=0.3, columnspacing=0.8, handlelength=1.6, fontsize=TEXT_SIZE,
    )  # fmt: skip
