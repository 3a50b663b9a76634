"""The script of the closed readout: kills, and secrets that are never written."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from chat_server import (
    ChatServer,
    echo,
    status,
)
from closed_cells import KEY, VARIABLE, ask, count, items, journal, shown
from mirrors import Handler
from optionbias.endpoint import KeyMissingError
from optionbias.items import write_items
from optionbias.readouts.chat import ApiError
from optionbias.sweep import read_sweep

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("surroundings")


def command(server: ChatServer, folder: Path, n: int, **source: object) -> list[str]:
    write_items(folder / "items.parquet", items(n))
    told = {"api": server.api, "model": "shut", "key": VARIABLE, "concurrency": 1, **source}
    return [
        sys.executable, "-m", "scripts.closed_sweep", "--readout", "closed", "--benchmark", "exam",
        "--checkpoint", "Shut", "--k", "4", "--items", str(folder / "items.parquet"),
        "--source", json.dumps(told), "--journal", str(folder / "closed"),
        "--output", str(folder / "Shut.parquet"), "--replies", str(folder / "Shut.jsonl"),
        "--log", str(folder / "Shut.log"),
    ]  # fmt: skip


def run(command: list[str], **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **env}, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize("signal", ["KILL", "TERM"])
def test_a_killed_job_asks_no_answered_call_again(
    server: ChatServer, tmp_path: Path, signal: str
) -> None:
    server.delay = 0.03
    line = command(server, tmp_path, 8)
    job = subprocess.Popen(line, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not journal(tmp_path).exists() or journal(tmp_path).read_bytes().count(b"\n") < 13:
        assert job.poll() is None
        time.sleep(0.005)
    job.kill() if signal == "KILL" else job.terminate()
    assert job.wait() == (-9 if signal == "KILL" else 143)
    kept = journal(tmp_path).read_bytes().count(b"\n")
    assert 13 <= kept < 40
    time.sleep(0.1)
    before = count(server)
    server.delay = 0.0
    done = run(line)
    assert done.returncode == 0, done.stderr
    assert count(server) - before == 40 - kept
    # The call in flight at a kill may be asked twice; ended politely, none is.
    assert count(server) <= (41 if signal == "KILL" else 40)
    assert read_sweep(tmp_path / "Shut.parquet").choice.shape == (8, 5)
    assert f"({kept} more are in the journal)" in done.stderr


def page_of_headers(handler: Handler, content: bytes) -> None:
    handler.reply(200, str(handler.headers).encode())


def everything_written(folder: Path, done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Every file that a job wrote, and what it printed, by place."""
    files = {str(p): p.read_bytes().decode("latin-1") for p in folder.rglob("*") if p.is_file()}
    assert (folder / "Shut.log").is_file()
    return {"out": done.stdout, "err": done.stderr, **files}


@pytest.mark.parametrize("case", ["answered", "refused", "missing"])
def test_the_key_is_nowhere(server: ChatServer, tmp_path: Path, case: str) -> None:
    """Neither it nor a longer part of it: printed, logged, stored, whatever a server echoes."""
    env = {"OPENAI_LOG": "debug"}
    if case == "answered":
        server.faults = [
            echo(429), page_of_headers, echo(500),
            status(400, code="content_filter", message=f"no {KEY[:30]}"),
        ]  # fmt: skip
        server.rule = lambda m: f"is it {KEY}?" if shown(m)[1][0] == 1 else "A"
        server.change = lambda whole: {**whole, "model": KEY, "system_fingerprint": f"x{KEY}"}
    elif case == "refused":
        server.faults = [echo(401)]
    else:
        env[VARIABLE] = ""
    done = run(command(server, tmp_path, 1), **env)
    assert (done.returncode == 0) == (case == "answered"), done.stderr
    for place, text in everything_written(tmp_path, done).items():
        assert KEY[:12] not in text and KEY[-12:] not in text, place
    if case == "answered":
        assert done.stderr.count("[key]") >= 3  # they were echoed, and logged
        assert "is it [key]?" in (tmp_path / "Shut.jsonl").read_text()
    else:
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
        assert VARIABLE in line
        assert count(server) == (case == "refused")


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422, 503])
def test_no_error_carries_the_key(
    server: ChatServer, tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optionbias.readouts.chat.ATTEMPTS", 2)
    server.faults = [echo(code)] * 2
    with pytest.raises(ApiError) as caught:
        ask(server, tmp_path, n=1)
    told = "".join(traceback.format_exception(caught.value))
    assert "[key]" in told and KEY[:12] not in told and KEY[-12:] not in told


@pytest.mark.parametrize("value", ["", "  ", f"{KEY}\n{KEY}", f"{KEY} x", f"{KEY}ä", f"{KEY}\x07"])
def test_a_key_that_no_request_can_carry(
    server: ChatServer, tmp_path: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(KeyMissingError) as caught:
        ask(server, tmp_path)
    assert str(caught.value).startswith(f"environment variable {VARIABLE} is ")
    assert KEY[:8] not in str(caught.value) and count(server) == 0
