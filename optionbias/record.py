"""results/provenance.json: everything that the outputs of a run rest on, in one file.

cohort      its name and the SHA-256 of results/cohort.json
config      the settings of the statistics and their digest; of the answers, where this run made them
locks       path in the clone -> SHA-256: pins of packages, models and fetched files
sweeps      path below the sweeps' folder -> SHA-256, and what the sweep tells of itself
tables, figures   number -> files (path -> SHA-256) and the stamp of the job that made them
files       every other output -> SHA-256
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from optionbias import stamp
from optionbias.digests import full_digest
from optionbias.publication import locks, sweep_files
from optionbias.sweep import read_metadata

FORMAT = 1
_TABLE = re.compile(r"results/tables/table(\w+)\.(csv|md|tex|typ)")
_FIGURE = re.compile(r"figures/figure(\w+)\.(csv|pdf|png|svg)")


class RecordError(ValueError):
    """An output that does not say what it was made of; the message names it."""


def record(
    config: Mapping[str, Any],
    cohort: Path,
    sweeps: Path,
    variants: Iterable[str],
    outputs: Iterable[Path],
    root: Path,
) -> dict[str, Any]:
    """What provenance.json holds.

    Args:
        config: `statistics` and `sha256`, and `answers` (None where answers were given or simulated).
        cohort: results/cohort.json.
        sweeps: the folder of the sweeps.
        variants: of the run's noise floor.
        outputs: everything that the run made of them, as paths from the working folder.
        root: the clone.

    Raises:
        RecordError: naming a table or figure without a readable stamp.
    """
    described = json.loads(cohort.read_text(encoding="utf-8"))
    found: dict[str, Any] = {"tables": {}, "figures": {}, "files": {}}
    for path in sorted(outputs):
        name = path.as_posix()
        for kind, pattern in (("tables", _TABLE), ("figures", _FIGURE)):
            if match := pattern.fullmatch(name):
                entry = found[kind].setdefault(match[1], {"files": {}})
                entry["files"][name] = full_digest(path)
                if match[2] in ("md", "svg"):
                    entry["stamp"] = _stamp(path)
                break
        else:
            found["files"][name] = full_digest(path)
    return {
        "format": FORMAT,
        "cohort": {"name": described["label"], "sha256": full_digest(cohort)},
        "config": dict(config),
        "locks": {name: full_digest(path) for name, path in locks(root).items()},
        "sweeps": {
            name: {"sha256": full_digest(path), "metadata": _told(read_metadata(path))}
            for name, path in sweep_files(sweeps, described["cells"], variants).items()
        },
        **found,
    }


def _stamp(path: Path) -> stamp.Stamp:
    """The stamp of a table (Markdown) or figure (SVG)."""
    if path.suffix == ".svg":
        found = stamp.of_drawing(path)
    else:
        found = stamp.split(path.read_text(encoding="utf-8"), "md")[1]
    if not found:
        raise RecordError(
            f"{path}: does not say what it was made of (no stamp, or a damaged one): remove it, and run "
            f"the same command again"
        )
    return found


def _told(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """What a sweep tells of itself, without its list of orderings, which its readout and K give."""
    return {key: value for key, value in metadata.items() if key != "orderings"}
