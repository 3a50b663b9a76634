"""Resolve a checkpoint's source once: its revision, and a converted folder for a GGUF."""

import argparse
import json
from pathlib import Path

from optionbias import logs
from optionbias.exclusive import hold
from optionbias.readouts.checkpoints import prepare

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--checkpoint", required=True)
parser.add_argument(
    "--source", type=json.loads, required=True, help="JSON of the cohort's `source`"
)
parser.add_argument("--output", type=Path, required=True, help="FOLDER/checkpoint.json")
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    # A job of a killed run on a cluster goes on; two of them must not replace each other's folder.
    busy = args.output.parent / ".busy"
    hold(busy, f"checkpoint {args.checkpoint}: another job prepares it; waiting until it ends")
    prepare(args.checkpoint, args.source, args.output.parent)


logs.run(main, args.log)
