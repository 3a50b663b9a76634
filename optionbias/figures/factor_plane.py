"""Figure 3: the pooled SD is the flip rate times the skew; which of them tracks accuracy."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optionbias.figures import style
from optionbias.figures.factor_plane_data import PANELS

TITLE = "Skew against flip rate, and each statistic against accuracy"


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, axes = plt.subplots(
        1, 4, figsize=(style.TWO_COLUMNS, 2.3), gridspec_kw={"width_ratios": [1.5, 1, 1, 1]}
    )
    points = frame[frame["series"] != "spearman"]
    ks = sorted({int(s.removeprefix("K=")) for s in points["series"]})
    _plane(axes[0], points[points["panel"] == "plane"], ks)
    for axis, (statistic, name) in zip(axes[1:], PANELS.items(), strict=True):
        rows = points[points["panel"] == statistic]
        _scatter(axis, rows, ks)
        r = frame[(frame["panel"] == statistic) & (frame["series"] == "spearman")].iloc[0]
        value = f"{r['y']:.2f}" if np.isfinite(r["y"]) else "undefined"
        axis.set_title(f"$r_s$ = {value} ({int(r['n'])} cell{'s' * (int(r['n']) != 1)})".replace("-", "\u2212"))
        axis.set(xlabel="Accuracy", ylabel=name)
        axis.set_xlim(0, 1)
        axis.set_ylim(0, 1.08 * axis.get_ylim()[1])  # room for a label above the highest cell
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside lower center", ncol=6, frameon=False,
        handletextpad=0.1,
    )  # fmt: skip
    style.heading(figure, cohort, "first-token readout")
    return figure


def _plane(axis: Axes, rows: pd.DataFrame, ks: list[int]) -> None:
    top = max(0.1, float(rows["y"].max()) * 1.15) if rows["y"].notna().any() else 0.5
    flips = np.linspace(0.005, 1.05, 400)
    for level in (0.02, 0.06, 0.12, 0.2, 0.3):
        curve = level / flips
        shown = curve <= top
        if shown.sum() < 20:
            continue
        axis.plot(flips[shown], curve[shown], color=style.LIGHT_GREY, lw=0.6, ls="--", zorder=0)
        axis.annotate(
            f"{level:g}", (1.05, level / 1.05), color=style.GREY, fontsize=5.5, va="center",
            xytext=(1, 0), textcoords="offset points", annotation_clip=False,
        )  # fmt: skip
    _scatter(axis, rows, ks)
    axis.set(xlabel="Flip rate", ylabel="Positional skew", xlim=(0, 1.05), ylim=(0, top))
    axis.set_title("Dashed: equal pooled SD")


def _scatter(axis: Axes, rows: pd.DataFrame, ks: list[int]) -> None:
    size = style.marker_size(len(rows))
    for k, (colour, marker) in style.k_styles(ks).items():
        chosen = rows[rows["series"] == f"K={k}"]
        axis.scatter(
            chosen["x"], chosen["y"], s=size, color=colour, marker=marker, label=f"K = {k}",
            linewidths=0.3, edgecolors="white", alpha=0.9, clip_on=False, zorder=2,
        )  # fmt: skip
    for _, row in rows[rows["label"].astype("object").fillna("") != ""].iterrows():
        axis.annotate(
            row["label"], (row["x"], row["y"]), fontweight="bold", xytext=(3, 3),
            textcoords="offset points", zorder=3,
        )  # fmt: skip
