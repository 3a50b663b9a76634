"""A closed model through the whole workflow: a scripted server with faults gives a known Table 13."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from chat_server import ChatServer, cut, status
from closed_cells import KEY, VARIABLE, letter_of, shown
from workflow.conftest import Workflow, copy_sources

pytestmark = pytest.mark.workflow
TABLE = "results/tables/table13.csv"
GOLD = [0, 1, 2, 3, 0]


class Script:
    """Five items by rule; of each call: the letter, and the content it stands for.

    Item 0: content 0 whatever the order.          never differs
    Item 1: letter A.                              contents 0, 3, 2, 1, again 0: three others differ
    Item 2: content 2, the second time content 3.  the repetition differs, no other ordering
    Item 3: content 3, but words when content 2 comes first (ordering 2): not usable
    Item 4: letter B.                              contents 1, 0, 3, 2, again 1: three others differ
    """

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, message: str) -> str:
        item, contents = shown(message)
        self.asked[message] += 1
        if item in (1, 4):
            return "A" if item == 1 else " B."
        if item == 3 and contents[0] == 2:
            return "It depends."
        content = 3 if item == 2 and self.asked[message] == 2 else (0, None, 2, 3)[item]
        assert content is not None
        return letter_of(content, message)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv(VARIABLE, raising=False)
    with ChatServer(Script()) as served:
        yield served


@pytest.fixture
def workflow(tmp_path: Path) -> Workflow:
    out = tmp_path / "out"
    out.mkdir()
    rows = [
        {"question": f"Which is right in {i}?", "options": [f"{i}-{j}" for j in range(4)], "answer": a}
        for i, a in enumerate(GOLD)
    ]  # fmt: skip
    (out / "exam.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Workflow(copy_sources(tmp_path / "source"), out)


def write_cohort(workflow: Workflow, server: ChatServer, **source: object) -> None:
    told = {"api": server.api, "model": "shut", "key": VARIABLE, "concurrency": 1, **source}
    cohort = {
        "name": "shut",
        "checkpoints": [
            {"name": "Shut", "family": "S", "training": "post", "closed": True, "source": told}
        ],
        "benchmarks": [{"name": "exam", "K": 4, "items": "exam.jsonl"}],
        "readouts": {"closed": {"checkpoints": "all", "benchmarks": "all"}},
    }
    (workflow.out / "shut.yaml").write_text(yaml.safe_dump(cohort))


def test_a_closed_model_from_calls_to_table_13(workflow: Workflow, server: ChatServer) -> None:
    # A reply costs a dollar, a prompt nothing.
    write_cohort(
        workflow, server, price={"input": 0, "output": 1e6}, request={"max_tokens": 1, "seed": 5}
    )
    options = ("--config", "cohort=shut.yaml", "draws=200")

    # Without its key nothing starts that needs it.
    printed = workflow.run("--cores", "1", *options, "--", TABLE, check=False)
    assert (
        f"environment variable {VARIABLE} is not set: it holds the key of {server.api}" in printed
    )
    assert "Traceback" not in printed
    assert not (workflow.out / "results" / "items").exists()
    workflow.run("--cores", "1", *options, "--", "results/items/exam.parquet")
    assert not server.bodies

    # A limit stops it; what was answered is kept.
    env = {VARIABLE: KEY}
    server.faults = [status(429, {"Retry-After": "0.2"}), status(500), cut]
    printed = workflow.run(
        "--cores", "1", *options, "cost_limit=12", "--", TABLE, check=False, **env
    )
    assert "cost_limit is USD 12 and USD 12 are spent" in printed
    assert "13 of 25 calls are left, at most about USD 13" in printed
    assert len(server.bodies) == 12 + 3

    # Without the limit the rest is asked, and nothing twice but ordering 0.
    workflow.run("--cores", "1", *options, "--", TABLE, **env)
    assert len(server.bodies) == 25 + 3
    assert sorted(server.answered.values()) == [1] * 15 + [2] * 5

    with (workflow.out / TABLE).open() as file:
        rows = {(r["row"], r["column"]): r for r in csv.DictReader(file)}
    found = {c: (float(r["value"]), int(r["n"])) for (row, c), r in rows.items() if row == "Shut"}
    expected = {
        # Of the sixteen answers to items 0, 1, 2, 4: four, one, four and one are right.
        "accuracy": (10 / 16, 4),
        "flip rate": (2 / 4, 4),
        # The answers of the two flipping items: half on A, half on B. SD of (.5, .5, 0, 0).
        "skew": (0.25, 4),
        "pooled SD": (0.125, 4),
        "repeat disagreement": (1 / 4, 4),
        "reorder disagreement": (6 / 12, 4),
        "reorder minus repeat": (1 / 4, 4),
        # 2K exp(-2 N t^2) with N = 4 and t = 1/8 is above one.
        "uniformity P after Holm": (1.0, 4),
    }
    assert set(found) == set(expected), sorted(found)
    for column, (value, n) in expected.items():
        assert found[column] == (pytest.approx(value, abs=1e-12), n), column

    replies = [
        json.loads(x) for x in (workflow.out / "results/replies/closed/exam/Shut.jsonl").open()
    ]
    assert Counter(reply["kind"] for reply in replies) == {"letter": 24, "other": 1}

    # Terms that change no answer make nothing anew (looking needs no key), and the key is nowhere.
    write_cohort(
        workflow, server, price={"input": 1, "output": 1}, concurrency=9,
        request={"max_tokens": 1, "seed": 5},
    )  # fmt: skip
    again = workflow.run("-n", *options, "cost_limit=99", "resume=false", "--", TABLE)
    assert "Nothing to be done" in again
    for path in workflow.out.rglob("*"):
        if path.is_file():
            text = path.read_bytes()
            assert KEY[:12].encode() not in text, path


def test_faults_of_a_source_are_said_before_anything_runs(
    workflow: Workflow, server: ChatServer
) -> None:
    """All of them, without the key that one of them is about."""
    write_cohort(workflow, server, key=KEY, api="https://u:p@host/v1")
    printed = workflow.run("-n", "--config", "cohort=shut.yaml", "cost_limit=1", check=False)
    for line in (
        "shut.yaml: checkpoint Shut: `source.api` is not an http(s) address",
        "shut.yaml: checkpoint Shut: `source.key` is not the name of an environment variable",
        "shut.yaml: checkpoint Shut: missing key `source.price` (needed by config key `cost_limit`)",
    ):
        assert line in printed
    assert KEY not in printed and "u:p" not in printed and "Traceback" not in printed
