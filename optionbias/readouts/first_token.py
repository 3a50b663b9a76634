"""The first-token readout: one forward pass per ordering, softmax over the K letters (A.3).

Zero-shot and five-shot differ only in the exemplars that stand before every prompt.
"""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray

from optionbias.item import Item
from optionbias.orderings import Orderings, all_orderings, cyclic, cyclic_and_reversals
from optionbias.progress import Progress
from optionbias.prompts import exemplars_of, prompt
from optionbias.provenance import module_digests
from optionbias.readouts.forward import LetterReader
from optionbias.readouts.journal import Journal
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.reading import Cell, check_context, provenance
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
    items = cell.sorted_items
    reader = LetterReader(model, letters, cell.checkpoint)
    limit = getattr(model.config, "max_position_embeddings", None)

    def token_ids(item: Item, orderings: Orderings = cell.orderings) -> list[list[int]]:
        exemplars = exemplars_of(item, cell.exemplars)
        return [encode(tokenizer, prompt(item, pi, exemplars)) for pi in orderings]

    # All items once, in one ordering, before hours are spent on the first of them.
    check_context(cell, {i.id: len(token_ids(i, cell.orderings[:1])[0]) for i in items}, limit)
    origin = provenance(cell, manifest, _engine(model))
    shaping = {
        "letters": letters,
        "code": module_digests(*SHAPING),
        "ids": [item.id for item in items],
    }
    journal = Journal(journal_root, {**origin, **shaping})
    logp: list[NDArray[np.float32]] = []
    mass: list[NDArray[np.float32]] = []
    checked = False
    with Progress(cell.label, len(items), "items") as progress:
        for number, chunk in cell.chunks():
            rows = len(chunk) * len(cell.orderings)
            shapes = {"logp": (rows, k), "mass": (rows,)}
            stored = journal.load(number, shapes) if resume else None
            if stored is None:
                ids = [token_ids(item) for item in chunk]
                longest = {i.id: max(map(len, x)) for i, x in zip(chunk, ids, strict=True)}
                check_context(cell, longest, limit)
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
        metadata=origin,
        items=np.array([item.id for item in items], dtype=object),
        gold=np.array([item.answer for item in items], dtype=np.int8),
        orderings=cell.orderings,
        logp=stacked,
        choice=letter_argmax(stacked),
        mass=np.concatenate(mass).reshape(shape),
    )


def _engine(model: Any) -> dict[str, Any]:
    return {
        "backend": "transformers",
        "dtype": str(model.dtype).removeprefix("torch."),
        "device": model.device.type,
        "device_name": _device_name(model.device),
        "threads": torch.get_num_threads() if model.device.type == "cpu" else None,
        "versions": {
            "torch": torch.__version__.split("+")[0],
            "transformers": transformers.__version__,
        },
    }


def _device_name(device: torch.device) -> str:
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.machine()
