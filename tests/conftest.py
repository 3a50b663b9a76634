"""How the tests are shared out where they run in parallel (`-n 2`)."""

from __future__ import annotations

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """One worker runs the whole-workflow tests, which share a run; the others take module by module.

    The former come first, as they take longest.
    """
    for item in items:
        of_workflow = item.get_closest_marker("workflow") is not None
        group = "workflow" if of_workflow else str(item.path)
        item.add_marker(pytest.mark.xdist_group(group))
    items.sort(key=lambda item: item.get_closest_marker("workflow") is None)
