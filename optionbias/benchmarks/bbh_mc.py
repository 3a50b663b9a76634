"""BBH-MC: the questions of five BIG-Bench-Hard tasks whose lettered list has four entries.

The question shown is the input without that list. There is no other split; exemplars are the
official chain-of-thought exemplars, without their reasoning.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Pool,
    Row,
    Source,
    SourceError,
    github,
    letter_index,
)

COMMIT = "9ee07bd481feebf959a6b59d61ea57bdcf30964d"
_LISTED = re.compile(r"^\(([A-Z])\) (.*)$", re.MULTILINE)
_HEAD = "\nOptions:\n"
_LETTER = re.compile(r"\(([A-Z])\)")
_ANSWER = re.compile(r"So the answer is \(([A-Z])\)")


def _task(task: str, sha256: str) -> File:
    return File(
        f"{task}.json", sha256, github("suzgunmirac/BIG-Bench-Hard", COMMIT, f"bbh/{task}.json")
    )


def _prompts(task: str, sha256: str) -> File:
    path = f"cot-prompts/{task}.txt"
    return File(path, sha256, github("suzgunmirac/BIG-Bench-Hard", COMMIT, path))


TASKS = {
    task: _task(task, sha256)
    for task, sha256 in (
        (
            "disambiguation_qa",
            "cf06df9ebf911b883671cb1b35d3fbd1a1c306b19b9e9a012407e596c85fe8c6",
        ),
        (
            "movie_recommendation",
            "a8b53a87ee21a865b7248e694f388a9b8f7cf6b839b11d44796a2dd3fc088983",
        ),
        (
            "penguins_in_a_table",
            "bb87ee449698eee51215e025a453b1bcb2f5e6589c2063b2c79e68b8f0655228",
        ),
        ("ruin_names", "b6f723aef2bafdd4c7bfc3c7e0329c7e8a8279391a609969c8ed76c9319f5f7f"),
        ("temporal_sequences", "92a1189faaa84aacc4c405aaa13f13f48c2992eb884772eedb622505252baef5"),
    )
}
PROMPTS = {
    task: _prompts(task, sha256)
    for task, sha256 in (
        (
            "movie_recommendation",
            "cdf765634713b057091d541b4773dd2c998f81447b0bd8564ae70be4cdf3f5d0",
        ),
        ("ruin_names", "731446c6c66bb5258677af1417b599a6a5539be6d74a5afc02cf7a716444ea54"),
        ("temporal_sequences", "3e7ebf1e20abe3e219dc6514dcb7474d82db1b2c66acc733cd30af2e9e0b64b0"),
    )
}


def read(folder: Path) -> list[Row]:
    """Every question of the five tasks, whatever its number of options."""
    return [
        _row(f"{task}_{i}", example["input"], example["target"], "test", task)
        for task, file in TASKS.items()
        for i, example in enumerate(
            json.loads((folder / file.name).read_text(encoding="utf-8"))["examples"]
        )
    ]


def read_pool(folder: Path) -> list[Row]:
    """The exemplars of three tasks: `Q: ... A: Let's think step by step ... the answer is (X)`."""
    found = []
    for task, file in PROMPTS.items():
        _, *blocks = (folder / file.name).read_text(encoding="utf-8").split("\nQ: ")
        for i, block in enumerate(blocks):
            shown, reasoning = block.split("\nA: ", 1)
            answers = _ANSWER.findall(reasoning)
            if not answers:
                raise SourceError(f"{folder / file.name}: exemplar {i} states no answer")
            found.append(_row(f"{task}_cot_{i}", shown, f"({answers[-1]})", "cot-prompts", task))
    return found


def _row(name: str, text: str, gold: str, split: str, task: str) -> Row:
    question, separator, listed = text.partition(_HEAD)
    options = _LISTED.findall(listed)
    if not separator or not options:
        raise SourceError(f"{name}: no lettered options after `Options:`")
    return Row(
        name,
        question,
        tuple(option for _, option in options),
        # A title that was split at its commas has become several options, and the gold its text.
        letter_index(letter[1], name) if (letter := _LETTER.fullmatch(gold)) else None,
        split=split,
        subject=task,
        letters=tuple(letter for letter, _ in options),
    )


BENCHMARK = Benchmark(
    name="bbh_mc",
    title="BBH-MC",
    k=4,
    licence="MIT",
    citation="M. Suzgun et al. Challenging BIG-Bench tasks and whether chain-of-thought can solve them. Findings of ACL, 2023.",
    sources={
        "official": Source(
            origin="suzgunmirac/BIG-Bench-Hard at 9ee07bd481fe",
            split="test",
            files=tuple(TASKS.values()),
            read=read,
            pool=Pool(tuple(PROMPTS.values()), read_pool),
            count=732,
            sha256="87b64087cea09708a21ea3b47639ef48b61068003b602cd7a98d98247709dcaf",
        )
    },
)
