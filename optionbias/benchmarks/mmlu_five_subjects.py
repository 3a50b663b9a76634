"""MMLU: the test items of five subjects, or of any others."""

from __future__ import annotations

import csv
from functools import partial
from pathlib import Path

from optionbias.benchmarks.mmlu_digests import DIGESTS
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

FIVE = (
    "abstract_algebra",
    "anatomy",
    "college_chemistry",
    "computer_security",
    "global_facts",
)
FIVE_SHA256 = "70625192dd638ec365e5d04187186ad5d36fa51e836e55166fb7de954c019a09"


def _file(split: str, subject: str, sha256: str) -> File:
    name = f"{split}/{subject}_{split}.csv"
    return File(
        name,
        sha256,
        github("chujiezheng/LLM-MCQ-Bias", "2ae2f40c7700", f"code/data_mmlu/{name}"),
    )


def rows(folder: Path, split: str, subjects: tuple[str, ...]) -> list[Row]:
    """Headless tables of a question, four options and the gold letter, one a subject."""
    found = []
    for subject in subjects:
        path = folder / split / f"{subject}_{split}.csv"
        with path.open(encoding="utf-8", newline="") as file:
            for number, line in enumerate(csv.reader(file)):
                if len(line) < 3:
                    raise SourceError(f"{path}, row {number + 1}: {len(line)} fields")
                question, *options, gold = line
                name = f"{subject}_{split}_{number}"
                found.append(
                    Row(
                        name,
                        question,
                        tuple(options),
                        letter_index(gold, f"{path}, row {number + 1}"),
                        split=split,
                        subject=subject,
                    )
                )
    return found


def of_subjects(subjects: tuple[str, ...]) -> Benchmark:
    """MMLU with these subjects; exemplars are a subject's own five development items.

    Raises:
        SourceError: a name that is not one of the 57 subjects.
    """
    unknown = sorted(set(subjects) - set(DIGESTS))
    if unknown:
        raise SourceError(
            f"MMLU has no subject {', '.join(unknown)}; its subjects are {', '.join(DIGESTS)}"
        )
    ordered = tuple(sorted(set(subjects)))
    five = ordered == FIVE
    return Benchmark(
        name="mmlu_five_subjects",
        title="MMLU",
        k=4,
        licence="MIT",
        citation="D. Hendrycks et al. Measuring massive multitask language understanding. ICLR, 2021.",
        by_subject=True,
        of_subjects=of_subjects,
        sources={
            "official": Source(
                origin="hendrycks/test, from chujiezheng/LLM-MCQ-Bias at 2ae2f40c7700",
                split="test",
                files=tuple(_file("test", s, DIGESTS[s][0]) for s in ordered),
                read=partial(rows, split="test", subjects=ordered),
                pool=Pool(
                    tuple(_file("dev", s, DIGESTS[s][1]) for s in ordered),
                    partial(rows, split="dev", subjects=ordered),
                ),
                count=535 if five else None,
                sha256=FIVE_SHA256 if five else None,
            )
        },
    )


BENCHMARK = of_subjects(FIVE)
