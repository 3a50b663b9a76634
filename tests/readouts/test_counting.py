"""Counts of a cell against what the engine runs and against its prompts."""

from __future__ import annotations

import dataclasses

import pytest

from optionbias.item import Item
from optionbias.orderings import cyclic
from optionbias.prompts import chain_of_thought_prompt
from optionbias.readouts.counting import Count, count_cell
from optionbias.readouts.first_token import Prompts, readout_orderings
from optionbias.readouts.letters import encode, letter_tokens
from optionbias.readouts.reading import Cell
from optionbias.readouts.shared_prefix import SharedPrefixReader

from .models import letter_tokenizer, random_model

PASSAGE = "Rain fell on the hills all night, and the small river rose."
ITEMS = [
    Item(f"i{n}", f"What is {n} and {n * n}?", (f"{n}", "two", "a third option", "four"), n % 4,
         PASSAGE if n in (1, 4) else None, subject="ab"[n % 2])
    for n in range(6)
]  # fmt: skip
EXEMPLARS = [
    Item(f"e{n}", f"Exemplar {n}?", ("x", "y", "z", "w"), 0, subject="ab"[n % 2]) for n in range(10)
]


def cell(readout: str, exemplars: list[Item]) -> Cell:
    return Cell("m", "b", readout, ITEMS, exemplars, readout_orderings(readout, 4), 4)


@pytest.mark.parametrize(
    ("readout", "exemplars"),
    [("first-token", []), ("five-shot", EXEMPLARS[::2][:5]), ("five-shot", EXEMPLARS)],
)
@pytest.mark.parametrize("budget", [64, 256, 4096])
def test_the_counted_tokens_are_those_that_the_engine_runs(
    readout: str, exemplars: list[Item], budget: int
) -> None:
    asked, tokenizer = cell(readout, exemplars), letter_tokenizer()
    model = random_model("llama")
    model.config.max_position_embeddings = 4096
    reader = SharedPrefixReader(model, letter_tokens(tokenizer, 4, "m"), "m", budget)
    prompts = Prompts(asked, tokenizer)
    sent = 0
    for _, chunk in asked.chunks():
        found = [prompts.asked(item) for item in chunk]
        sent += sum(len(prompt) for item in found for prompt in item.prompts)
        reader.read(found)
    counted = count_cell(asked, tokenizer, budget)
    assert counted.run is not None
    assert counted.run + counted.head_tokens == reader.tokens_run
    assert counted.tokens == sent
    assert counted.prompts == len(ITEMS) * len(asked.orderings)
    assert counted.heads == len({e.subject for e in exemplars})


def test_generated_prompts_are_counted_whole() -> None:
    tokenizer = letter_tokenizer()
    asked = dataclasses.replace(
        cell("first-token", []), readout="chain-of-thought", orderings=cyclic(4)
    )
    lengths = [
        len(encode(tokenizer, chain_of_thought_prompt(i, pi))) for i in ITEMS for pi in cyclic(4)
    ]
    assert count_cell(asked, tokenizer, 64) == Count(24, sum(lengths))
