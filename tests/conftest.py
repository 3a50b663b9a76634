"""How the tests are shared out where they run in parallel (`-n 2`)."""

from __future__ import annotations

from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling


class Scheduling(LoadScopeScheduling):
    """One worker runs the whole-workflow tests, which share a run; the others take module by module."""

    def _split_scope(self, nodeid: str) -> str:
        module = nodeid.split("::")[0]
        return "workflow" if module.startswith("tests/workflow/") else module


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    """Make it the scheduler, with the scopes in the order of the tests."""
    config.option.loadscopereorder = False
    return Scheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whole-workflow tests come first, as they take longest."""
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
