"""Which Python the workflow's jobs are run with."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml

from workflow.conftest import Workflow, copy_sources, jobs

pytestmark = pytest.mark.workflow
SCRIPT = re.compile(r"^ *(?:OMP_NUM_THREADS=\d+ )?(\S+) -m scripts\.(\w+) (.*(?:\n +.*)*)", re.M)


def make(source: Path, *names: str) -> None:
    """What `make envs` leaves, as far as a dry run looks at it."""
    for name in names:
        (source / ".envs" / name / "bin").mkdir(parents=True)
        (source / ".envs" / name / "installed").touch()


def pythons(source: Path, printed: str) -> dict[tuple[str, str], set[str]]:
    """(script, checkpoint) -> the environments whose Python runs it; `python` is the active one."""
    found: dict[tuple[str, str], set[str]] = {}
    for python, script, rest in SCRIPT.findall(printed):
        checkpoint = re.search(r"--checkpoint (\S+)", rest)
        taken = python.removeprefix(f"{source}/.envs/").removesuffix("/bin/python")
        found.setdefault((script, checkpoint[1] if checkpoint else ""), set()).add(taken)
    return found


def test_each_job_takes_the_environment_of_its_rule_and_checkpoint(tmp_path: Path) -> None:
    source = copy_sources(tmp_path / "clone")
    hub = {"source": {"hub": "org/name", "revision": "0" * 40}}
    common = {"family": "F", "params_b": 1, "training": "base"}
    cohort = yaml.safe_load((source / "workflow" / "cohorts" / "mini.yaml").read_text())
    cohort["checkpoints"] = [
        {**cohort["checkpoints"][0], "name": "embedded"},
        {"name": "plain", **common, **hub},
        {"name": "phi", **common, **hub, "environment": "inference-phi3"},
    ]
    every = {"checkpoints": "all", "benchmarks": ["facts_k2"]}
    cohort["readouts"] = {"first-token": every, "direct-answer": every}
    path = tmp_path / "cohort.yaml"
    path.write_text(json.dumps(cohort))
    make(source, "data", "inference-gguf", "inference-phi3", "generation-cpu", "paper")
    (tmp_path / "out").mkdir()
    workflow = Workflow(source, tmp_path / "out")
    config = ("--config", f"cohort={path}", "noise_floor=[alone, vllm]")
    found = pythons(source, workflow.run("-n", "-p", *config, "--", "all"))
    assert found["benchmark_items", ""] == {"data"} and found["paper", ""] == {"paper"}
    assert found["table", ""] == found["figure", ""] == {"python"}  # not made
    for checkpoint, own in [
        ("embedded", "inference-gguf"),
        ("plain", "python"),
        ("phi", "inference-phi3"),
    ]:
        assert found["prepare_checkpoint", checkpoint] == {own}
        # The sweep and its re-reads; one of them by vLLM.
        assert found["first_token_sweep", checkpoint] == {own, "generation-cpu"}
    # vLLM where it was made, but a converted checkpoint stays where it was converted.
    answered = {c: found["generated_sweep", c] for c in ("embedded", "plain", "phi")}
    assert answered == {
        "embedded": {"inference-gguf"}, "plain": {"generation-cpu"}, "phi": {"generation-cpu"},
    }  # fmt: skip
    cohort["checkpoints"][2]["environment"] = "phi3"
    path.write_text(json.dumps(cohort))
    printed = workflow.run("-n", *config, check=False)
    told = "checkpoint phi: `environment`: there is no envs/phi3.yaml (there are closed, data, figures,"
    assert told in printed and "Traceback" not in printed


def test_an_environment_is_no_reason_to_make_anything_anew(
    mini: Workflow, options: tuple[str, ...]
) -> None:
    assert not jobs(mini.run("-n", *options))
    try:
        make(mini.source, "data", "inference-gguf", "statistics", "figures", "paper")
        assert not jobs(mini.run("-n", *options))
    finally:
        shutil.rmtree(mini.source / ".envs")
