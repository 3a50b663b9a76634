"""A small cell of a closed model, and a server's rule that answers it by item and ordering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chat_server import ChatServer
from optionbias.endpoint import Endpoint
from optionbias.item import Item
from optionbias.readouts.chat import Chat
from optionbias.readouts.closed import Reading, closed_orderings, read_cell
from optionbias.readouts.reading import Cell

KEY = "sk-proj-Planted0123456789/+abcdefghijklmnop"
VARIABLE = "OPTIONBIAS_TEST_KEY"


def items(n: int = 3, k: int = 4) -> list[Item]:
    """Items whose options name their content: item i's option j is `i-j`."""
    return [
        Item(f"q{i}", f"Which is right in {i}?", tuple(f"{i}-{j}" for j in range(k)), i % k)
        for i in range(n)
    ]


def cell(n: int = 3, k: int = 4, **changes: Any) -> Cell:
    told = {
        "checkpoint": "Shut", "benchmark": "exam", "readout": "closed", "items": items(n, k),
        "exemplars": (), "orderings": closed_orderings(k), "chunk_items": 1, **changes,
    }  # fmt: skip
    return Cell(**told)


def endpoint(server: ChatServer, **source: Any) -> Endpoint:
    given = {"api": server.api, "model": "shut", "key": VARIABLE, "concurrency": 1, **source}
    return Endpoint.of(given)


def ask(server: ChatServer, folder: Path, n: int = 3, k: int = 4, **options: Any) -> Reading:
    """Read the cell; `source` changes the endpoint, other options go to `read_cell`."""
    where = endpoint(server, **options.pop("source", {}))
    chat = Chat(where, "Shut", backoff=0.01)
    try:
        return read_cell(cell(n, k), where, chat, folder / "closed", **options)
    finally:
        chat.close()


def shown(message: str) -> tuple[int, list[int]]:
    """Item and presented contents of a question of `items`."""
    lines = [line for line in message.splitlines() if line[1:3] == ". "]
    parts = [line[3:].split("-") for line in lines]
    return int(parts[0][0]), [int(j) for _, j in parts]


def letter_of(content: int, message: str) -> str:
    """The letter at which a content is shown."""
    return "ABCDEFGHIJ"[shown(message)[1].index(content)]


def journal(folder: Path) -> Path:
    return folder / "closed" / "exam" / "Shut.jsonl"


def count(server: ChatServer) -> int:
    """Requests that arrived."""
    return len(server.bodies)
