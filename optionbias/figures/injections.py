"""Figure 6: what each operation lets through of a letter preference of known shape."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from optionbias.figures import style
from optionbias.injections import OPERATIONS, SHAPES, SMALL
from optionbias.tables import names

TITLE = "Change in placement range under an added letter preference"
PANELS = {
    "front-back": "(a) Front to back",
    "alternating": "(b) Alternating",
    "outer-inner": "(c) Outer versus inner",
    "letter A": "(d) Letter A alone",
}
# Dashes and marker sizes tell apart the lines that lie on each other near zero.
LINES = {
    "none": ("-", 3.0),
    "pride": ((0, (4, 1.5)), 5.0),
    "batch": ((0, (5, 1, 1, 1)), 3.0),
    "reversal": ("-", 3.5),
    "pride+reversal": ((0, (1, 1)), 2.0),
}


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, axes = plt.subplots(1, 4, figsize=(style.TWO_COLUMNS, 2.45), sharex=True, sharey=True)
    for axis, shape in zip(axes, SHAPES, strict=True):
        _panel(axis, frame[frame["shape"] == shape])
        axis.set(title=PANELS[shape], xlabel=r"Strength $\alpha$ (logits)")
    axes[0].set_ylabel(r"$\Delta$ placement range (pp)")
    # Where nothing changes, rounding must not set the scale.
    low, high = axes[0].get_ylim()
    axes[0].set_ylim(min(low, -1.0), max(high, 1.0))
    style.heading(figure, cohort, _cells(frame))
    handles, labels = axes[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncol=5, frameon=False)
    return figure


def _panel(axis: Axes, rows: pd.DataFrame) -> None:
    axis.axhline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    axis.axvline(0, color=style.LIGHT_GREY, lw=0.6, zorder=0)
    axis.set(xlim=(-2.15, 2.15), xticks=range(-2, 3))
    for operation in OPERATIONS:
        line = rows[rows["operation"] == operation].sort_values("alpha")
        if line.empty:
            continue
        colour, marker = style.OPERATION_STYLES[operation]
        dashes, size = LINES[operation]
        axis.fill_between(
            line["alpha"], line["y_low"], line["y_high"], color=colour, alpha=0.18, lw=0, zorder=1
        )
        axis.plot(
            line["alpha"], line["y"], color=colour, marker=marker, ls=dashes, ms=size,
            markeredgewidth=0.3, markeredgecolor="white", zorder=2, clip_on=False,
            label=names.OPERATION_NAMES[operation],
        )  # fmt: skip


def _cells(frame: pd.DataFrame) -> str:
    """Which cells are drawn, how many, and how many of the product's answers the tie rule decided."""
    if frame.empty:
        return f"no four-option cell with reversals (MMLU, or at most {SMALL:,} items)"
    first = frame.iloc[0]
    n, checkpoints = int(first["n"]), int(first["checkpoints"])
    which = "MMLU," if first["mmlu"] else "no MMLU but"
    ties = int(frame.loc[frame["operation"] == "reversal", "ties"].sum())
    return (
        f"{which} {n} four-option cell{'s' * (n != 1)} of {checkpoints} "
        f"checkpoint{'s' * (checkpoints != 1)}; {ties:,} ties of the reversal product"
    )
