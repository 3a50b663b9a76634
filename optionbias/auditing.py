"""Audits of a cohort's benchmarks, from the files and items of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from optionbias import published
from optionbias.audit import Audited, audit_rows, rows_of_items
from optionbias.benchmarks import registry
from optionbias.fetch import checked_folder
from optionbias.items import digest, pool_digest, read_items
from optionbias.published import Reading


def audited(
    about: Mapping[str, Any], results: Path, switches: Mapping[str, bool], seed: int
) -> Audited:
    """The audit of one benchmark.

    Args:
        about: `name`, `title`, `k`, `source`, `licence`, `five_shot`, and of a published one
            `published` with optional `variant` and `subjects`.
        results: folder that holds `items`, `exemplars`, `data` and `mirror` of the run.
        switches, seed: repairs and seed of the run.
    """
    name = about["name"]
    split: str | None = None
    subjects: tuple[str, ...] = ()
    citation: str | None = None
    if "published" in about:
        benchmark = registry.published(
            about["published"], about.get("subjects"), about.get("variant")
        )
        source = benchmark.source(about.get("variant"))
        folder = checked_folder(results / "data" / name / "items.json", results / "mirror")
        reading = published.read(benchmark, source, folder, switches, seed)
        origin, licence, split = source.origin, benchmark.licence, source.split
        citation = benchmark.citation
        if benchmark.by_subject:
            subjects = tuple(sorted({str(item.subject) for item in reading.items}))
    else:
        items = read_items(results / "items" / f"{name}.parquet")
        rows = rows_of_items(items)
        reading = Reading(rows, rows, items, {}, {}, pinned=False)
        origin, licence = about["source"], about["licence"]
    exemplars = None
    if about["five_shot"]:
        path = results / "exemplars" / f"{name}.parquet"
        exemplars = (read_items(path), pool_digest(path))
    return Audited(
        about["title"],
        about["k"],
        origin,
        licence,
        digest(reading.items),
        reading.pinned,
        audit_rows(name, reading, about["k"]),
        exemplars,
        split,
        subjects,
        citation,
    )
