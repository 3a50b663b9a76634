"""Unpack a bundle, checked, and say how to go on."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.publication import CONFIG, restore

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--bundle", type=Path, required=True)
parser.add_argument("--into", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    folder = restore(args.bundle, args.into)
    print(
        f"restored to {folder}; every digest is right. Make statistics, tables and figures of it:"
    )
    print(f"    snakemake --cores all --configfile {folder / CONFIG}")


logs.run(main, args.log)
