"""How long a server asks to wait, and how long a call waits for it."""

from __future__ import annotations

import email.utils
import time
from types import SimpleNamespace
from typing import Any

import pytest

from optionbias.endpoint import Endpoint
from optionbias.readouts import chat as module
from optionbias.readouts.chat import Chat, StoppedError, retry_after


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "-2"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "inf"}, float("inf")),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_retry_after_as_a_date() -> None:
    date = email.utils.formatdate(time.time() + 30, usegmt=True)
    assert retry_after({"retry-after": date}) == pytest.approx(30, abs=2)


def waits(monkeypatch: pytest.MonkeyPatch, after: float | None) -> list[float]:
    """The waits after each of the failed attempts of a call, none of them slept."""
    talk = Chat(Endpoint.of({"model": "m", "key": None}), "Shut")
    slept: list[float] = []
    monkeypatch.setattr(talk, "_sleep", slept.append)

    def fail(messages: Any) -> None:
        raise module._BusyError("busy", after)

    monkeypatch.setattr(talk, "_once", fail)
    with pytest.raises(module.ApiError, match="8 attempts failed, the last with: busy"):
        talk.ask([], "a call")
    assert talk.retries == len(slept) == module.ATTEMPTS - 1
    return slept


def test_waits_grow_with_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Uniform between nothing and 1, 2, 4, ... 60 seconds."""
    many = [waits(monkeypatch, None) for _ in range(60)]
    for attempt, found in enumerate(zip(*many, strict=True)):
        most = min(2.0**attempt, 60.0)
        assert min(found) >= 0 and max(found) <= most
        assert max(found) > most / 2 and len(set(found)) > 50


def test_a_wait_that_the_server_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And jitter of up to a second on top, so that not all threads come back at once."""
    found = waits(monkeypatch, 7.0)
    assert all(7 <= wait <= 8 for wait in found) and len(set(found)) == len(found)


def test_a_stopped_chat_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    talk = Chat(Endpoint.of({"model": "m", "key": None}), "Shut")
    monkeypatch.setattr(talk, "_client", SimpleNamespace())  # has nothing that could send
    talk.stop()
    with pytest.raises(StoppedError):
        talk.ask([], "a call")
