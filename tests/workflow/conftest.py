"""Runs of the whole workflow, shared by the tests of this folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SOURCES = (
    "Snakefile",
    "config.yaml",
    "workflow",
    "envs",
    "scripts",
    "optionbias",
    "paper/paper.typ",
    "paper/reported",
)


@dataclass
class Workflow:
    """A copy of the workflow's sources, run with its outputs in a folder of their own."""

    source: Path
    out: Path

    def command(self, *arguments: str) -> list[str]:
        return [
            sys.executable, "-m", "snakemake", "-s", str(self.source / "Snakefile"),
            "--directory", str(self.out), *arguments,
        ]  # fmt: skip

    def run(self, *arguments: str, check: bool = True, **env: str) -> str:
        """Run Snakemake and return what it printed."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.out,
            env={**os.environ, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=900,
        )
        assert not check or done.returncode == 0, done.stdout
        assert check or done.returncode != 0, f"expected a failure:\n{done.stdout}"
        return done.stdout


def copy_sources(target: Path) -> Path:
    for name in SOURCES:
        source = ROOT / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(source, target / name)
    return target


def jobs(output: str) -> dict[str, int]:
    """The job counts that Snakemake prints (`Job stats`), without the total."""
    lines = iter(output.splitlines())
    counts = {}
    for line in lines:
        if line.startswith("Job stats"):
            next(lines), next(lines)
            for row in lines:
                parts = row.split()
                if len(parts) != 2 or parts[0] == "total":
                    break
                counts[parts[0]] = int(parts[1])
            break
    return counts


def planned(output: str) -> set[tuple[str, str]]:
    """(rule, wildcards) of every job that Snakemake prints, a dry run's or a run's."""
    found = set()
    for block in re.split(r"\n(?=\[)", output):
        rule = re.search(r"^(?:local)?rule (\w+):$", block, re.M)
        if rule:
            wildcards = re.search(r"^ +wildcards: (.*)$", block, re.M)
            found.add((rule[1], wildcards[1] if wildcards else ""))
    return found


@pytest.fixture(scope="session")
def mini_cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cohort `mini` with a few items per benchmark."""
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    for readout in cohort["readouts"].values():
        readout["items"] = 4
    path = tmp_path_factory.mktemp("cohort") / "mini-few.yaml"
    path.write_text(yaml.safe_dump(cohort))
    return path


@pytest.fixture(scope="session")
def mini(tmp_path_factory: pytest.TempPathFactory, mini_cohort: Path) -> Workflow:
    """The whole workflow on a few items of each benchmark of `mini`, run once."""
    source = copy_sources(tmp_path_factory.mktemp("clone"))
    workflow = Workflow(source, tmp_path_factory.mktemp("out"))
    workflow.run("--cores", "2", "--config", f"cohort={mini_cohort}", "draws=200", "repetitions=5")
    return workflow


@pytest.fixture(scope="session")
def options(mini_cohort: Path) -> tuple[str, ...]:
    """The options that `mini` was run with."""
    return ("--cores", "2", "--config", f"cohort={mini_cohort}", "draws=200", "repetitions=5")
