"""Greedy generation with transformers: batches of prompts padded on the left, and masked."""

from __future__ import annotations

import logging
import platform
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import transformers

from optionbias.readouts.generation import Generated
from optionbias.readouts.library import cache_option

# Tokens of a batch, padding and what is generated included.
MAX_BATCH_TOKENS = {"cpu": 8_192, "cuda": 131_072}


class TransformersEngine:
    """Continues prompts with a model's own `generate`."""

    modules = ("optionbias.readouts.library", "optionbias.readouts.transformers_engine")

    def __init__(self, model: Any, tokenizer: Any) -> None:
        """Wrap a causal language model in evaluation mode and its tokeniser."""
        self.tokenizer = tokenizer
        self.limit = getattr(model.config, "max_position_embeddings", None)
        self.about = {
            "backend": "transformers",
            "dtype": str(model.dtype).removeprefix("torch."),
            "device": model.device.type,
            "device_name": device_name(model.device),
            "threads": torch.get_num_threads() if model.device.type == "cpu" else None,
            "versions": {
                "torch": torch.__version__.split("+")[0],
                "transformers": transformers.__version__,
            },
        }
        self._model = model
        self._closing = closing_tokens(model.generation_config, tokenizer)
        # A checkpoint's own settings (temperature, penalties, forced tokens) are for sampling.
        model.generation_config = transformers.GenerationConfig(
            do_sample=False,
            num_beams=1,
            eos_token_id=self._closing or None,
            pad_token_id=next(
                (t for t in (tokenizer.pad_token_id, *self._closing) if t is not None), 0
            ),
            **cache_option(model),
        )

    def reserve(self, tokens: int) -> None:
        """Nothing is reserved: memory is taken batch by batch."""

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Generated]:
        """Continue each prompt greedily, in batches of prompts of about the same length."""
        found: dict[int, Generated] = {}
        for rows in self._batches(prompts, max_tokens):
            texts = self._continue_or_halve([prompts[r] for r in rows], max_tokens)
            found |= dict(zip(rows, texts, strict=True))
        return [found[row] for row in range(len(prompts))]

    def _batches(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> Iterator[list[int]]:
        """Rows sorted by length, as many at a time as the budget of tokens holds."""
        budget = MAX_BATCH_TOKENS.get(self._model.device.type, MAX_BATCH_TOKENS["cpu"])
        batch: list[int] = []
        for row in sorted(range(len(prompts)), key=lambda r: len(prompts[r])):
            if batch and (len(batch) + 1) * (len(prompts[row]) + max_tokens) > budget:
                yield batch
                batch = []
            batch.append(row)
        if batch:
            yield batch

    def _continue_or_halve(
        self, prompts: Sequence[Sequence[int]], max_tokens: int
    ) -> list[Generated]:
        try:
            return self._continue(prompts, max_tokens)
        except torch.OutOfMemoryError:
            if len(prompts) == 1:
                raise
        half = len(prompts) // 2  # outside the handler, which holds the failed batch's tensors
        logging.getLogger(__name__).info("out of memory: %d prompts in two halves", len(prompts))
        torch.cuda.empty_cache()
        return [
            *self._continue_or_halve(prompts[:half], max_tokens),
            *self._continue_or_halve(prompts[half:], max_tokens),
        ]

    @torch.inference_mode()
    def _continue(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Generated]:
        width = max(map(len, prompts))
        pad = self._model.generation_config.pad_token_id
        ids = torch.tensor([[pad] * (width - len(p)) + list(p) for p in prompts])
        mask = torch.tensor([[0] * (width - len(p)) + [1] * len(p) for p in prompts])
        output = self._model.generate(
            input_ids=ids.to(self._model.device),
            attention_mask=mask.to(self._model.device),
            max_new_tokens=max_tokens,
        )
        return [finished(self.tokenizer, row, self._closing) for row in output[:, width:].tolist()]


def finished(tokenizer: Any, tokens: Sequence[int], closing: Iterable[int]) -> Generated:
    """The text of generated tokens up to the first closing one."""
    stop = next((i for i, token in enumerate(tokens) if token in set(closing)), None)
    text = tokenizer.decode(tokens[:stop], skip_special_tokens=True)
    if stop is None:
        return Generated(text, "length", len(tokens))
    return Generated(text, "stop", stop + 1)


def closing_tokens(generation_config: Any, tokenizer: Any) -> tuple[int, ...]:
    """Tokens that end a text: those of the checkpoint's generation settings and its tokeniser's."""
    own = getattr(generation_config, "eos_token_id", None)
    own = [] if own is None else [own] if isinstance(own, int) else list(own)
    tokens = [*own, *([] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id])]
    return tuple(dict.fromkeys(int(token) for token in tokens))


def device_name(device: torch.device) -> str:
    """What a device is called: a GPU's product name, a CPU's architecture."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
