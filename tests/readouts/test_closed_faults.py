"""The closed readout against a server with faults."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from chat_server import (
    ChatServer,
    broken_json,
    cut,
    hung_up,
    not_a_text,
    page,
    slow,
    status,
)
from closed_cells import VARIABLE, ask, count, journal
from mirrors import Handler
from optionbias.readouts.chat import ApiError

pytestmark = pytest.mark.usefixtures("surroundings")


@pytest.mark.parametrize(
    "fault",
    [
        status(429, {"Retry-After": "0.2"}), status(429, {"retry-after-ms": "150"}), status(429),
        status(500), status(503, {"Retry-After": "0"}), status(408), status(409),
        cut, hung_up, page, broken_json, not_a_text, slow(0.6),
    ],
    ids=["429-after", "429-ms", "429", "500", "503", "408", "409", "cut", "hung-up", "page", "broken", "bytes", "slow"],
)  # fmt: skip
def test_a_fault_that_passes(
    server: ChatServer, tmp_path: Path, fault: object, caplog: pytest.LogCaptureFixture
) -> None:
    """Asked again until it is answered, one line in the log each, and the same sweep."""
    caplog.set_level("INFO")
    server.faults = [fault, fault]
    start = time.monotonic()
    reading = ask(server, tmp_path, n=1, source={"timeout": 0.3})
    assert reading.sweep.choice.tolist() == [[0] * 5]
    assert count(server) == 7
    assert caplog.text.count("; again in ") == 2 and "(attempt 3 of 8)" in caplog.text
    if fault is not None and "Retry-After" in caplog.text:
        assert time.monotonic() - start >= 0.4


def test_retry_after_is_waited_for_by_all(server: ChatServer, tmp_path: Path) -> None:
    times: list[float] = []
    server.rule = lambda message: times.append(time.monotonic()) or "A"
    server.faults = [status(429, {"Retry-After": "0.5"})]
    start = time.monotonic()
    ask(server, tmp_path, n=2, source={"concurrency": 2})
    # The other thread's call was under way; no further one starts before the time is over.
    assert sum(t - start < 0.5 for t in times) <= 2
    assert len(times) == 11


def test_requests_per_minute(server: ChatServer, tmp_path: Path) -> None:
    start = time.monotonic()
    ask(server, tmp_path, n=1, source={"requests_per_minute": 600, "concurrency": 4})
    assert time.monotonic() - start >= 0.4  # five calls, a tenth of a second apart


def test_concurrency_is_bounded(server: ChatServer, tmp_path: Path) -> None:
    now, most, lock = [0], [0], threading.Lock()

    def rule(message: str) -> str:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        time.sleep(0.02)
        with lock:
            now[0] -= 1
        return "A"

    server.rule = rule
    ask(server, tmp_path, n=6, source={"concurrency": 3})
    assert most[0] == 3


def test_a_fault_that_stays(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optionbias.readouts.chat.ATTEMPTS", 3)
    server.faults = [status(503, message="no room")] * 3
    with pytest.raises(ApiError) as caught:
        ask(server, tmp_path)
    assert "checkpoint Shut: http://127.0.0.1" in str(caught.value)
    assert "3 attempts failed, the last with: HTTP 503: " in str(caught.value)
    assert "no room" in str(caught.value) and "\n" not in str(caught.value)
    assert count(server) == 3


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (400, "change `source.request`"),
        (401, f"check the key in environment variable {VARIABLE}"),
        (403, "may not use this model"),
        (404, "check `source.model` and `source.api`"),
        (422, "change `source.request`"),
    ],
)
def test_a_refusal_ends_the_job_at_once(
    server: ChatServer, tmp_path: Path, code: int, advice: str
) -> None:
    server.faults = [status(code, message="told so")]
    with pytest.raises(ApiError) as caught:
        ask(server, tmp_path)
    line = str(caught.value)
    assert f"HTTP {code}: " in line and "told so" in line and advice in line and "\n" not in line
    assert line.startswith(f"checkpoint Shut: {server.api}, model shut: ")
    assert count(server) == 1


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (status(429, {"Retry-After": "3600"}), "it asks to wait 3600 s: answers so far are kept"),
        (status(429, code="insufficient_quota"), "the account has no credit left"),
    ],
)
def test_a_limit_of_hours_is_not_waited_for(
    server: ChatServer, tmp_path: Path, fault: object, told: str
) -> None:
    server.faults = [fault]
    with pytest.raises(ApiError, match=told):
        ask(server, tmp_path)
    assert count(server) == 1


def test_a_prompt_that_the_filter_refuses(server: ChatServer, tmp_path: Path) -> None:
    """An answer about that item, not the end of the cell."""
    server.faults = [status(400, code="content_filter", message="blocked")]
    reading = ask(server, tmp_path, n=1)
    assert reading.sweep.choice.tolist() == [[-1, 0, 0, 0, 0]]
    assert reading.sweep.metadata["replies"]["filtered"] == 1
    assert "blocked" in reading.replies[0]["reply"]


def test_a_failure_keeps_what_was_in_flight(server: ChatServer, tmp_path: Path) -> None:
    """One call is refused while others wait for their answers: those are kept, no more are sent."""
    refused = threading.Event()

    def refuse(handler: Handler, content: bytes) -> None:
        deadline = time.monotonic() + 30
        while len(server.bodies) < 4 and time.monotonic() < deadline:
            time.sleep(0.01)
        status(401)(handler, content)
        refused.set()

    def late(handler: Handler, content: bytes) -> None:
        assert refused.wait(30)
        time.sleep(0.2)
        handler.reply(200, content, {"Content-Type": "application/json"})

    server.faults = [refuse, late, late, late]
    with pytest.raises(ApiError):
        ask(server, tmp_path, n=6, source={"concurrency": 4})
    asked = count(server)
    assert 4 <= asked <= 5
    assert len(journal(tmp_path).read_text().splitlines()) == asked - 1
