"""Time from sweeps to every table, figure and the agreement page, and how it grows with the cohort.

Runs the workflow on the cohort `simulated` and on cohorts with several times its checkpoints, on two
cores; simulating the sweeps is not timed. Prints wall time, growth and the largest job's memory.

Usage: python benchmarks/full_scale.py FOLDER [--copies 1 4] [--cores 2] [--shrink 1]
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


def enlarged(copies: int, shrink: int = 1) -> dict[str, Any]:
    """The cohort `simulated`, every checkpoint `copies` times under different names.

    `shrink` divides the item counts, where a machine has no time for all of them.
    """
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "simulated.yaml").read_text())

    def named(names: Any, copy: int) -> Any:
        return names if names == "all" else [_name(n, copy) for n in names]

    checkpoints, readouts = [], {}
    for copy in range(copies):
        for entry in cohort["checkpoints"]:
            base = {"base": _name(entry["base"], copy)} if "base" in entry else {}
            checkpoints.append({**entry, "name": _name(entry["name"], copy), **base})
    for readout, entry in cohort["readouts"].items():
        parts = [
            {"checkpoints": named(part["checkpoints"], copy), "benchmarks": part["benchmarks"]}
            for part in [entry, *entry.get("also", [])]
            for copy in range(copies)
        ]
        readouts[readout] = {**parts[0], "also": parts[1:]}
    name = f"simulated-x{copies}"
    sized = [{**b, "size": b["size"] // shrink} for b in cohort["benchmarks"]]
    cohort["benchmarks"] = sized
    return {**cohort, "name": name, "checkpoints": checkpoints, "readouts": readouts}


def _name(name: str, copy: int) -> str:
    return f"{name}-{copy + 1}" if copy else name


def snakemake(folder: Path, *arguments: str) -> None:
    """Run the workflow in a folder; its lines go to a log there."""
    with (folder / "run.log").open("a") as log:
        subprocess.run(
            [sys.executable, "-m", "snakemake", *arguments],
            cwd=folder, stdout=log, stderr=subprocess.STDOUT, check=True,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--cores", default="2")
    parser.add_argument("--shrink", type=int, default=1, help="divide the item counts")
    args = parser.parse_args()
    first = None
    for copies in args.copies:
        folder = (args.folder / f"x{copies}").resolve()
        folder.mkdir(parents=True, exist_ok=True)
        cohort = folder / "cohort.yaml"
        cohort.write_text(yaml.safe_dump(enlarged(copies, args.shrink), sort_keys=False))
        common = ["--snakefile", str(ROOT / "Snakefile"), "--cores", args.cores]
        config = ["--config", f"cohort={cohort}"]
        snakemake(folder, "sweeps", *common, *config)
        started = time.monotonic()
        snakemake(folder, *common, *config, f"sweeps={folder / 'results' / 'simulated'}")
        wall = time.monotonic() - started
        first = first or wall
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
        print(
            f"{copies} x 41 checkpoints: {wall:.0f} s, {wall / first:.2f} times the first, "
            f"largest job so far {memory:.2f} GiB",
            flush=True,
        )


main()
