"""The arguments that the jobs of several readouts share, and the items that a job asks."""

from __future__ import annotations

import argparse
from pathlib import Path

from optionbias.item import Item


def cell_parser(description: str | None) -> argparse.ArgumentParser:
    """Arguments of every job that makes a sweep: which cell, of which items, journal and output."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--readout", required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--k", type=int, required=True, help="options of an item")
    parser.add_argument("--items", type=Path, required=True)
    parser.add_argument("--sample", type=int, help="ask this many items, drawn by name")
    parser.add_argument("--seed", type=int, help="of the sample")
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--journal", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True, help="the sweep")
    parser.add_argument("--log", type=Path)
    return parser


def add_engine(parser: argparse.ArgumentParser) -> None:
    """Arguments of a job that runs a checkpoint itself."""
    parser.add_argument("--manifest", type=Path, required=True, help="FOLDER/checkpoint.json")
    parser.add_argument("--backend", required=True, help="auto, transformers or vllm")
    parser.add_argument("--device", required=True, help="auto, cpu or cuda")
    parser.add_argument("--dtype", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--gpus", type=int, default=0, help="that the job was given")
    parser.add_argument("--chunk-items", type=int, required=True, help="items of a journal entry")


def asked_items(args: argparse.Namespace) -> list[Item]:
    """The items of the job: all of the file, or its sample."""
    from optionbias.items import read_items, sample_items

    items = read_items(args.items)
    if args.sample is None:
        return items
    return sample_items(items, args.sample, args.seed, args.benchmark, args.readout)
