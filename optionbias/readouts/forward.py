"""Letter log-probabilities of prompts that share their beginnings, from a causal model.

The prompts of one item differ only in the order of a few lines, and all prompts of a five-shot
benchmark start with the same exemplars. The shared tokens are run once and their key-value cache
is reused. Prompts are grouped by their exact length, so nothing is padded or masked, and
only the last position meets the output matrix.
"""

from __future__ import annotations

import copy
import inspect
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import DynamicCache

MIN_SHARED_BY_CHUNK = 32
MAX_BATCH_TOKENS = 16_384
SELF_CHECK_TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}


class ForwardError(RuntimeError):
    """A model whose numbers cannot be used."""


@dataclass(frozen=True)
class LetterScores:
    """log-softmax over the K letters (n, K) and their total mass under the full softmax (n,)."""

    logp: NDArray[np.float32]
    mass: NDArray[np.float32]


def shared_length(prompts: Sequence[Sequence[int]]) -> int:
    """Tokens that all prompts start with, leaving at least one token of each."""
    shortest = min(len(p) for p in prompts) - 1
    first = prompts[0]
    for position in range(shortest):
        if any(p[position] != first[position] for p in prompts[1:]):
            return position
    return shortest


class LetterReader:
    """Runs prompts through a model and keeps the letters' log-probabilities."""

    def __init__(self, model: Any, letters: Sequence[int], name: str) -> None:
        """Wrap a causal language model in evaluation mode.

        Args:
            model: a transformers causal LM.
            letters: token ids of the K letters.
            name: the checkpoint's name, for errors.
        """
        self.model = model
        self.letters = torch.tensor(list(letters), device=model.device)
        self.name = name
        self._shared: tuple[tuple[int, ...], Any] = ((), None)

    @torch.inference_mode()
    def read(self, items: Sequence[Sequence[Sequence[int]]]) -> LetterScores:
        """Read the prompts of a chunk: for each item, the token ids under each ordering.

        Returns rows in the order given, items first.
        """
        everything = [p for prompts in items for p in prompts]
        shared = shared_length(everything) if len(items) > 1 else 0
        if shared < MIN_SHARED_BY_CHUNK:
            shared = 0
        beginning = tuple(everything[0][:shared])
        if self._shared[0] != beginning:
            self._shared = (beginning, self._extend(None, beginning))
        return _concatenate([self._read_item(prompts, shared) for prompts in items])

    @torch.inference_mode()
    def read_plainly(self, prompts: Sequence[Sequence[int]]) -> LetterScores:
        """The same by one plain forward pass a prompt, no cache: the reference."""
        return _concatenate([self._scores(self._logits(None, [list(p)])) for p in prompts])

    def check(self, prompts: Sequence[Sequence[int]]) -> float:
        """Largest difference between `read` and `read_plainly` on one item's prompts.

        Raises:
            ForwardError: above the tolerance of the model's dtype: this model's code does not
                take a reused cache, so its numbers must not be used.
        """
        ours, plain = self.read([prompts]).logp, self.read_plainly(prompts).logp
        difference = float(np.abs(ours - plain).max())
        tolerance = SELF_CHECK_TOLERANCE.get(self.model.dtype, 1e-3)
        if not difference <= tolerance:
            raise ForwardError(
                f"checkpoint {self.name}: log-probabilities with a reused cache differ by "
                f"{difference:.3g} from the plain forward pass (at most {tolerance:g})"
            )
        return difference

    def _read_item(self, prompts: Sequence[Sequence[int]], shared: int) -> LetterScores:
        length = max(shared_length(prompts), shared)
        cache = self._extend(self._shared[1], prompts[0][shared:length])
        groups: dict[int, list[int]] = defaultdict(list)
        for row, ids in enumerate(prompts):
            groups[len(ids)].append(row)
        k = len(self.letters)
        logp = np.empty((len(prompts), k), dtype=np.float32)
        mass = np.empty(len(prompts), dtype=np.float32)
        for size in sorted(groups):
            rows = groups[size]
            step = max(1, MAX_BATCH_TOKENS // size)
            for start in range(0, len(rows), step):
                batch = rows[start : start + step]
                found = self._scores(self._logits(cache, [prompts[r][length:] for r in batch]))
                logp[batch], mass[batch] = found.logp, found.mass
        return LetterScores(logp, mass)

    def _extend(self, cache: Any, tokens: Sequence[int]) -> Any:
        """A new cache that holds `cache` and `tokens` after it; None stands for an empty one."""
        if not tokens:
            return cache
        grown = DynamicCache(config=self.model.config) if cache is None else copy.deepcopy(cache)
        ids = torch.tensor([list(tokens)], device=self.model.device)
        # The model without its output matrix: nobody reads the logits of shared tokens.
        body = self.model.base_model
        body(input_ids=ids, use_cache=True, **{_cache_argument(body): grown})
        return grown

    def _logits(self, cache: Any, suffixes: Sequence[Sequence[int]]) -> torch.Tensor:
        """Last-position logits (n, vocabulary) of equally long suffixes after a shared cache."""
        ids = torch.tensor([list(s) for s in suffixes], device=self.model.device)
        if cache is None:
            return self._forward(ids, None)
        branches = copy.deepcopy(cache)
        branches.batch_repeat_interleave(len(suffixes))
        return self._forward(ids, branches)

    def _forward(self, ids: torch.Tensor, cache: Any) -> torch.Tensor:
        reuse = {} if cache is None else {_cache_argument(self.model): cache}
        output = self.model(input_ids=ids, use_cache=cache is not None, logits_to_keep=1, **reuse)
        return output.logits[:, -1]

    def _scores(self, logits: torch.Tensor) -> LetterScores:
        """float32 log-softmax over the letters, and their mass under the full softmax."""
        logits = logits.float()
        letters = logits[:, self.letters]
        logp = torch.log_softmax(letters, dim=-1)
        mass = torch.exp(torch.logsumexp(letters, -1) - torch.logsumexp(logits, -1))
        if not torch.isfinite(logp).all():
            raise ForwardError(f"checkpoint {self.name}: the model returned NaN or infinite logits")
        return LetterScores(logp.cpu().numpy(), mass.clamp(max=1.0).cpu().numpy())


def _cache_argument(module: Any) -> str:
    """transformers 5 renames the argument that 4.57 calls `past_key_values`."""
    known = inspect.signature(module.forward).parameters
    return "cache" if "cache" in known else "past_key_values"


def _concatenate(scores: Sequence[LetterScores]) -> LetterScores:
    return LetterScores(
        np.concatenate([s.logp for s in scores]), np.concatenate([s.mass for s in scores])
    )
