"""vLLM behind both kinds of readout: greedy texts here, letters in `vllm_letters`.

Prompts enter as the token ids of our own `encode`, so what is asked does not depend on the backend.
The engine runs in this process: its scheduling then repeats, and a killed job leaves nothing behind.
"""

from __future__ import annotations

import importlib.util
import inspect
import logging
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from optionbias.readouts.checkpoints import (
    REFERENCE_PROMPT,
    CheckpointError,
    check_reference,
    load_tokenizer,
    located,
    pick_dtype,
)
from optionbias.readouts.generation import Generated
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.transformers_engine import closing_tokens, finished

# Only defaults: what the environment says stays.
ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    # Its own set-up of logging would silence the loggers of everything else.
    "VLLM_CONFIGURE_LOGGING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    # A job keeps to the threads that it was given; prompts must fit into the cache to share anything.
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_CPU_KVCACHE_SPACE": "4",
}
# float32 on a CPU shares prefixes only in blocks of a multiple of 32 tokens.
CPU_BLOCK = 32
# Room for prompts of unknown length, where nobody reserved any.
ROOM = 32_768


def is_installed() -> bool:
    """Whether the Python that runs has vLLM; it is not imported."""
    return importlib.util.find_spec("vllm") is not None


class VllmEngine:
    """Continues prompts with vLLM; the model is loaded at the first use."""

    modules = ("optionbias.readouts.vllm_engine", "optionbias.readouts.transformers_engine")

    def __init__(self, folder: Path, device: str, dtype: str) -> None:
        """Find the checkpoint that `checkpoints.prepare` resolved in `folder`.

        Args:
            folder: of `checkpoint.json`.
            device: auto, cpu or cuda; the installed vLLM is built for one.
            dtype: auto or a name of `checkpoints.DTYPES`.

        Raises:
            CheckpointError: vLLM is not installed, was built for another device, or the checkpoint
                cannot be found.
        """
        where, options, self.manifest = located(folder)
        self.name = self.manifest["checkpoint"]
        if not is_installed():
            raise CheckpointError(
                f"checkpoint {self.name}: backend vllm is not installed for {sys.executable}: "
                f"`make envs` installs it (docs/environments.md), `backend=transformers` does without"
            )
        self._check_version()
        for name, value in ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        # What it compiles with (ninja) lies beside the Python, where nobody has activated anything.
        programs = str(Path(sys.executable).parent)
        os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
        logging.getLogger("vllm").setLevel(logging.ERROR)
        import vllm
        from vllm.platforms import current_platform

        built_for = current_platform.device_type
        if device not in ("auto", built_for):
            raise CheckpointError(
                f"checkpoint {self.name}: this vLLM runs on {built_for}, not on {device}: set `device` to "
                f"auto, or `backend` to transformers"
            )
        self._folder, self._where, self._options = folder, where, options
        self._llm: Any = None
        self._room: int | None = None
        self.tokenizer = load_tokenizer(self.name, where, options)
        try:
            config = transformers.AutoConfig.from_pretrained(where, **options)
        except Exception as error:  # whatever a broken file makes the library raise
            raise CheckpointError(
                f"checkpoint {self.name}: cannot read the config.json of {where}: "
                f"{' '.join(str(error).split())[:300]}"
            ) from error
        text_config = config.get_text_config()
        self.limit: int | None = getattr(text_config, "max_position_embeddings", None)
        self._heads = int(getattr(text_config, "num_attention_heads", 1))
        try:
            settings = transformers.GenerationConfig.from_pretrained(where, **options)
        except OSError:  # a checkpoint need not come with any
            settings = config
        self._closing = closing_tokens(settings, self.tokenizer)
        self.about = {
            "backend": "vllm",
            "dtype": pick_dtype(dtype, built_for),
            "device": built_for,
            "device_name": platform.machine()
            if built_for == "cpu"
            else current_platform.get_device_name(),
            "threads": torch.get_num_threads() if built_for == "cpu" else None,
            "versions": {
                "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__,
                "vllm": vllm.__version__.split("+")[0],
            },
        }

    def reserve(self, tokens: int) -> None:
        """Start with room for prompts (and what follows) of so many tokens, if not started yet."""
        self._room = max(tokens, self._room or 0)

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Generated]:
        """Continue each prompt greedily, in the order given."""
        outputs = self.run(prompts, max_tokens=max_tokens, stop_token_ids=list(self._closing))
        return [finished(self.tokenizer, o.token_ids, self._closing) for o in outputs]

    def run(self, prompts: Sequence[Sequence[int]], **settings: Any) -> list[Any]:
        """vLLM's own output of each prompt under greedy decoding with further settings."""
        from vllm import SamplingParams

        parameters = SamplingParams(temperature=0.0, detokenize=False, **settings)
        asked = [{"prompt_token_ids": list(prompt)} for prompt in prompts]
        done = self._started().generate(asked, parameters, use_tqdm=False)
        return [output.outputs[0] for output in done]

    def require_letters(self) -> None:
        """Refuse a vLLM that cannot read letters.

        Raises:
            CheckpointError: it does not give the log-probabilities of chosen tokens.
        """
        import vllm

        if "logprob_token_ids" not in inspect.signature(vllm.SamplingParams).parameters:
            raise CheckpointError(
                f"checkpoint {self.name}: vLLM {vllm.__version__} does not give the log-probabilities of chosen "
                f"tokens: read letters with `backend=transformers`, or with the vLLM of `make envs "
                f"ENVS=letters-vllm`"
            )

    def letter_logprobs(
        self, prompts: Sequence[Sequence[int]], letters: Sequence[int]
    ) -> list[list[float]]:
        """Log-probabilities of exactly these tokens after each prompt, under the full softmax."""
        outputs = self.run(prompts, max_tokens=1, logprob_token_ids=list(letters))
        return [[o.logprobs[0][letter].logprob for letter in letters] for o in outputs]

    def forget_prefixes(self) -> None:
        """Empty the prefix cache: what is timed must not profit from what was read before."""
        self._started().reset_prefix_cache()

    def _started(self) -> Any:
        if self._llm is None:
            from vllm import LLM

            on_cpu = self.about["device"] == "cpu"
            room = self._room or min(self.limit or ROOM, ROOM)
            try:
                self._llm = LLM(
                    self._where,
                    **self._options,
                    tokenizer_revision=self._options.get("revision"),
                    dtype=self.about["dtype"],
                    seed=0,
                    max_model_len=room,
                    enable_prefix_caching=True,
                    # Compiling takes minutes on a CPU, a cell often less.
                    enforce_eager=on_cpu,
                    tensor_parallel_size=1 if on_cpu else self._gpus(),
                    **({"block_size": CPU_BLOCK} if on_cpu else {}),
                )
            except (
                Exception
            ) as error:  # whatever an engine finds in a checkpoint or lacks in memory
                raise CheckpointError(
                    f"checkpoint {self.name}: vLLM cannot start: {type(error).__name__}: "
                    f"{' '.join(str(error).split())[:300]}"
                ) from error
            self._check()
        return self._llm

    def _check_version(self) -> None:
        """A converted folder loads in another major version of transformers and answers wrongly."""
        converted, here = self.manifest["transformers"], transformers.__version__
        if self.manifest["kind"] == "gguf" and converted.split(".")[0] != here.split(".")[0]:
            raise CheckpointError(
                f"checkpoint {self.name}: converted by transformers {converted}, which the {here} beside this "
                f"vLLM reads wrongly: set `backend` to transformers"
            )

    def _gpus(self) -> int:
        """All GPUs that the job sees, where the attention heads spread over them evenly; else one."""
        gpus = max(1, torch.cuda.device_count())
        return gpus if self._heads % gpus == 0 else 1

    def _check(self) -> None:
        """The reference prompt of a converted checkpoint must read as it did at conversion."""
        if "reference" in self.manifest and self.about["dtype"] == "float32":
            letters = letter_tokens(self.tokenizer, 2, self.name)
            found = self.letter_logprobs([encode(self.tokenizer, REFERENCE_PROMPT)], letters)
            check_reference(self.manifest, found[0], self._folder)
