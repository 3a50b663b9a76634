"""Which backend generates: vLLM where it is installed, else transformers, unless the config says."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from optionbias.readouts.checkpoints import load, pick_device, pick_dtype
from optionbias.readouts.generation import Engine
from optionbias.readouts.transformers_engine import TransformersEngine
from optionbias.readouts.vllm_engine import VllmEngine, is_installed


def open_engine(
    backend: str, folder: Path, device: str, dtype: str
) -> tuple[Engine, dict[str, Any]]:
    """The engine of a config's `backend` for the checkpoint resolved in `folder`.

    Returns (engine, the checkpoint's manifest).

    Raises:
        CheckpointError: the checkpoint cannot be loaded, or the backend is not there.
    """
    if backend == "auto":
        backend = "vllm" if is_installed() else "transformers"
        why = "is installed" if backend == "vllm" else "as vLLM is not installed (`make envs`)"
        logging.getLogger(__name__).info("backend auto: %s, %s", backend, why)
    if backend == "vllm":
        engine = VllmEngine(folder, device, dtype)
        return engine, engine.manifest
    device = pick_device(device)
    model, tokenizer, manifest = load(folder, device, pick_dtype(dtype, device))
    return TransformersEngine(model, tokenizer), manifest
