"""Cohort files that tests write, and what reading them gives."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from optionbias.cohort import Cohort, read_cohort
from optionbias.validation import ConfigError

HUB = {"hub": "org/name", "revision": "abc123"}


def plain() -> dict[str, Any]:
    """A cohort of two checkpoints and two benchmarks, names not in order."""
    return {
        "name": "my-cohort",
        "checkpoints": [
            {"name": "B-it", "family": "Fam", "params_b": 1.2, "training": "post", "base": "A",
             "source": {"path": "models/b-it"}},
            {"name": "A", "family": "Fam", "params_b": 1, "training": "base", "source": HUB},
        ],
        "benchmarks": [
            {"name": "exam", "K": 4, "items": "data/exam.jsonl", "title": "The exam",
             "exemplars": "data/dev.jsonl", "source": "a book"},
            {"name": "facts_k2", "K": 2},
        ],
        "readouts": {"first-token": {"checkpoints": "all", "benchmarks": "all"}},
    }  # fmt: skip


def read(folder: Path, raw: Any, needs_models: bool = True) -> Cohort:
    """The cohort of a file with this content."""
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(raw, allow_unicode=True), encoding="utf-8")
    return read_cohort(path, needs_models)


def faults(folder: Path, raw: Any, needs_models: bool = True) -> str:
    """What is said of a faulty file, after the name of the file."""
    with pytest.raises(ConfigError) as caught:
        read(folder, raw, needs_models)
    message = str(caught.value)
    file = str(folder / "mine.yaml")
    assert message.startswith(f"{file}: ")
    assert "\n" not in message
    return message.replace(f"{file}: ", "")


def change(path: str, value: Any) -> dict[str, Any]:
    """The plain cohort with one entry replaced; `...` takes it out."""
    raw = plain()
    *way, last = path.split(".")
    place: Any = raw
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    key: Any = int(last) if isinstance(place, list) else last
    if value is ...:
        del place[key]
    else:
        place[key] = value
    return raw
