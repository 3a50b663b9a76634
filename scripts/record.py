"""Collect what every output of a run rests on into results/provenance.json."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.provenance import ROOT
from optionbias.record import record

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--config", type=json.loads, required=True, help="JSON of the settings")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--sweeps", type=Path, required=True, help="folder of the sweeps")
parser.add_argument("--variants", nargs="*", default=[], help="of the noise floor")
parser.add_argument("--outputs", type=Path, nargs="+", required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    found = record(args.config, args.cohort, args.sweeps, args.variants, args.outputs, ROOT)
    write_text(args.output, json.dumps(found, indent=1, sort_keys=True) + "\n")


logs.run(main, args.log)
