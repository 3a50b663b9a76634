"""Profiles for clusters: every key is explained, and nothing of a site stands in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

PROFILES = Path(__file__).parents[1] / "workflow" / "profiles"
CLUSTERS = ("slurm", "slurm-gres", "kubernetes")


def read(name: str) -> dict[str, Any]:
    profile: dict[str, Any] = yaml.safe_load((PROFILES / name / "profile.yaml").read_text())
    return profile


@pytest.mark.parametrize("name", CLUSTERS)
def test_a_killed_run_goes_on(name: str) -> None:
    profile = read(name)
    assert profile["executor"] == name.removesuffix("-gres")
    assert profile["retries"] >= 1 and profile["rerun-incomplete"] and profile["keep-going"]


def test_both_profiles_of_slurm_differ_in_how_gpus_are_asked_for() -> None:
    plain, gres = read("slurm"), read("slurm-gres")
    file = PROFILES / "slurm-gres" / gres.pop("configfile")
    assert plain == gres
    assert yaml.safe_load(file.read_text()) == {"gres": "gpu"}


@pytest.mark.parametrize("name", CLUSTERS)
def test_no_partition_or_account_is_set(name: str) -> None:
    assert not any(key.startswith("slurm_") for key in read(name)["default-resources"])


def test_kubernetes_says_that_it_is_unexercised() -> None:
    assert "UNEXERCISED" in (PROFILES / "kubernetes" / "profile.yaml").read_text().split("\n")[0]
