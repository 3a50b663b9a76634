"""Write a benchmark's items (or its exemplars) in the workflow's own format."""

import argparse
import json
from pathlib import Path

from optionbias import logs, published
from optionbias.benchmarks import registry
from optionbias.fetch import checked_folder
from optionbias.item import EXEMPLARS
from optionbias.items import read_user_items, write_items

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--exemplars", action="store_true", help="the five exemplars, not the items")
parser.add_argument("--file", type=Path, help="a user's own table")
parser.add_argument("--generated", help="a benchmark that the workflow generates")
parser.add_argument("--published", help="a published benchmark, with the arguments below")
parser.add_argument("--variant")
parser.add_argument("--subjects", nargs="+")
parser.add_argument("--manifest", type=Path, help="of the files of the items")
parser.add_argument("--pool", type=Path, help="manifest of the files of the exemplar pool")
parser.add_argument("--store", type=Path)
parser.add_argument("--repairs", type=json.loads, help="JSON of the config's `repairs`")
parser.add_argument("--seed", type=int, help="of a generated or published benchmark")
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    if args.file is not None:
        own = read_user_items(args.file, args.benchmark, args.k)
        write_items(args.output, own[:EXEMPLARS] if args.exemplars else own)
    elif args.generated is not None:
        make = registry.generated_exemplars if args.exemplars else registry.generated_items
        write_items(args.output, make(args.generated, args.seed))
    else:
        benchmark = registry.published(args.published, args.subjects, args.variant)
        settings = (benchmark, benchmark.source(args.variant))
        folder = checked_folder(args.manifest, args.store)
        items = published.read(*settings, folder, args.repairs, args.seed).items
        if not args.exemplars:
            write_items(args.output, items)
            return
        folder = checked_folder(args.pool, args.store)
        drawn, pool = published.exemplars(*settings, folder, args.repairs, args.seed, items)
        write_items(args.output, drawn, {"pool_sha256": pool})


logs.run(main, args.log)
