"""Compile the replication paper from its Typst source, the tables and the figures."""

import argparse
import os
from pathlib import Path

import typst

from optionbias import logs
from optionbias.atomic import atomic_path
from optionbias.provenance import ROOT

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--cohort-name", required=True)
parser.add_argument("--tables", nargs="+", required=True, help="table numbers, in order")
parser.add_argument("--figures", nargs="+", required=True, help="figure numbers, in order")
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()

SOURCE = ROOT / "paper" / "paper.typ"


def main() -> None:
    # The source lies in the repository, tables and figures in the working folder: one root.
    here = Path.cwd()
    root = Path(os.path.commonpath([here, SOURCE]))
    inputs = {
        "cohort": args.cohort_name,
        "folder": f"/{here.relative_to(root)}".removesuffix("."),
        "tables": ",".join(args.tables),
        "figures": ",".join(args.figures),
    }
    with atomic_path(args.output) as temporary:
        pdf = typst.compile(str(SOURCE), root=str(root), sys_inputs=inputs, timestamp=0)
        temporary.write_bytes(pdf)


logs.run(main, args.log)
