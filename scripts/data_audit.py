"""Audit the benchmarks of a cohort: write the page and its table."""

import argparse
import json
from pathlib import Path

from optionbias import audit_page, auditing, logs
from optionbias.atomic import write_text
from optionbias.audit import csv_text

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cohort-name", required=True)
parser.add_argument("--benchmarks", type=json.loads, required=True, help="JSON, one object each")
parser.add_argument("--repairs", type=json.loads, required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--results", type=Path, required=True)
parser.add_argument("--markdown", type=Path, required=True)
parser.add_argument("--csv", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    audits = {
        about["name"]: auditing.audited(about, args.results, args.repairs, args.seed)
        for about in args.benchmarks
    }
    write_text(args.csv, csv_text(audits))
    write_text(args.markdown, audit_page.page(args.cohort_name, audits, args.repairs))


logs.run(main, args.log)
