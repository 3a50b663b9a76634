"""A mirror of synthetic files, a cohort that asks for them, and runs of it without a network."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from workflow.conftest import Workflow, planned

PRO, PRO_POOL = "mmlu_pro/raw/hub/test.parquet", "mmlu_pro/raw/hub/validation.parquet"
TRUTHFUL = "truthfulqa_mc1/raw/hub/validation.parquet"
# Every address is refused and written down; local sockets are not the network.
NO_NETWORK = """\
import os, socket
_connect = socket.socket.connect
def refuse(*address, **_):
    with open(os.environ["REFUSED"], "a") as file:
        print(address, file=file)
    raise OSError("no network in tests")
def connect(self, address):
    return _connect(self, address) if self.family == socket.AF_UNIX else refuse(address)
socket.socket.connect, socket.getaddrinfo = connect, refuse
"""


def write_mirror(folder: Path) -> None:
    """Files in the hub's form.

    MMLU-Pro: twelve test rows, of which row 3 has nine options, row 5 a blank at its gold option and
    row 7 an empty option; eight validation rows, the last of which repeats test row 0.
    TruthfulQA: nine rows of four options and one of five, the gold first in all.
    """

    def options(row: int, n: int = 10) -> list[str]:
        return [f"option {j} of {row}" for j in range(n)]

    def pro(row: int, n: int = 10) -> dict[str, Any]:
        return {
            "question_id": row, "question": f"What is {row}?", "options": options(row, n),
            "answer_index": row % 9, "category": "math",
        }  # fmt: skip

    test = [pro(row, 9 if row == 3 else 10) for row in range(12)]
    test[5]["options"][5] += " "
    test[7]["options"][0] = ""
    validation = [pro(row) for row in range(100, 107)] + [{**test[0], "question_id": 107}]
    truthful = [
        {
            "question": f"Is {row} so?",
            "mc1_targets": {"choices": options(row, n), "labels": [1] + [0] * (n - 1)},
        }
        for row, n in enumerate([4] * 9 + [5])
    ]
    for path, rows in ((PRO, test), (PRO_POOL, validation), (TRUTHFUL, truthful)):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).to_parquet(folder / path)


def write_cohort(out: Path, **changes: object) -> str:
    """A cohort whose checkpoint is there but is not loaded where only data are made."""
    (out / "model").mkdir(parents=True, exist_ok=True)
    (out / "model" / "config.json").write_text("{}")
    (out / "model" / "model.safetensors").touch()
    cohort = {
        "name": "few",
        "checkpoints": [
            {"name": "A", "family": "F", "params_b": 0.1, "training": "post", "source": {"path": "model"}}
        ],
        "benchmarks": [
            {"name": "mmlu_pro", "K": 10, "variant": "hub"},
            {"name": "truthfulqa_mc1", "K": 4, "variant": "hub"},
            {"name": "facts_k4", "K": 4},
        ],
        "readouts": {
            "first-token": {"checkpoints": "all", "benchmarks": "all", "items": 8},
            "five-shot": {"checkpoints": "all", "benchmarks": ["mmlu_pro", "facts_k4"], "items": 6},
        },
    }  # fmt: skip
    (out / "few.yaml").write_text(yaml.safe_dump({**cohort, **changes}))
    return "cohort=few.yaml"


DATA = ("--", "data", "mirror")


@dataclass
class Run:
    """A run of `data` and `mirror`, what it printed, and the environment without a network."""

    workflow: Workflow
    mirror: Path
    env: dict[str, str]
    printed: str = ""

    @property
    def lock(self) -> Path:
        return self.workflow.source / "workflow" / "data.lock"

    @property
    def results(self) -> Path:
        return self.workflow.out / "results"

    def plan(self, *config: str) -> set[tuple[str, str]]:
        """What a further run would do."""
        return planned(self.workflow.run("-n", "--config", "cohort=few.yaml", *config, *DATA))


def fresh(run: Run, out: Path) -> Workflow:
    """The same clone with another folder for its outputs."""
    write_cohort(out)
    return Workflow(run.workflow.source, out)
