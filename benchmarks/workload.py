"""Count the prompts and tokens of every benchmark that the workflow knows: workflow/workload.yaml.

    python benchmarks/workload.py RESULTS FOLDER [--items 400] > workflow/workload.yaml

RESULTS holds `items/` and `exemplars/` of the twelve published benchmarks, as
`snakemake data --config cohort=real-mini` makes them; the generated ones are made here. FOLDER is a
converted checkpoint (`results/checkpoints/NAME/model`) whose tokeniser counts. Numbers only are
written: how many items there are, and means over at most `--items` of them, taken in blocks of
neighbours that are spread evenly, so that items which share a passage are taken together.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import yaml
from transformers import AutoTokenizer

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from optionbias.benchmarks import registry  # noqa: E402
from optionbias.item import Item  # noqa: E402
from optionbias.items import read_items  # noqa: E402
from optionbias.orderings import MAX_K_ALL, cyclic  # noqa: E402
from optionbias.readouts.closed import closed_orderings  # noqa: E402
from optionbias.readouts.counting import count_cell  # noqa: E402
from optionbias.readouts.first_token import ORDERINGS  # noqa: E402
from optionbias.readouts.reading import Cell  # noqa: E402

SEED = 20261016  # config.yaml's: it draws the facts
BLOCK = 20
CHUNK_ITEMS, BUDGET = 4, 1024  # how a CPU reads: config.yaml's chunks, and the engine's packs
HEAD = """\
# Items and tokens of the benchmarks that the workflow knows. Made by benchmarks/workload.py; numbers only.
# Means are over {sample} items spread over a benchmark, or all where it has no more.
# tokens: mean of a whole prompt. run: mean that the shared-prefix engine runs for a prompt, exemplars
# apart. heads, head_tokens: exemplar texts, each run once a cell, and the mean of one. Counted with the
# tokeniser of {name}, in chunks of {chunk} items and packs of {budget} tokens: another
# tokeniser takes some tokens more or less, and larger chunks and packs share a little more.
tokenizer: {name}
"""


def spread(items: list[Item], size: int) -> list[Item]:
    """At most `size` items: blocks of neighbours, in the order in which they are read."""
    ordered = Cell("", "", "", items, (), cyclic(2), CHUNK_ITEMS).sorted_items
    if len(ordered) <= size:
        return ordered
    blocks = size // BLOCK
    starts = (round(n * (len(ordered) - BLOCK) / (blocks - 1)) for n in range(blocks))
    return [ordered[place] for start in starts for place in range(start, start + BLOCK)]


def described(
    every: list[Item], exemplars: list[Item], k: int, tokenizer: object, size: int
) -> dict[str, object]:
    """Counts of a benchmark under each readout that can ask it."""
    found: dict[str, object] = {"items": len(every), "K": k}
    items = spread(every, size)
    orderings = {name: make(k) for name, make in ORDERINGS.items() if name != "all-orderings"}
    if k <= MAX_K_ALL:
        orderings["all-orderings"] = ORDERINGS["all-orderings"](k)
    orderings |= {"chain-of-thought": cyclic(k), "direct-answer": cyclic(k)}
    orderings["closed"] = closed_orderings(k)
    for readout, presented in orderings.items():
        if readout == "five-shot" and not exemplars:
            continue
        shown = exemplars if readout == "five-shot" else []
        cell = Cell("", "", readout, items, shown, presented, CHUNK_ITEMS)
        count = count_cell(cell, tokenizer, BUDGET)
        about = {"tokens": round(count.tokens / count.prompts, 2)}
        if count.run is not None:
            about["run"] = round(count.run / count.prompts, 2)
        if count.heads:
            about |= {
                "heads": count.heads,
                "head_tokens": round(count.head_tokens / count.heads, 1),
            }
        found[readout] = about
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=400, help="count with so many items")
    parser.add_argument("--only", nargs="*", help="these benchmarks alone")
    args = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(args.folder)
    name = args.folder.resolve().parent.name
    print(HEAD.format(name=name, sample=args.items, chunk=CHUNK_ITEMS, budget=BUDGET), end="")
    print("benchmarks:")
    for benchmark, k in registry.BUILTIN.items():
        if args.only and benchmark not in args.only:
            continue
        if benchmark in registry.GENERATED:
            items = registry.generated_items(benchmark, SEED)
            exemplars = registry.generated_exemplars(benchmark, SEED)
            raw = None
        else:
            items = read_items(args.results / "items" / f"{benchmark}.parquet")
            file = args.results / "exemplars" / f"{benchmark}.parquet"
            exemplars = read_items(file) if file.is_file() else []
            stored = (args.results / "mirror" / benchmark).rglob("*")
            raw = sum(path.stat().st_size for path in stored if path.is_file())
        about = described(items, exemplars, k, tokenizer, args.items)
        if raw is not None:
            about["download_mb"] = round(raw / 1e6, 2)
        text = yaml.safe_dump({benchmark: about}, sort_keys=False, default_flow_style=None)
        print("".join(f"  {line}\n" for line in text.splitlines()), end="", flush=True)
        print(benchmark, file=sys.stderr)


if __name__ == "__main__":
    main()
