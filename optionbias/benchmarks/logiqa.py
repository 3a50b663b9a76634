"""LogiQA (English): the test split of the authors' own files.

Eight lines an item: a blank, the gold letter, the passage, the question and four options, each after
its letter. Some items list A, C, B, D, and three options have lost their letter to the machine
translation, which moved it into the text.
"""

from __future__ import annotations

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

LINES = 8
_OPTION = re.compile(r"([A-Da-d])[.? ](.*)", re.DOTALL)


def _file(name: str, sha256: str) -> File:
    url = github("lgw863/LogiQA-dataset", "ff6c4cbca47627b3ac2da94a29fa28204a167b41", name)
    return File(name, sha256, url)


TEST = _file("Test.txt", "359acb78c37802208f7fde9e2f6574b8526527c63d6a336f90a53f1932cb4701")
EVAL = _file("Eval.txt", "4c49e6753b7262c001506b9151135abf722247035ab075dad93acdea5789c01f")


def rows(path: Path, split: str) -> list[Row]:
    """Every item, its options in the order of the lines."""
    lines = path.read_text(encoding="utf-8").split("\n")
    if len(lines) % LINES:
        raise SourceError(f"{path}: {len(lines)} lines are not blocks of {LINES}")
    found = []
    for number in range(len(lines) // LINES):
        blank, gold, passage, question, *listed = lines[number * LINES : (number + 1) * LINES]
        where = f"{path}, line {number * LINES + 1}"
        if blank.strip():
            raise SourceError(f"{where}: a blank line should stand here")
        parts = [_OPTION.fullmatch(option) for option in listed]
        found.append(
            Row(
                f"logiqa_{split}_{number}",
                question,
                tuple(p[2] if p else o for p, o in zip(parts, listed, strict=True)),
                letter_index(gold, where),
                passage=passage,
                split=split,
                letters=tuple(p[1].upper() if p else None for p in parts),
            )
        )
    return found


BENCHMARK = Benchmark(
    name="logiqa",
    title="LogiQA",
    k=4,
    licence="none stated",
    citation=(
        "J. Liu et al. LogiQA: a challenge dataset for machine reading comprehension with logical "
        "reasoning. IJCAI, 2020."
    ),
    sources={
        "official": Source(
            origin="lgw863/LogiQA-dataset at ff6c4cbca476",
            split="test",
            files=(TEST,),
            read=lambda folder: rows(folder / TEST.name, "test"),
            pool=Pool((EVAL,), lambda folder: rows(folder / EVAL.name, "validation")),
            count=651,
            sha256="ee42b37d3fb5e6f08639aa10b5c9536360605eac35ec5a5a16798e603165ddd1",
        )
    },
)
