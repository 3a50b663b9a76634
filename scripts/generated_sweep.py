"""Generate answers to one cell (chain of thought, direct answer), write its sweep and its traces."""

import argparse
import logging
from pathlib import Path

from optionbias import logs
from optionbias.readouts.arguments import add_engine, asked_items, cell_parser


def main(args: argparse.Namespace) -> None:
    from optionbias.exclusive import hold_cell
    from optionbias.readouts.gpu_lease import lease

    hold_cell(args.journal, args.output)
    lease(args.gpus)  # before torch looks for GPUs
    import torch

    from optionbias.readouts.backends import open_engine
    from optionbias.readouts.generation import read_cell, readout_orderings
    from optionbias.readouts.reading import Cell, chunk_items
    from optionbias.readouts.traces import write_traces
    from optionbias.sweep import write_sweep

    torch.set_num_threads(args.threads)
    engine, manifest = open_engine(args.backend, args.manifest.parent, args.device, args.dtype)
    logging.getLogger(__name__).info("backend %s", engine.about["backend"])
    cell = Cell(
        args.checkpoint,
        args.benchmark,
        args.readout,
        asked_items(args),
        (),
        readout_orderings(args.k),
        chunk_items(args.chunk_items, args.k, engine.about["device"]),
    )
    sweep, traces = read_cell(cell, engine, manifest, args.journal, args.max_tokens, args.resume)
    if (sweep.choice < 0).all():
        logging.getLogger(__name__).warning(
            "%s: none of %d texts holds an answer; read them in %s: the checkpoint does not follow the "
            "prompt, or `max_tokens` (%d) is too small",
            cell.label, sweep.choice.size, args.traces, args.max_tokens,
        )  # fmt: skip
    told = ("answers", "finish_reasons", "cut_short")
    logging.getLogger(__name__).info(
        "%s: %s", cell.label, "; ".join(f"{key} {sweep.metadata[key]}" for key in told)
    )
    write_traces(args.traces, traces)
    write_sweep(args.output, sweep)


def arguments() -> argparse.Namespace:
    parser = cell_parser(__doc__)
    add_engine(parser)
    parser.add_argument("--max-tokens", type=int, required=True)
    parser.add_argument("--traces", type=Path, required=True)
    return parser.parse_args()


# An engine may start processes, which import this module again.
if __name__ == "__main__":
    args = arguments()
    logs.run(lambda: main(args), args.log)
