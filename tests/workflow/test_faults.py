"""Faults that a long run meets: what is printed, what survives, and that the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from optionbias.sweep import read_sweep
from readouts.models import letter_tokenizer, random_model
from workflow.conftest import Workflow, copy_sources

pytestmark = [pytest.mark.workflow, pytest.mark.model]
SWEEP = Path("results/sweeps/first-token/facts_k4/A.parquet")
CONFIG = ("cohort=own.yaml", "threads=1", "chunk_items=2")
ARGUMENTS = ("--cores", "1", "--config", *CONFIG, "--", str(SWEEP))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("source"))


@pytest.fixture
def workflow(source: Path, tmp_path: Path) -> Workflow:
    cohort = {
        "name": "own",
        "checkpoints": [
            {"name": "A", "family": "F", "params_b": 0.1, "training": "post", "source": {"path": "model"}}
        ],
        "benchmarks": [{"name": "facts_k4", "K": 4}],
        "readouts": {"first-token": {"checkpoints": "all", "benchmarks": "all", "items": 40}},
    }  # fmt: skip
    (tmp_path / "own.yaml").write_text(yaml.safe_dump(cohort))
    for part in (random_model("llama"), letter_tokenizer()):
        part.save_pretrained(tmp_path / "model")
    return Workflow(source, tmp_path)


def mounted(folder: Path, size: str) -> None:
    """A disk of its own, of a few pages; only root may have one."""
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(workflow: Workflow) -> Iterator[Path]:
    """The journal of the run on a disk of 40 KB: less than the twenty chunks take."""
    folder = workflow.out / "results" / "journal"
    mounted(folder, "40k")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def remount(folder: Path, option: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{option}", str(folder)], check=True)


def test_a_full_disk_and_a_read_only_one(workflow: Workflow, small_disk: Path) -> None:
    printed = workflow.run(*ARGUMENTS, check=False)
    assert "No space left on device; free some space and run the same command again" in printed
    assert not (workflow.out / SWEEP).exists()
    kept = len(list(small_disk.rglob("chunk-*.npz")))
    assert 1 <= kept < 20 and not list(small_disk.rglob("*.tmp"))

    remount(small_disk, "size=4m,ro")
    printed = workflow.run(*ARGUMENTS, check=False)
    assert "Read-only file system; the disk is read-only: give another folder" in printed

    remount(small_disk, "rw")
    printed = workflow.run(*ARGUMENTS)
    assert f"40 of 40 items, {2 * kept} from the journal" in printed
    assert read_sweep(workflow.out / SWEEP).choice.shape == (40, 8)


def slowed(workflow: Workflow) -> dict[str, str]:
    """An environment in which each chunk takes a tenth of a second longer: signals come between chunks."""
    (workflow.out / "sitecustomize.py").write_text(
        "import numpy, time\nsave = numpy.savez\n"
        "def late(*a, **k):\n    time.sleep(0.1)\n    return save(*a, **k)\nnumpy.savez = late\n"
    )
    return {**os.environ, "PYTHONPATH": str(workflow.out)}


def chunks(workflow: Workflow) -> int:
    return len(list((workflow.out / "results" / "journal").rglob("chunk-*.npz")))


def interrupted(workflow: Workflow, sent: signal.Signals, more: int) -> int:
    """Start the run, signal Snakemake and its jobs after so many more chunks; the chunks there are."""
    before = chunks(workflow)
    run = subprocess.Popen(
        workflow.command("--rerun-incomplete", *ARGUMENTS), cwd=workflow.out, env=slowed(workflow),
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while chunks(workflow) < before + more:
        assert run.poll() is None, run.stdout and run.stdout.read()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(run.pid, sent)
    assert run.wait(timeout=60) != 0
    assert chunks(workflow) < 20 and not (workflow.out / SWEEP).exists()
    return chunks(workflow)


def test_killed_and_terminated_runs_go_on_and_end_with_the_same_bytes(
    workflow: Workflow, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """SIGKILL, SIGKILL, then SIGTERM (as a cluster or a shutdown sends it) to Snakemake and its job."""
    whole = Workflow(workflow.source, tmp_path_factory.mktemp("whole"))
    for name in ("own.yaml", "model"):
        (whole.out / name).symlink_to(workflow.out / name)
    whole.run(*ARGUMENTS)
    for _ in range(2):
        interrupted(workflow, signal.SIGKILL, more=3)
        workflow.run("--unlock", "--config", *CONFIG)
    kept = interrupted(workflow, signal.SIGTERM, more=3)  # which releases the lock itself
    printed = workflow.run("--rerun-incomplete", *ARGUMENTS)
    assert f"40 of 40 items, {2 * kept} from the journal" in printed
    assert (workflow.out / SWEEP).read_bytes() == (whole.out / SWEEP).read_bytes()

    # The clock is moved back: what was made seems to be of the future, and of another order.
    made = sorted(p for p in (workflow.out / "results").rglob("*") if p.is_file())
    for hours, path in enumerate(reversed(made)):
        os.utime(path, (time.time() + 3600 * hours,) * 2)
    assert "Nothing to be done" in workflow.run("-n", *ARGUMENTS)
