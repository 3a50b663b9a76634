"""Jobs beside each other on one machine take different GPUs. The GPUs are invented."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from invented_gpus import put_nvidia_smi
from optionbias.readouts.gpu_lease import VARIABLE, LeaseError, lease, visible

ROOT = Path(__file__).parents[2]
JOB = """
import logging, os, sys, time
from optionbias import exclusive
from optionbias.readouts.gpu_lease import lease
logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
exclusive.POLL_SECONDS = 0.05
lease(int(sys.argv[1]))
print(os.environ["CUDA_VISIBLE_DEVICES"], os.environ.get("CUDA_DEVICE_ORDER"), "torch" in sys.modules, flush=True)
time.sleep(60)
"""


class Machine:
    """A machine of invented GPUs, and the jobs that run on it."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.jobs = folder, list[subprocess.Popen[str]]()
        put_nvidia_smi(folder, count)

    def start(self, gpus: int, **environment: str) -> subprocess.Popen[str]:
        """A job that takes GPUs and keeps them until it is killed."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("CUDA_", "SLURM_"))}
        job = subprocess.Popen(
            [sys.executable, "-c", JOB, str(gpus)],
            env={
                **inherited,
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT),
                "TMPDIR": str(self.folder),
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.jobs.append(job)
        return job


def taken(job: subprocess.Popen[str]) -> list[str]:
    """The GPUs that a job sees once it has them; it has not imported torch."""
    assert job.stdout is not None
    devices, _, torch = job.stdout.readline().split()
    assert torch == "False"
    return devices.split(",")


@pytest.fixture
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Machine]:
    machine = Machine(tmp_path, request.param)
    yield machine
    for job in machine.jobs:
        job.kill()
        job.wait()


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ("0,1", ["0", "1"]),
        (" 3 , 5", ["3", "5"]),
        ("", []),
        ("-1", []),
        ("NoDevFiles", []),  # what SLURM says of none
        ("2,-1,3", ["2"]),
        ("GPU-5d5b-a0,MIG-GPU-5d5b/1/0,MIG-8d7f", ["GPU-5d5b-a0", "MIG-GPU-5d5b/1/0", "MIG-8d7f"]),
    ],
)
def test_entries_of_the_variable_end_at_the_first_that_is_none(named: str, seen: list[str]) -> None:
    assert visible({VARIABLE: named}) == seen


def test_where_nothing_is_named_the_driver_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    put_nvidia_smi(tmp_path, 2)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert visible({}) == ["0", "1"]
    part = "  MIG 3g.40gb     Device  0: (UUID: MIG-8d7f)\n"
    put_nvidia_smi(tmp_path, 1, part)
    assert visible({}) == ["MIG-8d7f"]
    (tmp_path / "nvidia-smi").unlink()
    assert visible({}) == []


@pytest.mark.parametrize("machine", [3], indirect=True)
def test_jobs_take_different_gpus_and_wait_for_a_killed_ones(machine: Machine) -> None:
    first, second = machine.start(1), machine.start(2)
    of_first, of_second = taken(first), taken(second)
    assert sorted(of_first + of_second) == ["0", "1", "2"]
    third = machine.start(2)
    assert third.stderr is not None
    assert third.stderr.readline() == "waiting for 2 of 3 GPUs, other jobs have them\n"
    time.sleep(0.2)
    assert third.poll() is None
    second.kill()
    assert sorted(taken(third)) == sorted(of_second)


@pytest.mark.parametrize("machine", [4], indirect=True)
def test_an_allocation_of_several_gpus_is_shared_out(machine: Machine) -> None:
    """As in an interactive job of SLURM, in which Snakemake runs locally."""
    given = {VARIABLE: "2,3", "SLURM_JOB_ID": "7"}
    jobs = [machine.start(1, **given) for _ in range(2)]
    assert sorted(gpu for job in jobs for gpu in taken(job)) == ["2", "3"]
    # Numbers of another allocation are other GPUs.
    assert taken(machine.start(1, **{VARIABLE: "2,3", "SLURM_JOB_ID": "8"})) == ["2"]


@pytest.mark.parametrize("machine", [2], indirect=True)
def test_what_a_scheduler_named_is_taken_as_it_is(machine: Machine) -> None:
    """Every job of a cluster may be told the same number: it means another GPU each time."""
    jobs = [machine.start(1, **{VARIABLE: "0", "SLURM_JOB_ID": str(i)}) for i in range(2)]
    assert [taken(job) for job in jobs] == [["0"], ["0"]]
    assert not list(machine.folder.glob("optionbias-gpus*"))


@pytest.mark.parametrize("machine", [2], indirect=True)
def test_a_gpu_that_a_user_named_is_one_jobs_at_a_time(machine: Machine) -> None:
    assert taken(machine.start(1, **{VARIABLE: "1"})) == ["1"]
    second = machine.start(1, **{VARIABLE: "1"})
    assert second.stderr is not None
    assert second.stderr.readline() == "waiting for 1 of 1 GPUs, other jobs have them\n"


@pytest.mark.parametrize("machine", [1], indirect=True)
def test_every_job_that_waits_says_so(machine: Machine) -> None:
    """Jobs gather GPUs one after another; those behind the first wait for it to have its own."""
    assert taken(machine.start(1)) == ["0"]
    told = []
    for _ in range(2):
        job = machine.start(1)
        assert job.stderr is not None
        told.append(job.stderr.readline())
    assert told == [
        "waiting for 1 of 1 GPUs, other jobs have them\n",
        "waiting for 1 of 1 GPUs, other jobs wait before this one\n",
    ]


def test_numbers_count_as_nvidia_smi_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Machine(tmp_path, 2)
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    environment = {"CUDA_DEVICE_ORDER": "FASTEST_FIRST"}
    assert lease(2, environment) == ["0", "1"]
    assert environment == {VARIABLE: "0,1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def test_a_job_without_gpus_leaves_everything_as_it_is() -> None:
    environment = {"PATH": "/nowhere"}
    assert lease(0, environment) == []
    assert environment == {"PATH": "/nowhere"}


def test_more_gpus_than_there_are_is_one_line() -> None:
    with pytest.raises(LeaseError, match="was given 2 GPUs but sees 1 ") as caught:
        lease(2, {VARIABLE: "0"})
    assert "\n" not in str(caught.value) and "gpu_memory_gb" in str(caught.value)
    with pytest.raises(LeaseError, match="was given 1 GPU but sees 0 "):
        lease(1, {VARIABLE: ""})
