"""A user's own checkpoint and benchmark, and what they are told when a file is faulty."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml

from workflow.conftest import Workflow, copy_sources, jobs

pytestmark = pytest.mark.workflow
COUNTRIES = [("France", "Paris"), ("Japan", "Tokyo"), ("Egypt", "Cairo"), ("Peru", "Lima")]


def rows() -> list[dict[str, object]]:
    capitals = [capital for _, capital in COUNTRIES]
    return [
        {"question": f"What is the capital of {country}?", "options": capitals, "answer": i}
        for i, (country, _) in enumerate(COUNTRIES)
    ]


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    out = tmp_path / "out"
    out.mkdir()
    return Workflow(copy_sources(tmp_path / "source"), out)


def write_cohort(workflow: Workflow, **changes: object) -> str:
    cohort = {
        "name": "own",
        "checkpoints": [
            {"name": "A", "family": "F", "params_b": 0.1, "training": "post", "source": {"path": "model"}}
        ],
        "benchmarks": [{"name": "exam", "K": 4, "items": "exam.jsonl"}],
        "readouts": {"first-token": {"checkpoints": "all", "benchmarks": "all"}},
    }  # fmt: skip
    (workflow.out / "own.yaml").write_text(yaml.safe_dump({**cohort, **changes}))
    return "cohort=own.yaml"


@pytest.mark.model
def test_a_local_checkpoint_and_three_kinds_of_file(mini: Workflow, workflow: Workflow) -> None:
    """JSONL, CSV and Parquet of the same items give the same sweep."""
    model = mini.out / "results" / "checkpoints" / "SmolLM2-135M-Instruct" / "model"
    (workflow.out / "model").symlink_to(model)
    lines = "".join(json.dumps(row) + "\n" for row in rows())
    (workflow.out / "exam.jsonl").write_text(lines)
    letters = [
        {**r, "answer": "ABCD"[i], "options": json.dumps(r["options"])}
        for i, r in enumerate(rows())
    ]
    pd.DataFrame(letters).to_csv(workflow.out / "exam.csv", index=False)
    pd.DataFrame(rows()).to_parquet(workflow.out / "exam.parquet")
    benchmarks = [
        {"name": name, "K": 4, "items": f"exam.{name}"} for name in ("jsonl", "csv", "parquet")
    ]
    cohort = write_cohort(workflow, benchmarks=benchmarks)
    workflow.run("--cores", "2", "--config", cohort, "draws=50", "repetitions=2")
    cells = pd.read_csv(workflow.out / "results" / "statistics" / "cells.csv")
    plain = cells[(cells["operation"] == "none") & (cells["subset"] == "all")]
    assert list(plain["benchmark"]) == ["csv", "jsonl", "parquet"]
    for column in ("accuracy", "flip_rate", "skew", "median_mass", "f"):
        assert plain[column].nunique() == 1

    # Content decides, not time: touched files rerun nothing, an edit with an old time does.
    time.sleep(1.1)
    for path in [*workflow.out.glob("exam.*"), *model.iterdir()]:
        path.touch()
    options = ("-n", "--config", cohort, "draws=50", "repetitions=2")
    assert "Nothing to be done" in workflow.run(*options)
    (workflow.out / "exam.jsonl").write_text(lines.replace("the capital of", "capital of"))
    os.utime(workflow.out / "exam.jsonl", (1, 1))
    planned = jobs(workflow.run(*options))
    assert planned["benchmark_items"] == planned["first_token_sweep"] == 1


def test_faulty_rows_are_all_listed_before_anything_runs(workflow: Workflow) -> None:
    good = json.dumps(rows()[0]).encode()
    (workflow.out / "exam.jsonl").write_bytes(
        b"\n".join(
            [
                good,
                b'{"question": "q", "options": ["a", "b", "c", "d"], "answer": 7}',
                b'{"question": "", "options": ["a", "b", "c", "d"], "answer": "A"}',
                b'{"question": "q", "options": ["a", "b", "c"], "answer": "A"}',
                b"\xff",
            ]
        )
    )
    printed = workflow.run("--cores", "1", "--config", write_cohort(workflow), check=False)
    assert "exam.jsonl: 4 faults" in printed
    for fault in (
        "line 2: answer 7 is out of range",
        "line 3: the question is empty",
        "line 4: 3 options where K is 4",
        "line 5: not UTF-8",
    ):
        assert fault in printed
    assert not (workflow.out / "results").exists()


def test_an_empty_benchmark_is_named(workflow: Workflow) -> None:
    (workflow.out / "exam.jsonl").write_text("\n")
    printed = workflow.run("-n", "--config", write_cohort(workflow), check=False)
    assert "benchmark exam: exam.jsonl" in printed and "no items" in printed


@pytest.mark.parametrize(
    ("config", "line"),
    [
        ("sed=3", "config (config.yaml or --config): unknown key `sed`"),
        ("draws=many", "config (config.yaml or --config): `draws` is 'many', not of type integer"),
        ("cohort=none-such", "config key `cohort`: 'none-such' is not a cohort of the workflow"),
        ("cohort=gone.yaml", "config key `cohort`: no such file: gone.yaml"),
        (
            "device=tpu",
            "config (config.yaml or --config): `device` is 'tpu', not one of auto, cpu, cuda",
        ),
        (
            "backend=ollama",
            "config (config.yaml or --config): `backend` is 'ollama', not one of auto, transformers, vllm",
        ),
    ],
)
def test_a_faulty_config_is_one_line(workflow: Workflow, config: str, line: str) -> None:
    printed = workflow.run("-n", "--config", config, check=False)
    assert line in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"checkpoint": []}, "own.yaml: unknown key `checkpoint`"),
        ({"benchmarks": [{"name": "exam", "K": "four"}]}, "own.yaml: `benchmarks.0.K` is 'four'"),
        ({"benchmarks": [{"name": "exam", "K": 4}]}, "own.yaml: benchmark exam: no `items`"),
        (
            {"checkpoints": [{"name": "A", "family": "F", "params_b": 1, "training": "base"}]},
            "own.yaml: checkpoint A: missing key `source`",
        ),
        (
            {"readouts": {"first-token": {"checkpoints": ["B"], "benchmarks": "all"}}},
            "own.yaml: `readouts.first-token.checkpoints`: B is not in the cohort",
        ),
        (
            {
                "checkpoints": [
                    {"name": n, "family": "F", "params_b": 1, "training": "base", "source": {"path": "m"}}
                    for n in ("Model-A", "model-a")
                ]
            },
            "own.yaml: `checkpoints`: the name model-a is used 2 times",
        ),
    ],
)  # fmt: skip
def test_a_faulty_cohort_is_one_line(
    workflow: Workflow, changes: dict[str, object], line: str
) -> None:
    (workflow.out / "exam.jsonl").write_text(json.dumps(rows()[0]) + "\n")
    printed = workflow.run("-n", "--config", write_cohort(workflow, **changes), check=False)
    assert line in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({}, "no config.json in broken"),
        ({"config.json": "{"}, "broken/config.json is not JSON"),
        ({"config.json": "{}", "tokenizer.json": "{}"}, "no weights (*.safetensors) in broken"),
    ],
)
def test_a_broken_checkpoint_folder_is_named_before_anything_runs(
    workflow: Workflow, files: dict[str, str], fault: str
) -> None:
    (workflow.out / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows()))
    (workflow.out / "broken").mkdir()
    for name, text in files.items():
        (workflow.out / "broken" / name).write_text(text)
    entry = {
        "name": "A",
        "family": "F",
        "params_b": 1,
        "training": "base",
        "source": {"path": "broken"},
    }
    cohort = write_cohort(workflow, checkpoints=[entry])
    printed = workflow.run("-n", "--config", cohort, check=False)
    assert f"checkpoint A: `source.path`: {fault}" in printed
    assert "Traceback" not in printed
