"""A run that is killed loses nothing: the sweeps end with the same bytes."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from workflow.conftest import ROOT, Workflow, copy_sources

pytestmark = [pytest.mark.workflow, pytest.mark.model]
SWEEP = Path("results/sweeps/first-token/facts_k4/SmolLM2-135M-Instruct.parquet")


@pytest.fixture(scope="module")
def cohort(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mini = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    mini["checkpoints"] = [c for c in mini["checkpoints"] if c["name"].startswith("SmolLM2")]
    mini["benchmarks"] = [b for b in mini["benchmarks"] if b["name"] == "facts_k4"]
    mini["readouts"] = {"first-token": {"checkpoints": "all", "benchmarks": "all", "items": 24}}
    path = tmp_path_factory.mktemp("cohort") / "one-cell.yaml"
    path.write_text(yaml.safe_dump(mini))
    return path


def chunks(out: Path) -> int:
    return len(list((out / "results" / "journal").rglob("chunk-*.npz")))


def test_sigkill_in_the_middle_of_a_cell_then_resume(
    mini: Workflow, cohort: Path, tmp_path: Path
) -> None:
    """Kill the driver and its jobs three times; the journal grows, the bytes are the same."""
    config = ("device=cpu", "threads=1", "chunk_items=2")
    arguments = ("--cores", "1", "--config", f"cohort={cohort}", *config, "--", str(SWEEP))
    whole = Workflow(copy_sources(tmp_path / "source"), tmp_path / "whole")
    killed = Workflow(whole.source, tmp_path / "killed")
    for workflow in (whole, killed):
        # The conversion of the embedded model is shared with the main test run.
        checkpoints = workflow.out / "results" / "checkpoints"
        checkpoints.parent.mkdir(parents=True)
        checkpoints.symlink_to(mini.out / "results" / "checkpoints")
    whole.run(*arguments)
    assert chunks(whole.out) == 12

    seen = 0
    for _ in range(3):
        process = subprocess.Popen(
            killed.command(*arguments),
            cwd=killed.out,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 300
        while chunks(killed.out) < seen + 2:
            assert process.poll() is None, "the run ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert not (killed.out / SWEEP).exists()
        seen = chunks(killed.out)
        assert seen < 12
        killed.run("--unlock", *arguments[2:4])
    killed.run(*arguments)
    assert (killed.out / SWEEP).read_bytes() == (whole.out / SWEEP).read_bytes()
    log = (killed.out / "results/logs/first_token_sweep/first-token/facts_k4").glob("*.log")
    assert f"{2 * seen} from the journal" in next(log).read_text()
