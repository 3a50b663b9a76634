"""Compute what a figure draws and write it as CSV."""

import argparse
import json
from importlib import import_module
from pathlib import Path

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.catalogue import FIGURES
from optionbias.tables.inputs import Inputs

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
parser.add_argument("--statistics", type=Path, required=True, help="results/statistics")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--draws", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    inputs = Inputs(args.statistics, json.loads(args.cohort.read_text()), args.draws, args.seed)
    frame = import_module(FIGURES[args.figure][1]).data(inputs)
    if inputs.cohort["simulated"]:
        frame = frame.assign(data="simulated")
    write_text(args.output, frame.to_csv(index=False, lineterminator="\n"))


logs.run(main, args.log)
