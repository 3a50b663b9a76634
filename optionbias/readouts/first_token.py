"""The first-token readout: one forward pass per ordering, softmax over the K letters (A.3).

Zero-shot and five-shot differ only in the exemplars that stand before every prompt.
"""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from optionbias import items as items_module
from optionbias.item import Item
from optionbias.orderings import Orderings, all_orderings, cyclic, cyclic_and_reversals
from optionbias.progress import Progress
from optionbias.prompts import exemplars_of, prompt, template_digest
from optionbias.provenance import module_digests
from optionbias.readouts.forward import LetterReader
from optionbias.readouts.journal import Journal
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.sweep import Sweep, letter_argmax

# The modules that shape a stored number: a journal of other code is another journal. An edit
# elsewhere (say, of the sweep's writer) may rerun a cell, but then from its journal, in seconds.
SHAPING = tuple(
    f"optionbias.{m}"
    for m in ("prompts", "readouts.first_token", "readouts.forward", "readouts.letters")
)
ORDERINGS = {
    "first-token": cyclic_and_reversals,
    "five-shot": cyclic,
    "all-orderings": all_orderings,
}


def readout_orderings(readout: str, k: int) -> Orderings:
    """The orderings that a readout presents, in the order in which its sweep stores them."""
    return ORDERINGS[readout](k)


class ContextError(ValueError):
    """Prompts that a checkpoint's context cannot hold."""


@dataclass(frozen=True)
class Cell:
    """What one job reads: a checkpoint on a benchmark under one readout."""

    checkpoint: str
    benchmark: str
    readout: str
    items: Sequence[Item]
    exemplars: Sequence[Item]
    orderings: Orderings
    chunk_items: int


def read_cell(
    cell: Cell,
    model: Any,
    tokenizer: Any,
    manifest: dict[str, Any],
    journal_root: Path,
    resume: bool = True,
) -> Sweep:
    """Read every item of a cell under every ordering and return the sweep.

    Finished chunks are taken from the journal (unless `resume` is false), so a job that was
    killed goes on at the next chunk and returns the same arrays.

    Raises:
        LetterError, ForwardError: the checkpoint cannot answer with a letter, or its numbers
            cannot be used; the message names it.
        ContextError: prompts are longer than the model's context (nothing is ever cut).
    """
    k = cell.orderings.shape[1]
    letters = letter_tokens(tokenizer, k, cell.checkpoint)
    items = sorted(cell.items, key=lambda item: item.id)
    reader = LetterReader(model, letters, cell.checkpoint)
    limit = getattr(model.config, "max_position_embeddings", None)

    def token_ids(item: Item, orderings: Orderings = cell.orderings) -> list[list[int]]:
        exemplars = exemplars_of(item, cell.exemplars)
        return [encode(tokenizer, prompt(item, pi, exemplars)) for pi in orderings]

    # All items once, in one ordering, before hours are spent on the first of them.
    _check_context(cell, {item.id: token_ids(item, cell.orderings[:1]) for item in items}, limit)
    provenance = _provenance(cell, items, model, manifest)
    shaping = {
        "letters": letters,
        "code": module_digests(*SHAPING),
        "ids": [item.id for item in items],
    }
    journal = Journal(journal_root, {**provenance, **shaping})
    chunks = [items[a : a + cell.chunk_items] for a in range(0, len(items), cell.chunk_items)]
    logp: list[NDArray[np.float32]] = []
    mass: list[NDArray[np.float32]] = []
    checked = False
    label = f"{cell.readout} {cell.benchmark} {cell.checkpoint}"
    with Progress(label, len(items), "items") as progress:
        for number, chunk in enumerate(chunks):
            rows = len(chunk) * len(cell.orderings)
            shapes = {"logp": (rows, k), "mass": (rows,)}
            stored = journal.load(number, shapes) if resume else None
            if stored is None:
                ids = [token_ids(item) for item in chunk]
                _check_context(cell, {i.id: x for i, x in zip(chunk, ids, strict=True)}, limit)
                if not checked:
                    reader.check(ids[0])
                    checked = True
                scores = reader.read(ids)
                stored = {"logp": scores.logp, "mass": scores.mass}
                journal.save(number, stored)
                progress.add(len(chunk))
            else:
                progress.skip(len(chunk))
            logp.append(stored["logp"])
            mass.append(stored["mass"])
    shape = (len(items), len(cell.orderings))
    stacked = np.concatenate(logp).reshape(*shape, k)
    return Sweep(
        metadata=provenance,
        items=np.array([item.id for item in items], dtype=object),
        gold=np.array([item.answer for item in items], dtype=np.int8),
        orderings=cell.orderings,
        logp=stacked,
        choice=letter_argmax(stacked),
        mass=np.concatenate(mass).reshape(shape),
    )


def _check_context(cell: Cell, ids: dict[str, list[list[int]]], limit: int | None) -> None:
    lengths = {item: max(map(len, prompts)) for item, prompts in ids.items()}
    long = sorted(item for item, length in lengths.items() if limit is not None and length > limit)
    if long:
        raise ContextError(
            f"checkpoint {cell.checkpoint} on {cell.benchmark}: {len(long)} items need more tokens than "
            f"the {limit} of its context ({', '.join(long[:5])}; longest {max(lengths.values())}): leave "
            f"them out of the benchmark, or the cell out with `except`"
        )


def _provenance(
    cell: Cell, items: Sequence[Item], model: Any, manifest: dict[str, Any]
) -> dict[str, Any]:
    """What the sweep's metadata says of its origin; also what the journal is keyed by.

    It names nothing that changes between two runs of the same cell: no time, no host.
    """
    exemplar_text = items_module.canonical_json(cell.exemplars)
    return {
        "checkpoint": cell.checkpoint,
        "benchmark": cell.benchmark,
        "readout": cell.readout,
        "orderings": cell.orderings.tolist(),
        "source": manifest["source"],
        "revision": manifest["revision"],
        "dtype": str(model.dtype).removeprefix("torch."),
        "backend": "transformers",
        "device": model.device.type,
        "device_name": _device_name(model.device),
        "threads": torch.get_num_threads() if model.device.type == "cpu" else None,
        "chunk_items": cell.chunk_items,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
        "prompt_sha256": template_digest(),
        "items_sha256": items_module.digest(items),
        "exemplars_sha256": hashlib.sha256(exemplar_text.encode()).hexdigest(),
        "n_exemplars": len(exemplars_of(items[0], cell.exemplars)),
    }


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
