"""Read one cell with the first-token readout and write its sweep."""

import argparse
from pathlib import Path

from optionbias import logs


def main(args: argparse.Namespace) -> None:
    from optionbias.exclusive import hold_cell
    from optionbias.readouts.gpu_lease import lease

    hold_cell(args.journal, args.output)
    lease(args.gpus)  # before torch looks for GPUs

    from optionbias.items import read_items, sample_items
    from optionbias.readouts.first_token import read_cell, readout_orderings
    from optionbias.readouts.letter_readers import open_checkpoint
    from optionbias.readouts.reading import Cell, chunk_items
    from optionbias.sweep import write_sweep

    opened = open_checkpoint(
        args.backend,
        args.manifest.parent,
        args.device,
        args.dtype,
        args.threads,
        args.variant,
        args.journal,
    )
    items = read_items(args.items)
    if args.sample is not None:
        items = sample_items(items, args.sample, args.seed, args.benchmark, args.readout)
    if args.reread_items is not None:
        name = f"noise/{args.readout}"
        items = sample_items(items, args.reread_items, args.reread_seed, args.benchmark, name)
    orderings = readout_orderings(args.readout, args.k)
    cell = Cell(
        args.checkpoint,
        args.benchmark,
        args.readout,
        items,
        read_items(args.exemplars) if args.exemplars else (),
        orderings,
        chunk_items(args.chunk_items, len(orderings), opened.device),
    )
    write_sweep(args.output, read_cell(cell, opened, args.journal, args.resume))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readout", required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--exemplars", type=Path)
    parser.add_argument("--manifest", type=Path, required=True, help="FOLDER/checkpoint.json")
    parser.add_argument("--backend", required=True, help="auto, transformers or vllm")
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--gpus", type=int, default=0, help="that the job was given")
    parser.add_argument("--chunk-items", type=int, required=True)
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--sample", type=int, help="read this many items, drawn by name")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--variant", help="of the noise floor: read with this changed")
    parser.add_argument("--reread-items", type=int, help="read this many of the items again")
    parser.add_argument("--reread-seed", type=int, help="of that choice")
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    return parser.parse_args()


# An engine may start processes, which import this module again.
if __name__ == "__main__":
    args = arguments()
    logs.run(lambda: main(args), args.log)
