"""RACE-middle: the test split, one question a line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Pool,
    Row,
    Source,
    github,
    json_lines,
    letter_index,
)


def _file(name: str, path: str, sha256: str) -> File:
    return File(name, sha256, github("zhiwenliang/model_evaluation", "2d4ce8fedc00", path))


TEST = _file(
    "test_middle.jsonl",
    "data/race/test/middle.jsonl",
    "47239045849e1db76504839d6d6310c9f68b1b4361d3179f1f3fa2c653e49cde",
)
VALIDATION = _file(
    "validation_middle.jsonl",
    "data/race/validation/middle.jsonl",
    "3f244eff7b7007ab343a7c24a5ec4aa684877fa496fbb3e5e3c48aeb1b76560a",
)


def rows(path: Path, split: str) -> list[Row]:
    """Every question; ids are the official file and the question's number in it."""
    found = []
    asked: Counter[str] = Counter()
    for line in json_lines(path):
        article = line["example_id"]
        name = f"{article}#{asked[article]}"
        asked[article] += 1
        found.append(
            Row(
                name,
                line["question"],
                tuple(line["options"]),
                letter_index(line["answer"], f"{path}, {name}"),
                passage=line["article"],
                split=split,
            )
        )
    return found


BENCHMARK = Benchmark(
    name="race_middle",
    title="RACE-middle",
    k=4,
    licence="non-commercial research use only",
    citation="G. Lai et al. RACE: large-scale reading comprehension dataset from examinations. EMNLP, 2017.",
    restricted=(
        "RACE may be used for non-commercial research only; its articles belong to their owners and "
        "must not be passed on (terms: https://www.cs.cmu.edu/~glai1/data/race/)"
    ),
    sources={
        "official": Source(
            origin="official files as question lines, zhiwenliang/model_evaluation at 2d4ce8fedc00",
            split="test",
            files=(TEST,),
            read=lambda folder: rows(folder / TEST.name, "test"),
            pool=Pool((VALIDATION,), lambda folder: rows(folder / VALIDATION.name, "validation")),
            count=1436,
            sha256="f9eec0c4d111dd210d7bf5892de56f7b50d30b0b0b07ecf90f4f4cd090d94f46",
        )
    },
)
