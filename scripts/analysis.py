"""Carry out one analysis of `optionbias.catalogue` on the sweeps of a cohort."""

import argparse
import json
from pathlib import Path

from optionbias import logs, origins
from optionbias.analysis import cells_of, run
from optionbias.catalogue import ANALYSES
from optionbias.frames import marked, write_parquet

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--analysis", choices=sorted(ANALYSES), required=True)
parser.add_argument("--sweeps", type=Path, required=True, help="folder of the sweeps")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--draws", type=int, required=True)
parser.add_argument("--repetitions", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    cohort = json.loads(args.cohort.read_text())
    frame = run(args.analysis, args.sweeps, cohort, args.seed, args.draws, args.repetitions)
    read = (args.sweeps / r / b / f"{c}.parquet" for r, b, c in cells_of(args.analysis, cohort))
    write_parquet(args.output, marked(frame, cohort["simulated"]), origins.of_sweeps(read))


logs.run(main, args.log)
