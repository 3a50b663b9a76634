"""Join the statistics of all benchmarks into the tables that others read."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.frames import gather

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--folders", type=Path, nargs="+", required=True, help="one per benchmark")
parser.add_argument("--folder", type=Path, required=True, help="where the joined tables go")
parser.add_argument("--log", type=Path)
args = parser.parse_args()

logs.run(lambda: gather(args.folders, args.folder), args.log)
