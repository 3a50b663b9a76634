"""Simulate every sweep of one readout and benchmark from the cohort's generative model."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.simulation import simulated_sweep
from optionbias.sweep import write_sweep

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--readout", required=True)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--folder", type=Path, required=True, help="where the sweeps go")
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    cohort = json.loads(args.cohort.read_text())
    checkpoints = {c["name"]: c for c in cohort["checkpoints"]}
    (benchmark,) = (b for b in cohort["benchmarks"] if b["name"] == args.benchmark)
    for readout, name, checkpoint in cohort["cells"]:
        if (readout, name) == (args.readout, args.benchmark):
            sweep = simulated_sweep(checkpoints[checkpoint], benchmark, readout, args.seed)
            write_sweep(args.folder / f"{checkpoint}.parquet", sweep)


logs.run(main, args.log)
