"""HellaSwag: the validation split, as published or from a copy without its markup.

The authors' rows hold marks such as `[header]` and `[step]`. A copy with the marks removed is the
default: it is what evaluation harnesses show. The repair `remove_markup` does the same to the
authors' rows.
"""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from optionbias.benchmarks import olmes
from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Hub,
    Pool,
    Row,
    Source,
    SourceError,
    github,
    json_lines,
    parquet_rows,
)

LINES = 6
CLEANED = File(
    "hellaswag_val_full.txt.bz2",
    "50b637899e4263c2bc456c2dc726c95d2c8cd8e2a552ea5bd7719ce3cb03fe5b",
    github("klosax/hellaswag_text_data", "1105d370f834", "hellaswag_val_full.txt.bz2"),
)
OFFICIAL = File(
    "hellaswag_val.jsonl",
    url=github(
        "rowanz/hellaswag", "89e706f5f1d813e245b9f45dc6c98fe49c86da01", "data/hellaswag_val.jsonl"
    ),
)
HUB = File(
    "hub/validation.parquet",
    hub=Hub("Rowan/hellaswag", "data/validation-00000-of-00001.parquet"),
)
EXEMPLARS = olmes.exemplar_file(
    "hellaswag", "e63f27543be0948fea0aca3e4f7b863d0de746ce730e70f5ca64222b18820d42"
)


def read_cleaned(folder: Path) -> list[Row]:
    """Six lines an item: activity and context, the gold index, four endings."""
    path = folder / CLEANED.name
    lines = bz2.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")
    if len(lines) % LINES:
        raise SourceError(f"{path}: {len(lines)} lines are not blocks of {LINES}")
    blocks = [lines[i : i + LINES] for i in range(0, len(lines), LINES)]
    return [
        Row(
            f"hellaswag_val_{i}",
            context,
            tuple(endings),
            int(gold),
            split="validation",
            subject=context.split(": ", 1)[0],
        )
        for i, (context, gold, *endings) in enumerate(blocks)
    ]


def published(lines: Iterable[dict[str, Any]], split: str, prefix: str) -> list[Row]:
    """Rows of the authors' form: the question is the activity and the context."""
    return [
        Row(
            f"{prefix}_{i}",
            f"{line['activity_label']}: {line['ctx']}",
            tuple(line["endings"]),
            int(line["label"]),
            split=split,
            subject=line["activity_label"],
        )
        for i, line in enumerate(lines)
    ]


def read_pool(folder: Path) -> list[Row]:
    """Eleven training items in the authors' form."""
    lines = json.loads((folder / olmes.NAME).read_text(encoding="utf-8"))
    return published(lines, "train", "hellaswag_train_olmes")


POOL = Pool((EXEMPLARS,), read_pool)
BENCHMARK = Benchmark(
    name="hellaswag",
    title="HellaSwag",
    k=4,
    licence="MIT",
    citation="R. Zellers et al. HellaSwag: can a machine really finish your sentence? ACL, 2019.",
    sources={
        "cleaned": Source(
            origin="rowanz/hellaswag without markup, from klosax/hellaswag_text_data at 1105d370f834",
            split="validation",
            files=(CLEANED,),
            read=read_cleaned,
            pool=POOL,
            count=10042,
            sha256="c250c9e5f687aa1c64253172ac5bb599ffb73c146c8a3990858ea5aaabdeb791",
        ),
        "official": Source(
            origin="rowanz/hellaswag at 89e706f5f1d8",
            split="validation",
            files=(OFFICIAL,),
            read=lambda folder: published(
                json_lines(folder / OFFICIAL.name), "validation", "hellaswag_val"
            ),
            pool=POOL,
            count=10042,
        ),
        "hub": Source(
            origin="Rowan/hellaswag on the Hugging Face hub",
            split="validation",
            files=(HUB,),
            read=lambda folder: published(
                parquet_rows(folder / HUB.name), "validation", "hellaswag_val"
            ),
            pool=POOL,
        ),
    },
)
