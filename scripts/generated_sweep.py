"""Generate answers to one cell (chain of thought, direct answer), write its sweep and its traces."""

import argparse
import logging
from pathlib import Path

from optionbias import logs


def main(args: argparse.Namespace) -> None:
    from optionbias.exclusive import hold_cell
    from optionbias.readouts.gpu_lease import lease

    hold_cell(args.journal, args.output)
    lease(args.gpus)  # before torch looks for GPUs
    import torch

    from optionbias.items import read_items, sample_items
    from optionbias.readouts.backends import open_engine
    from optionbias.readouts.generation import read_cell, readout_orderings
    from optionbias.readouts.reading import Cell, chunk_items
    from optionbias.readouts.traces import write_traces
    from optionbias.sweep import write_sweep

    torch.set_num_threads(args.threads)
    engine, manifest = open_engine(args.backend, args.manifest.parent, args.device, args.dtype)
    logging.getLogger(__name__).info("backend %s", engine.about["backend"])
    items = read_items(args.items)
    if args.sample is not None:
        items = sample_items(items, args.sample, args.seed, args.benchmark, args.readout)
    cell = Cell(
        args.checkpoint,
        args.benchmark,
        args.readout,
        items,
        (),
        readout_orderings(args.k),
        chunk_items(args.chunk_items, args.k, engine.about["device"]),
    )
    sweep, traces = read_cell(cell, engine, manifest, args.journal, args.max_tokens, args.resume)
    told = ("answers", "finish_reasons", "cut_short")
    logging.getLogger(__name__).info(
        "%s: %s", cell.label, "; ".join(f"{key} {sweep.metadata[key]}" for key in told)
    )
    write_traces(args.traces, traces)
    write_sweep(args.output, sweep)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--readout", required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--k", type=int, required=True)
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--manifest", type=Path, required=True, help="FOLDER/checkpoint.json")
    parser.add_argument("--backend", required=True, help="auto, transformers or vllm")
    parser.add_argument("--max-tokens", type=int, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--gpus", type=int, default=0, help="that the job was given")
    parser.add_argument("--chunk-items", type=int, required=True)
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--sample", type=int, help="generate for this many items, drawn by name")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--traces", type=Path, required=True)
    parser.add_argument("--log", type=Path)
    return parser.parse_args()


# An engine may start processes, which import this module again.
if __name__ == "__main__":
    args = arguments()
    logs.run(lambda: main(args), args.log)
