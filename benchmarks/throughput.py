"""Time the ways to read letters on the same prompts, interleaved in one run, and print ratios.

    python benchmarks/throughput.py FOLDER ITEMS... [--exemplars FILE] [--items 64] [--rounds 5]
        [--ways engine plain vllm lm-eval] [--threads 2] [--dtype float32]
        [--vllm-python .envs/generation-cpu/bin/python] [--lm-eval-python path/to/python]

FOLDER holds `checkpoint.json` (`results/checkpoints/NAME`), ITEMS are JSONL files in the format of a
user's own benchmark, taken evenly over each file, or with `--file-order` from its start. Each way is
a process of its own in its own environment, loaded and warmed up before the first round; a round
times every way once, in turning order, while the others sleep. Slow ways named by `--once` are timed in
the first round alone, and with `--every N` on every N-th item, which their line says. The engine's and
vLLM's caches are emptied before each round. Ratios are medians over rounds of the same round's rates.

    engine      the shared-prefix engine, as the workflow runs it (a worker a thread)
    plain       batches of equal length without sharing, on the same matrix path
    vllm        vLLM with prefix caching (`make envs ENVS=generation-cpu`)
    lm-eval     lm-evaluation-harness 0.4, batch 16 (`pip install lm_eval` in an environment of its own)

The fraction of the limit is 2 x non-embedding parameters x tokens of the prefix trees, over the time
and the matrix rate of this machine, which the engine's process measures around each of its turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
LM_EVAL_BATCH = 16
CHUNK_ITEMS = 4
WARM_UP_ITEMS = 4


# --- Workers: each runs in a process, and in its way's own environment. -----------------------------


def engine_worker(task: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    """The shared-prefix engine through the function that reads a cell's chunks."""
    import numpy as np

    from optionbias.readouts.first_token import in_order
    from optionbias.readouts.forward import Asked
    from optionbias.readouts.letter_readers import open_checkpoint
    from optionbias.readouts.shared_prefix import SharedPrefixReader

    opened = open_checkpoint(
        "transformers", Path(task["folder"]), "auto", task["dtype"], task["threads"]
    )
    asked = [Asked([tuple(p) for p in i["prompts"]], tuple(i["head"])) for i in task["items"]]
    model = opened.open_reader(task["letters"], asked[:2])
    if not isinstance(model, SharedPrefixReader):
        raise SystemExit("this model is not read by shared prefixes")
    parameters = sum(
        p.numel() for name, p in model.model.named_parameters() if "embed" not in name
    ) + sum(
        m.in_features * m.out_features
        for m in model.model.modules()
        if type(m).__name__ == "PackedLinear"
    )

    def run(n: int) -> dict[str, Any]:
        reader = SharedPrefixReader(model.model, task["letters"], "timed", task["budget"])
        chunks = iter([(a, asked[a : min(n, a + CHUNK_ITEMS)]) for a in range(0, n, CHUNK_ITEMS)])
        found = [scores for _, scores in in_order(chunks, reader, opened.workers)]
        logp = np.concatenate([scores.logp for scores in found])
        return {"logp": logp.tolist(), "tokens": reader.tokens_run, "parameters": parameters}

    run.rate = lambda: matrix_rate(model.model, opened.workers)  # type: ignore[attr-defined]
    return run


def matrix_rate(model: Any, threads: int) -> float:
    """GFLOP/s of the model's largest layer on its own path, all workers at once, 0.4 seconds."""
    import time
    from concurrent.futures import ThreadPoolExecutor

    import torch

    layers = [m for m in model.base_model.modules() if hasattr(m, "out_features")]
    layer = max(layers, key=lambda m: m.in_features * m.out_features)
    x = torch.randn(1, 1024, layer.in_features, dtype=model.dtype, device=model.device)

    def work(seconds: float) -> float:
        torch.set_num_threads(1 if threads > 1 else torch.get_num_threads())
        with torch.inference_mode():
            taken = []
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                start = time.perf_counter()
                layer(x)
                taken.append(time.perf_counter() - start)
        return 2e-9 * 1024 * layer.in_features * layer.out_features / statistics.median(taken)

    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(work, [0.4] * threads))


def plain_worker(task: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    """Whole prompts in batches of equal length."""
    import torch

    from optionbias.readouts.checkpoints import load
    from optionbias.readouts.forward import Asked, PlainReader
    from optionbias.readouts.matrix_path import use_fastest

    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, _, _ = load(Path(task["folder"]), device, task["dtype"])
    use_fastest(model, 1024)
    reader = PlainReader(model, task["letters"], "timed", 4096 if device == "cpu" else 65536)
    asked = [Asked([tuple(p) for p in item["prompts"]]) for item in task["items"]]
    return lambda n: {"logp": reader.read(asked[:n]).logp.tolist()}


def vllm_worker(task: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    """The workflow's own vLLM backend; its cache is emptied before each round."""
    from optionbias.readouts.forward import Asked
    from optionbias.readouts.vllm_engine import VllmEngine
    from optionbias.readouts.vllm_letters import VllmReader

    engine = VllmEngine(Path(task["folder"]), "auto", task["dtype"])
    reader = VllmReader(engine, task["letters"])
    asked = [Asked([tuple(p) for p in item["prompts"]]) for item in task["items"]]

    def run(n: int) -> dict[str, Any]:
        return {"logp": reader.read(asked[:n]).logp.tolist()}

    run.before = lambda: engine.forget_prefixes()  # type: ignore[attr-defined]
    return run


def lm_eval_worker(task: dict[str, Any]) -> Callable[[int], dict[str, Any]]:
    """One log-likelihood request a letter; the harness answers those of a prompt from one pass."""
    import math

    import torch
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    folder = Path(task["folder"])
    manifest = json.loads((folder / "checkpoint.json").read_text())
    where = str(folder / manifest["load"]) if manifest["kind"] == "gguf" else manifest["load"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lm = HFLM(pretrained=where, dtype=task["dtype"], batch_size=LM_EVAL_BATCH, device=device)
    texts = [text for item in task["items"] for text in item["texts"]]
    letters = "ABCDEFGHIJ"[: len(task["letters"])]
    requests = [
        Instance("loglikelihood", {}, (text, f" {letter}"), index)
        for index, text in enumerate(texts)
        for letter in letters
    ]

    each = len(requests) // len(task["items"])

    def run(n: int) -> dict[str, Any]:
        found = lm.loglikelihood(requests[: n * each], disable_tqdm=True)
        rows = []
        for start in range(0, len(found), len(letters)):
            row = [value for value, _ in found[start : start + len(letters)]]
            total = math.log(sum(map(math.exp, row)))
            rows.append([value - total for value in row])
        return {"logp": rows}

    return run


WORKERS = {
    "engine": engine_worker,
    "plain": plain_worker,
    "vllm": vllm_worker,
    "lm-eval": lm_eval_worker,
}


def work(way: str, task_file: str) -> None:
    """Load, then run once for each line that arrives; an answer is a line of JSON."""
    import resource
    import time

    task = json.loads(Path(task_file).read_text())
    task["items"] = task["items"][:: task["every"].get(way, 1)]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no answer
    if way != "vllm":  # which binds its threads itself
        import torch

        torch.set_num_threads(task["threads"])
    run = WORKERS[way](task)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        getattr(run, "before", lambda: None)()
        rate = getattr(run, "rate", lambda: None)
        rates, cpu, start = [rate()], time.process_time(), time.perf_counter()
        found = run(int(line))
        found |= {
            "seconds": time.perf_counter() - start,
            "cpu": time.process_time() - cpu,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        }
        found["rates"] = [*rates, rate()]
        print(json.dumps(found), file=answers, flush=True)


# --- The run: prompts, rounds, and what is printed. -------------------------------------------------


def tasks(args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Per items file, what every worker reads: prompts as texts and as token ids."""
    import numpy as np

    from optionbias.items import read_user_items
    from optionbias.orderings import cyclic_and_reversals
    from optionbias.prompts import exemplars_of, prompt
    from optionbias.readouts.checkpoints import load_tokenizer, located
    from optionbias.readouts.first_token import Prompts
    from optionbias.readouts.letters import letter_tokens
    from optionbias.readouts.reading import Cell

    where, options, manifest = located(args.folder)
    tokenizer = load_tokenizer(manifest["checkpoint"], where, options)
    found = {}
    for file in args.files:
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        k = len(rows[0]["options"])
        usable = [row for row in rows if len(set(row["options"])) == k]
        if len(usable) < len(rows):
            print(f"{file}: {len(rows) - len(usable)} items left out that list an option twice")
        with tempfile.TemporaryDirectory() as scratch:
            kept = Path(scratch) / "items.jsonl"
            kept.write_text("".join(json.dumps(row) + "\n" for row in usable))
            in_file = read_user_items(kept, file.parent.name, k)
        n = min(args.items, len(in_file))
        spread = range(n) if args.file_order else np.linspace(0, len(in_file) - 1, n).astype(int)
        items = [in_file[i] for i in spread]
        exemplars = read_user_items(args.exemplars, file.parent.name, k) if args.exemplars else []
        orderings = cyclic_and_reversals(k)
        prompts = Prompts(Cell("", "", "first-token", items, exemplars, orderings, 8), tokenizer)
        found[file.parent.name] = {
            "folder": str(args.folder),
            "threads": args.threads,
            "dtype": args.dtype,
            "budget": args.budget,
            "every": dict.fromkeys(args.once, args.every),
            "letters": letter_tokens(tokenizer, k, manifest["checkpoint"]),
            "items": [
                {
                    "prompts": asked.prompts,
                    "head": asked.head,
                    "texts": [prompt(i, pi, exemplars_of(i, exemplars)) for pi in orderings],
                }
                for i in items
                for asked in [prompts.asked(i)]
            ],
        }
    return found


def start(way: str, task_file: str, args: argparse.Namespace) -> subprocess.Popen[str]:
    """A worker process that is loaded, warm and asleep."""
    python = {"vllm": args.vllm_python, "lm-eval": args.lm_eval_python}.get(way, sys.executable)
    environment = os.environ | {
        "OMP_NUM_THREADS": str(args.threads),
        "OMP_WAIT_POLICY": "PASSIVE",  # a sleeping way must not spin on the cores of another
        "PYTHONPATH": str(ROOT),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with args.log.with_suffix(f".{way}.log").open("w") as log:
        process = subprocess.Popen(
            [str(python), str(Path(__file__)), "--worker", way, task_file],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True, env=environment,
        )  # fmt: skip
    answer(process, way, args)
    return process


def answer(process: subprocess.Popen[str], way: str, args: argparse.Namespace) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{way} ended, see {args.log.with_suffix(f'.{way}.log')}")
    found: dict[str, Any] = json.loads(line)
    return found


def spread(values: list[float], form: str = ".2f") -> str:
    """Median and range."""
    return f"{statistics.median(values):{form}} ({min(values):{form}} to {max(values):{form}})"


def report(name: str, task: dict[str, Any], runs: dict[str, list[dict[str, Any]]]) -> None:
    """Print one setting's rates, ratios, tokens, agreement and fraction of the limit."""
    import numpy as np

    from optionbias.readouts.prefix_tree import prefix_tree

    prompts = [tuple(p) for item in task["items"] for p in item["prompts"]]
    plain = sum(map(len, prompts))
    tree = sum(node.size for node in prefix_tree(prompts))
    print(f"\n{name}: {len(task['items'])} items, {len(prompts)} prompts, {task['dtype']}")
    print(f"  tokens: {plain:,} without sharing, {tree:,} as one tree, {plain / tree:.2f}x")
    for way, each in runs.items():
        rates = [len(run["logp"]) / run["seconds"] for run in each]
        every = task["every"].get(way, 1)
        line = f"  {way:8} {spread(rates)} prompts/s, {each[-1]['memory']:.1f} GiB"
        line += f", on {len(each[-1]['logp'])} of the prompts" if every > 1 else ""
        if way != "engine" and "engine" in runs:
            engine = [len(prompts) / run["seconds"] for run in runs["engine"]]
            ratios = [e / r for e, r in zip(engine, rates, strict=False)]
            ours, theirs = (np.array(x[-1]["logp"]) for x in (runs["engine"], each))
            per_item = ours.reshape(len(task["items"]), -1, ours.shape[-1])
            ours = per_item[::every].reshape(theirs.shape)
            line += (
                f"; the engine is {spread(ratios)} times as fast; log-probabilities differ by at most "
                f"{np.abs(ours - theirs).max():.1e}, choices in {(ours.argmax(1) != theirs.argmax(1)).sum()}"
            )
        print(line)
    for run in runs.get("engine", [])[-1:]:
        print(
            f"  engine: {run['tokens']:,} tokens run, {plain / run['tokens']:.2f}x fewer than plain"
        )
    fractions = [
        2e-9 * run["parameters"] * tree / run["seconds"] / max(run["rates"])
        for run in runs.get("engine", [])
    ]
    if fractions:
        measured = [rate for run in runs["engine"] for rate in run["rates"]]
        print(
            f"  matrix rate {spread(measured, '.0f')} GFLOP/s; fraction of the limit {spread(fractions)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--exemplars", type=Path)
    parser.add_argument("--items", type=int, default=64)
    parser.add_argument("--file-order", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--ways", nargs="+", default=["engine", "plain"], choices=list(WORKERS))
    parser.add_argument("--once", nargs="*", default=[], help="ways timed in the first round alone")
    parser.add_argument("--every", type=int, default=1, help="items that they read: every N-th")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--budget", type=int, help="tokens of one pass of the engine")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument(
        "--vllm-python", type=Path, default=ROOT / ".envs/generation-cpu/bin/python"
    )
    parser.add_argument("--lm-eval-python", type=Path)
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "throughput")
    args = parser.parse_args()
    args.folder = args.folder.resolve()
    for name, task in tasks(args).items():
        with tempfile.TemporaryDirectory() as scratch:
            task_file = Path(scratch) / "task.json"
            task_file.write_text(json.dumps(task))
            processes = {way: start(way, str(task_file), args) for way in args.ways}
            runs: dict[str, list[dict[str, Any]]] = {way: [] for way in args.ways}
            for number in range(args.rounds + 1):
                turn = args.ways[number % len(args.ways) :] + args.ways[: number % len(args.ways)]
                for way in turn:
                    if way in args.once and number > 1:
                        continue
                    process = processes[way]
                    assert process.stdin is not None
                    print(
                        len(task["items"]) if number else WARM_UP_ITEMS,
                        file=process.stdin,
                        flush=True,
                    )
                    found = answer(process, way, args)
                    if number:  # the first round warms up
                        runs[way].append(found)
                    print(f"{name} round {number} {way}: {found['seconds']:.1f} s", file=sys.stderr)
            for process in processes.values():
                process.kill()
        report(name, task, runs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3])
    else:
        main()
