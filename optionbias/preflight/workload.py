"""What a cohort asks: prompts and tokens of every job, from counts that are stored with the workflow.

No item, no tokeniser and no model is read, so the counts are there before anything is downloaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from optionbias import rereads
from optionbias.benchmarks import registry
from optionbias.benchmarks.mmlu_five_subjects import FIVE
from optionbias.cohort import Cell, Cohort
from optionbias.endpoint import Endpoint
from optionbias.items import read_user_items
from optionbias.orderings import all_orderings, cyclic, cyclic_and_reversals
from optionbias.sweep import FIRST_TOKEN_READOUTS, GENERATED_READOUTS
from optionbias.validation import ConfigError, read_yaml

STORED = Path(__file__).parents[2] / "workflow" / "workload.yaml"
# Prompts of an item under each readout, from its number of options.
PROMPTS: dict[str, Callable[[int], int]] = {
    "first-token": lambda k: len(cyclic_and_reversals(k)),
    "five-shot": lambda k: len(cyclic(k)),
    "all-orderings": lambda k: len(all_orderings(k)),
    "chain-of-thought": lambda k: len(cyclic(k)),
    "direct-answer": lambda k: len(cyclic(k)),
    "closed": lambda k: len(cyclic(k)) + 1,  # ordering 0 twice
}
# Estimates where no tokeniser has counted: characters a token of English, what a template adds to
# an item and to an option, and what chain of thought and closed models are told besides.
CHARACTERS_A_TOKEN = 4
ITEM_CHARACTERS, OPTION_CHARACTERS = len("Question: \nAnswer:"), len("A. \n")
TOLD_CHARACTERS = {"chain-of-thought": 120, "closed": 45}


class Job(NamedTuple):
    """A cell, or its re-read for the noise floor under a variant."""

    cell: Cell
    variant: str = ""

    def path(self, root: str) -> Path:
        """Where its sweep lies under the folder of sweeps."""
        readout, benchmark, checkpoint = self.cell
        folder = f"{root}/noise/{self.variant}" if self.variant else root
        return Path(folder, readout, benchmark, f"{checkpoint}.parquet")

    @property
    def label(self) -> str:
        """How the page names its kind of work: the readout, or the noise floor."""
        return "noise floor" if self.variant else self.cell.readout


@dataclass(frozen=True)
class Work:
    """What some jobs take.

    Attributes:
        jobs: how many they are.
        prompts: what is asked: forward passes of first-token readouts, texts of generated ones,
            calls of closed models.
        tokens: of all prompts, each counted whole.
        run: tokens that forward passes over prompts run, shared ones once.
        generated: tokens that are generated, at most.
        estimated: whether some counts are estimates from characters.
    """

    jobs: int = 0
    prompts: int = 0
    tokens: float = 0.0
    run: float = 0.0
    generated: float = 0.0
    estimated: bool = False

    def __add__(self, other: Work) -> Work:
        return Work(
            self.jobs + other.jobs,
            self.prompts + other.prompts,
            self.tokens + other.tokens,
            self.run + other.run,
            self.generated + other.generated,
            self.estimated or other.estimated,
        )


@dataclass(frozen=True)
class Counts:
    """A benchmark's items, and under each readout the tokens of a prompt (see the stored file)."""

    items: int
    readouts: Mapping[str, Mapping[str, float]]
    estimated: bool = False
    download_mb: float = 0.0


class Workload:
    """Counts of a cohort's benchmarks, and from them the work of its jobs."""

    def __init__(
        self, cohort: Cohort, config: Mapping[str, Any], stored: Path | None = None
    ) -> None:
        """Read the stored counts; files of a user's own benchmarks are counted when needed."""
        self.cohort, self.config = cohort, config
        raw = read_yaml(stored or STORED)
        self.tokenizer = str(raw["tokenizer"])
        self._known = raw["benchmarks"]
        self._counts: dict[str, Counts] = {}

    def counts(self, benchmark: str) -> Counts:
        """What is known of a benchmark of the cohort."""
        if benchmark not in self._counts:
            self._counts[benchmark] = self._count(benchmark)
        return self._counts[benchmark]

    def _count(self, benchmark: str) -> Counts:
        entry = self.cohort.benchmarks[benchmark]
        name = registry.builtin_name(entry)
        if name is None:
            return self._estimate(benchmark)
        if name not in self._known:
            raise ConfigError(f"{STORED}: no counts of {name}: benchmarks/workload.py makes them")
        known = self._known[name]
        found = Counts(known["items"], known, download_mb=known.get("download_mb", 0.0))
        if "subjects" in entry:  # as many items a subject as the stored ones have
            share = len(entry["subjects"]) / len(FIVE)
            return replace(found, items=round(known["items"] * share), estimated=True)
        return replace(found, estimated="variant" in entry)

    def _estimate(self, benchmark: str) -> Counts:
        """Counts of a user's own file: its items, and its characters over four."""
        entry = self.cohort.benchmarks[benchmark]
        items = read_user_items(self.cohort.find(entry["items"]), benchmark, entry["K"])
        lead = sum(len(i.question) + len(i.passage or "") + ITEM_CHARACTERS for i in items)
        options = sum(len(o) + OPTION_CHARACTERS for i in items for o in i.options)
        lead_tokens, option_tokens = (
            characters / CHARACTERS_A_TOKEN / len(items) for characters in (lead, options)
        )
        whole = lead_tokens + option_tokens
        found: dict[str, dict[str, float]] = {}
        for readout, prompts in PROMPTS.items():
            told = TOLD_CHARACTERS.get(readout, 0) / CHARACTERS_A_TOKEN
            found[readout] = {"tokens": whole + told}
            if readout in FIRST_TOKEN_READOUTS and readout in self.cohort.readouts:
                # At the least, an item's orderings share its passage and its question.
                found[readout]["run"] = lead_tokens / prompts(entry["K"]) + option_tokens
        if "exemplars" in entry:
            head = 5 * whole
            found["five-shot"] |= {"tokens": whole + head, "heads": 1, "head_tokens": head}
        return Counts(len(items), found, estimated=True)

    def items(self, job: Job) -> int:
        """Items that a job reads: all of its benchmark's, or a sample."""
        readout, benchmark, _ = job.cell
        sampled = self.config["items"].get(readout, self.cohort.readouts[readout].get("items"))
        number = self.counts(benchmark).items
        if sampled is not None:
            number = min(number, sampled)
        return min(number, self.config["noise_items"]) if job.variant else number

    def work(self, job: Job) -> Work:
        """What a job takes; simulated answers are rows without tokens."""
        readout, benchmark, checkpoint = job.cell
        k = self.cohort.benchmarks[benchmark]["K"]
        if self.cohort.simulated:
            return Work(1, self.cohort.benchmarks[benchmark]["size"] * PROMPTS[readout](k))
        counts = self.counts(benchmark)
        mean = counts.readouts[readout]
        prompts = self.items(job) * PROMPTS[readout](k)
        tokens = prompts * mean["tokens"]
        run = prompts * mean.get("run", mean["tokens"])
        run += mean.get("heads", 0) * mean.get("head_tokens", 0)
        if job.variant == "alone":  # a forward pass a prompt shares nothing
            run = tokens
        generated = 0.0
        if readout in GENERATED_READOUTS:
            generated = float(prompts * self.config["max_tokens"][readout])
        elif readout == "closed":
            source = self.cohort.checkpoints[checkpoint].get("source")
            limit = Endpoint.of(source).reply_limit() if source else None
            run, generated = 0.0, float(prompts * (limit or 0))
        return Work(1, prompts, tokens, run, generated, counts.estimated)


def jobs_of(cohort: Cohort, config: Mapping[str, Any]) -> list[Job]:
    """Every cell of a cohort, and the re-reads that the config's noise floor asks for."""
    jobs = [Job(cell) for cell in cohort.cells]
    if cohort.simulated or config["sweeps"] is not None:
        return jobs
    variants = rereads.variants(config["noise_floor"])
    read = [cell for cell in cohort.cells if cell.readout in FIRST_TOKEN_READOUTS]
    return jobs + [Job(cell, variant) for cell in read for variant in variants]
