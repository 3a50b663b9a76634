"""Tables 3 and 4: which checkpoints and which benchmarks were run."""

from __future__ import annotations

import re

from optionbias.tables.inputs import Inputs
from optionbias.tables.table import Block, Entry, Table


def table3(inputs: Inputs) -> Table:
    """Table 3, the roster: family, parameters, training, pair and the revision that was run."""
    revisions = inputs.sweeps.groupby("checkpoint")["revision"].agg(
        lambda r: sorted(set(r.dropna()))
    )
    entries = []
    order = sorted(
        [c for c in inputs.cohort["checkpoints"] if not c.get("closed")],
        key=lambda c: (c["family"], c["params_b"], c["name"]),
    )
    for checkpoint in order:
        name = checkpoint["name"]
        found = [str(r) for r in revisions.get(name, []) if r]
        entries += [
            Entry(name, "family", checkpoint["family"]),
            Entry(name, "parameters", float(checkpoint["params_b"]), unit="B"),
            Entry(
                name, "training", {"base": "base", "post": "post-trained"}[checkpoint["training"]]
            ),
            Entry(name, "base", checkpoint.get("base", "")),
            Entry(name, "revision", ", ".join(map(_short, found)) or "not stated"),
        ]
    caption = (
        "The checkpoints: family, parameters in billions, training, the base checkpoint of a "
        "post-trained one where it is in the cohort, and the revision that was run (the first "
        "twelve digits of its commit or SHA-256)."
    )
    return Table("3", caption, [Block("", entries)], {"parameters": 3}, corner="Checkpoint")


def table4(inputs: Inputs) -> Table:
    """Table 4: K, modal usable items (the largest on a tie), checkpoints, split, source, licence."""
    cells = inputs.first_token
    entries = []
    for benchmark in inputs.cohort["benchmarks"]:
        rows = cells[cells["benchmark"] == benchmark["name"]]
        title = benchmark.get("title", benchmark["name"])
        items = int(rows["n_items"].mode().max()) if len(rows) else None
        entries += [
            Entry(title, "K", benchmark["K"]),
            Entry(title, "items", items, note="" if items else "no first-token cell"),
            Entry(title, "models", len(rows)),
            *(
                Entry(title, key, benchmark.get(key, "not stated"))
                for key in ("split", "source", "licence")
            ),
        ]
    caption = (
        "The benchmarks: options K, modal number of items usable under all K cyclic orderings of the "
        "first-token sweep, checkpoints with a first-token cell, split, source and licence."
    )
    decimals = {"K": 0, "items": 0, "models": 0}
    return Table("4", caption, [Block("", entries)], decimals, corner="Benchmark")


def _short(revision: str) -> str:
    """The first twelve digits of a commit or SHA-256; any other revision whole."""
    return revision[:12] if re.fullmatch(r"[0-9a-f]{13,}", revision) else revision
