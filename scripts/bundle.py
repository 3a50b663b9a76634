"""Pack a run into one archive."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.provenance import ROOT
from optionbias.publication import publish

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--settings", type=json.loads, required=True, help="JSON: of the statistics")
parser.add_argument("--cohort-file", type=Path, required=True)
parser.add_argument("--sweeps", type=Path, required=True, help="folder of the sweeps")
parser.add_argument("--variants", nargs="*", default=[], help="of the noise floor")
parser.add_argument("--outputs", type=Path, nargs="+", required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    publish(
        args.output, args.settings, args.cohort_file, args.sweeps, args.variants, args.outputs, ROOT
    )


logs.run(main, args.log)
