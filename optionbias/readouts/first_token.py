"""The first-token readout: one forward pass per ordering, softmax over the K letters (A.3).

Zero-shot and five-shot differ only in the exemplars that stand before every prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from optionbias.item import Item
from optionbias.orderings import Orderings, all_orderings, cyclic, cyclic_and_reversals
from optionbias.progress import Progress
from optionbias.prompts import exemplar_text, exemplars_of, prompt
from optionbias.provenance import module_digests
from optionbias.readouts.allocation import release_freed_memory
from optionbias.readouts.forward import Asked, LetterScores, Reader
from optionbias.readouts.journal import Journal
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.prefix_tree import Tokens, shared_length
from optionbias.readouts.reading import Cell, check_context, provenance
from optionbias.sweep import Sweep, letter_argmax

# The modules that shape a stored number: a journal of other code is another journal. An edit
# elsewhere (say, of the sweep's writer) may rerun a cell, but then from its journal, in seconds.
SHAPING = (
    "optionbias.prompts",
    *(
        f"optionbias.readouts.{m}"
        for m in (
            "first_token", "forward", "layout", "letters", "library", "matrix_path", "packing",
            "prefix_tree", "shared_prefix", "tree_attention", "vllm_engine", "vllm_letters",
        )
    ),
)  # fmt: skip
ORDERINGS = {
    "first-token": cyclic_and_reversals,
    "five-shot": cyclic,
    "all-orderings": all_orderings,
}
# Of each sampled item, a reader is checked on this many prompts.
CHECKED_PROMPTS = 3
# Chunks after which freed memory is given back to the system, at the cost of a tenth of a second.
TRIM_EVERY = 100


class Opened(NamedTuple):
    """A checkpoint that is ready to be read.

    Attributes:
        open_reader: makes a reader for the letters' tokens; it may check itself on the items given.
        tokenizer: the checkpoint's.
        manifest: the checkpoint's, with `source` and `revision`.
        context: tokens that its context holds, None if it does not say.
        workers: threads that may read chunks at the same time.
        device: where it runs: cpu or cuda.
    """

    open_reader: Callable[[list[int], list[Asked]], Reader]
    tokenizer: Any
    manifest: dict[str, Any]
    context: int | None = None
    workers: int = 1
    device: str = "cpu"


def readout_orderings(readout: str, k: int) -> Orderings:
    """The orderings that a readout presents, in the order in which its sweep stores them."""
    return ORDERINGS[readout](k)


class Prompts:
    """The token ids of a cell's prompts, and which of them are exemplars."""

    def __init__(self, cell: Cell, tokenizer: Any) -> None:
        """Tokenise the prompts of `cell` on demand."""
        self.cell, self.tokenizer = cell, tokenizer
        self._heads: dict[str, Tokens] = {}

    def asked(self, item: Item, orderings: Orderings | None = None) -> Asked:
        """The prompts of an item under some orderings, by default all of its cell's."""
        exemplars = exemplars_of(item, self.cell.exemplars)
        orderings = self.cell.orderings if orderings is None else orderings
        prompts = [tuple(encode(self.tokenizer, prompt(item, pi, exemplars))) for pi in orderings]
        if not exemplars:
            return Asked(prompts)
        text = exemplar_text(exemplars)
        if text not in self._heads:
            self._heads[text] = tuple(encode(self.tokenizer, text))
        # The last tokens of the exemplars may be others where a question follows them.
        shared = min(shared_length(self._heads[text], prompt[:-1]) for prompt in prompts)
        return Asked(prompts, prompts[0][:shared])

    def lengths(self) -> dict[str, int]:
        """Tokens of each item's prompt under the first ordering."""
        first = self.cell.orderings[:1]
        return {item.id: len(self.asked(item, first).prompts[0]) for item in self.cell.items}

    def sample(self, lengths: dict[str, int]) -> list[Asked]:
        """The longest and the shortest item, each under a few orderings."""
        by_length = sorted(self.cell.items, key=lambda item: (lengths[item.id], item.id))
        chosen = {item.id: item for item in (by_length[-1], by_length[0])}
        orderings = self.cell.orderings
        spread = np.unique(np.linspace(0, len(orderings) - 1, CHECKED_PROMPTS).astype(int))
        return [self.asked(item, orderings[spread]) for item in chosen.values()]


def read_cell(cell: Cell, opened: Opened, journal_root: Path, resume: bool = True) -> Sweep:
    """Read every item of a cell under every ordering and return the sweep.

    Finished chunks are taken from the journal (unless `resume` is false), so a job that was
    killed goes on where it stopped and returns the same arrays, as does any number of workers.

    Raises:
        LetterError, ForwardError: the checkpoint cannot answer with a letter, or its numbers
            cannot be used; the message names it.
        ContextError: prompts are longer than the model's context (nothing is ever cut).
    """
    k, m = cell.orderings.shape[1], len(cell.orderings)
    letters = letter_tokens(opened.tokenizer, k, cell.checkpoint)
    items, prompts = cell.sorted_items, Prompts(cell, opened.tokenizer)
    # All items once, in one ordering, before hours are spent on the first of them.
    lengths = prompts.lengths()
    check_context(cell, lengths, opened.context)
    reader = opened.open_reader(letters, prompts.sample(lengths))
    origin = provenance(cell, opened.manifest, reader.about)
    shaping = {
        "letters": letters,
        "code": module_digests(*SHAPING),
        "ids": [item.id for item in items],
    }
    journal = Journal(journal_root, {**origin, **shaping})
    scores = LetterScores.empty(len(items) * m, k)

    def chunks() -> Iterator[tuple[int, list[Asked]]]:
        """The chunks that are still to be read."""
        first = 0
        for number, chunk in cell.chunks():
            rows = slice(first * m, (first + len(chunk)) * m)
            first += len(chunk)
            wanted = {"logp": (rows.stop - rows.start, k), "mass": (rows.stop - rows.start,)}
            stored = journal.load(number, wanted) if resume else None
            if stored is not None:
                scores.put(rows, LetterScores(stored["logp"], stored["mass"]))
                progress.skip(len(chunk))
                continue
            asked = [prompts.asked(item) for item in chunk]
            longest = {i.id: max(map(len, a.prompts)) for i, a in zip(chunk, asked, strict=True)}
            check_context(cell, longest, opened.context)
            places[number] = rows
            yield number, asked

    places: dict[int, slice] = {}
    with Progress(cell.label, len(items), "items") as progress:
        for number, found in in_order(chunks(), reader, opened.workers):
            journal.save(number, {"logp": found.logp, "mass": found.mass})
            rows = places.pop(number)
            scores.put(rows, found)
            progress.add((rows.stop - rows.start) // m)
            if number % TRIM_EVERY == TRIM_EVERY - 1:
                release_freed_memory()
    logp = scores.logp.reshape(len(items), m, k)
    return Sweep(
        metadata=origin,
        items=np.array([item.id for item in items], dtype=object),
        gold=np.array([item.answer for item in items], dtype=np.int8),
        orderings=cell.orderings,
        logp=logp,
        choice=letter_argmax(logp),
        mass=scores.mass.reshape(len(items), m),
    )


def in_order(
    chunks: Iterator[tuple[int, list[Asked]]], reader: Reader, workers: int
) -> Iterator[tuple[int, LetterScores]]:
    """Read chunks with some workers, each chunk by one of them; yields them in order.

    A chunk more than there are workers is tokenised ahead, so that none of them waits.
    """
    waiting: list[tuple[int, Future[LetterScores]]] = []
    # OpenMP counts threads per calling thread: a worker takes over what this one has.
    pool = ThreadPoolExecutor(workers, "reader", torch.set_num_threads, (torch.get_num_threads(),))
    try:
        for number, asked in chunks:
            waiting.append((number, pool.submit(reader.read, asked)))
            if len(waiting) > workers:
                number, future = waiting.pop(0)
                yield number, future.result()
        for number, future in waiting:
            yield number, future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
