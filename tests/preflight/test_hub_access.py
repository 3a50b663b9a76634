"""What the hub says of checkpoints: its own client, asked of a local server that speaks like the hub."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mirrors import Handler, Server
from optionbias.preflight.hub_access import Access
from optionbias.provenance import ROOT

TOKEN = "hf_" + "Secret" * 5
# The client reads its settings when it is imported: each question is a process of its own.
ASK = """
import json, sys
from dataclasses import asdict
from optionbias.preflight import hub_access
said = hub_access.ask([tuple(pair) for pair in json.loads(sys.argv[1])])
print(json.dumps({"token": hub_access.has_token(), **{k: asdict(v) for k, v in said.items()}}))
"""


class Models(Server):
    """Repositories of models: gated or not, readable for the token or not, with sized files."""

    def __init__(self) -> None:
        super().__init__()
        self.gated: dict[str, str | bool] = {}
        self.sizes: dict[str, dict[str, int]] = {}
        self.open_to: dict[str, str] = {}
        self.broken: set[str] = set()

    def answer(self, handler: Handler) -> None:
        path = handler.asked.path
        name = next((n for n in self.sizes if n in path), None)
        sent = handler.asked.headers.get("authorization", "").removeprefix("Bearer ")
        if name is None:
            return handler.reply(404, headers={"X-Error-Code": "RepoNotFound"})
        if name in self.broken:
            return handler.reply(503)
        if path.startswith("/api/models/"):
            assert "blobs=true" in path.lower()
            files = [{"rfilename": n, "size": s} for n, s in self.sizes[name].items()]
            told: dict[str, Any] = {
                "id": name, "sha": "a" * 40, "siblings": files, "tags": [], "gated": self.gated[name],
            }  # fmt: skip
            return handler.reply(200, json.dumps(told).encode())
        if self.gated[name] and sent != self.open_to.get(name, "nobody"):
            return handler.reply(403 if sent else 401, headers={"X-Error-Code": "GatedRepo"})
        headers = {"ETag": '"e"', "X-Repo-Commit": "a" * 40}
        handler.reply(200, b"{}", headers)


@pytest.fixture
def hub() -> Iterator[Models]:
    with Models() as server:
        server.gated = {"org/open": False, "org/mine": "auto", "org/theirs": "manual"}
        server.sizes = {name: {"config.json": 2} for name in server.gated}
        server.sizes["org/open"] |= {
            "model-1.safetensors": 3_000_000_000, "model-2.safetensors": 1_500_000_000,
            "consolidated.safetensors": 4_500_000_000, "pytorch_model.bin": 4_500_000_000,
        }  # fmt: skip
        server.open_to = {"org/mine": TOKEN}
        yield server


def ask(endpoint: str, home: Path, names: list[str], **settings: str) -> dict[str, Any]:
    inherited = {name: v for name, v in os.environ.items() if not name.startswith("HF_")}
    env = {
        **inherited, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1",
        "HF_ENDPOINT": endpoint, "HF_HOME": str(home), **settings,
    }  # fmt: skip
    pairs = json.dumps([(name, "main") for name in names])
    done = subprocess.run(
        [sys.executable, "-c", ASK, pairs], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert "Secret" not in done.stdout + done.stderr
    found = json.loads(done.stdout)
    return {k: v if k == "token" else Access(**v) for k, v in found.items()}


def test_gating_sizes_and_what_the_token_may_read(hub: Models, tmp_path: Path) -> None:
    said = ask(hub.url, tmp_path, [*hub.gated, "org/gone"], HF_TOKEN=TOKEN)
    assert said == {
        "token": True,
        # Only what is loaded counts: neither the second copy of the weights nor another format.
        "org/open": Access(False, True, 4.5),
        "org/mine": Access(True, True, None),
        "org/theirs": Access(True, False, None),
        "org/gone": Access(None, False, None),
    }
    # Each question once.
    paths = [asked.path for asked in hub.asked if "org/" in asked.path]
    assert len(paths) == len(set(paths)) == 8


def test_without_a_token_what_is_gated_may_not_be_read(hub: Models, tmp_path: Path) -> None:
    said = ask(hub.url, tmp_path, ["org/open", "org/mine"])
    assert said["token"] is False
    assert (said["org/open"].readable, said["org/mine"].readable) == (True, False)


def test_what_the_hub_cannot_answer_is_unknown(hub: Models, tmp_path: Path) -> None:
    hub.broken = {"org/mine"}
    said = ask(hub.url, tmp_path, ["org/mine", "org/open"], HF_TOKEN=TOKEN)
    assert said["org/mine"] == Access() and said["org/open"].readable


def test_offline_everything_is_unknown_at_once(hub: Models, tmp_path: Path) -> None:
    names = [f"org/{n}" for n in range(41)]
    for endpoint, settings in ((hub.url, {"HF_HUB_OFFLINE": "1"}), ("http://127.0.0.1:9", {})):
        said = ask(endpoint, tmp_path, names, **settings)
        assert [said[name] for name in names] == [Access()] * 41
    assert not any("org/" in asked.path for asked in hub.asked)
