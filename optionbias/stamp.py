"""The stamp of a table or figure: what made it, and where its answers come from.

A stamp is a JSON object:
    computed  the job that computed the numbers: commit, uncommitted, config (digest), python,
              packages, hardware
    drawn     of a figure: the same of the job that drew it
    cohort    its name, the SHA-256 of results/cohort.json, and whether it is simulated
    answers   the origins of the sweeps (optionbias/origins.py)
It names no time and no host, so the same inputs give the same bytes. Tables carry it as a comment at
their end, figures in their metadata.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Stamp = dict[str, Any]
NUMERIC = ("numpy", "pandas", "pyarrow", "scipy")
DRAWING = ("matplotlib", "numpy", "pandas", "seaborn")
# ending -> the comment's first line, what its other lines begin with, its last line
_COMMENTS = {
    "md": ("<!-- provenance", "", "-->\n"),
    "tex": ("% provenance", "% ", ""),
    "typ": ("// provenance", "// ", ""),
}
_DESCRIPTION = "{http://purl.org/dc/elements/1.1/}description"


def made(clone: Mapping[str, Any], packages: Sequence[str]) -> dict[str, Any]:
    """What a job says of itself.

    Args:
        clone: `commit`, `uncommitted` and `config`, as the workflow passes them.
        packages: names of the packages that its numbers rest on.
    """
    return {
        **clone,
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "hardware": hardware(),
    }


def hardware() -> dict[str, str]:
    """System, architecture and processor of this machine; no name of it."""
    return {
        "system": platform.system(),
        "machine": platform.machine(),
        "processor": _processor() or platform.processor() or "unknown",
    }


def _processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """The processor as Linux names it; empty elsewhere."""
    if not path.is_file():
        return ""
    names = (line.partition(":") for line in path.read_text(errors="replace").splitlines())
    return next((value.strip() for key, _, value in names if key.strip() == "model name"), "")


def of_numbers(job: Mapping[str, Any], cohort: Path, answers: Mapping[str, Any]) -> Stamp:
    """The stamp of computed numbers.

    Args:
        job: what `made` returned.
        cohort: results/cohort.json.
        answers: the origins of the sweeps.
    """
    data = cohort.read_bytes()
    described = json.loads(data)
    about = {
        "name": described["label"],
        "sha256": hashlib.sha256(data).hexdigest(),
        "simulated": described["simulated"],
    }
    return {"computed": dict(job), "cohort": about, "answers": dict(answers)}


def as_text(stamp: Mapping[str, Any]) -> str:
    """A stamp as one line of ASCII, for the metadata of a figure."""
    return json.dumps(stamp, sort_keys=True)


def with_comment(text: str, stamp: Mapping[str, Any], ending: str) -> str:
    """The text of a table (md, tex, typ) with its stamp as a comment at the end, a line a key."""
    first, each, last = _COMMENTS[ending]
    # Two hyphens would end the comment of Markdown early.
    values = {key: as_text(value).replace("--", r"-\u002d") for key, value in stamp.items()}
    lines = [first, *(f"{each}{key}: {value}" for key, value in values.items())]
    # Markdown reads a comment right below a table as a row of it.
    return text + "\n" * (ending == "md") + "\n".join(lines) + "\n" + last


def split(text: str, ending: str) -> tuple[str, Stamp]:
    """The text of a table without its stamp, and the stamp.

    Where there is none, or a damaged one, the whole text and an empty stamp.
    """
    first, each, last = _COMMENTS[ending]
    body, found, lines = text.rpartition(f"\n{first}\n")
    if not found or not text.endswith(last):
        return text, {}
    stamp = {}
    for line in lines.removesuffix(last).splitlines():
        key, _, value = line.removeprefix(each).partition(": ")
        try:
            stamp[key] = json.loads(value)
        except ValueError:
            return text, {}
    return body if ending == "md" else f"{body}\n", stamp


def of_drawing(path: Path) -> Stamp:
    """The stamp in the metadata of an SVG; empty where there is none, or a damaged one."""
    try:
        described = ElementTree.parse(path).getroot().find(f".//{_DESCRIPTION}")
        return {} if described is None or not described.text else json.loads(described.text)
    except (ElementTree.ParseError, ValueError):
        return {}
