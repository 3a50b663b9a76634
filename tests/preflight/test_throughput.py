"""Which machine an estimate is of, and how fast it is taken to be."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

from optionbias.cohort import Cell
from optionbias.devices import Gpu
from optionbias.orderings import cyclic
from optionbias.preflight import throughput
from optionbias.preflight.throughput import Machine, Speed, choose, seconds, with_measured
from optionbias.preflight.workload import Job
from optionbias.progress import Progress
from optionbias.sweep import Sweep, write_sweep
from optionbias.validation import ConfigError

from . import cohorts

ADA = Gpu("NVIDIA RTX 6000 Ada Generation", 51.5, "GPU-1")
SXM = Gpu("NVIDIA A100-SXM4-80GB", 85.9, "GPU-2")
ODD = Gpu("NVIDIA GH999", 500.0, "GPU-3")


def chosen(found: list[Gpu], fits: bool = True, **changes: Any) -> Machine:
    return choose(cohorts.config(**changes), found, fits, 25.0)


def test_the_stated_card_then_the_one_found_then_this_cpu_then_an_h100() -> None:
    stated = chosen([ADA, ADA], card="A100-80GB")
    assert (stated.name, stated.found, stated.memory_gb) == ("A100-80GB", 0, 85)
    assert chosen([SXM, ADA], card="A100-80GB").found == 1
    found = chosen([ADA, ADA])
    assert (found.name, found.found, found.memory_gb) == (ADA.name, 2, 51.5)
    assert found.speed.prefill == pytest.approx(0.3 * 364e12)
    here = chosen([])
    assert (here.name, here.on_gpu, here.memory_gb) == ("CPU", False, 25.0)
    assert chosen([ADA], device="cpu").name == "CPU"
    for machine in (chosen([], fits=False), chosen([], device="cuda")):
        assert machine.name == "H100" and machine.found == 0 and "no GPU was found" in machine.note


def test_a_card_that_nobody_declared_is_taken_for_an_h100_and_said_so() -> None:
    machine = chosen([ODD])
    assert (machine.name, machine.memory_gb) == (ODD.name, 500.0)
    assert machine.speed.prefill == chosen([], fits=False).speed.prefill
    assert "GH999 is not in cards.yaml" in machine.note


def test_the_longer_name_of_a_card_is_tried_first() -> None:
    assert chosen([SXM]).speed.prefill == pytest.approx(0.35 * 312e12)
    card = chosen([Gpu("NVIDIA A100-PCIE-40GB", 42.0, "GPU-4")])
    assert card.memory_gb == 42.0 and not card.note


def test_an_unknown_card_is_one_line() -> None:
    with pytest.raises(
        ConfigError,
        match=r"config key `card`: H1000 is not in workflow/cards.yaml \(there are H200",
    ):
        chosen([], card="H1000")


def test_two_operations_a_parameter_and_token() -> None:
    # 2 x 10^9 x 10^6 at 10^15 a second, and 2 x 10^9 x 10^3 at 10^13.
    assert seconds(1e6, 1e3, 1e9, Speed(1e15, 1e13, "")) == pytest.approx(2.0 + 0.2)


def finished(
    folder: Path, job: Job, taken: float, rule: str = "first_token_sweep", **told: Any
) -> None:
    """A cell that was read here: its sweep and the file that Snakemake writes of its job."""
    readout, benchmark, checkpoint = job.cell
    reread = f"noise/{job.variant}/" if job.variant else ""
    tsv = folder / "benchmarks" / rule / f"{reread}{readout}" / benchmark / f"{checkpoint}.tsv"
    tsv.parent.mkdir(parents=True, exist_ok=True)
    tsv.write_text(f"s\th:m:s\tmax_rss\n{taken}\t0:00:01\t1.0\n")
    metadata = {
        "checkpoint": checkpoint, "benchmark": benchmark, "readout": readout, "device": "cpu",
        "dtype": "float32", "threads": 1, **told,
    }  # fmt: skip
    logp = np.log(np.full((1, 2, 2), 0.5, dtype=np.float32))
    sweep = Sweep(
        metadata, np.array(["a"], dtype=object), np.zeros(1, np.int8), cyclic(2), logp,
        np.zeros((1, 2), np.int8), np.ones((1, 2), np.float32),
    )  # fmt: skip
    write_sweep(job.path(str(folder / "sweeps")), sweep)


FACTS, PIQA = (Job(Cell("first-token", b, "small")) for b in ("facts_k2", "piqa"))
COT = Job(Cell("chain-of-thought", "piqa", "small"))


def measured(folder: Path, machine: Machine, *jobs: Job, **changes: Any) -> Speed:
    cohort = cohorts.read(folder)
    load = cohorts.workload(folder, cohort, **changes)
    return with_measured(machine, load, jobs, str(folder / "sweeps"), folder).speed


def test_speed_is_measured_on_cells_that_were_read_here(tmp_path: Path) -> None:
    finished(tmp_path, FACTS, 2.0)
    finished(tmp_path, PIQA, 10.0, threads=2)
    speed = measured(tmp_path, chosen([]), FACTS, PIQA)
    # 1.2 x 10^9 parameters; 300 and 6,000 tokens run in 2 seconds of one core and 10 of two.
    assert speed.prefill == pytest.approx(2 * 1.2e9 * 6300 / 22)
    declared = chosen([]).speed
    assert speed.decode == declared.decode
    assert speed.how == f"prompts measured on 2 cells here, generation {declared.how}"


def test_generation_is_measured_by_the_tokens_that_were_generated(tmp_path: Path) -> None:
    finished(tmp_path, COT, 4.0, "generated_sweep", generated_tokens=80)
    speed = measured(tmp_path, chosen([]), COT)
    assert speed.decode == pytest.approx(2 * 1.2e9 * 80 / 4)
    assert speed.how.endswith("generation measured on 1 cell here")


@pytest.mark.parametrize(
    "told",
    [{"device": "cuda", "device_name": "NVIDIA H100"}, {"dtype": "bfloat16"}],
)
def test_cells_of_another_device_or_dtype_tell_nothing(
    told: dict[str, Any], tmp_path: Path
) -> None:
    finished(tmp_path, FACTS, 2.0, **told)
    assert measured(tmp_path, chosen([]), FACTS) == chosen([]).speed


def test_cells_of_the_same_card_tell(tmp_path: Path) -> None:
    told = {"device": "cuda", "device_name": ADA.name, "dtype": "bfloat16", "threads": None}
    finished(tmp_path, FACTS, 2.0, **told)
    rate = pytest.approx(2 * 1.2e9 * 300 / 2)
    assert measured(tmp_path, chosen([ADA]), FACTS).prefill == rate
    assert measured(tmp_path, chosen([], card="RTX-6000-Ada"), FACTS).prefill == rate
    assert measured(tmp_path, chosen([SXM]), FACTS) == chosen([SXM]).speed


def test_cells_without_a_time_or_with_a_broken_sweep_tell_nothing(tmp_path: Path) -> None:
    finished(tmp_path, FACTS, 2.0)
    finished(tmp_path, PIQA, 2.0)
    next((tmp_path / "benchmarks").rglob("facts_k2/*.tsv")).unlink()
    PIQA.path(str(tmp_path / "sweeps")).write_bytes(b"PAR1")
    assert measured(tmp_path, chosen([]), FACTS, PIQA) == chosen([]).speed


def test_cells_that_came_from_the_journal_tell_nothing(tmp_path: Path) -> None:
    finished(tmp_path, FACTS, 2.0)
    finished(tmp_path, PIQA, 0.1)
    log = tmp_path / "logs" / "first_token_sweep" / "first-token" / "piqa" / "small.log"
    log.parent.mkdir(parents=True)
    with log.open("w") as file, logs_to(file), Progress("piqa small", 4, "items") as progress:
        progress.skip(1)
        progress.add(3)
    speed = measured(tmp_path, chosen([]), FACTS, PIQA)
    assert speed.prefill == pytest.approx(2 * 1.2e9 * 300 / 2)


@contextmanager
def logs_to(file: IO[str]) -> Iterator[None]:
    """What the workflow's scripts log goes to a file."""
    logger, handler = logging.getLogger("optionbias"), logging.StreamHandler(file)
    logger.addHandler(handler)
    level = logger.level
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def test_a_faulty_file_of_cards_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cards.yaml"
    text = throughput.CARDS.read_text()
    file.write_text(text.replace("name: H100,", "name: H-100,"))
    with pytest.raises(ConfigError, match=r"cards\.yaml: no card H100"):
        choose(cohorts.config(), [], True, 1.0, file)
    file.write_text(text.replace("prefill: 0.35", "prefill: 35"))
    with pytest.raises(ConfigError, match=r"cards\.yaml: `cards.*prefill`: 35 is greater"):
        choose(cohorts.config(), [], True, 1.0, file)
