"""Read one cell with the first-token readout and write its sweep."""

import argparse
from pathlib import Path

from optionbias import logs
from optionbias.readouts.arguments import add_engine, asked_items, cell_parser


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
    items = asked_items(args)
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
    parser = cell_parser(__doc__)
    add_engine(parser)
    parser.add_argument("--exemplars", type=Path)
    parser.add_argument("--variant", help="of the noise floor: read with this changed")
    parser.add_argument("--reread-items", type=int, help="read this many of the items again")
    parser.add_argument("--reread-seed", type=int, help="of that choice")
    return parser.parse_args()


# An engine may start processes, which import this module again.
if __name__ == "__main__":
    args = arguments()
    logs.run(lambda: main(args), args.log)
