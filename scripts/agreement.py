"""Set every value that the paper reports beside this run's, as CSV and as a page."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.atomic import write_text
from optionbias.provenance import ROOT
from optionbias.reported import agreement, page, read_reported, read_tables

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--tables", type=Path, required=True, help="results/tables")
parser.add_argument("--reported", type=Path, default=ROOT / "paper/reported/two_factors.csv")
parser.add_argument("--cohort", type=Path, required=True, help="results/cohort.json")
parser.add_argument("--csv", type=Path, required=True)
parser.add_argument("--page", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    cohort = json.loads(args.cohort.read_text(encoding="utf-8"))
    rows = agreement(read_reported(args.reported), read_tables(args.tables), cohort)
    write_text(args.csv, rows.to_csv(index=False, lineterminator="\n"))
    write_text(args.page, page(rows, cohort))


logs.run(main, args.log)
