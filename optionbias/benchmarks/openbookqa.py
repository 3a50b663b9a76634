"""OpenBookQA: the test split of AI2's tables."""

from __future__ import annotations

import csv
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

_CHOICES = re.compile(r"\(A\) (.*) \(B\) (.*) \(C\) (.*) \(D\) (.*)", re.DOTALL)


def _file(name: str, sha256: str) -> File:
    path = f"data/openbookqa/{name}"
    return File(name, sha256, github("genggui001/opencompass", "5649a0f7e3d2", path))


TEST = _file("Main/test.tsv", "30b94f7cc2fa216455cc6e04bc4d5ef7d634eeb4f5c7b5f6b018914e78e0b0ff")
TRAIN = _file("Main/train.tsv", "a99b5eeb0df072e358d421878588f44f25faf4151d843be7ef4f4a9c0f9a920d")


def rows(path: Path, split: str) -> list[Row]:
    """Question stems; the four options stand in one field, `(A) ... (B) ...`."""
    found = []
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            where = f"{path}, {line['ID']}"
            choices = _CHOICES.fullmatch(line["Choices"])
            if choices is None:
                raise SourceError(f"{where}: the choices {line['Choices']!r} are not (A) to (D)")
            found.append(
                Row(
                    line["ID"],
                    line["Question Stem"],
                    choices.groups(),
                    letter_index(line["Answer Key"], where),
                    split=split,
                )
            )
    return found


BENCHMARK = Benchmark(
    name="openbookqa",
    title="OpenBookQA",
    k=4,
    licence="Apache-2.0",
    citation=(
        "T. Mihaylov et al. Can a suit of armor conduct electricity? A new dataset for open book "
        "question answering. EMNLP, 2018."
    ),
    sources={
        "official": Source(
            origin="AI2 release, from genggui001/opencompass at 5649a0f7e3d2",
            split="test",
            files=(TEST,),
            read=lambda folder: rows(folder / TEST.name, "test"),
            pool=Pool((TRAIN,), lambda folder: rows(folder / TRAIN.name, "train")),
            count=500,
            sha256="33c4747f6b23f404b09bccc3dbab8410b894cc8dafae0c7a9aa0cd22357d8f63",
        )
    },
)
