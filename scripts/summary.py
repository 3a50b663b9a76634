"""Write results/summary.md, the page a reader sees first."""

import argparse
from pathlib import Path

import pandas as pd

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.summary import summary

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cells", type=Path, required=True)
parser.add_argument("--identities", type=Path, required=True)
parser.add_argument("--sweeps", type=Path, required=True, help="results/statistics/sweeps.parquet")
parser.add_argument("--cohort-name", required=True)
parser.add_argument("--small-mass", type=float, required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    cells, identities = pd.read_parquet(args.cells), pd.read_parquet(args.identities)
    sweeps = pd.read_parquet(args.sweeps)
    page = summary(cells, identities, sweeps, args.cohort_name, args.small_mass)
    write_text(args.output, page)


logs.run(main, args.log)
