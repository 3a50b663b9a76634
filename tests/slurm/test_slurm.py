"""Runs on a real SLURM: what is killed goes on, nothing is lost, nothing is read twice.

`make test-slurm` runs them; `make test` leaves them out.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import signal
from pathlib import Path

import pytest
import yaml

from readouts.models import letter_tokenizer, random_model
from slurm.conftest import Driver, Slurm, chunks, through_slurm, until
from workflow.conftest import ROOT, Workflow, copy_sources

pytestmark = pytest.mark.slurm
MODEL, ITEMS, CHUNK = "random", 100, 2
FIRST_TOKEN = [("first-token", f"facts_k{k}") for k in (2, 4, 10)]
LONG = ("first-token", "facts_k10")


def sweep(readout: str, benchmark: str) -> str:
    return f"results/sweeps/{readout}/{benchmark}/{MODEL}.parquet"


def digests(out: Path, *patterns: str) -> dict[str, str]:
    """Path -> SHA-256 of the files that match."""
    return {
        str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest()
        for pattern in patterns
        for path in sorted(out.glob(pattern))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, ...]:
    """A small model and three generated benchmarks, in chunks so small that a kill meets a cell midway."""
    folder = tmp_path_factory.mktemp("cohort")
    model = random_model("llama")
    model.config.max_position_embeddings = 4096
    model.save_pretrained(folder / "model")
    letter_tokenizer().save_pretrained(folder / "model")
    cohort = yaml.safe_load((ROOT / "workflow" / "cohorts" / "mini.yaml").read_text())
    cohort["name"] = "few"
    cohort["checkpoints"] = [
        {
            "name": MODEL, "family": "Random", "params_b": 0.001, "training": "base",
            "source": {"path": "model"},
        }
    ]  # fmt: skip
    cohort["readouts"] = {"first-token": {"checkpoints": "all", "benchmarks": "all"}}
    path = folder / "few.yaml"
    path.write_text(yaml.safe_dump(cohort))
    sample = f"items={{first-token: {ITEMS}}}"
    return ("--config", f"cohort={path}", sample, f"chunk_items={CHUNK}")


@pytest.fixture(scope="module")
def local(
    slurm: Slurm, tmp_path_factory: pytest.TempPathFactory, config: tuple[str, ...]
) -> Workflow:
    """The same cells by a run on this machine, without SLURM."""
    folder = tmp_path_factory.mktemp("local")
    workflow = Workflow(copy_sources(folder / "source"), folder / "out")
    workflow.out.mkdir()
    workflow.run("--cores", "2", "sweeps", *config)
    return workflow


@pytest.fixture
def cluster(local: Workflow, tmp_path: Path) -> Workflow:
    """An empty folder for a run through SLURM; the model is converted already."""
    workflow = Workflow(local.source, tmp_path / "out")
    checkpoints = workflow.out / "results" / "checkpoints"
    checkpoints.parent.mkdir(parents=True)
    checkpoints.symlink_to(local.out / "results" / "checkpoints")
    choose_as(local, workflow)
    return workflow


def choose_as(first: Workflow, second: Workflow) -> None:
    """Take over how matrix products are made: a probe on a busy machine may choose otherwise."""
    chosen = Path("results", "journal", "matrix_path.json")
    (second.out / chosen).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(first.out / chosen, second.out / chosen)


def check_as_local(cluster: Workflow, local: Workflow, *options: str) -> None:
    """The same bytes as without SLURM, and nothing is left to do."""
    made = digests(cluster.out, "results/sweeps/**/*.parquet")
    assert made and made.items() <= digests(local.out, "results/sweeps/**/*.parquet").items()
    for name, digest in made.items():
        print(f"{digest[:16]} {name}: as the local run's")
    for name in made:
        assert len(chunks(cluster.out, *Path(name).parts[2:4])) == ITEMS // CHUNK
    printed = cluster.run(*through_slurm("-n", *options))
    assert "Nothing to be done" in printed
    print("$ snakemake -n ...\nNothing to be done", flush=True)


def log_of(cluster: Workflow, readout: str, benchmark: str) -> str:
    folder = cluster.out / "results" / "logs" / "first_token_sweep" / readout / benchmark
    path = folder / f"{MODEL}.log"
    return path.read_text() if path.exists() else ""


def midway(slurm: Slurm, cluster: Workflow, driver: Driver, cell: tuple[str, str]) -> str:
    """Wait until a cell's job has written some chunks; returns the job's number."""
    until(lambda: len(chunks(cluster.out, *cell)) >= 3 or not driver.running(), "three chunks")
    assert driver.running(), driver.log.read_text()
    slurm.show()
    (job,) = [n for n, told in slurm.jobs("RUNNING").items() if "_".join(cell) in told]
    return job


def test_a_cancelled_job_goes_on_from_its_journal(
    slurm: Slurm, local: Workflow, cluster: Workflow, config: tuple[str, ...]
) -> None:
    options = (sweep(*LONG), *config)
    driver = Driver(cluster, *through_slurm(*options))
    job = midway(slurm, cluster, driver, LONG)
    told = slurm.tell("scontrol", "show", "job", job)
    assert "gres/gpu" in told or "gres:gpu" in told, "no GPU was asked for"
    kept = chunks(cluster.out, *LONG)
    slurm.tell("scancel", job)
    printed = driver.wait()
    assert "benchmark_items" not in slurm.show(), "a small rule was submitted"
    assert f"SLURM-job '{job}' failed, SLURM status is: 'CANCELLED'" in printed
    assert kept.items() <= chunks(cluster.out, *LONG).items()
    found = re.search(rf"{ITEMS} of {ITEMS} items, (\d+) from the journal", log_of(cluster, *LONG))
    assert found is not None and CHUNK * len(kept) <= int(found[1]) < ITEMS
    print(f"log of {'/'.join(LONG)}: {found[0]}")
    check_as_local(cluster, local, *options)


def test_a_drained_node_ends_its_jobs_and_takes_no_other_until_it_is_resumed(
    slurm: Slurm, local: Workflow, cluster: Workflow, config: tuple[str, ...]
) -> None:
    """Three cells on two GPUs: one waits, and goes on waiting beside free GPUs."""
    options = (*(sweep(*cell) for cell in FIRST_TOKEN), *config)
    driver = Driver(cluster, *through_slurm(*options))
    until(lambda: len(slurm.jobs("RUNNING")) == 2 and slurm.jobs("PENDING"), "two of three cells")
    node = slurm.ask("sinfo", "--noheader", "--format=%N").strip()
    slurm.tell("scontrol", "update", f"nodename={node}", "state=drain", "reason=test")
    slurm.show()
    until(lambda: not slurm.jobs("RUNNING"), "the jobs that ran when the node was drained")
    slurm.tell("sinfo", "--format=%N %T %E")
    slurm.show()
    (waiting,) = slurm.jobs("PENDING").values()
    assert driver.running()
    slurm.tell("scontrol", "update", f"nodename={node}", "state=resume")
    driver.wait()
    slurm.show()
    print(f"waited: {waiting}")
    check_as_local(cluster, local, *options)


def test_a_killed_driver_is_started_again(
    slurm: Slurm, local: Workflow, cluster: Workflow, config: tuple[str, ...]
) -> None:
    """Its job goes on; the next run's job of the same cell waits for it and reads nothing itself."""
    options = (sweep(*LONG), *config)
    driver = Driver(cluster, *through_slurm(*options))
    job = midway(slurm, cluster, driver, LONG)
    slurm.tell("scontrol", "suspend", job)  # so that it lasts until the second run's job is there
    os.kill(driver.process.pid, signal.SIGKILL)
    driver.process.wait()
    print(f"killed the driver, process {driver.process.pid}", flush=True)
    locked = cluster.run(*through_slurm(*options), check=False)
    assert "--unlock" in locked
    cluster.run(*through_slurm("--unlock", *options))
    again = Driver(cluster, *through_slurm(*options))
    waits = "another job reads this cell; waiting until it ends"
    until(lambda: waits in log_of(cluster, *LONG), "the second run's job")
    slurm.show()
    slurm.tell("scontrol", "resume", job)
    until(lambda: job in slurm.jobs("COMPLETED"), "the first job")
    read = chunks(cluster.out, *LONG)
    again.wait()
    slurm.show()
    assert chunks(cluster.out, *LONG) == read and len(read) == ITEMS // CHUNK
    log = log_of(cluster, *LONG)
    assert f"{ITEMS} of {ITEMS} items, {ITEMS} from the journal" in log
    print(log)
    check_as_local(cluster, local, *options)


def test_the_whole_of_mini(slurm: Slurm, tmp_path: Path) -> None:
    """Every sweep and table of the default cohort is that of a run without SLURM (an hour)."""
    source = copy_sources(tmp_path / "source")
    alone, cluster = (Workflow(source, tmp_path / name) for name in ("alone", "cluster"))
    for workflow in (alone, cluster):
        workflow.out.mkdir()
    driver = Driver(cluster, *through_slurm())

    def cells() -> list[str]:
        return [n for n, told in slurm.jobs("RUNNING").items() if "first_token_sweep" in told]

    until(lambda: cells() or not driver.running(), "a cell", 1800)
    slurm.show()
    slurm.tell("scontrol", "show", "job", cells()[0])
    driver.wait(14400)
    slurm.show()
    choose_as(cluster, alone)
    Driver(alone, "--cores", "2").wait(14400)
    what = ("results/sweeps/**/*.parquet", "results/tables/*", "results/statistics/*.csv")
    made, wanted = digests(cluster.out, *what), digests(alone.out, *what)
    assert made == wanted and len(made) > 12 + 22
    both = hashlib.sha256("".join(f"{made[n]} {n}\n" for n in sorted(made)).encode()).hexdigest()
    print(f"{len(made)} sweeps, tables and statistics as without SLURM, SHA-256 of all {both}")
    for name, digest in made.items():
        print(digest[:16], name)
    printed = cluster.run(*through_slurm("-n"))
    assert "Nothing to be done" in printed
    print("$ snakemake -n ...\nNothing to be done")
