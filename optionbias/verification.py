"""Everything downstream of the sweeps made again in a clean folder, and compared byte for byte."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from optionbias.atomic import write_text
from optionbias.stamp import Stamp, split

STAMPED = ("md", "tex", "typ")
# What a stamp says of the job alone. All else is of the answers, the cohort and the settings: where that
# differs, the numbers are others', even where they are equal.
OF_THE_JOB = {
    f"computed.{key}" for key in ("commit", "uncommitted", "python", "packages", "hardware")
}
SHOWN = 60  # characters of a differing line


class VerificationError(RuntimeError):
    """The statistics could not be made again."""


@dataclass
class Comparison:
    """What two runs' files have in common.

    Attributes:
        differing: file -> how it differs.
        stamps: files that differ in what their stamp says of the job alone -> the differing keys.
        equal, differ: tables and figures, each counted once over all its formats.
    """

    differing: dict[str, str] = field(default_factory=dict)
    stamps: dict[str, list[str]] = field(default_factory=dict)
    equal: int = 0
    differ: int = 0

    def lines(self) -> list[str]:
        """The result for a reader: a line a differing file, the stamps, the count."""
        told = [f"{name}: {how}" for name, how in self.differing.items()]
        if self.stamps:
            keys = sorted({key for keys in self.stamps.values() for key in keys})
            told.append(
                f"{len(self.stamps)} files differ in their provenance alone ({', '.join(keys)}), which "
                f"is not the result"
            )
        return [*told, f"{self.equal} tables equal, {self.differ} differ"]


def compared(outputs: Iterable[str], source: str) -> list[str]:
    """Of a run's outputs, those that hold its results: tables in every format, and figures' data.

    Raises:
        VerificationError: there are none; it names `source`, where they should be.
    """
    found = sorted(
        name
        for name in outputs
        if name.startswith("results/tables/")
        or (name.startswith("figures/") and name.endswith(".csv"))
    )
    if not found:
        raise VerificationError(f"{source}: holds no table and no figure's data to compare")
    return found


def compare(reference: Path, remade: Path, names: Iterable[str]) -> Comparison:
    """Compare files of two folders; `names` are paths in both, those of one table differ in ending."""
    found = Comparison()
    tables: dict[str, bool] = {}
    for name in sorted(names):
        one, other = reference / name, remade / name
        how = _difference(one, other)
        keys = _stamps_alone(one, other) if how else []
        others = [key for key in keys if key not in OF_THE_JOB]
        if others:
            found.differing[name] = f"differs in its provenance ({', '.join(others)})"
        elif keys:
            found.stamps[name] = keys
        elif how:
            found.differing[name] = how
        table = name.rpartition(".")[0]
        tables[table] = tables.get(table, True) and name not in found.differing
    found.equal = sum(tables.values())
    found.differ = len(tables) - found.equal
    return found


def _difference(one: Path, other: Path) -> str:
    """How two files differ, empty where they do not."""
    for path, where in ((one, "not there to compare with"), (other, "was not made again")):
        if not path.is_file():
            return where
    before, after = one.read_bytes(), other.read_bytes()
    if before == after:
        return ""
    pairs = itertools.zip_longest(before.splitlines(), after.splitlines(), fillvalue=b"")
    for number, (a, b) in enumerate(pairs, start=1):
        if a != b:
            both = zip(a, b, strict=False)
            first = next((i for i, (x, y) in enumerate(both) if x != y), min(len(a), len(b)))
            start = max(first - SHOWN // 2, 0)
            shown = [repr(x[start : start + SHOWN].decode("utf-8", "replace")) for x in (a, b)]
            return f"differs in line {number}: {shown[0]}, made again {shown[1]}"
    return "differs in its line ends"


def _stamps_alone(one: Path, other: Path) -> list[str]:
    """Keys of the stamp, where two files of a table differ in nothing else."""
    ending = one.suffix.removeprefix(".")
    if ending not in STAMPED or not (one.is_file() and other.is_file()):
        return []
    (body, stamp), (again, stamp_again) = (
        split(path.read_bytes().decode("utf-8", "surrogateescape"), ending) for path in (one, other)
    )
    return _differing_keys(stamp, stamp_again) if body == again else []


def _differing_keys(one: Stamp, other: Stamp) -> list[str]:
    """Keys of two stamps, a level deep, whose values differ."""
    flat = [
        {
            f"{key}.{inner}" if isinstance(value, dict) else key: told
            for key, value in stamp.items()
            for inner, told in (value.items() if isinstance(value, dict) else [("", value)])
        }
        for stamp in (one, other)
    ]
    return sorted(k for k in {*flat[0], *flat[1]} if flat[0].get(k) != flat[1].get(k))


def with_conda(prefix: Path | None) -> list[str]:
    """Snakemake's options for a run from another folder that takes the conda environments of this one.

    Args:
        prefix: where they lie, as the outer run was told; None for Snakemake's own folder.
    """
    place = prefix or Path(".snakemake", "conda")
    return ["--sdm", "conda", "--conda-prefix", str(Path(place).absolute())]


def make_again(
    config: Mapping[str, Any],
    folder: Path,
    targets: Sequence[str],
    snakefile: Path,
    cores: int,
    log: Path,
    options: Sequence[str] = (),
) -> None:
    """Run the workflow on given sweeps in a folder of its own.

    Args:
        config: of the run; paths in it are absolute.
        folder: an empty folder for the outputs.
        targets: files to make, as paths from `folder`.
        snakefile: the workflow.
        cores: that it may take.
        log: what it prints.
        options: further options of Snakemake.

    Raises:
        VerificationError: it failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "config.json", json.dumps(config, indent=1, sort_keys=True))
    command = [
        sys.executable, "-m", "snakemake", "--snakefile", str(snakefile.resolve()), "--cores", str(cores),
        "--configfile", "config.json", *options, "--", *targets,
    ]  # fmt: skip
    # A profile of the outer run would send these small jobs to its cluster.
    env = {name: value for name, value in os.environ.items() if name != "SNAKEMAKE_PROFILE"}
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as printed:
        done = subprocess.run(
            command, cwd=folder, env=env, stdout=printed, stderr=subprocess.STDOUT, check=False
        )
    if done.returncode:
        raise VerificationError(f"the statistics could not be made again: see {log}")
