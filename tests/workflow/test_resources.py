"""What jobs ask for: on a cluster what a checkpoint needs, on one machine no more than there is."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import yaml

from invented_gpus import put_nvidia_smi
from workflow.conftest import ROOT, Workflow, copy_sources, jobs

pytestmark = pytest.mark.workflow
CLUSTER = ("--executor", "slurm", "--jobs", "4")
# The workflow's own limits around jobs that note when they ran.
TINY = f"""
config = {{"device": config.get("device", "auto")}}
include: "{ROOT}/workflow/rules/resources.smk"
print("limit", workflow.global_resources.get("gpu").value if "gpu" in workflow.global_resources else None)
rule all:
    input: expand("{{n}}.txt", n=range(4))
rule cell:
    output: "{{n}}.txt"
    resources: gpu=1
    shell: "date +%s.%N > {{output}}; sleep 0.5; date +%s.%N >> {{output}}"
"""


def limit(printed: str) -> str:
    found = re.search(r"^limit (\w+)$", printed, re.M)
    assert found is not None, printed
    return found[1]


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workflow:
    """A machine of two invented GPUs, and the workflow TINY."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    put_nvidia_smi(tmp_path, 2)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    (tmp_path / "Snakefile").write_text(TINY)
    (tmp_path / "out").mkdir()
    return Workflow(tmp_path, tmp_path / "out")


def test_a_local_run_starts_no_more_gpu_cells_than_there_are_gpus(tiny: Workflow) -> None:
    printed = tiny.run("--cores", "4")
    assert limit(printed) == "2"
    spans = [tuple(float(t) for t in path.read_text().split()) for path in tiny.out.glob("?.txt")]
    together = [sum(a <= start < b for a, b in spans) for start, _ in spans]
    assert len(spans) == 4 and max(together) == 2


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--cores", "4", "--resources", "gpu=1"), "1"),  # what is said counts
        (CLUSTER, "None"),
        # What a cluster's job starts on its node: GPUs there are its own.
        (("--cores", "4", "--mode", "remote"), "None"),
    ],
)
def test_the_limit_is_that_of_a_local_run(
    tiny: Workflow, arguments: tuple[str, ...], expected: str
) -> None:
    assert limit(tiny.run("-n", *arguments)) == expected


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    out = tmp_path / "out"
    out.mkdir()
    checkpoints = [
        {
            "name": name, "family": "F", "params_b": params_b, "training": "base",
            "source": {"hub": f"org/{name}", "revision": "0" * 40},
        }
        for name, params_b in (("small", 0.25), ("large", 72))
    ]  # fmt: skip
    everything = {"checkpoints": "all", "benchmarks": "all"}
    cohort = {
        "name": "sizes",
        "checkpoints": checkpoints,
        "benchmarks": [{"name": "facts_k4", "K": 4}],
        "readouts": {"first-token": everything, "chain-of-thought": everything},
    }
    (out / "sizes.yaml").write_text(yaml.safe_dump(cohort))
    return Workflow(copy_sources(tmp_path / "source"), out)


def asked(workflow: Workflow, *arguments: str, **environment: str) -> dict[str, dict[str, str]]:
    """Output of each job of a dry run -> what it asks for, `threads` among it."""
    printed = workflow.run("-n", "sweeps", *arguments, **environment)
    found = {}
    for block in re.split(r"\n(?=\[)", printed):
        output = re.search(r"^    output: (\S+?),?(?: |$)", block, re.M)
        resources = re.search(r"^    resources: (.*)$", block, re.M)
        threads = re.search(r"^    threads: (\d+)$", block, re.M)
        if output:
            pairs = resources[1].split(", ") if resources else []
            found[output[1]] = dict(pair.split("=", 1) for pair in pairs)
            found[output[1]]["threads"] = threads[1] if threads else "1"
    return found


def cell(found: dict[str, dict[str, str]], readout: str, checkpoint: str) -> dict[str, str]:
    return found[f"results/sweeps/{readout}/facts_k4/{checkpoint}.parquet"]


def test_a_cluster_is_asked_for_what_each_checkpoint_needs(workflow: Workflow) -> None:
    # A dry run has one core, of which threads are, unless more are said; a run on a cluster has no such limit.
    again = [
        f"results/sweeps/noise/{variant}/first-token/facts_k4/large.parquet"
        for variant in ("alone", "float32")
    ]
    options = (*CLUSTER, "--cores", "8", "--config", "cohort=sizes.yaml", "noise_floor=true")
    found = asked(workflow, *again, *options)
    small, large = (cell(found, "first-token", name) for name in ("small", "large"))
    assert (small["gpu"], small["mem_mb"], small["runtime"]) == ("1", "8550", "242")
    assert (large["gpu"], large["mem_mb"], large["runtime"]) == ("2", "87200", "672")
    assert small["threads"] == large["threads"] == "4"
    assert (large["nodes"], large["gres"]) == ("1", "")
    assert cell(found, "chain-of-thought", "large")["gpu"] == "2"
    assert cell(found, "noise/alone/first-token", "large")["gpu"] == "2"
    # Read again in float32 it takes twice the memory.
    assert cell(found, "noise/float32/first-token", "large")["gpu"] == "4"


def test_a_local_run_without_gpus_asks_for_none(workflow: Workflow, tmp_path: Path) -> None:
    config = ("--cores", "1", "--config", "cohort=sizes.yaml")
    for more in ({"CUDA_VISIBLE_DEVICES": ""}, {"CUDA_VISIBLE_DEVICES": "-1"}):
        small = cell(asked(workflow, *config, **more), "first-token", "small")
        assert (small["gpu"], small["mem_mb"], small["threads"]) == ("0", "5000", "1")


def test_the_profile_of_gres_asks_for_them_by_name(workflow: Workflow) -> None:
    profile = ("--profile", str(ROOT / "workflow" / "profiles" / "slurm-gres"))
    found = asked(workflow, *profile, "--config", "cohort=sizes.yaml", "device=cuda")
    small, large = (cell(found, "first-token", name) for name in ("small", "large"))
    assert (small["gpu"], small["gres"]) == ("0", "gpu:1")
    assert (large["gpu"], large["gres"]) == ("0", "gpu:2")
    smaller = ("cohort=sizes.yaml", "gpu_memory_gb=40", "gres=gpu:a100")
    found = asked(workflow, *profile, "--config", *smaller)
    assert cell(found, "chain-of-thought", "large")["gres"] == "gpu:a100:4"


def test_preflight_knows_that_jobs_run_elsewhere(workflow: Workflow) -> None:
    """Run from a cluster's profile; the rule itself runs here."""
    config, offline = ("--config", "cohort=sizes.yaml"), {"HF_HUB_OFFLINE": "1"}
    here = workflow.run("--cores", "1", "preflight", *config, **offline)
    assert "cohort sizes cannot run on this machine" in here
    soon = ("--slurm-init-seconds-before-status-checks", "1")
    there = workflow.run(*CLUSTER, *soon, "preflight", *config, **offline)
    assert "# Preflight: cohort sizes" in there and "cannot run on this machine" not in there


@pytest.mark.model
def test_nothing_of_it_is_a_reason_to_run_again(mini: Workflow, options: tuple[str, ...]) -> None:
    """Other cards, other numbers of them, more threads: `mini` stays as it is."""
    given = (*options, "gpu_memory_gb=16", "threads=2")
    printed = mini.run("-n", *given, CUDA_VISIBLE_DEVICES="0,1,2")
    assert "Nothing to be done" in printed
    assert not jobs(printed)
