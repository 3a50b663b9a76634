"""Letter log-probabilities of prompts by plain forward passes: the reference, and the fallback."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from optionbias.readouts.library import last_logits
from optionbias.readouts.prefix_tree import Tokens

MAX_BATCH_TOKENS = 4_096


class ForwardError(RuntimeError):
    """A model whose numbers cannot be used."""


@dataclass(frozen=True)
class LetterScores:
    """log-softmax over the K letters (n, K) and their total mass under the full softmax (n,)."""

    logp: NDArray[np.float32]
    mass: NDArray[np.float32]

    @classmethod
    def empty(cls, n: int, k: int) -> LetterScores:
        """Room for n rows."""
        return cls(np.full((n, k), np.nan, np.float32), np.full(n, np.nan, np.float32))

    def put(self, rows: slice | Sequence[int] | NDArray[np.int64], found: LetterScores) -> None:
        """Fill `rows`."""
        self.logp[rows], self.mass[rows] = found.logp, found.mass


@dataclass(frozen=True)
class Asked:
    """One item as a reader takes it: its prompts, and how many tokens of each are exemplars.

    Attributes:
        prompts: token ids under each ordering.
        head: the exemplars' tokens, with which every prompt starts; other items may have the same.
    """

    prompts: Sequence[Tokens]
    head: Tokens = ()


class Reader(Protocol):
    """What answers prompts with letter probabilities.

    Attributes:
        about: what it is, for the sweep's metadata: `backend`, `reader`, `dtype`, `device`, ...
    """

    @property
    def about(self) -> dict[str, Any]:
        """Of provenance."""

    def read(self, items: Sequence[Asked]) -> LetterScores:
        """Rows of every prompt of a chunk of items, items first; threads may call it at once."""


def letter_scores(logits: torch.Tensor, letters: torch.Tensor, name: str) -> LetterScores:
    """float32 log-softmax over the letters, and their mass, of last-position logits (n, vocabulary).

    Raises:
        ForwardError: logits are NaN or infinite.
    """
    logits = logits.float()
    among = logits[:, letters.to(logits.device)]
    logp = torch.log_softmax(among, dim=-1)
    total = torch.logsumexp(logits, -1)
    mass = torch.exp(torch.logsumexp(among, -1) - total)
    # A NaN at another token would spoil the mass alone; -inf is a token that a model rules out.
    if not (torch.isfinite(logp).all() and torch.isfinite(total).all()):
        raise ForwardError(f"checkpoint {name}: the model returned NaN or infinite logits")
    return LetterScores(logp.cpu().numpy(), mass.clamp(max=1.0).cpu().numpy())


def about_model(model: Any) -> dict[str, Any]:
    """What a sweep says of a transformers model as the engine."""
    gpu = model.device.type == "cuda"
    return {
        "backend": "transformers",
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": model.device.type,
        "device_name": torch.cuda.get_device_name(model.device) if gpu else platform.machine(),
        "matrix_path": getattr(model, "matrix_path", "default"),
        "versions": {
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
    }


class PlainReader:
    """Batches of prompts of exactly the same length: nothing is padded, masked or reused."""

    kind = "plain batches"

    def __init__(
        self, model: Any, letters: Sequence[int], name: str, budget: int = MAX_BATCH_TOKENS
    ) -> None:
        """Wrap a causal language model in evaluation mode.

        Args:
            model: a transformers causal LM.
            letters: token ids of the K letters.
            name: the checkpoint's name, for errors.
            budget: tokens of one batch; with 1, every prompt is a batch of its own.
        """
        self.model, self.name, self.budget = model, name, budget
        self.letters = torch.tensor(list(letters))

    @property
    def about(self) -> dict[str, Any]:
        """Of provenance: backend, dtype, device, versions."""
        return {**about_model(self.model), "reader": self.kind, "token_budget": self.budget}

    @torch.inference_mode()
    def read(self, items: Sequence[Asked]) -> LetterScores:
        """Rows of every prompt, items first. The whole prompts are run, exemplars too."""
        prompts = [prompt for item in items for prompt in item.prompts]
        by_length: dict[int, list[int]] = defaultdict(list)
        for row, prompt in enumerate(prompts):
            by_length[len(prompt)].append(row)
        found = LetterScores.empty(len(prompts), len(self.letters))
        only = last_logits(self.model)
        for length in sorted(by_length):
            rows, step = by_length[length], max(1, self.budget // length)
            for start in range(0, len(rows), step):
                batch = rows[start : start + step]
                ids = torch.tensor([prompts[row] for row in batch], device=self.model.device)
                logits = self.model(input_ids=ids, use_cache=False, **only).logits[:, -1]
                found.put(batch, letter_scores(logits, self.letters, self.name))
        return found
