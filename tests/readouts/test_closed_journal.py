"""The closed readout: the journal of calls, and what was paid."""

from __future__ import annotations

from pathlib import Path

import pytest

from chat_server import (
    ChatServer,
)
from closed_cells import ask, cell, count, endpoint, journal
from optionbias.readouts.calls import CallJournal, CostLimitError, JournalError
from optionbias.readouts.closed import calls_of
from optionbias.sweep import write_sweep

pytestmark = pytest.mark.usefixtures("surroundings")


def test_a_finished_cell_is_never_asked_again(server: ChatServer, tmp_path: Path) -> None:
    first = ask(server, tmp_path)
    again = ask(server, tmp_path)
    assert count(server) == 15
    assert again.replies == first.replies
    for name in ("a", "b"):
        write_sweep(tmp_path / name, (first if name == "a" else again).sweep)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    ask(server, tmp_path, n=4)
    assert count(server) == 20  # one more item: five calls
    ask(server, tmp_path, resume=False)
    assert count(server) == 35


@pytest.mark.parametrize(
    "source", [{"model": "other"}, {"request": {"max_tokens": 2}}, {"request": {"seed": 1}}]
)
def test_another_request_is_another_call(
    server: ChatServer, tmp_path: Path, source: dict[str, object]
) -> None:
    ask(server, tmp_path, n=1)
    ask(server, tmp_path, n=1, source={"concurrency": 3, "timeout": 9, "requests_per_minute": 1e5})
    assert count(server) == 5  # how it is asked is not what is asked
    ask(server, tmp_path, n=1, source=source)
    assert count(server) == 10


def test_a_torn_line_is_asked_again(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Every place at which a write can be torn; a line of nonsense in the middle as well."""
    caplog.set_level("INFO")
    ask(server, tmp_path, n=1)
    whole = journal(tmp_path).read_bytes()
    lines = whole.splitlines(keepends=True)
    start = len(whole) - len(lines[-1])
    for end in {start, start + 1, start + len(lines[-1]) // 2, len(whole) - 1}:
        before = count(server)
        journal(tmp_path).write_bytes(whole[:end])
        ask(server, tmp_path, n=1)
        assert count(server) == before + 1
        assert len(journal(tmp_path).read_bytes().splitlines()) == 5
    assert "the last line is not whole" in caplog.text
    before = count(server)
    journal(tmp_path).write_bytes(b"".join([lines[0], b"\0\0{nonsense\n", *lines[2:]]))
    ask(server, tmp_path, n=1)
    assert count(server) == before + 1
    assert "line 2 is no call" in caplog.text


def test_two_jobs_of_one_cell(server: ChatServer, tmp_path: Path) -> None:
    with CallJournal(journal(tmp_path)), pytest.raises(JournalError, match="another job is asking"):
        ask(server, tmp_path)
    ask(server, tmp_path)


def test_the_cost_limit(server: ChatServer, tmp_path: Path) -> None:
    """A call costs a dollar: one token of reply. The limit holds over cells, and can be raised."""
    price = {"input": 0, "output": 1e6}
    source = {"price": price, "request": {"max_tokens": 1}}
    with pytest.raises(CostLimitError) as caught:
        ask(server, tmp_path, n=2, source=source, cost_limit=4.5)
    assert count(server) == 4
    assert str(caught.value) == (
        "closed exam Shut: cost_limit is USD 4.5 and USD 4 are spent, so the next call could exceed "
        "it; 6 of 10 calls are left, at most about USD 6; answers so far are kept: raise the limit "
        "and run the same command again, for example --config cost_limit=11"
    )
    with pytest.raises(CostLimitError):
        ask(server, tmp_path, n=2, source=source, cost_limit=4.5)
    assert count(server) == 4
    (tmp_path / "closed" / "other.jsonl").write_text('{"key": "k", "usd": 3}\n{"key": "l", "us')
    with pytest.raises(CostLimitError, match="USD 7 are spent"):
        ask(server, tmp_path, n=2, source=source, cost_limit=7)
    assert count(server) == 4
    ask(server, tmp_path, n=2, source=source, cost_limit=13)
    assert count(server) == 10


def test_calls_in_flight_count_for_the_limit(server: ChatServer, tmp_path: Path) -> None:
    server.delay = 0.05
    source = {"price": {"input": 0, "output": 1e6}, "request": {"max_tokens": 1}, "concurrency": 8}
    with pytest.raises(CostLimitError):
        ask(server, tmp_path, n=6, source=source, cost_limit=10)
    assert count(server) <= 10


def test_what_is_about_to_be_asked_is_logged(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    ask(server, tmp_path, n=2, source={"price": {"input": 2, "output": 8}}, cost_limit=1)
    text = "".join(call.messages[0]["content"] for call in calls_of(cell(2), endpoint(server)))
    assert "closed exam Shut: 10 calls to shut at http://127.0.0.1" in caplog.text
    tokens = 10 * round(len(text) / 10 / 3.5)
    dollars = (2 * tokens + 8 * 160) / 1e6
    assert f"about {tokens} tokens of prompts and at most 160 of replies" in caplog.text
    assert f"at most about USD {dollars:.4g}; USD 0 are spent, the limit is USD 1" in caplog.text
