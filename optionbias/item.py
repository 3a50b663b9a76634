"""An item: one multiple-choice question with its options in canonical order."""

from __future__ import annotations

from dataclasses import dataclass

# Exemplars before a five-shot prompt.
EXEMPLARS = 5


@dataclass(frozen=True)
class Item:
    """One multiple-choice question.

    `options` are in the benchmark's canonical order, so `options[j]` is content j, and
    `answer` is the canonical index of the correct content (statistics are computed over
    contents and positions, never over texts). `passage` precedes the question in the prompt.
    """

    id: str
    question: str
    options: tuple[str, ...]
    answer: int
    passage: str | None = None
    split: str | None = None
    subject: str | None = None

    @property
    def n_options(self) -> int:
        """K, the number of options."""
        return len(self.options)
