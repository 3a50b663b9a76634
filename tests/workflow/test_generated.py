"""Generated readouts through the whole workflow: sweeps, traces, settings that make them anew."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import yaml

from optionbias.readouts.traces import read_traces
from optionbias.sweep import read_sweep
from workflow.conftest import ROOT, Workflow, jobs

pytestmark = [pytest.mark.workflow, pytest.mark.model]
CELLS = {"chain-of-thought": "SmolLM2-135M-Instruct", "direct-answer": "gemma-3-270m"}


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """Three items of one benchmark, answered with a few tokens, each readout by another model."""
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    cohort["benchmarks"] = [b for b in cohort["benchmarks"] if b["name"] == "facts_k4"]
    cohort["readouts"] = {
        readout: {"checkpoints": [checkpoint], "benchmarks": "all", "items": 3}
        for readout, checkpoint in CELLS.items()
    }
    path = tmp_path_factory.mktemp("cohort") / "generated.yaml"
    path.write_text(yaml.safe_dump(cohort))
    tokens = "max_tokens={chain-of-thought: 6, direct-answer: 3}"
    return ("--cores", "2", "--config", f"cohort={path}", tokens, "backend=transformers", "draws=20", "repetitions=2")  # fmt: skip


def test_both_readouts_run_and_are_scored(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    workflow = Workflow(mini.source, tmp_path)
    checkpoints = tmp_path / "results" / "checkpoints"
    checkpoints.parent.mkdir(parents=True)
    checkpoints.symlink_to(mini.out / "results" / "checkpoints")
    cells = "results/statistics/cells.csv"
    workflow.run(*options, "--", cells)
    for readout, checkpoint in CELLS.items():
        name = f"{readout}/facts_k4/{checkpoint}"
        sweep = read_sweep(tmp_path / "results" / "sweeps" / f"{name}.parquet")
        assert sweep.logp is None and sweep.choice.shape == (3, 4)
        about = sweep.metadata
        assert (about["readout"], about["backend"]) == (readout, "transformers")
        assert about["max_tokens"] == (6 if readout == "chain-of-thought" else 3)
        traces = list(read_traces(tmp_path / "results" / "traces" / f"{name}.jsonl.gz"))
        assert [t["choice"] for t in traces] == sweep.choice.ravel().tolist()
        assert sum(about["answers"].values()) == len(traces) == 12
    scored = pd.read_csv(tmp_path / cells)
    assert set(scored["readout"]) <= set(CELLS)

    # A setting that shapes a text is a reason to generate anew, where vLLM lies is not.
    def planned(*changes: str) -> dict[str, int]:
        return jobs(workflow.run("-n", *options, *changes, "--", cells))

    assert not planned()
    assert planned("max_tokens={chain-of-thought: 6, direct-answer: 4}")["generated_sweep"] == 1
    assert planned("backend=auto")["generated_sweep"] == 2


def test_a_backend_that_is_not_there_is_said_before_the_first_job(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    printed = Workflow(mini.source, tmp_path).run("-n", *options, "backend=vllm", check=False)
    assert (
        "config key `backend`: vLLM is not installed; `make envs ENVS=generation` installs it "
        "(without a GPU: ENVS=generation-cpu)"
    ) in printed
    assert "Traceback" not in printed and not jobs(printed)
