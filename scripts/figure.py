"""Draw a figure from its CSV."""

import argparse
import json
from importlib import import_module
from pathlib import Path

import pandas as pd

from optionbias import logs, stamp
from optionbias.catalogue import FIGURES
from optionbias.figures import style

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
parser.add_argument("--data", type=Path, required=True)
parser.add_argument("--stamp", type=Path, required=True, help="JSON of what made the data")
parser.add_argument("--made", type=json.loads, required=True, help="JSON: commit and config digest")
parser.add_argument("--cohort-name", required=True)
parser.add_argument("--output", type=Path, nargs="+", required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    style.apply()
    module = import_module(FIGURES[args.figure][0])
    figure = module.draw(pd.read_csv(args.data), args.cohort_name)
    title = f"Figure {args.figure}. {module.TITLE} (cohort {args.cohort_name})"
    told = json.loads(args.stamp.read_text(encoding="utf-8"))
    told["drawn"] = stamp.made(args.made, stamp.DRAWING)
    style.save(figure, args.output, title, told)


logs.run(main, args.log)
