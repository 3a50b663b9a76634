"""A local server that speaks the API of closed models, and an environment without keys for others."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from chat_server import ChatServer
from closed_cells import KEY, VARIABLE


@pytest.fixture
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
