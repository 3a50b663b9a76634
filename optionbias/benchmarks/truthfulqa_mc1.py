"""TruthfulQA-MC1: the questions with one true and three false answers.

Two revisions are in use: the one behind the Hugging Face data set (219 items with four options)
and the authors' later one (208). All list the true answer first.
"""

from __future__ import annotations

import csv
import json
from functools import partial
from pathlib import Path

from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Hub,
    Row,
    Source,
    SourceError,
    github,
    parquet_rows,
)


def _file(name: str, path: str, sha256: str) -> File:
    url = github("ictnlp/TruthX", "a41093a6ae3b", f"TruthfulQA/{path}")
    return File(name, sha256, url)


V0 = _file(
    "v0/mc_task.json",
    "data/v0/mc_task.json",
    "6eb4125d25750c0145c4be2dce00440736684ab6f74ce6bff2139571cc758954",
)
V0_CATEGORIES = _file(
    "v0/TruthfulQA.csv",
    "data/v0/TruthfulQA.csv",
    "8d7dd15f033196140f032d97d30f037da7a7b1192c3f36f9937c1850925335a2",
)
V1 = _file(
    "mc_task.json",
    "data/mc_task.json",
    "b3799639bc76c939836d587de7d30b48d91012cb34be04806d33106ce06c162a",
)
V1_CATEGORIES = _file(
    "TruthfulQA.csv",
    "TruthfulQA.csv",
    "f9bd9e859cc102cb1f647f1064da7e009be752c416845cf9fa56e6eaae403a7d",
)
HUB = File(
    "hub/validation.parquet",
    hub=Hub("truthfulqa/truthful_qa", "multiple_choice/validation-00000-of-00001.parquet"),
)


def read(folder: Path, revision: str, questions: str, categories: str) -> list[Row]:
    """Every question with its answers; the subject is the category of the accompanying table."""
    with (folder / categories).open(encoding="utf-8-sig", newline="") as file:
        subjects = {line["Question"].strip(): line["Category"] for line in csv.DictReader(file)}
    return [
        _row(
            f"truthfulqa_{revision}_{i}",
            entry["question"],
            list(entry["mc1_targets"]),
            list(entry["mc1_targets"].values()),
            subjects.get(entry["question"].strip()),
        )
        for i, entry in enumerate(json.loads((folder / questions).read_text(encoding="utf-8")))
    ]


def read_hub(folder: Path) -> list[Row]:
    """The hub's rows; it keeps no category."""
    return [
        _row(
            f"truthfulqa_hub_{i}",
            row["question"],
            row["mc1_targets"]["choices"],
            row["mc1_targets"]["labels"],
        )
        for i, row in enumerate(parquet_rows(folder / HUB.name))
    ]


def _row(
    name: str, question: str, options: list[str], labels: list[int], subject: str | None = None
) -> Row:
    if labels.count(1) != 1:
        raise SourceError(f"{name}: {labels.count(1)} true answers where one is expected")
    return Row(name, question, tuple(options), labels.index(1), split="validation", subject=subject)


def _source(revision: str, files: tuple[File, File], count: int, sha256: str) -> Source:
    return Source(
        origin=f"sylinrl/TruthfulQA, {revision}, from ictnlp/TruthX at a41093a6ae3b",
        split="validation",
        files=files,
        read=partial(read, revision=revision, questions=files[0].name, categories=files[1].name),
        count=count,
        sha256=sha256,
        gold_first=True,
    )


BENCHMARK = Benchmark(
    name="truthfulqa_mc1",
    title="TruthfulQA-MC1",
    k=4,
    licence="Apache-2.0",
    citation="S. Lin et al. TruthfulQA: measuring how models mimic human falsehoods. ACL, 2022.",
    sources={
        "v0": _source(
            "v0",
            (V0, V0_CATEGORIES),
            219,
            "826f258fdee2e07ca0b04df51c7536d2048933ec8f890e621cbfa80cc53e97dc",
        ),
        "v1": _source(
            "v1",
            (V1, V1_CATEGORIES),
            208,
            "f6c310e14ee633f4a67957ab40d76fea88b43b8dd7ef528ee2415745562d0cf0",
        ),
        "hub": Source(
            origin="truthfulqa/truthful_qa on the Hugging Face hub",
            split="validation",
            files=(HUB,),
            read=read_hub,
            gold_first=True,
        ),
    },
)
