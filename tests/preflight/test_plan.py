"""What stops a run, and what is said of one that starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from optionbias import devices
from optionbias.cohort import Cell, Cohort
from optionbias.devices import Gpu
from optionbias.preflight import hub_access, page, storage, workload
from optionbias.preflight import plan as plan_module
from optionbias.preflight.hub_access import Access
from optionbias.preflight.plan import Plan, plan
from optionbias.preflight.start import CannotSucceedError, at_start
from optionbias.preflight.workload import Job

from . import cohorts

H100 = Gpu("NVIDIA H100 80GB HBM3", 85.5, "GPU-1")
SMALL = {"readout": "first-token", "benchmark": "piqa", "checkpoint": "small", "reread": ""}
LARGE = {**SMALL, "checkpoint": "large"}
SHUT = {"readout": "closed", "benchmark": "mmlu_five_subjects", "checkpoint": "shut"}

Make = Callable[..., Plan]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A laptop; its GPUs, memory, disk, token and the hub's cache can be set."""
    counts = tmp_path / "counts.yaml"
    counts.write_text(yaml.safe_dump(cohorts.COUNTS))
    monkeypatch.setattr(workload, "STORED", counts)
    monkeypatch.setattr(storage, "hub_cache", lambda: tmp_path / "hub")
    monkeypatch.setenv("OPENAI_API_KEY", "key")

    def make(
        gpus: list[Gpu] | None = None, memory: float = 25, free: float = 1000, token: bool = True
    ) -> None:
        monkeypatch.setattr(devices, "gpus", lambda: gpus or [])
        monkeypatch.setattr(plan_module, "machine_memory_gb", lambda: memory)
        monkeypatch.setattr(storage, "free_gb", lambda folder: free)
        monkeypatch.setattr(hub_access, "has_token", lambda: token)

    make()
    return make


@pytest.fixture
def cohort(tmp_path: Path) -> Cohort:
    return cohorts.read(tmp_path)


def start(cohort: Cohort, *asked: dict[str, str], local: bool = True, **changes: Any) -> str:
    return at_start(cohort, cohorts.config(**changes), "results/sweeps", asked, local)


def stop(cohort: Cohort, *asked: dict[str, str], local: bool = True, **changes: Any) -> str:
    """The one line that a run stops with."""
    with pytest.raises(CannotSucceedError) as caught:
        start(cohort, *asked, local=local, **changes)
    line = str(caught.value)
    assert "\n" not in line and line.endswith(" (`--config preflight=false` runs it all the same)")
    return line


def test_a_model_larger_than_memory_needs_a_gpu(machine: Any, cohort: Cohort) -> None:
    line = stop(cohort, SMALL, LARGE)
    assert line.startswith(
        "cohort tiny cannot run on this machine, which has no GPU and 25 GB of memory: 1 of its 2 "
        "checkpoints do not fit (large takes 280 GB in float32)"
    )
    assert "`--config cohort=mini` runs anywhere" in line
    # 140 GB in bfloat16.
    machine(gpus=[H100])
    assert "which has 1 GPU of 86 GB: it does not fit (large takes 140 GB" in stop(cohort, LARGE)
    machine(gpus=[H100] * 2)
    assert "2 found here, a cell needs up to 2" in start(cohort, LARGE)
    machine(memory=300)
    assert "core hours on CPU" in start(cohort, LARGE)
    # On a CPU by order, whatever there is besides.
    machine(gpus=[H100] * 2)
    assert "280 GB in float32" in stop(cohort, LARGE, device="cpu")


def test_what_runs_elsewhere_is_not_measured_by_this_machine(machine: Any, cohort: Cohort) -> None:
    told = start(cohort, LARGE, local=False)
    assert "on H100" in told and "0 found here, a cell needs up to 2" in told


def test_gpus_are_counted_as_jobs_ask_for_them(machine: Any, cohort: Cohort) -> None:
    """By powers of two, of the memory of the smallest card or of the one that is said."""
    small = Gpu("NVIDIA A100-PCIE-40GB", 42.0, "GPU-2")
    machine(gpus=[small] * 3)  # 140 GB over 38 GB each: four
    assert "which has 3 GPUs of 42 GB: it does not fit" in stop(cohort, LARGE)
    machine(gpus=[small] * 4)
    assert "a cell needs up to 4" in start(cohort, LARGE)
    machine(gpus=[H100] * 3 + [small])
    assert "a cell needs up to 4" in start(cohort, LARGE)
    assert stop(cohort, LARGE, gpu_memory_gb=80).startswith(
        "config key `gpu_memory_gb` is 80 and a GPU found here has 42 GB: set it to null or to 42"
    )
    assert "a cell needs up to 8" in start(cohort, LARGE, local=False, gpu_memory_gb=24)
    # A re-read in float32 takes twice the memory.
    machine(gpus=[H100] * 2)
    reread = {**LARGE, "reread": "noise/float32/"}
    line = stop(cohort, LARGE, reread, noise_floor=True)
    assert "which has 2 GPUs of 86 GB: it does not fit (large takes 280 GB in float32)" in line


def test_a_small_model_runs_on_a_cpu(machine: Any, cohort: Cohort) -> None:
    told = start(cohort, SMALL)
    assert "1 of 1 checkpoint to read" in told and "200, 6,000 tokens to run" in told
    # 2 x 1.2 x 10^9 x 6,000 operations at 100 x 10^9 a second: 144 seconds.
    assert "about 0.04 core hours on CPU (declared in workflow/cards.yaml)" in told
    assert "no GPU was found" in stop(cohort, SMALL, device="cuda")


def test_a_disk_too_small_for_the_downloads(machine: Any, cohort: Cohort) -> None:
    machine(gpus=[H100] * 2, free=100)
    assert "GB are still to be written to the disk of" in stop(cohort, LARGE)
    assert start(cohort, SMALL)


def test_a_gated_checkpoint_and_no_token(machine: Any, cohort: Cohort, tmp_path: Path) -> None:
    machine(gpus=[H100] * 2, token=False)
    line = stop(cohort, SMALL, LARGE)
    assert line.startswith("org/large on the Hugging Face hub is gated and there is no token: ")
    assert "set HF_TOKEN" in line
    assert start(cohort, SMALL)
    # What is there already is not asked for.
    blobs = tmp_path / "hub" / "models--org--large" / "blobs"
    blobs.mkdir(parents=True)
    with open(blobs / "x", "wb") as file:
        file.truncate(139_000_000_000)
    assert start(cohort, LARGE)


def test_gated_weights_that_lie_in_a_folder_need_no_token(machine: Any, tmp_path: Path) -> None:
    machine(gpus=[H100] * 2, token=False)
    raw = cohorts.raw_cohort()
    raw["checkpoints"][1]["source"] = {"path": str(tmp_path)}
    assert start(cohorts.read(tmp_path, raw), LARGE)


def test_only_jobs_that_read_cells_count(machine: Any, cohort: Cohort) -> None:
    assert start(cohort) == ""
    told = start(cohort, SHUT)
    assert "250, 0 tokens" in told and "hours" not in told
    reread = start(cohort, {**SMALL, "reread": "noise/alone/"}, noise_floor=True)
    assert "100, 4,000 tokens" in reread  # the sample of fifty items, each prompt alone


def test_an_unknown_card_stops_too(machine: Any, cohort: Cohort) -> None:
    with pytest.raises(CannotSucceedError, match="config key `card`: K80 is not in"):
        start(cohort, SMALL, card="K80")


def made(cohort: Cohort, folder: Path, *done: Job, **changes: Any) -> Plan:
    for job in done:
        path = job.path(str(folder / "sweeps"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return plan(cohort, cohorts.config(**changes), str(folder / "sweeps"), folder)


def test_what_is_done_is_not_left(machine: Any, cohort: Cohort, tmp_path: Path) -> None:
    done = Job(Cell("first-token", "piqa", "large"))
    found = made(cohort, tmp_path, done)
    assert found.done == {done} and len(found.left) == len(found.works) - 1
    assert found.hours_of(found.left) == pytest.approx(
        found.hours_of(found.works) - found.hours(done)
    )


def test_two_cards_work_in_turn_but_not_in_vllm(
    machine: Any, cohort: Cohort, tmp_path: Path
) -> None:
    raw = cohorts.raw_cohort()
    raw["readouts"]["chain-of-thought"]["checkpoints"] = ["large"]
    read = cohorts.read(tmp_path, raw)
    cot, first = (Job(Cell(r, "piqa", "large")) for r in ("chain-of-thought", "first-token"))
    found = made(read, tmp_path, card="H100")
    speed = found.machine.speed
    alone = 2 * 70e9 * 6000 / speed.prefill / 3600
    assert found.hours(first) == pytest.approx(2 * alone)
    once = 2 * 70e9 * (12_000 / speed.prefill + 102_400 / speed.decode) / 3600
    assert found.hours(cot) == pytest.approx(once)
    plain = made(read, tmp_path, card="H100", backend="transformers")
    assert plain.hours(cot) == pytest.approx(2 * once)


def test_the_page_of_a_tiny_cohort(machine: Any, cohort: Cohort, tmp_path: Path) -> None:
    machine(token=False)
    found = made(cohort, tmp_path, Job(Cell("first-token", "piqa", "small")))
    access = {"org/small": Access(True, False, 9.9)}
    text = page.page(found, access, False, 2)
    lines = [line.split() for line in text.splitlines()]
    assert "1 of 10 sweeps are there, 9 are left" in text
    assert ["all-orderings", "1", "1,200", "96,000", "30,000", "-"] in [row[:6] for row in lines]
    assert ["first-token", "6", "1,240", "80,800", "44,600", "-"] in [row[:6] for row in lines]
    assert ["first-token", "5", "1,040", "72,800", "38,600", "-"] in [row[:6] for row in lines]
    (small,) = (row for row in lines if row[:1] == ["small"])
    assert small[-6:] == ["9.9", "GB", "0", "MB", "yes", "no"]
    (large,) = (row for row in lines if row[:1] == ["large"])
    assert large[-6:] == ["140", "GB", "0", "MB", "yes", "unknown"]
    assert "2 of 2 repositories are gated; no token is set" in text
    stops = text.split("What stops this run")[1]
    assert "org/small: gated and not readable with this token: accept their terms" in stops
    assert "small: the hub says gated yes, the cohort file no" in text
    assert ["shut", "250", "22,500", "0.09", "OPENAI_API_KEY", "is", "set"] in lines
    assert "What stops this run" in text and "large takes 280 GB" in text
    assert max(map(len, text.splitlines())) < 400


def test_a_repository_that_there_is_not_stops_the_run(
    machine: Any, cohort: Cohort, tmp_path: Path
) -> None:
    machine(memory=300)
    found = made(cohort, tmp_path)
    assert page.page(found, {}, True, 2).endswith("Nothing that is known here stops this run.\n")
    text = page.page(found, {"org/small": Access(None, False, None)}, True, 2)
    assert "org/small: not readable: no such repository" in text.split("What stops this run")[1]


def test_what_the_hub_and_the_file_disagree_on(
    machine: Any, cohort: Cohort, tmp_path: Path
) -> None:
    found = made(cohort, tmp_path)
    said = page.page(found, {"org/large": Access(True, True, 150.0)}, True, 2)
    assert "large: the hub has 150.00 GB of weights, the cohort file says 140.00" in said
    agreed = page.page(found, {"org/large": Access(True, True, 139.0)}, True, 2)
    assert "the cohort file says" not in agreed


def test_a_missing_key_is_said_and_never_a_key(
    machine: Any, cohort: Cohort, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in page.page(made(cohort, tmp_path), {}, True, 2)
    monkeypatch.delenv("OPENAI_API_KEY")
    machine(memory=300)
    text = page.page(made(cohort, tmp_path), {}, True, 2)
    assert "OPENAI_API_KEY is not set\n" in text
    assert "environment variable OPENAI_API_KEY is not set" in text.split("What stops")[1]


def test_numbers_are_short() -> None:
    assert [page.size(n) for n in (0.0042, 1.24, 140.2)] == ["4 MB", "1.2 GB", "140 GB"]
    assert [page.count(n) for n in (0, 999_999, 1_234_567, 2.5e9, 3e12)] == [
        "0", "999,999", "1.23 M", "2.50 G", "3.00 T",
    ]  # fmt: skip
    assert [page.hours(n) for n in (0.034, 2.55, 1234.5)] == ["0.03", "2.5", "1,234"]
