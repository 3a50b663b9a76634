"""Draw a figure from its CSV."""

import argparse
from importlib import import_module
from pathlib import Path

import pandas as pd

from optionbias import logs
from optionbias.catalogue import FIGURES
from optionbias.figures import style

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--figure", choices=sorted(FIGURES), required=True)
parser.add_argument("--data", type=Path, required=True)
parser.add_argument("--cohort-name", required=True)
parser.add_argument("--output", type=Path, nargs="+", required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    style.apply()
    module = import_module(FIGURES[args.figure][0])
    figure = module.draw(pd.read_csv(args.data), args.cohort_name)
    style.save(
        figure, args.output, f"Figure {args.figure}. {module.TITLE} (cohort {args.cohort_name})"
    )


logs.run(main, args.log)
