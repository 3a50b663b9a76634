"""The first-token readout with vLLM: raw log-probabilities of exactly the letters' tokens (A.3).

Items are sent in order and an item's orderings side by side, so that the cached beginnings are
still resident when the next prompt wants them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from optionbias.readouts.forward import Asked, ForwardError, LetterScores
from optionbias.readouts.vllm_engine import VllmEngine


class VllmReader:
    """Reads the letters' log-probabilities, as `forward.PlainReader` does."""

    kind = "vllm"

    def __init__(self, engine: VllmEngine, letters: Sequence[int]) -> None:
        """Read through an engine.

        Args:
            engine: not necessarily started; its `about` and `tokenizer` are the reader's.
            letters: token ids of the K letters.
        """
        self.engine, self.letters, self.name = engine, list(letters), engine.name

    @property
    def about(self) -> dict[str, Any]:
        """Of provenance: backend, dtype, device, versions, ..."""
        return self.engine.about

    def read(self, items: Sequence[Asked]) -> LetterScores:
        """Rows of every prompt, items first.

        Raises:
            ForwardError: a log-probability is NaN or infinite.
        """
        prompts = [prompt for item in items for prompt in item.prompts]
        raw = np.array(self.engine.letter_logprobs(prompts, self.letters), dtype=np.float64)
        total = np.logaddexp.reduce(raw, axis=1)
        if not np.isfinite(raw).all():
            raise ForwardError(
                f"checkpoint {self.name}: vLLM returned NaN or infinite log-probabilities"
            )
        return LetterScores(
            (raw - total[:, None]).astype(np.float32),
            np.minimum(np.exp(total), 1.0).astype(np.float32),
        )
