"""The closed readout against a local server: what is asked, kept, counted, and never printed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from chat_server import (
    ChatServer,
    broken_json,
    cut,
    echo,
    hung_up,
    not_a_text,
    page,
    slow,
    status,
)
from closed_cells import KEY, VARIABLE, ask, cell, endpoint, items, journal, letter_of, shown
from mirrors import Handler
from optionbias.closed import item_disagreements
from optionbias.endpoint import KeyMissingError
from optionbias.items import write_items
from optionbias.readouts.calls import CallJournal, CostLimitError, JournalError
from optionbias.readouts.chat import ApiError
from optionbias.readouts.closed import RepliesError, calls_of, question
from optionbias.sweep import read_sweep, write_sweep

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv(VARIABLE, KEY)
    for name in list(os.environ):
        if name.startswith("OPENAI_"):
            monkeypatch.delenv(name)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as served:
        yield served


def count(server: ChatServer) -> int:
    return len(server.bodies)


# What is asked.


def test_the_question_word_for_word() -> None:
    (item,) = items(1)
    assert question(item, np.array([1, 2, 3, 0])) == (
        "Reply with one letter only: A, B, C or D.\n\n"
        "Question: Which is right in 0?\nA. 0-3\nB. 0-0\nC. 0-1\nD. 0-2\nAnswer:"
    )
    assert question(items(1, 2)[0], np.array([0, 1])).startswith(
        "Reply with one letter only: A or B.\n\nQuestion:"
    )


def test_every_call_and_its_request(server: ChatServer, tmp_path: Path) -> None:
    """K cyclic orderings and ordering 0 again, for every item, with the defaults."""
    ask(server, tmp_path, n=2)
    contents = [shown(body["messages"][0]["content"]) for body in server.bodies]
    assert contents == [
        (i, order)
        for i in range(2)
        for order in ([0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0], [0, 1, 2, 3])
    ]
    for body, asked in zip(server.bodies, server.asked, strict=True):
        assert set(body) == {"model", "messages", "temperature", "max_tokens"}
        assert (body["model"], body["temperature"], body["max_tokens"]) == ("shut", 0, 16)
        assert [m["role"] for m in body["messages"]] == ["user"]
        assert asked.headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("request_options", "sent"),
    [
        ({"max_completion_tokens": 9}, {"temperature": 0, "max_completion_tokens": 9}),
        (
            {"temperature": None, "max_completion_tokens": 9, "reasoning_effort": "low"},
            {"max_completion_tokens": 9, "reasoning_effort": "low"},
        ),
        (
            {"max_tokens": 1, "seed": 3, "x_own": {"a": [1]}},
            {"temperature": 0, "max_tokens": 1, "seed": 3, "x_own": {"a": [1]}},
        ),
        ({"temperature": None, "max_tokens": None}, {}),
    ],
)
def test_request_options(
    server: ChatServer, tmp_path: Path, request_options: dict[str, object], sent: dict[str, object]
) -> None:
    reading = ask(server, tmp_path, n=1, source={"request": request_options})
    for body in server.bodies:
        assert {k: v for k, v in body.items() if k not in ("model", "messages")} == sent
    assert reading.sweep.metadata["source"]["request"] == sent


def test_no_key_and_no_organisation_for_another_host(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "planted-" + name)
    ask(server, tmp_path, n=1, source={"key": None})
    for asked in server.asked:
        assert not [value for value in asked.headers.values() if "planted" in value]


# What comes back.


def test_the_sweep_and_the_replies(server: ChatServer, tmp_path: Path) -> None:
    """Item 0 is always answered by content, item 1 by letter, item 2 once without a letter."""

    def rule(message: str) -> object:
        item, contents = shown(message)
        if item == 0:
            return letter_of(0, message)
        if item == 1:
            return {"content": "B", "reasoning_content": "hm"}
        return "perhaps C" if contents[0] == 3 else "C"

    server.rule = rule
    reading = ask(server, tmp_path)
    sweep = reading.sweep
    assert sweep.choice.tolist() == [[0, 1, 2, 3, 0], [1, 1, 1, 1, 1], [2, -1, 2, 2, 2]]
    assert sweep.gold.tolist() == [0, 1, 2]
    told = sweep.metadata
    assert told["repeats"] == {"4": 0} and sweep.logp is None
    assert told["replies"] == {
        "letter": 14, "other": 1, "refusal": 0, "length": 0, "empty": 0, "filtered": 0
    }  # fmt: skip
    assert told["served_models"] == {"shut-1": 15} and told["system_fingerprints"] == {"fp_1": 15}
    assert told["source"]["model"] == "shut" and told["source"]["api"] == server.api
    assert told["completion_tokens"] == 15
    assert KEY not in json.dumps(told) and VARIABLE not in json.dumps(told)
    odd = [reply for reply in reading.replies if reply["kind"] != "letter"]
    assert [(r["item"], r["ordering"], r["reply"], r["choice"]) for r in odd] == [
        ("q2", 1, "perhaps C", -1)
    ]
    path = tmp_path / "closed" / "Shut.parquet"
    write_sweep(path, sweep)
    again = read_sweep(path)
    assert again.repeats == {4: 0}
    # Items 0 and 1 were answered in all five calls: no repeat differs, item 1 by all three others.
    repeat, reorder = item_disagreements(again) or (None, None)
    assert repeat is not None and reorder is not None
    assert repeat.tolist() == [0, 0] and reorder.tolist() == [0, 3]


def test_the_repeated_call_is_really_made(server: ChatServer, tmp_path: Path) -> None:
    """A model that alternates is caught; each prompt of ordering 0 came twice."""
    seen: Counter[str] = Counter()

    def rule(message: str) -> str:
        seen[message] += 1
        return "A" if seen[message] == 1 else "B"

    server.rule = rule
    reading = ask(server, tmp_path)
    assert reading.sweep.choice.tolist() == [[0, 0, 0, 0, 1]] * 3
    assert sorted(seen.values()) == [1] * 9 + [2] * 3
    assert len({record["key"] for record in map(json.loads, journal(tmp_path).open())}) == 15


def test_equal_questions_are_asked_each(server: ChatServer, tmp_path: Path) -> None:
    """Two items with the same text are two times five calls."""
    twins = [items(1)[0], items(1)[0].__class__(**{**items(1)[0].__dict__, "id": "twin"})]
    calls = calls_of(cell(items=twins), endpoint(server))
    assert len({call.key for call in calls}) == 10
    assert len({call.messages[0]["content"] for call in calls}) == 4


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"content": None}, "empty"),
        ({"content": ""}, "empty"),
        ({"content": None, "refusal": "No."}, "refusal"),
        ({"content": "A", "finish_reason": "length"}, "length"),
        ({"content": "A", "finish_reason": "content_filter"}, "filtered"),
        ({"content": [{"type": "text", "text": "A"}]}, "empty"),
        ({"content": "I think A"}, "other"),
    ],
)
def test_a_reply_without_a_letter_is_kept(
    server: ChatServer, tmp_path: Path, told: dict[str, object], kind: str
) -> None:
    server.rule = lambda message: dict(told) if shown(message)[1][0] == 1 else "A"
    reading = ask(server, tmp_path, n=1)
    assert reading.sweep.choice.tolist() == [[0, 0, 0, -1, 0]]
    assert reading.sweep.metadata["replies"][kind] == 1
    assert count(server) == 5
    ask(server, tmp_path, n=1)  # and is not asked again
    assert count(server) == 5


def test_no_choices_and_no_usage(server: ChatServer, tmp_path: Path) -> None:
    """An answer without choices is an empty reply; without usage it costs what it may have."""
    first = iter([True])

    def change(whole: dict[str, object]) -> dict[str, object]:
        if next(first, False):
            whole["choices"] = []
        del whole["usage"], whole["system_fingerprint"]
        return whole

    server.change = change
    reading = ask(server, tmp_path, n=1, source={"price": {"input": 0, "output": 1e6 / 16}})
    assert reading.sweep.choice.tolist() == [[-1, 0, 0, 0, 0]]
    assert [reply["usd"] for reply in reading.replies] == [1.0] * 5  # sixteen tokens each
    assert all(reply["usd_is_estimate"] for reply in reading.replies)
    assert reading.sweep.metadata["system_fingerprints"] == {"not told": 5}


@pytest.mark.parametrize("body", [[], "x", 3, None, {}, {"choices": None}, {"choices": {}},
                                  {"error": {"message": "busy"}}, {"choices": "A"}])  # fmt: skip
def test_an_answer_without_choices_is_asked_again(
    server: ChatServer, tmp_path: Path, body: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optionbias.readouts.chat.ATTEMPTS", 2)
    server.change = lambda whole: body
    with pytest.raises(ApiError, match=r"the answer (holds no choices|is not JSON)"):
        ask(server, tmp_path, n=1)
    assert count(server) == 2 and not journal(tmp_path).read_bytes()


@pytest.mark.parametrize("choice", [None, "A", 1, {}, {"message": None}, {"message": "A"},
                                    {"message": {"content": 5}}])  # fmt: skip
def test_a_choice_without_a_text_is_an_empty_reply(
    server: ChatServer, tmp_path: Path, choice: object
) -> None:
    server.change = lambda whole: {**whole, "choices": [choice], "usage": "none"}
    with pytest.raises(RepliesError, match="empty 5"):
        ask(server, tmp_path, n=1)
    assert count(server) == 5


def test_nothing_but_words(server: ChatServer, tmp_path: Path) -> None:
    server.rule = lambda message: {"content": "Well, let us", "finish_reason": "length"}
    with pytest.raises(RepliesError) as caught:
        ask(server, tmp_path, n=1)
    assert str(caught.value) == (
        "closed exam Shut: 5 of 5 replies are not one letter (length 5), the first: item q0, "
        "ordering 0: 'Well, let us'; change `source.request` of the checkpoint, for example its "
        "limit of tokens"
    )


def test_another_model_answers_in_the_middle(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = iter(["old"] * 7 + ["new"] * 8)
    server.change = lambda whole: {**whole, "model": next(names)}
    reading = ask(server, tmp_path)
    assert reading.sweep.metadata["served_models"] == {"new": 8, "old": 7}
    assert "more than one model answered: new (8 calls), old (7 calls)" in caplog.text


# Faults of the server.


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
    server.delay = 0.2
    server.faults = [status(401)]
    with pytest.raises(ApiError):
        ask(server, tmp_path, n=6, source={"concurrency": 4})
    asked = count(server)
    assert 4 <= asked <= 5
    assert len(journal(tmp_path).read_text().splitlines()) == asked - 1


# The journal, and what was paid.


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


# The script: kills, and secrets.


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
