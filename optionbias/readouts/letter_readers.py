"""Which backend reads letters: the shared-prefix engine on transformers, or vLLM."""

from __future__ import annotations

from pathlib import Path

import torch

from optionbias.environments import letters_backend
from optionbias.readouts.allocation import keep_freed_memory
from optionbias.readouts.checkpoints import DTYPES, load, pick_device, pick_dtype
from optionbias.readouts.first_token import Opened
from optionbias.readouts.forward import Asked, PlainReader
from optionbias.readouts.matrix_path import use_fastest
from optionbias.readouts.shared_prefix import BUDGETS, open_reader
from optionbias.readouts.vllm_engine import VllmEngine
from optionbias.readouts.vllm_letters import VllmReader

# Tokens by which another ordering of the longest item may be longer, and one for the answer.
SLACK = 64


def open_checkpoint(
    backend: str,
    folder: Path,
    device: str,
    dtype: str,
    threads: int,
    variant: str | None = None,
    journal: Path | None = None,
) -> Opened:
    """Open the checkpoint resolved in `folder` with a config's `backend`, `device` and `dtype`.

    On a CPU each of `threads` workers reads its own chunks with one thread of the library's, which
    is faster than sharing every product and gives the same numbers for any number of threads.

    A `variant` of the noise floor (`optionbias.noise`) changes one of these: the dtype, the backend,
    or with `alone` the batch, so that every prompt has a forward pass of its own. `journal` is the
    folder of journals, where the machine's matrix path is remembered.

    Raises:
        CheckpointError: the checkpoint cannot be loaded, or the backend is not there.
    """
    backend = letters_backend(variant, backend)
    if variant in DTYPES:
        dtype = variant
    if backend == "vllm":
        engine = VllmEngine(folder, device, dtype)
        engine.require_letters()

        def open_vllm(letters: list[int], sample: list[Asked]) -> VllmReader:
            # The sample holds the longest item, under some of its orderings.
            longest = max(len(prompt) for asked in sample for prompt in asked.prompts)
            engine.reserve(min(longest + SLACK, engine.limit or longest + SLACK))
            return VllmReader(engine, letters)

        return Opened(
            open_vllm, engine.tokenizer, engine.manifest, engine.limit, 1, engine.about["device"]
        )
    device = pick_device(device)
    on_cpu = device == "cpu"
    if on_cpu:
        torch.set_num_threads(1)
        keep_freed_memory()
    model, tokenizer, manifest = load(folder, device, pick_dtype(dtype, device))
    use_fastest(model, BUDGETS["cpu"], journal and journal / "matrix_path.json")
    name = manifest["checkpoint"]
    return Opened(
        lambda letters, sample: (
            PlainReader(model, letters, name, budget=1)
            if variant == "alone"
            else open_reader(model, letters, name, sample)
        ),
        tokenizer,
        manifest,
        getattr(model.config.get_text_config(), "max_position_embeddings", None),
        threads if on_cpu else 1,
        device,
    )
