"""Make everything downstream of the sweeps again in a clean folder and compare it byte for byte."""

import argparse
import json
import shutil
import sys
from pathlib import Path

from optionbias import logs
from optionbias.bundle import unpack
from optionbias.provenance import ROOT
from optionbias.publication import config_of, given
from optionbias.verification import compare, compared, make_again

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--bundle", type=Path, help="an archive; otherwise the run in this folder")
parser.add_argument("--settings", type=json.loads, help="JSON: of the run's statistics")
parser.add_argument("--cohort-file", type=Path, help="of the run")
parser.add_argument("--sweeps", type=Path, help="of the run")
parser.add_argument("--outputs", nargs="+", default=[], help="of the run")
parser.add_argument("--work", type=Path, required=True, help="removed first")
parser.add_argument("--cores", type=int, required=True)
parser.add_argument("--log", type=Path)
parser.add_argument("--options", nargs=argparse.REMAINDER, default=[], help="of Snakemake; last")
args = parser.parse_args()


def main() -> None:
    if args.work.exists():
        shutil.rmtree(args.work)
    if args.bundle:
        reference = args.work / "bundle"
        reference.mkdir(parents=True)
        outputs = [entry["path"] for entry in unpack(args.bundle, reference)["files"]]
        config = config_of(reference.resolve())
    else:
        reference, outputs = Path(), args.outputs
        config = given(args.settings, args.cohort_file.resolve(), args.sweeps.resolve())
    names, remade = compared(outputs, str(args.bundle or "this run")), args.work / "run"
    printed = args.work / "snakemake.log"
    make_again(config, remade, names, ROOT / "Snakefile", args.cores, printed, args.options)
    found = compare(reference, remade, names)
    print("\n".join(found.lines()), flush=True)
    if found.differ:
        sys.exit(1)


logs.run(main, args.log)
