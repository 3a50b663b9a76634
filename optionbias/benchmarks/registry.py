"""The benchmarks that the workflow makes itself: name -> K, and the module that makes them."""

from __future__ import annotations

from importlib import import_module

from optionbias.item import Item

_GENERATED = "optionbias.benchmarks.generated"
BUILTIN: dict[str, int] = {"facts_k2": 2, "facts_k4": 4, "facts_k10": 10}
MODULES: dict[str, str] = dict.fromkeys(BUILTIN, _GENERATED)


def evaluation_items(benchmark: str, seed: int) -> list[Item]:
    """The evaluation items of a built-in benchmark."""
    items: list[Item] = import_module(MODULES[benchmark]).generate(benchmark, seed)[0]
    return items


def exemplars(benchmark: str, seed: int) -> list[Item]:
    """The five exemplars of a built-in benchmark, from its development split."""
    items: list[Item] = import_module(MODULES[benchmark]).exemplars(benchmark, seed)
    return items
