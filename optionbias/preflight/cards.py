"""Kinds of GPUs that the workflow knows: their memory and what they are taken to do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from optionbias.devices import Gpu
from optionbias.validation import ConfigError, check, read_yaml

CARDS = Path(__file__).parents[2] / "workflow" / "cards.yaml"
# Of runs elsewhere, of which nothing is said.
DEFAULT_CARD = "H100"


def read_cards(file: Path = CARDS) -> dict[str, Any]:
    """`cards`, by name in the order of the file, and `cpu`.

    Raises:
        ConfigError: the file cannot be used.
    """
    raw = read_yaml(file)
    check(raw, "cards", str(file))
    by_name = {card["name"]: card for card in raw["cards"]}
    if DEFAULT_CARD not in by_name:
        raise ConfigError(f"{file}: no card {DEFAULT_CARD}, which is taken where none is found")
    return {"cards": by_name, "cpu": raw["cpu"]}


def stated(config: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any] | None:
    """The card that the config's `card` names, None where it names none.

    Raises:
        ConfigError: there is no such card.
    """
    name = config["card"]
    if name is not None and name not in known["cards"]:
        raise ConfigError(
            f"config key `card`: {name} is not in workflow/{CARDS.name} "
            f"(there are {', '.join(known['cards'])})"
        )
    return None if name is None else dict(known["cards"][name])


def memory_gb(config: Mapping[str, Any], found: Iterable[Gpu]) -> float:
    """Memory of one of the GPUs that jobs run on, in 10^9 bytes: what they ask GPUs by.

    That of the config's `gpu_memory_gb`; else of the smallest GPU found; else of the config's `card`,
    or of the default one.

    Args:
        config: the checked config.
        found: GPUs of this machine where jobs run on it, none where they run elsewhere.
    """
    if config["gpu_memory_gb"] is not None:
        return float(config["gpu_memory_gb"])
    if smallest := min((gpu.memory_gb for gpu in found), default=0.0):
        return smallest
    known = read_cards()
    return float((stated(config, known) or known["cards"][DEFAULT_CARD])["memory_gb"])
