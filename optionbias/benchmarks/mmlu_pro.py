"""MMLU-Pro: the test items with ten options.

Two revisions are in use: the hub's (9,981 ten-option items when ChoiceBench counted them) and that
of a dump of October 2024 which carries all 12,032 test items beside a model's outputs (9,982).
"""

from __future__ import annotations

import ast
import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from optionbias.benchmarks.source import (
    Benchmark,
    File,
    Hub,
    Pool,
    Row,
    Source,
    SourceError,
    github,
    letter_index,
    parquet_rows,
)

DUMP = File(
    "model_outputs_jamba-1.5-large_5shots.zip",
    "c4685b28a9b56fcb1270d9d2674f4989f5fc45129f3f635207d3543d67da1a15",
    github(
        "TIGER-AI-Lab/MMLU-Pro",
        "f418b116db00",
        "eval_results/model_outputs_jamba-1.5-large_5shots.zip",
    ),
)
HUB = File("hub/test.parquet", hub=Hub("TIGER-Lab/MMLU-Pro", "data/test-00000-of-00001.parquet"))
HUB_VALIDATION = File(
    "hub/validation.parquet",
    hub=Hub("TIGER-Lab/MMLU-Pro", "data/validation-00000-of-00001.parquet"),
)
_LISTED = re.compile(r"^([A-J])\. (.*)$", re.MULTILINE)
_ANSWER = re.compile(r"[Tt]he answer is \(([A-J])\)")


def read_dump(folder: Path) -> list[Row]:
    """Every test item, by its question number; the model's outputs are left out."""
    path = folder / DUMP.name
    try:
        with zipfile.ZipFile(path) as archive:
            (name,) = archive.namelist()
            entries = json.loads(archive.read(name))
    except (zipfile.BadZipFile, ValueError) as error:
        raise SourceError(f"{path}: not an archive of one JSON file ({error})") from error
    return rows(entries, "test")


def rows(entries: list[dict[str, Any]], split: str) -> list[Row]:
    """Rows of entries in the data set's own form."""
    prefix = "mmlu_pro" if split == "test" else f"mmlu_pro_{split}"
    return [
        Row(
            f"{prefix}_{entry['question_id']}",
            entry["question"],
            tuple(entry["options"]),
            int(entry["answer_index"]),
            split=split,
            subject=entry["category"],
        )
        for entry in sorted(entries, key=lambda entry: int(entry["question_id"]))
    ]


def literal_exemplars(served: bytes) -> bytes:
    """Upstream's few-shot module, lists of literal exemplars, as one JSON list.

    The module may hold the same items in several prompt styles; kept is the one whose solutions
    end in `The answer is (X).`
    """
    kept = []
    for node in ast.parse(served).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.List):
            exemplars = ast.literal_eval(node.value)
            if all(_ANSWER.search(exemplar["solution"]) for exemplar in exemplars):
                kept += exemplars
    return json.dumps(kept, indent=1, ensure_ascii=False).encode()


VALIDATION = File(
    "validation_70_from_NeMo-Skills.json",
    "c54f98dcb302db430b6d828417da36a47a932ead9db6e2d45c31eb47bbc2b8b4",
    github(
        "Kipok/NeMo-Skills",
        "b11b4e0458a4",
        "nemo_skills/prompt/few_shot_examples/mmlu_pro.py",
    ),
    derive=literal_exemplars,
)


def read_validation(folder: Path) -> list[Row]:
    """The seventy validation items, five a subject, that few-shot prompts carry."""
    found = []
    asked: Counter[str] = Counter()
    for entry in json.loads((folder / VALIDATION.name).read_text(encoding="utf-8")):
        topic = entry["topic"]
        name = f"mmlu_pro_validation_{topic}_{asked[topic]}"
        asked[topic] += 1
        answers = _ANSWER.findall(entry["solution"])
        if not answers:
            raise SourceError(f"{folder / VALIDATION.name}: {name} states no answer")
        found.append(
            Row(
                name,
                entry["question"],
                tuple(option for _, option in _LISTED.findall(entry["options"])),
                letter_index(answers[-1], name),
                split="validation",
                subject=topic.replace("_", " "),
            )
        )
    return found


BENCHMARK = Benchmark(
    name="mmlu_pro",
    title="MMLU-Pro",
    k=10,
    licence="MIT",
    citation="Y. Wang et al. MMLU-Pro: a more robust and challenging multi-task language understanding benchmark. NeurIPS, 2024.",
    sources={
        "october-2024": Source(
            origin="TIGER-AI-Lab/MMLU-Pro at f418b116db00, items of a dump of October 2024",
            split="test",
            files=(DUMP,),
            read=read_dump,
            pool=Pool((VALIDATION,), read_validation),
            count=9982,
            sha256="c7f4308ac9b6155d15fde4f36b559c55b6f342906c8cca43c163c5105354f484",
        ),
        "hub": Source(
            origin="TIGER-Lab/MMLU-Pro on the Hugging Face hub",
            split="test",
            files=(HUB,),
            read=lambda folder: rows(parquet_rows(folder / HUB.name), "test"),
            pool=Pool(
                (HUB_VALIDATION,),
                lambda folder: rows(parquet_rows(folder / HUB_VALIDATION.name), "validation"),
            ),
        ),
    },
)
