"""The closed readout against a local server: what is asked and what comes back."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from chat_server import (
    ChatServer,
)
from closed_cells import KEY, VARIABLE, ask, cell, count, endpoint, items, journal, letter_of, shown
from optionbias.closed import item_disagreements
from optionbias.readouts.chat import ApiError
from optionbias.readouts.closed import RepliesError, calls_of, question
from optionbias.sweep import read_sweep, write_sweep

pytestmark = pytest.mark.usefixtures("surroundings")


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
