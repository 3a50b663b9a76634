"""Compute one table of the paper and write it in every format."""

import argparse
import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from optionbias import logs, stamp
from optionbias.catalogue import TABLES
from optionbias.tables.inputs import Inputs
from optionbias.tables.table import write_table

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--table", choices=sorted(TABLES), required=True)
parser.add_argument("--statistics", type=Path, required=True, help="results/statistics")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--draws", type=int, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--made", type=json.loads, required=True, help="JSON: commit and config digest")
parser.add_argument("--output", type=Path, nargs="+", required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    computed, read = TABLES[args.table]
    module, function = computed.split(":")
    cohort = json.loads(args.cohort.read_text())
    inputs = Inputs(args.statistics, cohort, args.draws, args.seed)
    table = getattr(import_module(module), function)(inputs)
    job = stamp.made(args.made, stamp.NUMERIC)
    told = stamp.of_numbers(job, args.cohort, inputs.origins(read))
    write_table(replace(table, simulated=cohort["simulated"]), args.output, told)


logs.run(main, args.log)
