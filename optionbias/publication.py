"""What a bundle holds, and how one is put back.

    settings.json            the settings of the statistics
    cohort.yaml              the cohort file
    locks/                   the pins of every environment, and the digests of fetched files
    sweeps/                  every stored answer, re-reads for the noise floor too
    results/, figures/, paper/   what the run made of them

Items, exemplars, traces and replies are left out: they hold texts of benchmarks under licences of
their own, and no statistic reads them.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from optionbias.atomic import write_text
from optionbias.bundle import BundleError, pack, unpack
from optionbias.digests import full_digest

SETTINGS, COHORT, SWEEPS = "settings.json", "cohort.yaml", "sweeps"
CONFIG = "config.json"  # written beside the restored files, for `--configfile`
DATA_LOCK = "workflow/data.lock"


def locks(root: Path) -> dict[str, Path]:
    """The files of a clone that pin packages, models and fetched files, by path from its root."""
    found = [*root.glob("*.lock"), *(root / "envs").glob("*"), root / DATA_LOCK]
    return {str(p.relative_to(root)): p for p in sorted(found) if p.is_file()}


def sweep_files(
    folder: Path, cells: Iterable[Sequence[str]], variants: Iterable[str]
) -> dict[str, Path]:
    """The sweeps of a cohort and the re-reads there are of them, by path below `folder`.

    Args:
        folder: of the sweeps.
        cells: of the cohort: readout, benchmark, checkpoint.
        variants: of the run's noise floor. Another one's re-reads may lie beside them; no statistic of
            the run has read those.
    """
    again = [f"noise/{variant}/" for variant in variants]
    names = []
    for readout, benchmark, checkpoint in cells:
        name = f"{readout}/{benchmark}/{checkpoint}.parquet"
        rereads = [f"{variant}{name}" for variant in again]
        names += [name, *(reread for reread in rereads if (folder / reread).is_file())]
    return {name: folder / name for name in sorted(names)}


def publish(
    target: Path,
    settings: Mapping[str, Any],
    cohort_file: Path,
    sweeps: Path,
    variants: Iterable[str],
    outputs: Iterable[Path],
    root: Path,
) -> None:
    """Write the bundle of a run.

    Args:
        target: where.
        settings: the settings of the statistics.
        cohort_file: the cohort file.
        sweeps: the folder of the sweeps.
        variants: of the run's noise floor.
        outputs: everything that the run made of them, as paths from the working folder; one of
            them is results/cohort.json.
        root: the clone.
    """
    outputs = list(outputs)
    cohort = json.loads(Path("results/cohort.json").read_text(encoding="utf-8"))
    files: dict[str, Path | bytes] = {path.as_posix(): path for path in outputs}
    stored = sweep_files(sweeps, cohort["cells"], variants)
    files |= {f"{SWEEPS}/{name}": path for name, path in stored.items()}
    files |= {f"locks/{name}": path for name, path in locks(root).items()}
    files[COHORT] = cohort_file
    files[SETTINGS] = (json.dumps(settings, indent=1, sort_keys=True) + "\n").encode()
    pack(target, cohort["name"], files)


def given(settings: Mapping[str, Any], cohort: Path, sweeps: Path) -> dict[str, Any]:
    """The config of a run on given sweeps, over whatever the clone's config.yaml holds.

    Snakemake reads that file too and merges mappings key by key: sizes of samples, which such a run
    refuses, and an archive are gone only where they are null here.
    """
    told = {"cohort": str(cohort), "sweeps": str(sweeps), "items": None, "bundle": None}
    return {**settings, **told}


def config_of(folder: Path, place: Path | None = None) -> dict[str, Any]:
    """The config of a run on the sweeps of an unpacked bundle, once that lies at `place`."""
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    place = place or folder
    return given(settings, place / COHORT, place / SWEEPS)


def restore(archive: Path, into: Path) -> Path:
    """Unpack a bundle to `into`/{cohort}, whole or not at all, and return that folder.

    Beside its files lies `config.json`, which names its cohort file and sweeps. One that is there is
    the user's.

    Raises:
        BundleError: a fault of the archive, or a folder that holds anything else than it.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".restoring-") as temporary:
        unpacked = Path(temporary, "bundle")
        unpacked.mkdir()
        manifest = unpack(archive, unpacked)
        target = into / manifest["cohort"]
        config = json.dumps(config_of(unpacked, target), indent=1, sort_keys=True) + "\n"
        if not target.exists():
            write_text(unpacked / CONFIG, config)
            unpacked.rename(target)
            return target
        _check_same(target, manifest, archive)
        if not (target / CONFIG).exists():
            write_text(target / CONFIG, config)
    return target


def _check_same(folder: Path, manifest: Mapping[str, Any], archive: Path) -> None:
    """Nothing that is there is replaced: a folder must already hold these files, and no others.

    A run would read a re-read or a sweep of an earlier archive that lies among them.
    """
    listed = {folder / entry["path"]: entry["sha256"] for entry in manifest["files"]}
    found = {
        Path(where, name) for where, _, names in os.walk(folder, followlinks=True) for name in names
    }
    for path in sorted({*listed, *found} - {folder / CONFIG}):
        if path not in listed:
            told = "is not in the bundle"
        elif not path.is_file():
            told = "is missing"
        elif full_digest(path) != listed[path]:
            told = "is another file than the bundle's"
        else:
            continue
        raise BundleError(
            f"{path} {told}: move {folder} away and restore {archive} again; nothing was changed"
        )
