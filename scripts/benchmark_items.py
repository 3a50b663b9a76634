"""Write a benchmark's items (or its exemplars) in the workflow's own format."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.benchmarks import registry
from optionbias.items import EXEMPLARS, read_user_items, write_items

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--seed", type=int, help="of a built-in benchmark")
parser.add_argument("--file", type=Path, help="a user's own table; a built-in benchmark without it")
parser.add_argument("--exemplars", action="store_true", help="the five exemplars, not the items")
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    if args.file is not None:
        items = read_user_items(args.file, args.benchmark, args.k)
        items = items[:EXEMPLARS] if args.exemplars else items
    elif args.exemplars:
        items = registry.exemplars(args.benchmark, args.seed)
    else:
        items = registry.evaluation_items(args.benchmark, args.seed)
    write_items(args.output, items)


logs.run(main, args.log)
