"""Compute what a figure draws and write it as CSV."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from optionbias import logs, stamp
from optionbias.atomic import write_text
from optionbias.catalogue import FIGURES
from optionbias.tables.inputs import Inputs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
parser.add_argument("--statistics", type=Path, required=True, help="results/statistics")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--draws", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--made", type=json.loads, required=True, help="JSON: commit and config digest")
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--stamp", type=Path, required=True, help="JSON of what made the output")
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    inputs = Inputs(args.statistics, json.loads(args.cohort.read_text()), args.draws, args.seed)
    _, computed, read = FIGURES[args.figure]
    frame = import_module(computed).data(inputs)
    if inputs.cohort["simulated"]:
        frame = frame.assign(data="simulated")
    job = stamp.made(args.made, stamp.NUMERIC)
    told = stamp.of_numbers(job, args.cohort, inputs.origins(read))
    write_text(args.output, frame.to_csv(index=False, lineterminator="\n"))
    write_text(args.stamp, json.dumps(told, indent=1, sort_keys=True) + "\n")


logs.run(main, args.log)
