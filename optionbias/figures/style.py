"""The one figure style: sizes, fonts, colours, and how a figure is written to disk."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from optionbias.atomic import atomic_path
from optionbias.stamp import as_text

ONE_COLUMN, TWO_COLUMNS = 3.25, 6.75  # inches
PNG_DPI = 200
CHARACTERS_AN_INCH = 17  # of the heading's font, wide ones included
GREY, LIGHT_GREY = "0.35", "0.75"

# Colour-blind safe (seaborn's `colorblind`), each with its own marker so that grey print works.
_PALETTE = sns.color_palette("colorblind", 10)
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
_USUAL_K = (2, 4, 10)
OPERATION_STYLES = {
    "none": (_PALETTE[7], "o"),
    "pride": (_PALETTE[0], "s"),
    "batch": (_PALETTE[9], "D"),
    "reversal": (_PALETTE[3], "^"),
    "pride+reversal": (_PALETTE[4], "v"),
    "batch+reversal": (_PALETTE[2], "P"),
    "pride+batch": (_PALETTE[1], "X"),
}


def k_styles(ks: Iterable[int]) -> dict[int, tuple[tuple[float, float, float], str]]:
    """K -> (colour, marker); 2, 4 and 10 always look the same, others follow in order."""
    shown = set(ks)
    order = [*_USUAL_K, *sorted(shown - set(_USUAL_K))]
    styles = {k: (_PALETTE[i % 10], _MARKERS[i % 10]) for i, k in enumerate(order)}
    return {k: styles[k] for k in sorted(shown)}


def apply() -> None:
    """Set the style for every figure that is drawn after this."""
    sns.set_theme(context="paper", style="ticks")
    plt.rcParams.update(
        {
            "font.family": "DejaVu Sans",
            "font.size": 7,
            "axes.titlesize": 7.5,
            "axes.labelsize": 7,
            "xtick.labelsize": 6.5,
            "ytick.labelsize": 6.5,
            "legend.fontsize": 6.5,
            "axes.linewidth": 0.6,
            "xtick.major.width": 0.6,
            "ytick.major.width": 0.6,
            "xtick.major.size": 2.5,
            "ytick.major.size": 2.5,
            "lines.linewidth": 1.0,
            "lines.markersize": 4,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
            "pdf.fonttype": 42,
            "svg.fonttype": "path",
            # Without a salt and a date two runs draw the same bytes.
            "svg.hashsalt": "optionbias",
        }
    )


def heading(figure: Figure, cohort: str, said: str) -> None:
    """Write which cohort a figure shows, and of what, above it; long texts wrap at its width."""
    characters = int(figure.get_figwidth() * CHARACTERS_AN_INCH)
    text = textwrap.fill(f"Cohort {cohort}: {said}", characters, break_long_words=True)
    figure.suptitle(text, fontsize=7, color=GREY)


def marker_size(n: int) -> float:
    """Marker area for n points: legible with two cells and with five hundred."""
    return float(min(26, max(7, 400 / max(n, 1) ** 0.7)))


def save(
    figure: Figure, paths: Sequence[str | Path], title: str, stamp: Mapping[str, Any] | None = None
) -> None:
    """Write a figure to every path (pdf, png, svg), atomically.

    The metadata hold its title and, as the subject (PDF) or description, its stamp.
    """
    metadata: dict[str, dict[str, str | None]] = {
        "pdf": {"Title": title, "CreationDate": None, "ModDate": None},
        "svg": {"Title": title, "Date": None},
        "png": {"Title": title},
    }
    if stamp is not None:
        for ending, key in (("pdf", "Subject"), ("svg", "Description"), ("png", "Description")):
            metadata[ending][key] = as_text(stamp)
    # Laid out once, so that all formats have one layout (and cost one).
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for path in map(Path, paths):
        ending = path.suffix.removeprefix(".")
        with atomic_path(path) as temporary:
            figure.savefig(temporary, format=ending, dpi=PNG_DPI, metadata=metadata[ending])
    plt.close(figure)
