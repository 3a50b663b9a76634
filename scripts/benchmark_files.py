"""Fetch a published benchmark's files (or those of its exemplar pool) and write their manifest."""

import argparse
from pathlib import Path

from optionbias import fetch, logs
from optionbias.benchmarks import registry
from optionbias.data_lock import DataLock
from optionbias.provenance import ROOT

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--published", required=True)
parser.add_argument("--variant")
parser.add_argument("--subjects", nargs="+")
parser.add_argument("--part", choices=("items", "exemplars"), required=True)
parser.add_argument("--mirror", help="folder or HTTP address that is read instead of upstream")
parser.add_argument("--store", type=Path, required=True)
parser.add_argument("--lock", type=Path, default=ROOT / "workflow" / "data.lock")
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    benchmark = registry.published(args.published, args.subjects, args.variant)
    source = benchmark.source(args.variant)
    pool = source.pool.files if source.pool is not None else ()
    files = source.files if args.part == "items" else pool
    fetched = fetch.fetch_all(benchmark, files, args.store, DataLock(args.lock), args.mirror)
    fetch.write_manifest(args.output, benchmark.name, fetched)


logs.run(main, args.log)
