"""A real SLURM of one node with declared GPUs, and runs of the workflow through its profile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

import pytest

from workflow.conftest import ROOT, Workflow

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
PROFILE = ROOT / "workflow" / "profiles" / "slurm"
SCRIPT = Path(__file__).with_name("single_node.sh")
CONFIGURED = Path("/etc/slurm/slurm.conf")
CPUS, GPUS = 16, 2


def lacking() -> str | None:
    """What this machine lacks to run SLURM, None if nothing."""
    if os.geteuid() != 0:
        return "a SLURM of its own needs root"
    if missing := [program for program in PROGRAMS if shutil.which(program) is None]:
        return f"no {', '.join(missing)}: apt-get install slurm-wlm munge"
    if CONFIGURED.exists():
        return f"{CONFIGURED}: this machine has a SLURM already"
    if find_spec("snakemake_executor_plugin_slurm") is None:
        return "no snakemake-executor-plugin-slurm: make .venv"
    return None


class Slurm:
    """The cluster; what is asked of it is printed, so that a run with -s shows it."""

    def ask(self, *command: str) -> str:
        """Run one of SLURM's commands and return what it prints."""
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout

    def tell(self, *command: str) -> str:
        """The same, shown."""
        printed = self.ask(*command)
        print(f"$ {' '.join(command)}\n{printed}", flush=True)
        return printed

    def show(self) -> str:
        """Show the queue, every job with its rule and wildcards."""
        columns = "JobID:7,State:11,TimeUsed:8,tres-per-job:13,ReasonList:20,Comment:"
        return self.tell("squeue", "--states=all", f"--Format={columns}")

    def jobs(self, state: str) -> dict[str, str]:
        """Number -> rule and wildcards of the jobs in a state."""
        lines = self.ask("squeue", "--noheader", f"--states={state}", "--format=%i|%k")
        return dict(line.split("|", 1) for line in lines.splitlines())


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if lack := lacking():
        pytest.skip(lack)
    folder = tmp_path_factory.mktemp("slurm")
    start = [str(SCRIPT), "start", str(folder), str(CPUS), str(GPUS)]
    try:
        subprocess.run(start, check=True, timeout=120)
        yield Slurm()
    finally:
        subprocess.run([str(SCRIPT), "stop", str(folder)], check=True, timeout=120)


def until(happened: Callable[[], object], what: str, seconds: float = 300) -> None:
    """Wait until something has happened."""
    deadline = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s for: {what}"
        time.sleep(0.1)


class Driver:
    """Snakemake, started in the background; `no_driver_is_left` ends it with the test."""

    started: ClassVar[list[Driver]] = []

    def __init__(self, workflow: Workflow, *arguments: str) -> None:
        command = workflow.command(*arguments)
        print(f"$ snakemake {' '.join(command[3:])}", flush=True)
        self.log = workflow.out / f"driver-{time.monotonic_ns()}.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=workflow.out, stdout=log, stderr=subprocess.STDOUT
            )
        self.started.append(self)

    def wait(self, seconds: float = 900) -> str:
        """What it has printed, once it has ended well."""
        status = self.process.wait(seconds)
        printed = self.log.read_text()
        assert status == 0, printed
        print("\n".join(printed.splitlines()[-4:]), flush=True)
        return printed

    def running(self) -> bool:
        return self.process.poll() is None


@pytest.fixture(autouse=True)
def no_driver_is_left() -> Iterator[None]:
    """A test that fails must not leave its run behind."""
    yield
    while Driver.started:
        process = Driver.started.pop().process
        process.kill()
        process.wait()


def through_slurm(*arguments: str) -> tuple[str, ...]:
    """Options of a run through the profile, with more frequent looks at its jobs."""
    often = ("--slurm-init-seconds-before-status-checks", "5")
    return ("--profile", str(PROFILE), *often, *arguments)


def chunks(out: Path, readout: str, benchmark: str) -> dict[str, int]:
    """Finished chunks of a cell in the journal -> when they were written, in nanoseconds."""
    for identity in (out / "results" / "journal").glob("*/identity.json"):
        cell = json.loads(identity.read_text())
        if (cell["readout"], cell["benchmark"]) == (readout, benchmark):
            return {p.name: p.stat().st_mtime_ns for p in identity.parent.glob("chunk-*.npz")}
    return {}
