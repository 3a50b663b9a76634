"""Score every sweep of a benchmark: statistics, priors, calibration split, random halves."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.frames import write_scores
from optionbias.scoring import score_benchmark
from optionbias.sweep import read_cell_sweep

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--sweeps", type=Path, nargs="+", required=True)
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--repetitions", type=int, required=True)
parser.add_argument("--simulated", action="store_true", help="the cohort is simulated")
parser.add_argument("--folder", type=Path, required=True, help="where the tables go")
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    sweeps = (read_cell_sweep(path, args.k) for path in args.sweeps)
    scores = score_benchmark(args.benchmark, sweeps, args.seed, args.repetitions, args.simulated)
    write_scores(args.folder, scores)


logs.run(main, args.log)
