"""Time and memory of reading a cell as its items grow, and what all K! orderings share.

    python benchmarks/growth.py FOLDER ITEMS [--sizes 100 1000] [--threads 2]
        [--layers 2] [--readout first-token]

FOLDER holds `checkpoint.json`, ITEMS is a JSONL file in the format of a user's own benchmark. Each size
is a cell of that many items (the file's first, repeated under new ids where it has fewer), read through
the function that the workflow's jobs call, journal included. With `--layers` the checkpoint is replaced
by a random model of its shape with so many layers. Sizes are read in turn, twice; medians are printed, of wall and of CPU time,
which other work on the machine moves less.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import resource
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import torch  # noqa: E402
import transformers  # noqa: E402

from optionbias.items import read_user_items  # noqa: E402
from optionbias.readouts.first_token import (  # noqa: E402
    Opened,
    Prompts,
    read_cell,
    readout_orderings,
)
from optionbias.readouts.letter_readers import open_checkpoint  # noqa: E402
from optionbias.readouts.matrix_path import use_fastest  # noqa: E402
from optionbias.readouts.prefix_tree import prefix_tree  # noqa: E402
from optionbias.readouts.reading import Cell  # noqa: E402
from optionbias.readouts.shared_prefix import open_reader  # noqa: E402


def with_layers(opened: Opened, folder: Path, layers: int) -> Opened:
    """The same with a random model of so many layers."""
    manifest = json.loads((folder / "checkpoint.json").read_text())
    where = folder / manifest["load"] if manifest["kind"] == "gguf" else manifest["load"]
    config = transformers.AutoConfig.from_pretrained(where)
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    use_fastest(model, 1024)

    def reader(letters: list[int], sample: Any) -> Any:
        return open_reader(model, letters, "random", sample)

    return opened._replace(open_reader=reader)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("items", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--layers", type=int)
    parser.add_argument("--readout", default="first-token")
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    rows = [json.loads(line) for line in args.items.read_text().splitlines()]
    k = len(rows[0]["options"])
    by_id = {item.id: item for item in read_user_items(args.items, "timed", k)}
    in_file = [by_id[row["id"]] for row in rows]
    opened = open_checkpoint("transformers", args.folder, "cpu", "float32", args.threads)
    if args.layers:
        opened = with_layers(opened, args.folder, args.layers)
    orderings = readout_orderings(args.readout, k)
    taken: dict[int, list[float]] = {size: [] for size in args.sizes}
    worked: dict[int, list[float]] = {size: [] for size in args.sizes}
    memory: dict[int, float] = {}
    for _ in range(args.rounds):
        for size in args.sizes:
            items = [
                dataclasses.replace(in_file[i % len(in_file)], id=f"item-{i:06d}")
                for i in range(size)
            ]
            cell = Cell("timed", "timed", args.readout, items, (), orderings, 4)
            with tempfile.TemporaryDirectory() as journal:
                start, cpu = time.perf_counter(), time.process_time()
                read_cell(cell, opened, Path(journal))
                taken[size].append(time.perf_counter() - start)
                worked[size].append(time.process_time() - cpu)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
            memory.setdefault(size, peak)
            print(f"{size} items: {taken[size][-1]:.1f} s, {peak:.2f} GiB", file=sys.stderr)
    first = args.sizes[0]
    per_item = {size: statistics.median(times) / size for size, times in taken.items()}
    cpu_per_item = {size: statistics.median(times) / size for size, times in worked.items()}
    for size in args.sizes:
        print(
            f"{size} items x {len(orderings)} orderings: {1e3 * per_item[size]:.1f} ms an item "
            f"({per_item[size] / per_item[first]:.3f} of {first} items), "
            f"{1e3 * cpu_per_item[size]:.1f} ms of CPU ({cpu_per_item[size] / cpu_per_item[first]:.3f}), "
            f"peak {memory[size]:.2f} GiB"
        )
    cell = Cell("timed", "timed", args.readout, in_file[: args.sizes[0]], (), orderings, 4)
    prompts = Prompts(cell, opened.tokenizer)
    asked = [prompts.asked(item).prompts for item in cell.items]
    plain = sum(len(p) for each in asked for p in each)
    tree = sum(node.size for each in asked for node in prefix_tree(each))
    print(
        f"tokens of {first} items: {plain:,} plain, {tree:,} as trees, {plain / tree:.2f} times fewer"
    )


if __name__ == "__main__":
    main()
