"""How the tests are shared out where they run in parallel (`-n 2`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling

ROOT = Path(__file__).parents[1]


class Scheduling(LoadScopeScheduling):
    """Work is shared out module by module; the modules that share the run of `mini` are one piece."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::")[0]
        shares = re.search(r"\bmini: Workflow\b", (ROOT / module).read_text(encoding="utf-8"))
        return "mini" if shares else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Make it the scheduler, with the pieces in the order of the tests."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes longest comes first: the run of `mini`, then the other runs of the workflow."""

    def place(item: pytest.Item) -> int:
        shares = "mini" in getattr(item, "fixturenames", ())
        return 0 if shares else 1 if item.get_closest_marker("workflow") else 2

    items.sort(key=place)
