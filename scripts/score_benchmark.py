"""Score every sweep of a benchmark: statistics, priors, calibration split, random halves."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.frames import write_scores
from optionbias.scoring import score_benchmark
from optionbias.sweep import Sweep, read_cell_sweep

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--sweeps", type=Path, nargs="+", required=True)
parser.add_argument("--noise", type=Path, help="folder of the re-reads, by variant")
parser.add_argument("--variants", nargs="*", default=[], help="of the re-reads")
parser.add_argument("--seed", type=int, required=True)
parser.add_argument("--repetitions", type=int, required=True)
parser.add_argument("--simulated", action="store_true", help="the cohort is simulated")
parser.add_argument("--folder", type=Path, required=True, help="where the tables go")
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    sweeps = (read_cell_sweep(path, args.k) for path in args.sweeps)

    def rereads(sweep: Sweep) -> dict[str, Sweep]:
        cell = Path(*(sweep.metadata[key] for key in ("readout", "benchmark", "checkpoint")))
        paths = {v: args.noise / v / f"{cell}.parquet" for v in args.variants}
        return {v: read_cell_sweep(p, args.k) for v, p in paths.items() if p.exists()}

    scores = score_benchmark(
        args.benchmark, sweeps, args.seed, args.repetitions, args.simulated, rereads
    )
    write_scores(args.folder, scores)


logs.run(main, args.log)
