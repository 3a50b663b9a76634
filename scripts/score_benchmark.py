"""Score every sweep of a benchmark: statistics, priors, calibration split, random halves."""

import argparse
from pathlib import Path

from optionbias import logs, origins
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

    def reread_paths(cell: Path) -> dict[str, Path]:
        paths = {v: args.noise.joinpath(v, *cell.parts[-3:]) for v in args.variants}
        return {v: path for v, path in paths.items() if path.exists()}

    def rereads(sweep: Sweep) -> dict[str, Sweep]:
        paths = reread_paths(Path(sweep.source))
        return {v: read_cell_sweep(path, args.k) for v, path in paths.items()}

    scores = score_benchmark(
        args.benchmark, sweeps, args.seed, args.repetitions, args.simulated, rereads
    )
    read = [p for path in args.sweeps for p in (path, *reread_paths(path).values())]
    write_scores(args.folder, scores, origins.of_sweeps(read))


logs.run(main, args.log)
