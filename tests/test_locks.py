"""Every dependency is pinned once, and no lock belongs to one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LOCKS = sorted([*ROOT.glob("*.lock"), *ROOT.glob("requirements.*")])
PIN = re.compile(r"[A-Za-z0-9_.-]+==[A-Za-z0-9.]+")


def pins(path: Path) -> dict[str, str]:
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    found = dict(line.split("==") for line in lines if line)
    return {name.lower().replace("_", "-"): version for name, version in found.items()}


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_no_local_version_no_file_no_index(path: Path) -> None:
    """A local build's suffix (+cpu), a file or an index would tie the lock to one machine."""
    text = re.sub(r"#.*", "", path.read_text())
    assert not re.search(r"\+(cpu|cu)|file:|https?:|@ |--index|--find-links", text)


@pytest.mark.parametrize("path", LOCKS, ids=lambda p: p.name)
def test_every_line_is_an_exact_pin(path: Path) -> None:
    lines = (line.split("#")[0].strip() for line in path.read_text().splitlines())
    assert all(PIN.fullmatch(line) for line in lines if line)


def test_the_lock_holds_what_was_asked_for() -> None:
    lock = pins(ROOT / "requirements.lock")
    assert pins(ROOT / "requirements.in").items() <= lock.items()


def test_no_lock_drags_in_a_gpu_stack() -> None:
    """torch names its own; listed here they would be fetched where a CPU build needs none."""
    assert not [
        n for n in pins(ROOT / "requirements.lock") if n.startswith(("nvidia", "cuda", "triton"))
    ]


def test_the_models_of_mini_are_the_pinned_packages() -> None:
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    used = {p for c in cohort["checkpoints"] for p in c["source"]["packages"]}
    assert used == set(pins(ROOT / "models.lock"))
