"""Files of the Hugging Face hub: its own client, asked of a local server that speaks like the hub."""

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mirrors import Hub
from optionbias.benchmarks.mmlu_pro import HUB
from optionbias.data_lock import DataLock
from optionbias.provenance import ROOT

assert HUB.hub is not None
FIRST, LATER = "a" * 40, "b" * 40
OLD, NEW = random.Random(1).randbytes(5000), random.Random(2).randbytes(6000)
TOKEN = "hf_" + "Secret" * 5
ABOUT = f"/api/datasets/{HUB.hub.dataset}/revision/main"
# The client reads its settings when it is imported: each fetch is a process of its own.
FETCH = """
import sys
from pathlib import Path
from optionbias import fetch, logs
from optionbias.benchmarks import mmlu_pro
from optionbias.data_lock import DataLock

def main():
    store, mirror = Path("store"), sys.argv[1] if len(sys.argv) > 1 else None
    lock = DataLock(Path("data.lock"))
    fetched = fetch.fetch_all(mmlu_pro.BENCHMARK, (mmlu_pro.HUB,), store, lock, mirror, backoff=0)
    fetch.write_manifest(Path("manifest.json"), "mmlu_pro", fetched)

logs.run(main, Path("log"))
"""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def resolve(commit: str) -> str:
    assert HUB.hub is not None
    return f"/datasets/{HUB.hub.dataset}/resolve/{commit}/{HUB.hub.path}"


@pytest.fixture
def hub() -> Iterator[Hub]:
    assert HUB.hub is not None
    with Hub() as server:
        assert server.dataset == HUB.hub.dataset
        server.commits = {FIRST: {HUB.hub.path: OLD}, LATER: {HUB.hub.path: NEW}}
        server.branches = {"main": FIRST}
        yield server


class Machine:
    """A folder that has its own store, data lock and cache of the client."""

    def __init__(self, folder: Path, endpoint: str) -> None:
        self.folder, self.endpoint = folder, endpoint
        self.file = folder / "store" / "mmlu_pro" / "raw" / HUB.name
        self.lock = DataLock(folder / "data.lock")

    def fetch(self, *mirror: str, **settings: str) -> str:
        """Fetch; return the line that it fails with, '' if it does not."""
        inherited = {name: v for name, v in os.environ.items() if not name.startswith("HF_")}
        env = {
            **inherited, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1",
            "HF_ENDPOINT": self.endpoint, "HF_HOME": str(self.folder / "cache"),
            "HF_TOKEN": TOKEN, **settings,
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", FETCH, *mirror],
            cwd=self.folder, env=env, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        # Neither in a message, nor in the log with its tracebacks.
        shown = done.stdout + done.stderr + (self.folder / "log").read_text()
        assert "Secret" not in shown
        errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == (done.returncode != 0), done.stderr
        assert not errors or done.stderr.endswith(f"{errors[0]}\n")
        assert not (errors and self.file.exists())
        return errors[0] if errors else ""


@pytest.fixture
def machine(tmp_path: Path, hub: Hub) -> Machine:
    return Machine(tmp_path, hub.url)


def asked(hub: Hub) -> list[str]:
    """Which addresses were asked for since the last call, each once."""
    paths = list(dict.fromkeys(request.path for request in hub.asked))
    hub.asked.clear()
    return paths


def test_the_commit_of_a_branch_is_recorded_and_asked_for_from_then_on(
    machine: Machine, hub: Hub, tmp_path: Path
) -> None:
    assert machine.fetch() == ""
    assert machine.file.read_bytes() == OLD
    entry = machine.lock.entry(f"mmlu_pro/{HUB.name}")
    assert entry is not None and (entry.sha256, entry.revision) == (sha256(OLD), FIRST)
    (told,) = json.loads((tmp_path / "manifest.json").read_text())["files"]
    assert (told["sha256"], told["revision"]) == (sha256(OLD), FIRST)
    # The token is for the hub alone.
    assert {a.headers["authorization"] for a in hub.asked} == {f"Bearer {TOKEN}"}
    assert asked(hub) == [ABOUT, resolve(FIRST)]

    # What is in the store is not asked for.
    assert machine.fetch() == "" and asked(hub) == []

    # In a clone on another machine, when the branch has moved on: the recorded commit.
    hub.branches["main"] = LATER
    (tmp_path / "clone").mkdir()
    clone = Machine(tmp_path / "clone", hub.url)
    clone.lock.path.write_bytes(machine.lock.path.read_bytes())
    assert clone.fetch() == ""
    assert clone.file.read_bytes() == OLD and asked(hub) == [resolve(FIRST)]
    assert clone.lock.path.read_bytes() == machine.lock.path.read_bytes()


def test_another_file_than_the_recorded_one(machine: Machine, hub: Hub) -> None:
    # Recorded from a mirror, so without a commit; the branch has another file.
    machine.lock.record(f"mmlu_pro/{HUB.name}", sha256(NEW), None)
    error = machine.fetch()
    for told in (
        f"mmlu_pro/{HUB.name}: ", HUB.address, FIRST, sha256(OLD), sha256(NEW), "data.lock",
    ):  # fmt: skip
        assert told in error
    # When the branch has it, its commit is known.
    hub.branches["main"] = LATER
    assert machine.fetch() == ""
    assert machine.file.read_bytes() == NEW


def test_a_damaged_file_in_the_cache_of_the_client(machine: Machine, hub: Hub) -> None:
    assert machine.fetch() == ""
    (blob,) = (machine.folder / "cache").rglob(f"blobs/{sha256(OLD)}")
    blob.chmod(0o644)
    blob.write_bytes(OLD[:-1])
    machine.file.unlink()
    assert machine.fetch() == ""
    assert machine.file.read_bytes() == OLD


def test_without_a_connection_what_the_client_has_is_enough(machine: Machine, hub: Hub) -> None:
    error = machine.fetch(HF_HUB_OFFLINE="1")
    assert "OfflineModeIsEnabled" in error and "`mirror` can name another place" in error
    assert asked(hub) == []
    assert machine.fetch() == ""
    machine.file.unlink()
    asked(hub)
    assert machine.fetch(HF_HUB_OFFLINE="1") == "" and asked(hub) == []
    assert machine.file.read_bytes() == OLD


def test_a_mirror_is_read_instead(machine: Machine, hub: Hub, tmp_path: Path) -> None:
    place = tmp_path / "mirror" / "mmlu_pro" / "raw" / HUB.name
    place.parent.mkdir(parents=True)
    place.write_bytes(NEW)
    assert machine.fetch("mirror") == ""
    assert machine.file.read_bytes() == NEW and asked(hub) == []


@pytest.mark.parametrize(
    ("code", "word", "told"),
    [
        (401, "", "401"),
        (401, "RepoNotFound", "RepositoryNotFoundError"),
        (403, "GatedRepo", "GatedRepoError"),
        (404, "RevisionNotFound", "RevisionNotFoundError"),
    ],
)
def test_a_refusal_is_one_line(machine: Machine, hub: Hub, code: int, word: str, told: str) -> None:
    hub.errors = [(code, word)]
    error = machine.fetch()
    for part in (
        f"mmlu_pro/{HUB.name}: ", HUB.address, "at main", told, "`mirror` can name another place",
    ):  # fmt: skip
        assert part in error
    # Refused, not busy: asked once. Nothing is recorded.
    assert asked(hub) == [ABOUT] and not machine.lock.path.exists()


def test_a_file_that_the_data_set_lacks(machine: Machine, hub: Hub) -> None:
    hub.commits[FIRST].clear()
    error = machine.fetch()
    assert HUB.address in error and "EntryNotFound" in error
    assert not machine.lock.path.exists()


def test_a_busy_hub_is_asked_again(machine: Machine, hub: Hub) -> None:
    hub.errors = [(503, ""), (429, "")]
    assert machine.fetch() == ""
    assert machine.file.read_bytes() == OLD
    hub.errors = [(503, "")] * 9
    machine.file.unlink()
    machine.lock.path.unlink()
    hub.asked.clear()
    assert "503" in machine.fetch()
    # Five attempts, of which each asks for the commit first.
    assert [a.path for a in hub.asked] == [ABOUT] * 5


def test_a_token_that_cannot_be_sent_is_not_shown(machine: Machine, hub: Hub) -> None:
    for token in (f"{TOKEN}\x0bx", f"{TOKEN}\N{LATIN SMALL LETTER E WITH ACUTE}"):
        assert HUB.address in machine.fetch(HF_TOKEN=token)


def test_no_hub_at_the_other_end(tmp_path: Path) -> None:
    with Hub() as gone:
        pass
    error = Machine(tmp_path, gone.url).fetch()
    assert "ConnectError" in error and "`mirror` can name another place" in error
