"""A run published, restored in a fresh clone, made again and compared; and what its outputs rest on."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from optionbias.bundle import pack, unpack
from optionbias.catalogue import FIGURES
from optionbias.catalogue import TABLES as ALL_TABLES
from optionbias.digests import full_digest
from optionbias.publication import sweep_files
from optionbias.stamp import of_drawing, split
from workflow.conftest import Workflow, copy_sources, jobs, planned

pytestmark = [pytest.mark.workflow, pytest.mark.model]
NOTHING = "Nothing to be done"
# Made from sweeps, or from what was made from them.
DOWNSTREAM = {
    "cohort", "score_benchmark", "gather_statistics", "analysis", "table", "figure_data", "figure",
    "summary", "agreement", "paper", "provenance", "all",
}  # fmt: skip


@pytest.fixture(scope="module")
def archive(mini: Workflow, options: tuple[str, ...]) -> Path:
    """The bundle of `mini`."""
    printed = mini.run(*options, "--", "bundle")
    assert set(jobs(printed)) == {"bundle"}
    return mini.out / "results" / "bundle" / "mini.tar"


def clone_of_another_run(folder: Path) -> Path:
    """Sources whose config.yaml is set for a run that asks models, and for an archive that is gone."""
    config = copy_sources(folder) / "config.yaml"
    text = config.read_text().replace("\nitems: {}", "\nitems: {first-token: 100}")
    config.write_text(text.replace("\nbundle: null", "\nbundle: gone.tar"))
    assert (
        config.read_text().count("first-token: 100}\n") == config.read_text().count("gone.tar") == 1
    )
    return folder


def test_provenance_collects_what_the_outputs_carry(mini: Workflow) -> None:
    found = json.loads((mini.out / "results" / "provenance.json").read_text())
    tables = [table for table in ALL_TABLES if table != "noise"]
    assert set(found["tables"]) == set(tables) and set(found["figures"]) == set(FIGURES)
    for kind in ("tables", "figures"):
        for entry in found[kind].values():
            assert len(entry["files"]) == 4
            for name, sha256 in entry["files"].items():
                assert full_digest(mini.out / name) == sha256
    about = found["tables"]["2"]["stamp"]
    assert about["computed"]["commit"] == "unknown"  # the sources were copied, not cloned
    assert about["computed"]["config"] == found["config"]["sha256"]
    assert about["cohort"]["sha256"] == found["cohort"]["sha256"]
    # What the sweeps tell, down to the table: revisions, items, what answered.
    sweeps = found["sweeps"].values()
    assert len(sweeps) == 12
    for sweep in (sweep["metadata"] for sweep in sweeps):
        assert sweep["revision"] in about["answers"]["models"][sweep["checkpoint"]]
        if sweep["readout"] == "first-token" and sweep["K"] > 2:
            assert sweep["items_sha256"] in about["answers"]["items"][sweep["benchmark"]]
    assert {entry["backend"] for entry in about["answers"]["answered"]} == {"transformers"}
    text = (mini.out / "results" / "tables" / "table2.tex").read_text()
    assert split(text, "tex")[1] == about
    assert of_drawing(mini.out / "figures" / "figure3.svg") == found["figures"]["3"]["stamp"]
    assert "config.yaml" not in found["locks"] and "envs/statistics.yaml" in found["locks"]


def test_a_new_commit_reruns_nothing(
    mini: Workflow, options: tuple[str, ...], tmp_path: Path
) -> None:
    """And a table keeps the stamp of the commit that made it; what is made after has the new one."""
    clone = Workflow(copy_sources(tmp_path), mini.out)
    name = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")
    for arguments in (("init", "-q"), ("add", "-A"), (*name, "commit", "-qm", "First")):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)
    assert NOTHING in clone.run("-n", *options)
    style = tmp_path / "optionbias" / "figures" / "style.py"
    style.write_text(style.read_text() + "\n# a change of style\n")
    made = Workflow(tmp_path, tmp_path / "out")
    made.out.mkdir()
    made.run(*options, "--", "figures/figure2.svg")
    stamp = of_drawing(made.out / "figures" / "figure2.svg")
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout.strip()
    for job in ("computed", "drawn"):
        assert (stamp[job]["commit"], stamp[job]["uncommitted"]) == (head, True)


def test_restored_in_a_fresh_clone(archive: Path, mini: Workflow, tmp_path: Path) -> None:
    """Only what is downstream of the sweeps is left to do; the sweeps are the same bytes."""
    clone = Workflow(clone_of_another_run(tmp_path / "clone"), tmp_path / "clone")
    printed = clone.run("--cores", "1", "restore", "--config", f"bundle={archive}")
    config = "results/restored/mini/config.json"
    assert f"snakemake --cores all --configfile {config}" in printed
    plan = jobs(clone.run("-n", "--configfile", config))
    assert set(plan) == DOWNSTREAM
    before, after = (
        sweep_files(folder, json.loads((mini.out / "results/cohort.json").read_text())["cells"], ())
        for folder in (mini.out / "results/sweeps", clone.out / "results/restored/mini/sweeps")
    )
    assert {n: p.read_bytes() for n, p in before.items()} == {
        n: p.read_bytes() for n, p in after.items()
    }


def test_a_flipped_byte_is_named_and_nothing_is_put_in_place(
    archive: Path, mini: Workflow, tmp_path: Path
) -> None:
    name = "sweeps/first-token/facts_k4/gemma-3-270m.parquet"
    with tarfile.open(archive) as tar:
        member = tar.getmember(name)
    data = bytearray(archive.read_bytes())
    data[member.offset_data + member.size // 2] ^= 0x01
    damaged = tmp_path / "damaged.tar"
    damaged.write_bytes(data)
    reader = Workflow(mini.source, tmp_path / "out")
    reader.out.mkdir()
    printed = reader.run("--cores", "1", "restore", "--config", f"bundle={damaged}", check=False)
    (line,) = (line for line in printed.splitlines() if line.startswith("error: "))
    assert line.startswith(f"error: {damaged}: {name}: its SHA-256 is ")
    assert "Traceback" not in printed
    assert not list((reader.out / "results" / "restored").iterdir())


def test_without_an_archive_one_line_says_so(mini: Workflow, options: tuple[str, ...]) -> None:
    printed = mini.run("-n", "--", "restore", check=False)
    assert "config key `bundle`: which archive?" in printed
    assert "Traceback (most recent call last)" not in printed
    for target in ("restore", "verify"):
        printed = mini.run("-n", *options, "bundle=gone.tar", "--", target, check=False)
        assert "config key `bundle`: no such file: gone.tar" in printed
        assert "Traceback (most recent call last)" not in printed
    # What would make it is not stopped.
    mini.run("-n", *options, "bundle=gone.tar", "--", "bundle")


def test_a_bundle_follows_its_cohort_file_and_the_locks(
    archive: Path, mini: Workflow, options: tuple[str, ...], mini_cohort: Path, tmp_path: Path
) -> None:
    """Also what no statistic reads, as a comment: the file itself is published."""
    clone = Workflow(copy_sources(tmp_path / "clone"), mini.out)
    cohort = tmp_path / mini_cohort.name
    cohort.write_text(mini_cohort.read_text())
    moved = [option.replace(str(mini_cohort), str(cohort)) for option in options]
    (clone.source / "workflow" / "data.lock").write_text("{}")  # which jobs write
    assert NOTHING in clone.run("-n", *moved, "--", "bundle")
    cohort.write_text(f"# without private paths\n{mini_cohort.read_text()}")
    assert planned(clone.run("-n", *moved, "--", "bundle")) == {("bundle", "")}
    (clone.source / "envs" / "data.yaml").open("a").write("# another pin\n")
    plan = planned(clone.run("-n", *options, "--", "bundle"))
    assert plan == {("provenance", ""), ("bundle", "")}


def test_a_changed_number_is_caught(archive: Path, mini: Workflow, tmp_path: Path) -> None:
    """Of a bundle of a table and a figure's data in which one digit was changed, seal and all."""
    unpack(archive, tmp_path / "bundle")
    kept: dict[str, Path | bytes] = {
        path.relative_to(tmp_path / "bundle").as_posix(): path
        for path in (tmp_path / "bundle").rglob("*")
        if path.is_file()
        and (path.parent.name != "tables" or path.stem == "table6")
        and (path.parent.name != "figures" or path.stem == "figure2")
        and not path.name.startswith("manifest.json")
    }
    text = (tmp_path / "bundle/results/tables/table6.csv").read_text()
    *_, last = re.finditer(r"(?<=\.)\d", text)
    other = f"{text[: last.start()]}{9 - int(last[0])}{text[last.end() :]}"
    kept["results/tables/table6.csv"] = other.encode()
    pack(tmp_path / "changed.tar", "mini", kept)
    reader = Workflow(clone_of_another_run(tmp_path / "clone"), tmp_path / "out")
    reader.out.mkdir()
    stale = reader.out / "results" / "verify" / "run" / "results" / "tables" / "table6.csv"
    stale.parent.mkdir(parents=True)
    stale.write_text("stale")
    changed = f"bundle={tmp_path / 'changed.tar'}"
    printed = reader.run("--cores", "2", "verify", "--config", changed, check=False)
    lines = printed.splitlines()
    assert "1 tables equal, 1 differ" in lines
    differing = [line for line in lines if line.startswith(("results/tables/", "figures/"))]
    assert len(differing) == 1
    assert differing[0].startswith("results/tables/table6.csv: differs in line ")


def test_all_stamps_tell_the_settings_of_the_run(mini: Workflow, options: tuple[str, ...]) -> None:
    """Also those of what makes no use of the changed setting; `verify` would find it another's."""
    plan = jobs(mini.run("-n", *options, "small_mass=0.2"))
    assert plan["table"] == len(ALL_TABLES) - 1 and plan["figure_data"] == len(FIGURES)
    assert not {"score_benchmark", "gather_statistics", "analysis"} & set(plan)


def test_verify_makes_nothing_but_what_it_compares(
    mini: Workflow, options: tuple[str, ...]
) -> None:
    """Of a finished run there is one job to do."""
    assert {rule for rule, _ in planned(mini.run("-n", *options, "--", "verify"))} == {"verify"}
