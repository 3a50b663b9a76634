"""Figure 7: items flip where their two leading options are close."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from optionbias.figures import style

TITLE = "Stable-correct, flipping and stable-wrong items by canonical top-two gap"
# state -> (colour, hatching): told apart without colour by lightness and by the lines.
STATES = {
    "stable-correct": ("0.87", ""),
    "flipping": (style.k_styles([4])[4][0], "//"),
    "stable-wrong": (style.GREY, ""),
}


def draw(frame: pd.DataFrame, cohort: str) -> Figure:
    """Draw the figure from the rows of `data`."""
    figure, (above, axis) = plt.subplots(
        2, 1, figsize=(style.ONE_COLUMN, 2.7), sharex=True, gridspec_kw={"height_ratios": [1, 4]}
    )
    bottom: np.ndarray | float = 0.0
    for state, (colour, hatch) in STATES.items():
        rows = frame[frame["state"] == state]
        share = rows["share"].to_numpy(dtype=float)
        width = (rows["high"] - rows["low"]).to_numpy(dtype=float)
        axis.bar(
            rows["low"], 100 * share, width, bottom, align="edge", color=colour, hatch=hatch,
            edgecolor="white", linewidth=0.3, label=state,
        )  # fmt: skip
        bottom = bottom + 100 * share
    bins = frame[frame["state"] == "flipping"]
    width = (bins["high"] - bins["low"]).to_numpy(dtype=float)
    above.bar(
        bins["low"], 100 * bins["items"], width, align="edge", color=style.LIGHT_GREY,
        edgecolor="white", linewidth=0.3,
    )  # fmt: skip
    above.set_ylabel("All items\n(%)")
    above.set_ylim(bottom=0)
    axis.set(xlabel="Top-two gap under the canonical ordering", ylabel="Items in the bin (%)")
    axis.set(xlim=(0, 1), ylim=(0, 100))
    figure.align_ylabels([above, axis])
    if len(frame):
        n = int(frame["cells"].iloc[0])
        told = f"{n} first-token cell{'s' * (n != 1)}"
        figure.legend(
            *axis.get_legend_handles_labels(), loc="outside lower center", ncol=3, frameon=False
        )
    else:
        told = "no first-token cell"
        above.set_ylim(0, 100)
    style.heading(figure, cohort, told)
    return figure
