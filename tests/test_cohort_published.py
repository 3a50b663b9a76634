"""Published benchmarks in a cohort file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cohort_files import change, faults, plain, read
from optionbias.benchmarks import registry
from optionbias.benchmarks.mmlu_digests import DIGESTS
from optionbias.cohort import read_cohort
from optionbias.provenance import ROOT


def asking(*benchmarks: dict[str, Any], five_shot: Any = None) -> dict[str, Any]:
    """The plain cohort with these benchmarks."""
    raw = change("benchmarks", list(benchmarks))
    if five_shot is not None:
        raw["readouts"]["five-shot"] = {"checkpoints": "all", "benchmarks": five_shot}
    return raw


@pytest.mark.parametrize("name", registry.PUBLISHED)
def test_a_published_benchmark_needs_its_name_and_k_alone(name: str, tmp_path: Path) -> None:
    """Tables are told title, split, source and licence of its module."""
    cohort = read(tmp_path, asking({"name": name, "K": registry.PUBLISHED[name]}))
    benchmark = registry.published(name)
    (told,) = cohort.described()["benchmarks"]
    assert told == {
        "name": name,
        "K": benchmark.k,
        "title": benchmark.title,
        "split": benchmark.source().split,
        "source": benchmark.source().origin,
        "licence": benchmark.licence,
    }
    assert cohort.title(name) == benchmark.title


def test_what_an_entry_says_stands_before_what_the_module_says(tmp_path: Path) -> None:
    entry = {"name": "piqa", "K": 2, "title": "My PIQA", "licence": "asked"}
    told = read(tmp_path, asking(entry)).benchmarks["piqa"]
    assert (told["title"], told["licence"]) == ("My PIQA", "asked")
    assert told["split"] == "validation"


def test_a_variant_is_another_source(tmp_path: Path) -> None:
    entry = {"name": "truthfulqa_mc1", "K": 4, "variant": "v1"}
    told = read(tmp_path, asking(entry)).benchmarks["truthfulqa_mc1"]
    assert told["source"] == registry.published("truthfulqa_mc1").source("v1").origin
    assert told["variant"] == "v1"


def test_two_entries_of_one_benchmark(tmp_path: Path) -> None:
    """`published` says which benchmark an entry of another name is."""
    subjects = ["jurisprudence", "international_law"]
    law = {"name": "mmlu_law", "K": 4, "published": "mmlu_five_subjects", "subjects": subjects}
    cohort = read(tmp_path, asking(law, {"name": "mmlu_five_subjects", "K": 4}, five_shot="all"))
    assert list(cohort.benchmarks) == ["mmlu_five_subjects", "mmlu_law"]
    assert cohort.benchmarks["mmlu_law"]["subjects"] == subjects
    found = registry.published_entry(cohort.benchmarks["mmlu_law"])
    assert found is not None
    assert [f.name for f in found.source().files] == [
        "test/international_law_test.csv",
        "test/jurisprudence_test.csv",
    ]


MMLU = {"name": "mmlu_five_subjects", "K": 4}
NO_NAME = ", ".join(sorted(registry.BUILTIN))


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"name": "piqa", "K": 4}, "benchmark piqa: `K` is 4, it has 2"),
        ({"name": "mine", "K": 4, "published": "mmlu_pro"}, "benchmark mine: `K` is 4, it has 10"),
        (
            {"name": "piqa", "K": 2, "variant": "v2"},
            "benchmark piqa: piqa has no variant v2 (it has official)",
        ),
        (
            {"name": "mine", "K": 4, "published": "hellaswag", "variant": "v2"},
            "benchmark mine: hellaswag has no variant v2 (it has cleaned, official, hub)",
        ),
        (
            {"name": "piqa", "K": 2, "subjects": ["law"]},
            "benchmark piqa: piqa is not divided into subjects",
        ),
        (
            {**MMLU, "subjects": ["yoga", "anatomy"]},
            "benchmark mmlu_five_subjects: MMLU has no subject yoga; its subjects are "
            + ", ".join(DIGESTS),
        ),
        (
            {"name": "exam", "K": 4, "items": "exam.jsonl", "variant": "hub"},
            "benchmark exam: `variant` belongs to a published benchmark",
        ),
        # A user's own items are nobody's variant, whatever they are called.
        (
            {"name": "piqa", "K": 2, "items": "mine.jsonl", "published": "piqa"},
            "benchmark piqa: `published` belongs to a published benchmark",
        ),
        (
            {"name": "facts_k2", "K": 2, "subjects": ["law"], "variant": "x"},
            "benchmark facts_k2: `variant` belongs to a published benchmark; "
            "benchmark facts_k2: `subjects` belongs to a published benchmark",
        ),
        (
            {"name": "mine", "K": 2, "published": "facts_k2"},
            "benchmark mine: `published`: no published benchmark is called facts_k2 "
            f"(there are {', '.join(registry.PUBLISHED)})",
        ),
        (
            {"name": "mine", "K": 2, "published": "pica"},
            "benchmark mine: `published`: no published benchmark is called pica "
            f"(there are {', '.join(registry.PUBLISHED)}); "
            f"benchmark mine: no `items`, and not one that the workflow knows ({NO_NAME})",
        ),
        (
            {"name": "pica", "K": 2},
            f"benchmark pica: no `items`, and not one that the workflow knows ({NO_NAME})",
        ),
    ],
)
def test_a_faulty_entry_is_named(entry: dict[str, Any], expected: str, tmp_path: Path) -> None:
    assert faults(tmp_path, asking(entry)) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [("subjects", []), ("subjects", ["law", "law"]), ("subjects", "law"), ("variant", 3)],
)
def test_values_of_another_type_are_named(key: str, value: Any, tmp_path: Path) -> None:
    assert f"`benchmarks.0.{key}`" in faults(tmp_path, asking({**MMLU, key: value}))


def test_five_shot_without_a_pool_is_told_before_anything_runs(tmp_path: Path) -> None:
    """TruthfulQA has no other split, whatever its entry and its variant are called."""
    entries = (
        {"name": "truthfulqa_mc1", "K": 4},
        {"name": "truth", "K": 4, "published": "truthfulqa_mc1", "variant": "v1"},
        {"name": "piqa", "K": 2},
    )
    expected = "no split to draw exemplars from: leave it out of five-shot"
    assert faults(tmp_path, asking(*entries, five_shot="all")) == (
        f"benchmark truth: {expected}; benchmark truthfulqa_mc1: {expected}"
    )
    assert read(tmp_path, asking(*entries, five_shot=["piqa"])).cells
    # Given sweeps need no exemplars: two checkpoints, three benchmarks, two readouts.
    raw = asking(*entries, five_shot="all")
    assert len(read(tmp_path, raw, needs_models=False).cells) == 2 * 3 * 2


def test_one_fault_is_told_once(tmp_path: Path) -> None:
    """An unknown variant under five-shot is that and no missing pool besides."""
    entry = {"name": "piqa", "K": 2, "variant": "v2"}
    said = faults(tmp_path, asking(entry, five_shot="all"))
    assert said == "benchmark piqa: piqa has no variant v2 (it has official)"


def test_a_simulated_benchmark_of_a_published_name_is_simulated(tmp_path: Path) -> None:
    raw = {**plain(), "simulated": True}
    raw["benchmarks"] = [{"name": "piqa", "K": 2, "size": 30, "difficulty": 0.5}]
    for checkpoint in raw["checkpoints"]:
        del checkpoint["source"]
    (told,) = read(tmp_path, raw).described()["benchmarks"]
    assert told == {"name": "piqa", "K": 2, "size": 30, "difficulty": 0.5}


@pytest.mark.parametrize(("name", "checkpoints"), [("real-mini", 2), ("paper", 41)])
def test_the_cohorts_of_the_twelve(name: str, checkpoints: int) -> None:
    """Five-shot runs on those that the paper asks five-shot (A.1)."""
    cohort = read_cohort(ROOT / "workflow" / "cohorts" / f"{name}.yaml")
    assert set(cohort.benchmarks) == set(registry.PUBLISHED)
    asked = {cell.benchmark for cell in cohort.cells if cell.readout == "five-shot"}
    assert asked == set(registry.PUBLISHED) - {"truthfulqa_mc1", "bbh_mc", "mmlu_pro"}
    cells = [cell for cell in cohort.cells if cell.readout in ("first-token", "five-shot")]
    opened = [c for c in cohort.checkpoints.values() if not c.get("closed")]
    assert len(opened) == checkpoints and len(cells) == checkpoints * (12 + 9)


def test_the_papers_checkpoints_are_of_seven_families() -> None:
    cohort = read_cohort(ROOT / "workflow" / "cohorts" / "paper.yaml")
    assert cohort.replicates and not cohort.simulated
    opened = [c for c in cohort.checkpoints.values() if not c.get("closed")]
    assert len({entry["family"] for entry in opened}) == 7
    assert all("stated" in entry for entry in cohort.checkpoints.values())
    # Eight checkpoints under all orderings of four benchmarks.
    assert sum(cell.readout == "all-orderings" for cell in cohort.cells) == 8 * 4
    # Three closed models on MMLU (C.5, Table 13), which the paper names.
    shut = [cell for cell in cohort.cells if cell.readout == "closed"]
    assert [c.checkpoint for c in shut] == ["gpt-5.6-terra", "gpt-6-luna", "gpt-6.1-sol"]
    assert {c.benchmark for c in shut} == {"mmlu_five_subjects"}
    assert all(cohort.checkpoints[c.checkpoint]["stated"] for c in shut)
