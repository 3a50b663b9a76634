"""What goes into a bundle and how it is put back; and the record of what outputs rest on."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from optionbias.bundle import BundleError, unpack
from optionbias.figures import style
from optionbias.publication import config_of, locks, publish, restore, sweep_files
from optionbias.record import RecordError, record
from optionbias.sweep import write_sweep
from optionbias.tables.table import Block, Entry, Table, write_table
from strategies import sweep_of

VARIANTS = ("alone", "bfloat16")  # float32 was read by an earlier run, bfloat16 was not
CELLS = [["first-token", "toy", "A"], ["first-token", "toy", "B"]]
SETTINGS = {"draws": 200, "seed": 1}
TABLES = [f"results/tables/table2.{ending}" for ending in ("csv", "md", "tex", "typ")]
FIGURES = [f"figures/figure1.{ending}" for ending in ("csv", "pdf", "png", "svg")]
OUTPUTS = [*TABLES, *FIGURES, "results/cohort.json", "results/summary.md"]
STAMP = {"computed": {"commit": "c0ffee"}}


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run with its clone, and what must not be published beside it."""
    out, clone = tmp_path / "out", tmp_path / "clone"
    for name in ("requirements.lock", "envs/data.yaml", "workflow/data.lock", "optionbias/x.py"):
        (clone / name).parent.mkdir(parents=True, exist_ok=True)
        (clone / name).write_text(f"{name}\n")
    stored = [("", "A"), ("", "B"), ("noise/alone/", "A"), ("", "Stale"), ("noise/float32/", "A")]
    for folder, name in stored:
        path = out / f"results/sweeps/{folder}first-token/toy/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_sweep(path, sweep_of(name, n=5, revision=f"r-{name}"))
    for name in ("results/items/toy.parquet", "results/traces/x.gz", "results/summary.md"):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("text\n")
    cohort = {"name": "few", "label": "few", "simulated": False, "cells": CELLS}
    (out / "results/cohort.json").write_text(json.dumps(cohort))
    (out / "few.yaml").write_text("name: few\n")
    monkeypatch.chdir(out)
    write_table(Table("2", "C.", [Block("", [Entry("r", "c", 0.5)])]), TABLES, STAMP)
    figure, _ = plt.subplots(figsize=(1, 1))
    style.save(figure, FIGURES[1:], "Figure 1.", STAMP)
    Path(FIGURES[0]).write_text("x,y\n1,2\n")
    return tmp_path


def bundle(run: Path, name: str = "few.tar") -> Path:
    target = run / name
    outputs = [Path(output) for output in OUTPUTS]
    sweeps, clone = Path("results/sweeps"), run / "clone"
    publish(target, SETTINGS, Path("few.yaml"), sweeps, VARIANTS, outputs, clone)
    return target


def test_what_a_bundle_holds_and_what_not(run: Path) -> None:
    manifest = unpack(bundle(run), run / "unpacked")
    assert manifest["cohort"] == "few"
    assert {entry["path"] for entry in manifest["files"]} == {
        *OUTPUTS, "settings.json", "cohort.yaml",
        "locks/requirements.lock", "locks/envs/data.yaml", "locks/workflow/data.lock",
        "sweeps/first-token/toy/A.parquet", "sweeps/first-token/toy/B.parquet",
        "sweeps/noise/alone/first-token/toy/A.parquet",
    }  # fmt: skip
    for name, path in sweep_files(Path("results/sweeps"), CELLS, VARIANTS).items():
        assert (run / "unpacked" / "sweeps" / name).read_bytes() == path.read_bytes()


def test_re_reads_are_those_of_the_noise_floor(run: Path) -> None:
    """Another run's lie in the same folder."""
    found = {
        variants: [n for n in sweep_files(Path("results/sweeps"), CELLS, variants) if "noise" in n]
        for variants in [(), ("alone",), ("float32",), ("alone", "float32")]
    }
    alone, float32 = (f"noise/{v}/first-token/toy/A.parquet" for v in ("alone", "float32"))
    assert list(found.values()) == [[], [alone], [float32], [alone, float32]]


def test_a_missing_sweep_is_no_smaller_bundle(run: Path) -> None:
    Path("results/sweeps/first-token/toy/B.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"B\.parquet"):
        bundle(run)
    assert not (run / "few.tar").exists()


def test_restored_whole_and_again(run: Path) -> None:
    archive, into = bundle(run), run / "results" / "restored"
    folder = restore(archive, into)
    assert folder == into / "few"
    assert json.loads((folder / "config.json").read_text()) == config_of(folder) == {
        **SETTINGS, "cohort": f"{folder}/cohort.yaml", "sweeps": f"{folder}/sweeps",
        "items": None, "bundle": None,
    }  # fmt: skip
    assert (folder / "cohort.yaml").read_text() == "name: few\n"
    # Twice is no fault, and nothing is left beside it.
    assert restore(archive, into) == folder
    assert [path.name for path in into.iterdir()] == ["few"]


def test_what_differs_is_never_replaced(run: Path) -> None:
    archive, into = bundle(run), run / "restored"
    sweep = restore(archive, into) / "sweeps/first-token/toy/A.parquet"
    whole = sweep.read_bytes()
    sweep.write_bytes(b"mine")
    with pytest.raises(BundleError, match=f"^{sweep} is another file than the bundle's: move "):
        restore(archive, into)
    assert sweep.read_bytes() == b"mine"
    sweep.unlink()
    with pytest.raises(BundleError, match=f"^{sweep} is missing: move "):
        restore(archive, into)
    assert not sweep.exists()
    sweep.write_bytes(whole)
    restore(archive, into)


@pytest.mark.parametrize(
    "name", ["sweeps/noise/float32/first-token/toy/A.parquet", "results/tables/table3.md", "mine"]
)
def test_what_is_not_in_the_bundle_may_not_lie_among_it(name: str, run: Path) -> None:
    """A run would read a re-read of an earlier archive."""
    archive, into = bundle(run), run / "restored"
    extra = restore(archive, into) / name
    extra.parent.mkdir(parents=True, exist_ok=True)
    extra.write_text("mine")
    with pytest.raises(BundleError, match=f"^{extra} is not in the bundle: move "):
        restore(archive, into)
    assert extra.read_text() == "mine"
    extra.unlink()
    restore(archive, into)


def test_the_config_of_a_restored_bundle_is_the_users(run: Path) -> None:
    archive, into = bundle(run), run / "restored"
    config = restore(archive, into) / "config.json"
    written = config.read_text()
    config.write_text('{"draws": 3}')
    restore(archive, into)
    assert config.read_text() == '{"draws": 3}'
    config.unlink()
    restore(archive, into)
    assert config.read_text() == written


def test_the_config_is_there_as_soon_as_the_folder_is(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kill at the rename leaves a folder with it, or none."""
    rename, seen = Path.rename, []

    def watched(self: Path, target: Path) -> Path:
        seen.append(json.loads((self / "config.json").read_text())["sweeps"])
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    folder = restore(bundle(run), run / "restored")
    assert seen == [f"{folder}/sweeps"]


def test_a_damaged_archive_leaves_nothing(run: Path) -> None:
    archive, into = bundle(run), run / "restored"
    data = bytearray(archive.read_bytes())
    data[data.index(b"PAR1") + 40] ^= 1
    archive.write_bytes(data)
    with pytest.raises(BundleError, match=r"sweeps/first-token/toy/A\.parquet: its SHA-256 is"):
        restore(archive, into)
    assert not list(into.iterdir())


def recorded(run: Path) -> dict[str, object]:
    return record(
        {"sha256": "d"}, Path("results/cohort.json"), Path("results/sweeps"), VARIANTS,
        [Path(output) for output in OUTPUTS], run / "clone",
    )  # fmt: skip


def test_the_record_holds_every_digest_and_stamp(run: Path) -> None:
    def sha256(path: str | Path) -> str:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()

    found = recorded(run)
    assert found == recorded(run)
    assert found["tables"] == {"2": {"files": {p: sha256(p) for p in TABLES}, "stamp": STAMP}}
    assert found["figures"] == {"1": {"files": {p: sha256(p) for p in FIGURES}, "stamp": STAMP}}
    rest = ("results/cohort.json", "results/summary.md")
    assert found["files"] == {path: sha256(path) for path in rest}
    assert found["locks"] == {n: sha256(p) for n, p in locks(run / "clone").items()}
    assert len(locks(run / "clone")) == 3
    sweeps = sweep_files(Path("results/sweeps"), CELLS, VARIANTS)
    assert {n: s["sha256"] for n, s in found["sweeps"].items()} == {  # type: ignore[attr-defined]
        name: sha256(path) for name, path in sweeps.items()
    }
    told = found["sweeps"]["first-token/toy/A.parquet"]["metadata"]  # type: ignore[index]
    assert told["revision"] == "r-A" and "orderings" not in told


@pytest.mark.parametrize("name", ["results/tables/table2.md", "figures/figure1.svg"])
def test_an_output_without_a_readable_stamp_is_named(name: str, run: Path) -> None:
    path = Path(name)
    path.write_text(path.read_text().replace("c0ffee", 'c0"ffee'))
    told = (
        f"^{name}: does not say what it was made of .*: remove it, and run the same command again$"
    )
    with pytest.raises(RecordError, match=told):
        recorded(run)
