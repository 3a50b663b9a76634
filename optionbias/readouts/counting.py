"""How many prompts and tokens a cell takes, counted with a tokeniser and without a model.

First-token prompts are counted twice: whole, as without any sharing, and as the shared-prefix engine
runs them, by the very trees and packs that it runs. `benchmarks/workload.py` stores such counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optionbias.prompts import chain_of_thought_prompt, prompt
from optionbias.readouts.closed import question
from optionbias.readouts.first_token import Prompts
from optionbias.readouts.letters import encode
from optionbias.readouts.packing import packs
from optionbias.readouts.prefix_tree import Tokens, prefix_tree
from optionbias.readouts.reading import Cell

# What each readout that runs no trees sends.
ASKS = {"chain-of-thought": chain_of_thought_prompt, "direct-answer": prompt, "closed": question}


@dataclass(frozen=True)
class Count:
    """Tokens of a cell.

    Attributes:
        prompts: how many are asked.
        tokens: of all prompts, each counted whole.
        run: of all forward passes, exemplars apart; None where no trees are run.
        heads: how many different exemplar texts there are, each run once.
        head_tokens: of all of them.
    """

    prompts: int
    tokens: int
    run: int | None = None
    heads: int = 0
    head_tokens: int = 0


def count_cell(cell: Cell, tokenizer: Any, budget: int) -> Count:
    """Count a cell as its readout asks it, in forward passes of at most `budget` tokens."""
    if cell.readout in ASKS:
        ask = ASKS[cell.readout]
        lengths = [
            len(encode(tokenizer, ask(item, pi))) for item in cell.items for pi in cell.orderings
        ]
        return Count(len(lengths), sum(lengths))
    prompts = Prompts(cell, tokenizer)
    heads: set[Tokens] = set()
    asked = tokens = run = 0
    for _, chunk in cell.chunks():
        by_head: dict[Tokens, list[Tokens]] = {}
        for item in chunk:
            found = prompts.asked(item)
            by_head.setdefault(found.head, []).extend(found.prompts)
        for head, own in by_head.items():
            heads.add(head)
            asked += len(own)
            tokens += sum(map(len, own))
            run += sum(p.size for p in packs(prefix_tree(own, len(head)), budget, head))
    heads.discard(())
    return Count(asked, tokens, run, len(heads), sum(map(len, heads)))
