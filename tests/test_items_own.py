"""The workflow's own items files: a round trip, and a digest of the content alone."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from optionbias.item import Item
from optionbias.items import canonical_json, digest, read_items, write_items


def test_the_workflow_s_own_files(tmp_path: Path) -> None:
    items = [
        Item("b", "Wäre?", ("x", "y"), 1, "Text.\nMore.", "test", None),
        Item("a", "What?", ("y", "z"), 0),
    ]
    path = tmp_path / "results" / "items" / "exam.parquet"
    write_items(path, items)
    assert read_items(path) == items
    table = pq.read_table(path)
    assert table.column_names == [
        "id", "passage", "question", "options", "answer", "split", "subject",
    ]  # fmt: skip
    assert table.schema.metadata[b"items_sha256"].decode() == digest(items)


def test_digest_is_that_of_the_content() -> None:
    item = Item("a", "Wäre?", ("x", "y"), 1)
    assert canonical_json([item]) == (
        '{"answer": 1, "id": "a", "options": ["x", "y"], "passage": null, '
        '"question": "Wäre?", "split": null, "subject": null}\n'
    )
    assert digest([item]) == digest(iter([Item("a", "Wäre?", ("x", "y"), 1)]))
    assert digest([item]) != digest([Item("a", "Wäre?", ("y", "x"), 1)])
    assert item.n_options == 2
