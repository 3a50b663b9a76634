"""Read one cell with the first-token readout and write its sweep."""

import argparse
from pathlib import Path

import torch

from optionbias import logs
from optionbias.items import read_items, sample_items
from optionbias.readouts.checkpoints import load, pick_device, pick_dtype
from optionbias.readouts.first_token import read_cell, readout_orderings
from optionbias.readouts.reading import Cell
from optionbias.sweep import write_sweep

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--readout", required=True)
parser.add_argument("--benchmark", required=True)
parser.add_argument("--checkpoint", required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--items", type=Path, required=True)
parser.add_argument("--exemplars", type=Path)
parser.add_argument("--manifest", type=Path, required=True, help="FOLDER/checkpoint.json")
parser.add_argument("--device", required=True)
parser.add_argument("--dtype", required=True)
parser.add_argument("--threads", type=int, required=True)
parser.add_argument("--chunk-items", type=int, required=True)
parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True)
parser.add_argument("--sample", type=int, help="read this many items, drawn by name")
parser.add_argument("--seed", type=int, help="of the sample")
parser.add_argument("--journal", type=Path, required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--log", type=Path)
args = parser.parse_args()


def main() -> None:
    torch.set_num_threads(args.threads)
    device = pick_device(args.device)
    model, tokenizer, manifest = load(args.manifest.parent, device, pick_dtype(args.dtype, device))
    items = read_items(args.items)
    if args.sample is not None:
        items = sample_items(items, args.sample, args.seed, args.benchmark, args.readout)
    cell = Cell(
        args.checkpoint,
        args.benchmark,
        args.readout,
        items,
        read_items(args.exemplars) if args.exemplars else (),
        readout_orderings(args.readout, args.k),
        args.chunk_items,
    )
    sweep = read_cell(cell, model, tokenizer, manifest, args.journal, args.resume)
    write_sweep(args.output, sweep)


logs.run(main, args.log)
