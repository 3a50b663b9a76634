"""Preflight by the workflow: what it prints when it is asked, and what it says and stops at a start."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow.conftest import Workflow, copy_sources

pytestmark = pytest.mark.workflow

# Nothing of this machine: no GPU, no hub, no token.
BARE = {"HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": "", "HF_TOKEN": ""}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Workflow:
    source = copy_sources(tmp_path_factory.mktemp("clone"))
    return Workflow(source, tmp_path_factory.mktemp("out"))


def test_the_page_is_printed_and_kept(clone: Workflow) -> None:
    printed = clone.run("--cores", "2", "preflight", **BARE)
    page = (clone.out / "results" / "preflight.md").read_text()
    assert page in printed
    for told in (
        "# Preflight: cohort mini", "0 of 12 sweeps are there, 12 are left", "core hours",
        "SmolLM2-135M-Instruct", "Nothing that is known here stops this run.",
    ):  # fmt: skip
        assert told in page
    # It has no output: it is made anew whenever it is asked for, and nothing else is made with it.
    assert not (clone.out / "results" / "items").exists()
    assert "# Preflight: cohort mini" in clone.run("--cores", "2", "preflight", **BARE)


def test_the_papers_cohort_does_not_start_where_it_cannot_succeed(
    clone: Workflow, tmp_path: Path
) -> None:
    """From stored counts, before anything is fetched or made."""
    cell = "results/sweeps/first-token/piqa/{}.parquet"
    paper = ("--cores", "2", "--config", "cohort=paper", "device=cpu", "dtype=float32")
    asked = (cell.format("Qwen2.5-72B"), cell.format("Qwen2.5-0.5B"))
    elsewhere = Workflow(clone.source, tmp_path)
    said = elsewhere.run(*paper, "--", *asked, check=False, **BARE, HF_HOME=str(tmp_path / "hf"))
    (line,) = (line for line in said.splitlines() if "cannot run on this machine" in line)
    assert "Qwen2.5-72B takes 291 GB in float32" in line and "cohort=mini" in line
    assert "rule benchmark_files" not in said and not (tmp_path / "results" / "data").exists()
    # A dry run says nothing of it, and needs nothing.
    dry = elsewhere.run("-n", *paper, "--", *asked, **BARE)
    assert "cannot run" not in dry and "first_token_sweep" in dry


def test_a_gated_checkpoint_without_a_token_is_named_at_the_start(
    clone: Workflow, tmp_path: Path
) -> None:
    cell = "results/sweeps/first-token/piqa/Llama-3.2-1B.parquet"
    home = {**BARE, "HF_HOME": str(tmp_path / "hf")}
    options = ("--cores", "2", "--config", "cohort=paper", f"mirror={tmp_path}")
    elsewhere = Workflow(clone.source, tmp_path / "out")
    (tmp_path / "piqa" / "raw").mkdir(parents=True)
    resolved = elsewhere.out / "results" / "checkpoints" / "Llama-3.2-1B" / "checkpoint.json"
    resolved.parent.mkdir(parents=True)  # its weights are still to be had
    resolved.write_text("{}")
    said = elsewhere.run(*options, "--", cell, check=False, **home)
    assert "meta-llama/Llama-3.2-1B on the Hugging Face hub is gated and there is no token" in said
    # Overridden, it starts, and fails where it must.
    said = elsewhere.run(*options, "preflight=false", "--", cell, check=False, **home)
    assert "is gated and there is no token" not in said and "rule benchmark_files" in said
