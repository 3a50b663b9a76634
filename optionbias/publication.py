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
    outputs: Iterable[Path],
    variants: Iterable[str],
    root: Path,
) -> None:
    """Write the bundle of a run.

    Args:
        target: where.
        settings: the settings of the statistics.
        cohort_file: the cohort file.
        sweeps: the folder of the sweeps.
        outputs: everything that the run made of them, as paths from the working folder; one of
        variants: of the run's noise floor.
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


def config_of(folder: Path) -> dict[str, Any]:
    """The config of a run on the sweeps of an unpacked bundle."""
    settings = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    return {**settings, "cohort": str(folder / COHORT), "sweeps": str(folder / SWEEPS)}


def restore(archive: Path, into: Path) -> Path:
    """Unpack a bundle to `into`/{cohort}, whole or not at all, and return that folder.

    Beside its files lies `config.json`, which names its cohort file and sweeps.

    Raises:
        BundleError: a fault of the archive, or a folder that holds anything else than it.
    """
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=into, prefix=".restoring-") as temporary:
        unpacked = Path(temporary, "bundle")
        unpacked.mkdir()
        manifest = unpack(archive, unpacked)
        target = into / manifest["cohort"]
        if target.exists():
            _check_same(target, manifest, archive)
        else:
            unpacked.rename(target)
    write_text(target / CONFIG, json.dumps(config_of(target), indent=1, sort_keys=True) + "\n")
    return target


def _check_same(folder: Path, manifest: Mapping[str, Any], archive: Path) -> None:
    """Nothing that is there is replaced: a folder must already hold just these files."""
    for entry in manifest["files"]:
        path = folder / entry["path"]
        if not path.is_file():
            told = "is missing"
        elif full_digest(path) != entry["sha256"]:
            told = "is another file than the bundle's"
        else:
            continue
        raise BundleError(
            f"{path} {told}: move {folder} away and restore {archive} again; nothing was changed"
        )
