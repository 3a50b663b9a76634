"""PIQA: the validation split of the authors' own files."""

from __future__ import annotations

import json
from pathlib import Path

from optionbias.benchmarks import olmes
from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Pool,
    Row,
    Source,
    SourceError,
    github,
    json_lines,
)


def _file(name: str, sha256: str) -> File:
    return File(name, sha256, github("ybisk/ybisk.github.io", "21edab439af6", f"piqa/data/{name}"))


VALID = _file("valid.jsonl", "93503cc97c679e459b065c3d13e848282e44b2a25213985bed3e5d458abef72d")
LABELS = _file(
    "valid-labels.lst", "b4192dc3a2a0363d9d60ccf79800cbbe2f32ebb17726efdde6970e0b8131bceb"
)


def read(folder: Path) -> list[Row]:
    """Goals with their two solutions; labels stand line by line in a file of their own."""
    lines = list(json_lines(folder / VALID.name))
    labels = (folder / LABELS.name).read_text(encoding="utf-8").split()
    if len(labels) != len(lines):
        raise SourceError(f"{folder}: {len(lines)} goals but {len(labels)} labels")
    return [
        Row(
            f"piqa_val_{i}",
            line["goal"],
            (line["sol1"], line["sol2"]),
            int(label),
            split="validation",
        )
        for i, (line, label) in enumerate(zip(lines, labels, strict=True))
    ]


def read_pool(folder: Path) -> list[Row]:
    """Seven training items: upstream's own training file is not needed for five exemplars."""
    lines = json.loads((folder / olmes.NAME).read_text(encoding="utf-8"))
    return [
        Row(
            f"piqa_train_olmes_{i}",
            line["goal"],
            (line["sol1"], line["sol2"]),
            line["label"],
            split="train",
        )
        for i, line in enumerate(lines)
    ]


BENCHMARK = Benchmark(
    name="piqa",
    title="PIQA",
    k=2,
    licence="AFL 3.0",
    citation=(
        "Y. Bisk et al. PIQA: reasoning about physical commonsense in natural language. AAAI, 2020."
    ),
    sources={
        "official": Source(
            origin="ybisk/ybisk.github.io at 21edab439af6",
            split="validation",
            files=(VALID, LABELS),
            read=read,
            pool=Pool(
                (
                    olmes.exemplar_file(
                        "piqa", "96b0f35c9c325814c96ea9667bbc95f33efd1525880e1d6a40b6cfda16e9ec85"
                    ),
                ),
                read_pool,
            ),
            count=1838,
            sha256="80c79005139e979353927d5d8672238b04c9ca22fbb2df0d3138fe418100f270",
        )
    },
)
