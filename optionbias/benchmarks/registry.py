"""The benchmarks that the workflow knows: generated ones, and published ones by their module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from optionbias.benchmarks.source import Benchmark, SourceError
from optionbias.item import Item

_GENERATED = "optionbias.benchmarks.generated"
GENERATED: dict[str, int] = {"facts_k2": 2, "facts_k4": 4, "facts_k10": 10}
PUBLISHED: dict[str, int] = {
    "piqa": 2,
    "winogrande": 2,
    "arc_easy": 4,
    "arc_challenge": 4,
    "hellaswag": 4,
    "mmlu_five_subjects": 4,
    "openbookqa": 4,
    "logiqa": 4,
    "race_middle": 4,
    "truthfulqa_mc1": 4,
    "bbh_mc": 4,
    "mmlu_pro": 10,
}
# name -> K, and the module that makes or declares it.
BUILTIN: dict[str, int] = GENERATED | PUBLISHED
MODULES: dict[str, str] = dict.fromkeys(GENERATED, _GENERATED) | {
    name: f"optionbias.benchmarks.{name}" for name in PUBLISHED
}


def builtin_name(entry: Mapping[str, Any]) -> str | None:
    """Which benchmark of the workflow a cohort's entry means; None for a user's own."""
    name = str(entry.get("published", entry["name"]))
    return name if "items" not in entry and name in BUILTIN else None


def published(
    name: str, subjects: Sequence[str] | None = None, variant: str | None = None
) -> Benchmark:
    """A published benchmark, with subjects of one's own where it has such.

    Raises:
        SourceError: it has no subjects to choose from, no such subject, or no such variant.
    """
    benchmark: Benchmark = import_module(MODULES[name]).BENCHMARK
    if subjects is not None:
        if benchmark.of_subjects is None:
            raise SourceError(f"{name} is not divided into subjects")
        benchmark = benchmark.of_subjects(tuple(subjects))
    if variant is not None and variant not in benchmark.sources:
        raise SourceError(
            f"{name} has no variant {variant} (it has {', '.join(benchmark.sources)})"
        )
    return benchmark


def published_entry(entry: Mapping[str, Any]) -> Benchmark | None:
    """The published benchmark that a cohort's entry means, None for any other."""
    name = builtin_name(entry)
    if name not in PUBLISHED:
        return None
    return published(name, entry.get("subjects"), entry.get("variant"))


def described(benchmark: Benchmark, entry: Mapping[str, Any]) -> dict[str, str]:
    """What tables print of a published benchmark that a cohort's entry means.

    An entry of another name says so in its title: a cohort may have several of one benchmark.
    """
    source = benchmark.source(entry.get("variant"))
    other = entry["name"] != benchmark.name
    return {
        "title": f"{benchmark.title} ({entry['name']})" if other else benchmark.title,
        "split": source.split,
        "source": source.origin,
        "licence": benchmark.licence,
    }


def generated_items(benchmark: str, seed: int) -> list[Item]:
    """The evaluation items of a generated benchmark."""
    items: list[Item] = import_module(MODULES[benchmark]).generate(benchmark, seed)[0]
    return items


def generated_exemplars(benchmark: str, seed: int) -> list[Item]:
    """The five exemplars of a generated benchmark, from its development split."""
    items: list[Item] = import_module(MODULES[benchmark]).exemplars(benchmark, seed)
    return items
