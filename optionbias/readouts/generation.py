"""Generated readouts: chain of thought and direct answer, greedy, under the cyclic orderings (A.3, A.4).

What a text answers is decided by `extraction`, after the texts are kept: the journal holds texts, so
that another rule of extraction needs no model.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from optionbias.item import Item
from optionbias.orderings import Orderings, cyclic
from optionbias.progress import Progress
from optionbias.prompts import chain_of_thought_digest, chain_of_thought_prompt, prompt
from optionbias.provenance import module_digests
from optionbias.readouts.extraction import KINDS, Extraction, extract
from optionbias.readouts.journal import Journal
from optionbias.readouts.letters import encode
from optionbias.readouts.reading import Cell, check_context, provenance
from optionbias.sweep import Sweep

READOUTS = ("chain-of-thought", "direct-answer")
# Modules that shape a text: a journal of other code is another journal. The engine adds its own.
SHAPING = ("optionbias.prompts", "optionbias.readouts.letters")
# How the text of a model that goes on to write another item begins.
NEXT_QUESTION = "\nQuestion:"
FINISHES = ("stop", "length")


@dataclass(frozen=True)
class Generated:
    """A greedy continuation.

    Attributes:
        text: without the closing token.
        finish: `stop` where the model closed its answer, `length` where `max_tokens` did.
        tokens: how many were generated, the closing one included.
    """

    text: str
    finish: str
    tokens: int


class Engine(Protocol):
    """What continues prompts. It starts its model at the first call of `generate`, not before."""

    @property
    def about(self) -> Mapping[str, Any]:
        """Of provenance: backend, dtype, device, versions, ..."""

    @property
    def modules(self) -> Sequence[str]:
        """Modules whose code shapes what it generates."""

    @property
    def tokenizer(self) -> Any:
        """The checkpoint's tokeniser."""

    @property
    def limit(self) -> int | None:
        """Tokens that the model's context holds, None if it does not say."""

    def reserve(self, tokens: int) -> None:
        """Expect prompts that, with what is generated, have up to `tokens` tokens."""

    def generate(self, prompts: Sequence[Sequence[int]], max_tokens: int) -> list[Generated]:
        """Continue each prompt (token ids) greedily by at most `max_tokens`, in the order given."""


def readout_orderings(k: int) -> Orderings:
    """The orderings of both generated readouts: the K cyclic ones, (K, K)."""
    return cyclic(k)


def read_cell(
    cell: Cell,
    engine: Engine,
    manifest: Mapping[str, Any],
    journal_root: Path,
    max_tokens: int,
    resume: bool = True,
) -> tuple[Sweep, list[dict[str, Any]]]:
    """Generate an answer to every item of a cell under every ordering.

    Finished chunks are taken from the journal (unless `resume` is false).

    Returns:
        The sweep (no log-probabilities; -1 where a text holds no valid answer), and its traces in
        the order in which a sweep is stored, as `traces.write_traces` takes them.

    Raises:
        ContextError: a prompt and `max_tokens` exceed the model's context (nothing is ever cut).
        LetterError: the tokeniser adds to prompts what it should not.
    """
    k, m, items = cell.orderings.shape[1], len(cell.orderings), cell.sorted_items
    asked = {item.id: _token_ids(cell, item, engine.tokenizer) for item in items}
    lengths = {id_: max(map(len, prompts)) for id_, prompts in asked.items()}
    check_context(cell, lengths, engine.limit, max_tokens)
    engine.reserve(max(lengths.values()) + max_tokens)
    origin = provenance(cell, manifest, engine.about) | {"max_tokens": max_tokens}
    if cell.readout == "chain-of-thought":
        origin["prompt_sha256"] = chain_of_thought_digest()
    shaping = {"code": module_digests(*SHAPING, *engine.modules), "ids": [i.id for i in items]}
    journal = Journal(journal_root, {**origin, **shaping})
    generated: list[Generated] = []
    with Progress(cell.label, len(items), "items") as progress:
        for number, chunk in cell.chunks():
            stored = _from_journal(journal, number, len(chunk) * m) if resume else None
            if stored is None:
                stored = engine.generate([p for i in chunk for p in asked[i.id]], max_tokens)
                text = json.dumps([[g.text, g.finish, g.tokens] for g in stored])
                journal.save(number, {"generated": np.array(text)})
                progress.add(len(chunk))
            else:
                progress.skip(len(chunk))
            generated += stored
    answers = [extract(cell.readout, g.text, k) for g in generated]
    sweep = Sweep(
        metadata=origin | _counts(cell.readout, k, generated, answers),
        items=np.array([item.id for item in items], dtype=object),
        gold=np.array([item.answer for item in items], dtype=np.int8),
        orderings=cell.orderings,
        logp=None,
        choice=np.array([a.position for a in answers], dtype=np.int8).reshape(len(items), m),
    )
    rows = [(item.id, ordering) for item in items for ordering in range(m)]
    traces = [
        {"item": id_, "ordering": ordering, "choice": a.position, "kind": a.kind, **vars(g)}
        for (id_, ordering), g, a in zip(rows, generated, answers, strict=True)
    ]
    # Items are read with those that share their passage, and stored in the order of their ids.
    return sweep, sorted(traces, key=lambda trace: (trace["item"], trace["ordering"]))


def _token_ids(cell: Cell, item: Item, tokenizer: Any) -> list[list[int]]:
    ask = chain_of_thought_prompt if cell.readout == "chain-of-thought" else prompt
    return [encode(tokenizer, ask(item, pi)) for pi in cell.orderings]


def _from_journal(journal: Journal, number: int, rows: int) -> list[Generated] | None:
    """A finished chunk's texts; None if it is not there or not what was kept."""
    stored = journal.load(number, {"generated": ()})
    if stored is None:
        return None
    try:
        found = [Generated(*row) for row in json.loads(str(stored["generated"]))]
    except (ValueError, TypeError):
        return None
    whole = all(isinstance(g.text, str) and g.finish in FINISHES for g in found)
    return found if whole and len(found) == rows else None


def _counts(
    readout: str, k: int, generated: Sequence[Generated], answers: Sequence[Extraction]
) -> dict[str, Any]:
    """What the metadata say of the texts.

    `fallback_share` is the share of extracted answers that are the last standalone letter; it is
    missing where nothing was extracted. `cut_short` texts reached `max_tokens` before an explicit
    answer. `went_on` texts go on to another question, `went_on_changed` of them would give
    another answer up to there: the rule takes the latest answer of the whole text (A.3).
    """
    kinds = Counter(answer.kind for answer in answers)
    finishes = Counter(g.finish for g in generated)
    extracted = len(answers) - kinds["none"]
    cut_short = sum(
        g.finish == "length" and a.kind in ("fallback", "none")
        for g, a in zip(generated, answers, strict=True)
    )
    went_on = [
        extract(readout, g.text.split(NEXT_QUESTION)[0], k).position != a.position
        for g, a in zip(generated, answers, strict=True)
        if NEXT_QUESTION in g.text
    ]
    share = {"fallback_share": kinds["fallback"] / extracted} if extracted else {}
    return share | {
        "answers": {kind: kinds[kind] for kind in KINDS},
        "finish_reasons": {finish: finishes[finish] for finish in FINISHES},
        "cut_short": cut_short,
        "generated_tokens": sum(g.tokens for g in generated),
        "went_on": len(went_on),
        "went_on_changed": sum(went_on),
    }
