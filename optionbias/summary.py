"""results/summary.md: what a reader sees first."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from optionbias.tables.names import OPERATION_NAMES, READOUT_NAMES

COLUMNS = {
    "accuracy": "accuracy",
    "flip_rate": "flip rate",
    "skew": "skew",
    "pooled_sd": "pooled SD",
    "placement_range": "placement range",
}
# Shown where they were measured.
NOISE_COLUMNS = {"repeat_disagreement": "repeat disagreement", "near_ties": "near ties"}
NOISE_FLOOR = (
    "**Noise floor.** The *repeat disagreement* is the share of answers that change when a sample of the "
    "cell is read again in the same order, with another batch, dtype or backend (for closed models: asked "
    "again), the largest where there are several; *near ties* counts the cell's queries whose two leading "
    "options are closer than another batch alone moves them. A flip rate near its repeat disagreement is no "
    "evidence of order effects. `results/tables/tablenoise.md` has each kind of re-read."
)
HOW_TO_READ = (
    "**How to read it.** The *flip rate* is the share of items whose chosen option changes when the "
    "options are reordered, the *skew* is how unevenly those changing answers fall on the letters "
    "(0 is even), and their product is the *pooled SD*, the usual bias score: two cells with one "
    "pooled SD can owe it to many flips or to a strong lean. A prior correction (PriDe, batch "
    "calibration) should lower the skew and an aggregation over reversed orderings (reversal product) "
    "the flip rate; *accuracy* says whether answers that became stable are also right, and the "
    "*placement range* how far accuracy moves with the letter that holds the correct option."
)


def state(flip_rate: float) -> str:
    """Whether a cell can tell order effects apart: neither all flips nor all stable."""
    return "all flips" if flip_rate == 1 else "all stable" if flip_rate == 0 else "between"


def summary(
    cells: pd.DataFrame,
    identities: pd.DataFrame,
    sweeps: pd.DataFrame,
    cohort: str,
    small_mass: float,
) -> str:
    """The summary page as Markdown.

    Args:
        cells: per-cell statistics (all readouts, operations, subsets).
        identities: residuals of every identity on every cell.
        sweeps: every sweep that was read, with its usable items.
        cohort: the cohort's name.
        small_mass: cells whose median letter mass lies below this are flagged.
    """
    measured = [c for c in NOISE_COLUMNS if cells[c].notna().any()]
    parts = [
        f"# Cohort {cohort}",
        "",
        HOW_TO_READ,
        "",
        *_flags(cells, small_mass),
        *_left_out(sweeps),
        *([NOISE_FLOOR, ""] if measured else []),
    ]
    for readout, rows in _in_order(
        cells[cells["design"] == "cyclic"], "readout", list(READOUT_NAMES)
    ):
        parts += _readout(readout, rows, measured)
    worst = identities.groupby("identity", sort=True)["residual"].max()
    parts += [
        "## Identities",
        "",
        f"Asserted on each of {identities.drop(columns=['identity', 'residual']).drop_duplicates().shape[0]} "
        "cells, operations and item subsets; the largest residuals (bounds: largest violation):",
        "",
        "| identity | largest residual |",
        "|---|---:|",
        *(f"| {name} | {residual:.1e} |" for name, residual in worst.items()),
    ]
    return "\n".join(parts) + "\n"


def _in_order(
    frame: pd.DataFrame, column: str, order: Sequence[str]
) -> list[tuple[str, pd.DataFrame]]:
    present = [name for name in order if (frame[column] == name).any()]
    return [(name, frame[frame[column] == name]) for name in present]


def _flags(cells: pd.DataFrame, small_mass: float) -> list[str]:
    plain = cells[
        (cells["design"] == "cyclic") & (cells["operation"] == "none") & (cells["subset"] == "all")
    ]
    states = plain["flip_rate"].map(state)
    counts = ", ".join(
        f"{int((states == s).sum())} {s}" for s in ("between", "all flips", "all stable")
    )
    lines = [
        f"{len(plain)} cell{'s' * (len(plain) != 1)} before any operation: {counts}. In an *all flips* cell every item's answer "
        f"changes with the order (the model follows the letters, not the options), so its flip rate "
        f"cannot rise and an operation may lower it only by leaving that corner; the *between* cells "
        f"can show both factors move either way.",
        "",
    ]
    low = plain[plain["median_mass"] < small_mass]
    if len(low):
        listed = "; ".join(
            f"{r.checkpoint} on {r.benchmark}, {r.readout} ({r.median_mass:.3f})"
            for r in low.itertuples()
        )
        lines += [
            f"**Small letter mass.** In these cells the letters hold less than {small_mass:g} of the "
            f"next-token probability (median over queries), so the model is hardly answering with a "
            f"letter: {listed}.",
            "",
        ]
    return lines


def _left_out(sweeps: pd.DataFrame) -> list[str]:
    """Cells that were read but not scored: fewer than two usable items."""
    rows = sweeps[sweeps["n_usable"] == 0]
    if rows.empty:
        return []
    listed = "; ".join(f"{r.checkpoint} on {r.benchmark}, {r.readout}" for r in rows.itertuples())
    text = (
        "have fewer than two items with an answer under every cyclic ordering, and are left out (how "
        "their texts or replies ended is in the logs of their jobs and in the sweeps' metadata)"
    )
    return [f"**Left out.** These cells {text}: {listed}.", ""]


def _readout(readout: str, rows: pd.DataFrame, measured: Sequence[str] = ()) -> list[str]:
    lines = [f"## {READOUT_NAMES[readout][0].upper()}{READOUT_NAMES[readout][1:]}", ""]
    plain = rows[(rows["operation"] == "none") & (rows["subset"] == "all")]
    columns = _beside_flip_rate(measured)
    lines += [
        "Before any operation, all items:",
        "",
        f"| checkpoint | benchmark | K | items | {' | '.join(columns.values())} | letter mass | cell |",
        "|---|---|" + "---:|" * (len(columns) + 3) + "---|",
    ]
    for r in plain.sort_values(["checkpoint", "K", "benchmark"]).to_dict("records"):
        values = " | ".join(_number(r[c]) for c in columns)
        mass = _number(r["median_mass"])
        lines.append(
            f"| {r['checkpoint']} | {r['benchmark']} | {r['K']} | {r['n_items']} | {values} | {mass} | "
            f"{state(r['flip_rate'])} |"
        )
    lines += ["", "Before and after each operation, evaluation items:", ""]
    lines += [
        f"| checkpoint | benchmark | operation | items | {' | '.join(COLUMNS.values())} |",
        "|---|---|---|" + "---:|" * (len(COLUMNS) + 1),
    ]
    evaluation = rows[rows["subset"] == "evaluation"]
    rank = {name: i for i, name in enumerate(OPERATION_NAMES)}
    ordered = evaluation.assign(rank=evaluation["operation"].map(rank)).sort_values(
        ["checkpoint", "K", "benchmark", "rank"]
    )
    for r in ordered.to_dict("records"):
        values = " | ".join(_number(r[c]) for c in COLUMNS)
        lines.append(
            f"| {r['checkpoint']} | {r['benchmark']} | {OPERATION_NAMES[r['operation']]} | "
            f"{r['n_items']} | {values} |"
        )
    return [*lines, ""]


def _beside_flip_rate(measured: Sequence[str]) -> dict[str, str]:
    """The columns of a summary with those of the noise floor right after the flip rate."""
    columns = {}
    for column, title in COLUMNS.items():
        columns[column] = title
        if column == "flip_rate":
            columns |= {name: NOISE_COLUMNS[name] for name in measured}
    return columns


def _number(value: float | None) -> str:
    if value is None or pd.isna(value):
        return ""
    return str(value) if isinstance(value, int) else f"{value:.3f}"
