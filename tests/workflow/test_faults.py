"""Faults that a long run meets: what is printed, what survives, and that the same command goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from optionbias.sweep import read_sweep
from readouts.models import byte_tokenizer, letter_tokenizer, random_model
from workflow.conftest import Workflow, copy_sources

pytestmark = [pytest.mark.workflow, pytest.mark.model]
SWEEP = Path("results/sweeps/first-token/facts_k4/A.parquet")
CONFIG = ("cohort=own.yaml", "threads=1", "chunk_items=2")
ARGUMENTS = ("--cores", "1", "--config", *CONFIG, "--", str(SWEEP))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_sources(tmp_path_factory.mktemp("source"))


def checkpoint(folder: Path, tokenizer: Any, spoil: bool = False) -> None:
    """A random model in the Hugging Face layout; spoilt, its output matrix holds a NaN."""
    model = random_model("llama")
    if spoil:
        model.lm_head.weight.data[5] = float("nan")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


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
    checkpoint(workflow.out / "model", letter_tokenizer())
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


def test_sigterm_lets_the_same_command_go_on(workflow: Workflow) -> None:
    """To Snakemake and its job alike, as a cluster or a shutdown sends it."""
    checkpoint(workflow.out / "model", letter_tokenizer())
    slow = {**os.environ, "PYTHONPATH": str(workflow.out)}
    # Each chunk takes a tenth of a second longer, so that the signal comes in the middle of a cell.
    (workflow.out / "sitecustomize.py").write_text(
        "import numpy, time\nsave = numpy.savez\n"
        "def late(*a, **k):\n    time.sleep(0.1)\n    return save(*a, **k)\nnumpy.savez = late\n"
    )
    run = subprocess.Popen(
        workflow.command(*ARGUMENTS), cwd=workflow.out, env=slow, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    journal = workflow.out / "results" / "journal"
    while len(list(journal.rglob("chunk-*.npz"))) < 3:
        assert run.poll() is None, run.stdout and run.stdout.read()
        time.sleep(0.02)
    os.killpg(run.pid, signal.SIGTERM)
    assert run.wait(timeout=60) != 0
    kept = len(list(journal.rglob("chunk-*.npz")))
    assert 3 <= kept < 20 and not (workflow.out / SWEEP).exists()
    # Snakemake released its lock itself.
    assert f"{2 * kept} from the journal" in workflow.run("--rerun-incomplete", *ARGUMENTS)

    # The clock is moved back: what was made seems to be of the future, and of another order.
    made = sorted(p for p in (workflow.out / "results").rglob("*") if p.is_file())
    for hours, path in enumerate(reversed(made)):
        os.utime(path, (time.time() + 3600 * hours,) * 2)
    assert "Nothing to be done" in workflow.run("-n", *ARGUMENTS)


@pytest.mark.parametrize(
    ("case", "line"),
    [
        ("nan", "error: checkpoint A: the model returned NaN or infinite logits"),
        ("letters", "error: checkpoint A: "),
    ],
)
def test_a_checkpoint_that_cannot_be_read_is_one_line(
    workflow: Workflow, case: str, line: str
) -> None:
    tokenizer = byte_tokenizer() if case == "letters" else letter_tokenizer()
    checkpoint(workflow.out / "model", tokenizer, spoil=case == "nan")
    printed = workflow.run(*ARGUMENTS, check=False)
    assert line in printed
    assert case == "nan" or "so the letter is not one token after" in printed
    assert not (workflow.out / SWEEP).exists()
