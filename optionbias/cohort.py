"""Cohorts: which checkpoints answer which benchmarks under which readouts."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from optionbias.atomic import write_text
from optionbias.benchmarks import registry
from optionbias.benchmarks.source import SourceError
from optionbias.sweep import READOUTS
from optionbias.validation import ConfigError, check, read_yaml

# A revision that cannot move, unlike a branch or a tag.
COMMIT = re.compile("[0-9a-f]{40}")


class Cell(NamedTuple):
    """A checkpoint on a benchmark under one readout; orders by readout, benchmark, checkpoint."""

    readout: str
    benchmark: str
    checkpoint: str


@dataclass(frozen=True)
class Cohort:
    """A checked cohort.

    Attributes:
        name: the cohort's name.
        path: the file it was read from.
        checkpoints, benchmarks: name -> entry of the file, sorted by name.
        readouts: readout -> entry of the file.
        cells: every cell that is run, sorted.
        simulated: its answers come from the generative model, not from models.
        replicates: it is the paper's own cohort.
    """

    name: str
    path: Path
    checkpoints: dict[str, dict[str, Any]]
    benchmarks: dict[str, dict[str, Any]]
    readouts: dict[str, dict[str, Any]]
    cells: list[Cell] = field(default_factory=list)
    simulated: bool = False
    replicates: bool = False

    @property
    def label(self) -> str:
        """The name as titles print it: a simulated cohort's always says so."""
        told = "simulated" in self.name.lower() or not self.simulated
        return self.name if told else f"{self.name}, simulated"

    def title(self, benchmark: str) -> str:
        """The name that tables print for a benchmark."""
        return str(self.benchmarks[benchmark].get("title", benchmark))

    def find(self, path: str) -> Path:
        """A path of the file: as it stands from the working folder, else beside the cohort file."""
        given = Path(path)
        beside = self.path.parent / given
        return beside if not given.exists() and beside.exists() else given

    def source(self, checkpoint: str) -> dict[str, Any]:
        """A checkpoint's source, its local path found as `find` does."""
        source = dict(self.checkpoints[checkpoint].get("source", {}))
        if "path" in source:
            source["path"] = str(self.find(source["path"]))
        return source

    def described(self) -> dict[str, Any]:
        """What tables and figures need of it, without sources, paths or environments."""
        hidden = {"source", "items", "exemplars"}
        # What only preflight and the choice of environments read is no reason to make a table anew.
        planned = {"source", "environment", "stored_params_b", "dtype", "download_gb", "gated"}
        return {
            "name": self.name,
            "checkpoints": [
                {k: v for k, v in entry.items() if k not in planned}
                for entry in self.checkpoints.values()
            ],
            "benchmarks": [
                {k: v for k, v in entry.items() if k not in hidden - {"source"}}
                for entry in self.benchmarks.values()
            ],
            "cells": [list(cell) for cell in self.cells],
            "label": self.label,
            "simulated": self.simulated,
            "replicates": self.replicates,
        }


def write_described(described: dict[str, Any], path: str, log: str) -> None:
    """Write `Cohort.described()` to `path` as JSON, and a line about it to `log`."""
    write_text(path, json.dumps(described, indent=1, sort_keys=True))
    write_text(log, f"cohort {described['name']}: {len(described['cells'])} cells\n")


def locate(cohort: str, cohorts_folder: Path) -> Path:
    """The file of a cohort given by name (in `cohorts_folder`) or by path.

    Raises:
        ConfigError: naming what was looked for and the cohorts there are.
    """
    if cohort.endswith((".yaml", ".yml")) or "/" in cohort:
        path = Path(cohort)
        if not path.is_file():
            raise ConfigError(
                f"config key `cohort`: no such file: {cohort} (looked for in {Path.cwd()})"
            )
        return path
    path = cohorts_folder / f"{cohort}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in cohorts_folder.glob("*.yaml")))
        raise ConfigError(
            f"config key `cohort`: {cohort!r} is not a cohort of the workflow ({known}); "
            f"a file of your own is given by its path, ending in .yaml"
        )
    return path


def read_cohort(path: Path, needs_models: bool = True) -> Cohort:
    """Read and check a cohort file.

    Args:
        path: the YAML file.
        needs_models: whether models will run, so checkpoints need a `source` and benchmarks
            `items` (or the name of one that the workflow knows); not so when sweeps are given or
            simulated.

    Raises:
        ConfigError: one line per fault, each naming the file and the key.
    """
    raw = read_yaml(path)
    source = str(path)
    if not isinstance(raw, dict):
        raise ConfigError(f"{source}: not a mapping of keys to values")
    check(raw, "cohort", source)
    faults = _repeated(raw, source)
    simulated = raw.get("simulated", False)
    simulates, needs_models = needs_models and simulated, needs_models and not simulated
    checkpoints = {c["name"]: c for c in sorted(raw["checkpoints"], key=lambda c: c["name"])}
    benchmarks = {}
    for entry in sorted(raw["benchmarks"], key=lambda b: b["name"]):
        told, wrong = ({}, []) if raw.get("simulated") else _published(entry)
        benchmarks[entry["name"]] = {**told, **entry, "K": int(entry["K"])}
        faults += [f"{source}: benchmark {entry['name']}: {fault}" for fault in wrong]
    for name, checkpoint in checkpoints.items():
        base = checkpoint.get("base")
        if base is not None and (base not in checkpoints or base == name):
            faults.append(f"{source}: checkpoint {name}: `base` {base} is not another checkpoint")
        if not math.isfinite(checkpoint.get("params_b", 1.0)):
            faults.append(f"{source}: checkpoint {name}: `params_b` is not a finite number")
        if needs_models:
            allowed = raw.get("allow_remote_code", False)
            wrong = _remote_code(checkpoint.get("source", {}), allowed)
            faults += [f"{source}: checkpoint {name}: {fault}" for fault in wrong]
        if needs_models and "source" not in checkpoint and not checkpoint.get("closed"):
            faults.append(f"{source}: checkpoint {name}: missing key `source` (needed to run it)")
    for name, benchmark in benchmarks.items():
        if not math.isfinite(benchmark.get("difficulty", 0.0)):
            faults.append(f"{source}: benchmark {name}: `difficulty` is not a finite number")
        known = registry.BUILTIN.get(registry.builtin_name(benchmark) or "")
        if needs_models and "items" not in benchmark and known is None:
            faults.append(
                f"{source}: benchmark {name}: no `items`, and not one that the workflow knows "
                f"({', '.join(sorted(registry.BUILTIN))})"
            )
        if known not in (None, benchmark["K"]):
            faults.append(f"{source}: benchmark {name}: `K` is {benchmark['K']}, it has {known}")
    cells: set[Cell] = set()
    for readout, entry in raw["readouts"].items():
        open_or_closed = [
            n for n, c in checkpoints.items() if c.get("closed", False) == (readout == "closed")
        ]
        chosen: set[tuple[str, str]] = set()
        for part in [entry, *entry.get("also", [])]:
            named = {}
            for key, known_names in (
                ("checkpoints", open_or_closed),
                ("benchmarks", list(benchmarks)),
            ):
                names = known_names if part[key] == "all" else part[key]
                faults += [
                    f"{source}: `readouts.{readout}.{key}`: {name} is not "
                    + (
                        "of this readout's kind"
                        if key == "checkpoints" and name in checkpoints
                        else "in the cohort"
                    )
                    for name in names
                    if name not in known_names
                ]
                named[key] = [name for name in names if name in known_names]
            chosen |= {(c, b) for c in named["checkpoints"] for b in named["benchmarks"]}
        if not open_or_closed:
            kind = "closed" if readout == "closed" else "open-weight"
            faults.append(f"{source}: `readouts.{readout}`: the cohort has no {kind} checkpoint")
        left_out = {(e["checkpoint"], e["benchmark"]) for e in entry.get("except", [])}
        faults += [
            f"{source}: `readouts.{readout}.except`: no cell {c} on {b}"
            for c, b in sorted(left_out - chosen)
        ]
        cells |= {Cell(readout, b, c) for c, b in chosen - left_out}
        if needs_models and readout == "five-shot":
            faults += [
                f"{source}: benchmark {b}: {fault}"
                for b in sorted({b for _, b in chosen})
                if (fault := _no_exemplars(benchmarks[b]))
            ]
        if simulates:
            if "items" in entry:
                faults.append(
                    f"{source}: `readouts.{readout}.items`: simulated benchmarks are sized by `size`"
                )
            faults += [
                f"{source}: benchmark {b}: missing key `{key}` (needed to simulate it)"
                for b in sorted({b for _, b in chosen})
                for key in ("size", "difficulty")
                if key not in benchmarks[b]
            ]
    if not cells:
        faults.append(f"{source}: `readouts`: no cell is left to run")
    if faults:
        raise ConfigError("; ".join(dict.fromkeys(faults)))
    order = sorted(cells, key=lambda cell: (READOUTS.index(cell.readout), *cell[1:]))
    return Cohort(
        raw["name"],
        path,
        checkpoints,
        benchmarks,
        raw["readouts"],
        order,
        simulated,
        raw.get("replicates", False),
    )


def _published(entry: dict[str, Any]) -> tuple[dict[str, str], list[str]]:
    """What the module of a published benchmark tells of an entry, and the entry's faults."""
    stray = [key for key in ("published", "variant", "subjects") if key in entry]
    try:
        benchmark = registry.published_entry(entry)
    except SourceError as error:
        return {}, [str(error)]
    named = entry.get("published")
    if named is not None and named not in registry.PUBLISHED:
        known = ", ".join(registry.PUBLISHED)
        return {}, [f"`published`: no published benchmark is called {named} (there are {known})"]
    if benchmark is None:
        return {}, [f"`{key}` belongs to a published benchmark" for key in stray]
    return registry.described(benchmark, entry), []


def _remote_code(source: dict[str, Any], allowed: bool) -> list[str]:
    """Why a checkpoint may not run the code that its repository brings."""
    if not source.get("trust_remote_code"):
        return []
    if not allowed:
        return [
            "`source.trust_remote_code` runs code that the repository brings: read that code, then "
            "allow it with `allow_remote_code: true` in the cohort file"
        ]
    if "hub" in source and not COMMIT.fullmatch(source["revision"]):
        return [
            f"`source.trust_remote_code` needs a commit (40 hex digits) as `revision`, not "
            f"{source['revision']}, whose code may change"
        ]
    return []


def _no_exemplars(entry: dict[str, Any]) -> str | None:
    """Why a benchmark cannot be asked five-shot, None if it can."""
    if "items" in entry and "exemplars" not in entry:
        return "missing key `exemplars` (needed by five-shot)"
    try:
        benchmark = registry.published_entry(entry)
    except SourceError:
        return None  # told elsewhere
    if benchmark is not None and benchmark.source(entry.get("variant")).pool is None:
        return "no split to draw exemplars from: leave it out of five-shot"
    return None


def _repeated(raw: dict[str, Any], source: str) -> list[str]:
    """Names that are used twice; names that differ by case alone collide on some disks."""
    faults = []
    for kind in ("checkpoints", "benchmarks"):
        counts = Counter(entry["name"].lower() for entry in raw[kind])
        faults += [
            f"{source}: `{kind}`: the name {name} is used {n} times; names must differ"
            for name, n in sorted(counts.items())
            if n > 1
        ]
    return faults
