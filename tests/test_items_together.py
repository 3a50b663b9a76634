"""A user's items and exemplars, checked together before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from optionbias.items import ItemsError, check_user_benchmark
from test_items import row, write_jsonl


def test_items_and_exemplars_together(tmp_path: Path) -> None:
    """Two items at least, five exemplars, and no exemplar that is also asked."""
    items, exemplars = tmp_path / "exam.jsonl", tmp_path / "exemplars.jsonl"
    write_jsonl(items, [row(question=f"q{i}?") for i in range(6)])
    write_jsonl(exemplars, [row(question=f"e{i}?") for i in range(5)])
    check_user_benchmark("toy", 3, items, exemplars)
    # The same question and options in another order is the same item.
    same = row(question="q3?", options=["blue", "green", "red"], answer=0)
    write_jsonl(exemplars, [row(question=f"e{i}?") for i in range(4)] + [same])
    with pytest.raises(ItemsError, match="exemplar 'toy-000005' is item 'toy-000004' of"):
        check_user_benchmark("toy", 3, items, exemplars)
    write_jsonl(exemplars, [row(question=f"e{i}?") for i in range(4)])
    with pytest.raises(ItemsError, match="4 exemplars, 5 are needed"):
        check_user_benchmark("toy", 3, items, exemplars)
    write_jsonl(items, [row()])
    with pytest.raises(ItemsError, match="1 item: at least 2 are needed"):
        check_user_benchmark("toy", 3, items)
