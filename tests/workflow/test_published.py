"""Published benchmarks through the workflow: from a mirror alone, checked, remade when they must be.

Synthetic files stand for two sources whose digests nobody has recorded yet.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import shutil
import time
from pathlib import Path

import pytest

from optionbias.items import read_items
from optionbias.prompts import exemplars_of, prompt
from optionbias.repairs import DEFAULTS
from optionbias.sweep import read_sweep
from workflow.conftest import ROOT, Workflow, copy_sources, jobs
from workflow.synthetic_mirror import (
    DATA,
    NO_NETWORK,
    PRO,
    PRO_POOL,
    TRUTHFUL,
    Run,
    fresh,
    write_cohort,
    write_mirror,
)

pytestmark = pytest.mark.workflow
NOTHING = "Nothing to be done"
SHARED = ROOT.parent / "shared" / "data"
# Their entries in the lock.
FILES = {path: path.replace("/raw/", "/") for path in (PRO, PRO_POOL, TRUTHFUL)}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refused(run: Run) -> bool:
    return Path(run.env["REFUSED"]).exists()


@pytest.fixture(scope="module")
def unrun(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A clone, a mirror and a cohort, before anything is made."""
    root = tmp_path_factory.mktemp("published")
    write_mirror(root / "given")
    write_cohort(root / "out")
    (root / "blocked").mkdir()
    (root / "blocked" / "sitecustomize.py").write_text(NO_NETWORK)
    env = {"PYTHONPATH": str(root / "blocked"), "REFUSED": str(root / "refused")}
    workflow = Workflow(copy_sources(root / "clone"), root / "out")
    (workflow.source / "workflow" / "data.lock").unlink(missing_ok=True)
    return Run(workflow, root / "given", env)


@pytest.fixture(scope="module")
def first(unrun: Run) -> Run:
    """The same after its first run."""
    unrun.printed = unrun.workflow.run(
        "--cores", "2", "--config", "cohort=few.yaml", f"mirror={unrun.mirror}", *DATA,
        check=True, **unrun.env,
    )  # fmt: skip
    return unrun


def test_everything_comes_from_the_mirror_alone(first: Run) -> None:
    assert jobs(first.printed) == {
        # Files of the items of two benchmarks and of one pool; three benchmarks, two five-shot.
        "benchmark_files": 3, "benchmark_items": 3, "exemplars": 2, "data_audit": 1, "data": 1, "mirror": 1,
    }  # fmt: skip
    assert not refused(first)


def test_items_are_the_repaired_rows_with_k_options(first: Run) -> None:
    items = {i.id: i for i in read_items(first.results / "items" / "mmlu_pro.parquet")}
    assert set(items) == {f"mmlu_pro_{row}" for row in range(12) if row not in (3, 7)}
    assert items["mmlu_pro_5"].options[5] == "option 5 of 5" and items["mmlu_pro_5"].answer == 5
    truthful = read_items(first.results / "items" / "truthfulqa_mc1.parquet")
    assert len(truthful) == 9
    # Shuffled, each with its gold: it was option 0 of its row.
    assert len({i.answer for i in truthful}) > 1
    assert all(i.options[i.answer].startswith("option 0 ") for i in truthful)


def test_exemplars_are_of_the_pool_and_never_evaluated(first: Run) -> None:
    """Of eight validation rows the last repeats an item: five of the other seven."""
    exemplars = read_items(first.results / "exemplars" / "mmlu_pro.parquet")
    assert len(exemplars) == 5
    assert {e.id for e in exemplars} <= {f"mmlu_pro_validation_{row}" for row in range(100, 107)}


def test_manifests_and_lock_hold_the_digests_of_what_was_copied(first: Run) -> None:
    lock = json.loads(first.lock.read_text())
    assert set(lock) == set(FILES.values())
    manifests = {
        "mmlu_pro/items": PRO,
        "mmlu_pro/exemplars": PRO_POOL,
        "truthfulqa_mc1/items": TRUTHFUL,
    }
    for name, path in manifests.items():
        (entry,) = json.loads((first.results / "data" / f"{name}.json").read_text())["files"]
        assert entry["sha256"] == lock[FILES[path]]["sha256"] == sha256(first.mirror / path)
        assert (first.results / "mirror" / path).read_bytes() == (first.mirror / path).read_bytes()


def test_the_audit_counts_rows_faults_and_repairs(first: Run) -> None:
    with (first.results / "data_audit.csv").open(newline="") as file:
        rows = {(r["benchmark"], r["section"], r["name"]): r for r in csv.DictReader(file)}
    expected = {
        ("mmlu_pro", "rows", "read"): (12, 12),
        ("mmlu_pro", "rows", "dropped: not 10 options"): (1, 12),
        ("mmlu_pro", "rows", "dropped: drop_empty"): (1, 12),
        ("mmlu_pro", "rows", "items"): (10, 12),
        ("mmlu_pro", "fault", "stray blanks on the gold alone"): (1, 11),
        ("mmlu_pro", "repair", "strip_blanks"): (1, 11),
        ("truthfulqa_mc1", "rows", "dropped: not 4 options"): (1, 10),
        ("truthfulqa_mc1", "gold", "published A"): (9, 9),
        ("truthfulqa_mc1", "fault", "gold always first"): (9, 9),
        ("facts_k4", "fault", "gold always first"): (0, 312),
    }
    assert {key: (int(rows[key]["count"]), int(rows[key]["of"])) for key in expected} == expected
    assert json.loads(rows["mmlu_pro", "repair", "strip_blanks"]["ids"]) == ["mmlu_pro_5"]
    page = (first.results / "data_audit.md").read_text()
    assert page.startswith("# Data audit of the cohort few\n")
    assert "gold always first: all 9" in page and "(`mmlu_pro_5`)" in page


def test_one_machines_mirror_serves_another(first: Run, tmp_path: Path) -> None:
    """Its store, with the lock taken along, gives the same items in another folder and clone."""
    clone, mirror = tmp_path / "clone", tmp_path / "carried"
    shutil.copytree(first.workflow.source, clone)
    shutil.copytree(first.results / "mirror", mirror)
    other = Workflow(clone, tmp_path / "out")
    cohort = write_cohort(other.out)
    made = [
        "results/items/mmlu_pro.parquet",
        "results/items/truthfulqa_mc1.parquet",
        "results/exemplars/mmlu_pro.parquet",
    ]
    other.run(
        "--cores", "2", "--config", cohort, f"mirror={mirror}", "--", "mirror", *made,
        check=True, **first.env,
    )  # fmt: skip
    for name in [*made, *(f"results/mirror/{path}" for path in FILES)]:
        assert (other.out / name).read_bytes() == (first.workflow.out / name).read_bytes(), name
    # Held against the lock, not recorded anew.
    assert (clone / "workflow" / "data.lock").read_bytes() == first.lock.read_bytes()
    assert not refused(first)


def test_a_changed_byte_stops_with_both_digests(first: Run, tmp_path: Path) -> None:
    mirror = tmp_path / "changed"
    shutil.copytree(first.mirror, mirror)
    content = bytearray((mirror / PRO).read_bytes())
    content[len(content) // 2] ^= 1
    (mirror / PRO).write_bytes(content)
    lock = first.lock.read_bytes()
    workflow = fresh(first, tmp_path / "out")
    printed = workflow.run(
        "--cores", "1", "--config", "cohort=few.yaml", f"mirror={mirror}", "--",
        "results/items/mmlu_pro.parquet", check=False,
    )  # fmt: skip
    (line,) = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: mmlu_pro/hub/test.parquet: ")
    for told in (mirror / PRO, sha256(mirror / PRO), first.lock, sha256(first.mirror / PRO)):
        assert str(told) in line
    assert "Traceback" not in printed
    for kept in ("items", "data"):
        assert not list((workflow.out / "results").glob(f"{kept}/**/*.*")), kept
    assert not list((workflow.out / "results" / "mirror").rglob("*.parquet"))
    assert first.lock.read_bytes() == lock


def test_without_mirror_and_network_it_is_one_line(first: Run, tmp_path: Path) -> None:
    """Also what shows that the tests above would have seen a call."""
    env = {**first.env, "REFUSED": str(tmp_path / "refused"), "HF_HOME": str(tmp_path / "hub")}
    workflow = fresh(first, tmp_path / "out")
    printed = workflow.run(
        "--cores", "1", "--config", "cohort=few.yaml", "--", "results/data/mmlu_pro/items.json",
        check=False, **env,
    )  # fmt: skip
    (line,) = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert "TIGER-Lab/MMLU-Pro" in line and "hub/test.parquet" in line and "`mirror`" in line
    assert (tmp_path / "refused").exists()


def test_a_second_run_does_nothing_wherever_the_mirror_lies(first: Run) -> None:
    options = ("-n", "--config", "cohort=few.yaml")
    assert NOTHING in first.workflow.run(*options, f"mirror={first.mirror}", *DATA)
    later = time.time() + 3600
    for folder in (first.mirror, first.results / "mirror"):
        for path in [folder, *folder.rglob("*")]:
            os.utime(path, (later, later))
    assert first.plan("mirror=/no/such/mirror") == set()


BENCHMARK_ITEMS = {
    name: ("benchmark_items", f"benchmark={name}")
    for name in ("mmlu_pro", "truthfulqa_mc1", "facts_k4")
}
EXEMPLARS = {name: ("exemplars", f"benchmark={name}") for name in ("mmlu_pro", "facts_k4")}
REPORTED = {("data_audit", ""), ("data", "")}


def test_a_repair_remakes_what_is_published(first: Run) -> None:
    """Files are not fetched again, generated benchmarks not made again."""
    expected = {BENCHMARK_ITEMS["mmlu_pro"], BENCHMARK_ITEMS["truthfulqa_mc1"], *REPORTED}
    expected.add(EXEMPLARS["mmlu_pro"])
    assert first.plan("repairs={strip_blanks: false}") == expected


def test_a_repair_switched_off_leaves_the_others_on(first: Run, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(first.workflow.out, out)
    printed = Workflow(first.workflow.source, out).run(
        "--cores", "1", "--config", "cohort=few.yaml", "repairs={strip_blanks: false}", "--",
        "results/items/mmlu_pro.parquet",
    )  # fmt: skip
    assert jobs(printed) == {"benchmark_items": 1}
    items = {i.id: i for i in read_items(out / "results/items/mmlu_pro.parquet")}
    assert items["mmlu_pro_5"].options[5] == "option 5 of 5 "
    assert "mmlu_pro_7" not in items  # drop_empty is on


def test_another_seed_remakes_what_is_drawn(first: Run) -> None:
    """TruthfulQA is shuffled and facts_k4 generated; MMLU-Pro's items are drawn by nobody."""
    expected = {BENCHMARK_ITEMS["truthfulqa_mc1"], BENCHMARK_ITEMS["facts_k4"], *REPORTED}
    assert first.plan("seed=7") == expected | set(EXEMPLARS.values())


def test_an_edited_module_remakes_its_benchmark_alone(first: Run, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    shutil.copytree(first.workflow.source, clone)
    edited = Run(Workflow(clone, first.workflow.out), first.mirror, first.env)
    modules = clone / "optionbias" / "benchmarks"
    for name, expected in (
        ("piqa", set()),  # which the cohort does not ask
        ("truthfulqa_mc1", {BENCHMARK_ITEMS["truthfulqa_mc1"], *REPORTED}),
    ):
        with (modules / f"{name}.py").open("a") as file:
            file.write("\n# a change\n")
        assert edited.plan() == expected


def test_items_of_the_config_go_over_those_of_the_cohort(first: Run) -> None:
    """The cohort samples 8 items zero-shot and 6 five-shot."""
    sweeps = [f"results/sweeps/{readout}/mmlu_pro/A.parquet" for readout in ("first-token", "five-shot")]  # fmt: skip
    printed = first.workflow.run(
        "-n", "-p", "--config", "cohort=few.yaml", "items={first-token: 3}", "--", *sweeps
    )
    assert printed.count("--sample 3 ") == 1 and printed.count("--sample 6 ") == 1
    assert "--sample 8" not in printed


OWN = {
    "benchmarks": [{"name": "facts_k4", "K": 4}],
    "readouts": {"first-token": {"checkpoints": "all", "benchmarks": "all"}},
}


@pytest.mark.parametrize(
    ("config", "target", "line"),
    [
        (
            ("repairs={strip_blank: false, drop_empty: maybe}", "items={zero-shot: 4}"),
            "data",
            "config (config.yaml or --config): unknown key `items.zero-shot` (known here: all-orderings, chain-of-thought, "
            "closed, direct-answer, first-token, five-shot); config (config.yaml or --config): unknown key `repairs.strip_blank` (known here: "
            f"{', '.join(sorted(DEFAULTS))}); config (config.yaml or --config): `repairs.drop_empty` is 'maybe', not of "
            "type boolean",
        ),
        (
            ("cohort=simulated", "items={first-token: 4}"),
            "all",
            "config key `items`: simulated benchmarks are sized by `size`",
        ),
        (("mirror=gone",), "data", "config key `mirror`: no such folder: gone (looked for in "),
        (
            ("mirror=empty",),
            "data",
            "config key `mirror`: empty holds no published benchmark of cohort few, such as "
            "mmlu_pro/raw; `snakemake mirror` makes such a folder, results/mirror",
        ),
        # A cohort without published benchmarks needs no mirror, so this one is not missed.
        (
            ("cohort=own.yaml", "mirror=gone"),
            "mirror",
            "cohort few has no published benchmark that could be mirrored: name a cohort that has, "
            "for example `--config cohort=real-mini`",
        ),
        (
            ("cohort=simulated",),
            "mirror",
            "cohort simulated has no published benchmark that could be",
        ),
        (
            ("cohort=simulated",),
            "data",
            "cohort simulated has no items, its answers are simulated: ",
        ),
    ],
)
def test_a_fault_of_the_data_is_one_line(
    unrun: Run, tmp_path: Path, config: tuple[str, ...], target: str, line: str
) -> None:
    write_cohort(tmp_path, **OWN)
    (tmp_path / "few.yaml").rename(tmp_path / "own.yaml")
    workflow = fresh(unrun, tmp_path)
    (tmp_path / "empty").mkdir()
    printed = workflow.run("-n", "--config", "cohort=few.yaml", *config, "--", target, check=False)
    assert [text for text in map(str.strip, printed.splitlines()) if text.startswith(line)]
    assert "Traceback (most recent call last)" not in printed
    assert not (tmp_path / "results").exists()


def test_subjects_that_the_mirror_lacks_are_one_line(unrun: Run, tmp_path: Path) -> None:
    """A mirror of other subjects' files; nothing else is called for the missing one."""
    entry = {"name": "mmlu_five_subjects", "K": 4, "subjects": ["astronomy", "virology"]}
    cohort = write_cohort(tmp_path, **{**OWN, "benchmarks": [entry]})
    other = tmp_path / "mirror" / "mmlu_five_subjects" / "raw" / "test" / "anatomy_test.csv"
    other.parent.mkdir(parents=True)
    other.write_text("What?,a,b,c,d,A\n")
    printed = Workflow(unrun.workflow.source, tmp_path).run(
        "--cores", "1", "--config", cohort, "mirror=mirror", "--",
        "results/items/mmlu_five_subjects.parquet",
        check=False, **{**unrun.env, "REFUSED": str(tmp_path / "refused")},
    )  # fmt: skip
    (line,) = [line for line in printed.splitlines() if line.startswith("error: ")]
    assert line.startswith("error: mmlu_five_subjects/test/astronomy_test.csv: the mirror ")
    assert "mirror/mmlu_five_subjects/raw/test/astronomy_test.csv" in line and "https://" in line
    assert not (tmp_path / "refused").exists()
    assert not (tmp_path / "results" / "items").exists()


@pytest.mark.skipif(
    not (SHARED / "mmlu_five_subjects").is_dir(), reason="no real data in ../shared/data"
)
def test_five_shot_prompts_of_mmlu_carry_the_subjects_own_exemplars(
    unrun: Run, tmp_path: Path
) -> None:
    """Six items on a small random model; a subject's five are the rows of its development file."""
    from readouts.models import letter_tokenizer, random_model

    readouts = {"five-shot": {"checkpoints": "all", "benchmarks": "all"}}
    cohort = write_cohort(
        tmp_path, benchmarks=[{"name": "mmlu_five_subjects", "K": 4}], readouts=readouts
    )
    model = random_model("llama")
    model.config.max_position_embeddings = 1 << 14  # five exemplars are thousands of bytes
    model.save_pretrained(tmp_path / "model")
    letter_tokenizer().save_pretrained(tmp_path / "model")
    made = tmp_path / "results"
    sweep_path = made / "sweeps" / "five-shot" / "mmlu_five_subjects" / "A.parquet"
    lock = (unrun.lock.exists(), unrun.lock.exists() and unrun.lock.read_bytes())
    Workflow(unrun.workflow.source, tmp_path).run(
        "--cores", "2", "--config", cohort, f"mirror={SHARED}", "items={five-shot: 6}", "device=cpu",
        "--", str(sweep_path.relative_to(tmp_path)),
    )  # fmt: skip
    exemplars = read_items(made / "exemplars" / "mmlu_five_subjects.parquet")
    items = {i.id: i for i in read_items(made / "items" / "mmlu_five_subjects.parquet")}
    sweep = read_sweep(sweep_path)
    assert (len(items), len(exemplars), len(sweep.items)) == (535, 25, 6)
    assert (unrun.lock.exists(), unrun.lock.exists() and unrun.lock.read_bytes()) == lock
    for item in (items[name] for name in sweep.items):
        before = exemplars_of(item, exemplars)
        raw = SHARED / "mmlu_five_subjects" / "raw" / "dev" / f"{item.subject}_dev.csv"
        with raw.open(encoding="utf-8", newline="") as file:
            rows = list(csv.reader(file))
        assert [e.question for e in before] == [row[0].strip() for row in rows]
        assert ["ABCD"[e.answer] for e in before] == [row[5] for row in rows]
        text = prompt(item, range(4), before)
        assert text.count("Question: ") == 6 and text.count(item.question) == 1
