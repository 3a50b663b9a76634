"""How fast a machine reads prompts and generates tokens: measured on cells read here, or declared.

Speeds are in floating-point operations a second, at two operations a parameter and token, so that
those of one model tell of another. What the output matrix and attention add is in the measured ones.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from optionbias import resources
from optionbias.devices import Gpu
from optionbias.preflight.cards import CARDS, DEFAULT_CARD, read_cards, stated
from optionbias.preflight.workload import Job, Workload
from optionbias.sweep import GENERATED_READOUTS

OPERATIONS = 2  # a parameter and token: a multiplication and an addition
# What a job's log says of items that it did not read itself (optionbias/progress.py).
FROM_JOURNAL = "from the journal"
RULES = {False: "first_token_sweep", True: "generated_sweep"}


@dataclass(frozen=True)
class Speed:
    """Operations a second of one GPU, or of one core of a CPU; `how` says where they are from."""

    prefill: float
    decode: float
    how: str


@dataclass(frozen=True)
class Machine:
    """What cells are taken to run on.

    Attributes:
        name: of the card, or `CPU`.
        memory_gb: of one card, or of the machine, in 10^9 bytes.
        speed: of one card or one core.
        on_gpu: whether it is a card.
        driver: what the driver's name of such a card holds.
        found: cards found on this machine, of this kind or (where none is stated) at all.
        note: what a reader must know of the choice; empty for nothing.
    """

    name: str
    memory_gb: float
    speed: Speed
    on_gpu: bool
    driver: str = ""
    found: int = 0
    note: str = ""


def parameters(entry: Mapping[str, Any]) -> float:
    """Parameters of a checkpoint's entry."""
    return 1e9 * float(entry.get("stored_params_b", entry.get("params_b", 0.0)))


def weights_gb(entry: Mapping[str, Any], dtype: str) -> float:
    """What its weights take in memory in a dtype, in 10^9 bytes."""
    return resources.weights_gb(parameters(entry) / 1e9, dtype)


def choose(
    config: Mapping[str, Any],
    found: list[Gpu],
    fits_here: bool,
    memory_gb: float,
    cards: Path = CARDS,
) -> Machine:
    """The machine that the estimate is of: the stated card, the one found, this CPU, or an H100.

    Args:
        config: its `card` and `device`.
        found: GPUs of this machine.
        fits_here: whether this machine's memory holds every checkpoint.
        memory_gb: this machine's memory.

    Raises:
        ConfigError: `card` names no card.
    """
    known = read_cards(cards)
    declared = f"declared in {cards.parent.name}/{cards.name}"
    by_name = known["cards"]
    if (card := stated(config, known)) is not None:
        same = sum(card["driver"] in gpu.name for gpu in found)
        return _card(card, declared, same)
    if found and config["device"] != "cpu":
        gpu = min(found, key=lambda one: one.memory_gb)
        card = next((c for c in by_name.values() if c["driver"] in gpu.name), None)
        note = ""
        if card is None:
            card = by_name[DEFAULT_CARD]
            note = f"{gpu.name} is not in {cards.name}: hours are those of an {DEFAULT_CARD}"
        speed = _speed(card, declared)
        return Machine(gpu.name, gpu.memory_gb, speed, True, gpu.name, len(found), note)
    if fits_here and config["device"] != "cuda":
        cpu = known["cpu"]
        speed = Speed(1e9 * cpu["prefill_gflops"], 1e9 * cpu["decode_gflops"], declared)
        return Machine("CPU", memory_gb, speed, False)
    note = f"no GPU was found here and no `card` is set: an {DEFAULT_CARD} is taken"
    return _card(by_name[DEFAULT_CARD], declared, 0, note)


def _card(card: Mapping[str, Any], how: str, found: int, note: str = "") -> Machine:
    speed = _speed(card, how)
    return Machine(card["name"], card["memory_gb"], speed, True, card["driver"], found, note)


def _speed(card: Mapping[str, Any], how: str) -> Speed:
    peak = 1e12 * card["bf16_tflops"]
    return Speed(peak * card["prefill"], peak * card["decode"], how)


def seconds(work_run: float, generated: float, params: float, speed: Speed) -> float:
    """How long one card or core takes."""
    return OPERATIONS * params * (work_run / speed.prefill + generated / speed.decode)


def with_measured(
    machine: Machine, workload: Workload, done: Iterable[Job], sweeps: str, results: Path
) -> Machine:
    """The machine at its speed over the cells that were read here on such a device, if any.

    A cell counts if its sweep says that it was read on this kind of device in the dtype of this run.
    The rate is that of all of them together, so long cells count most. The time is a job's, with
    loading the model. Cells of which some came from the journal tell nothing.
    """
    speed = machine.speed
    prefill, prompting = _rate(machine, workload, done, sweeps, results, generates=False)
    decode, generating = _rate(machine, workload, done, sweeps, results, generates=True)
    if not prompting and not generating:
        return machine
    told = ", ".join(
        f"{what} measured on {cells} cell{'s' * (cells != 1)} here"
        if cells
        else f"{what} {speed.how}"
        for what, cells in (("prompts", prompting), ("generation", generating))
    )
    new = Speed(prefill or speed.prefill, decode or speed.decode, told)
    return replace(machine, speed=new)


def _rate(
    machine: Machine,
    workload: Workload,
    done: Iterable[Job],
    sweeps: str,
    results: Path,
    generates: bool,
) -> tuple[float, int]:
    """Operations a second of one card or core over finished cells, and how many cells these are.

    Reading the prompts is part of a generating cell's time, and small beside generating.
    """
    operations = taken = 0.0
    cells = 0
    for job in done:
        readout, benchmark, checkpoint = job.cell
        if (readout in GENERATED_READOUTS) is not generates:
            continue
        reread = f"noise/{job.variant}/" if job.variant else ""
        cell = f"{RULES[generates]}/{reread}{readout}/{benchmark}/{checkpoint}"
        seconds_here = _time(results / "benchmarks" / f"{cell}.tsv")
        metadata = _metadata(job.path(sweeps))
        if (
            seconds_here is None
            or _resumed(results / "logs" / f"{cell}.log")
            or not _alike(metadata, machine, workload.config)
        ):
            continue
        tokens = metadata.get("generated_tokens", 0) if generates else workload.work(job).run
        cores = 1 if machine.on_gpu else int(metadata.get("threads") or 1)
        operations += OPERATIONS * parameters(workload.cohort.checkpoints[checkpoint]) * tokens
        taken += seconds_here * cores
        cells += 1
    return (operations / taken, cells) if operations else (0.0, 0)


def _time(tsv: Path) -> float | None:
    """Seconds of a job, from the file that Snakemake wrote of it."""
    try:
        with open(tsv, encoding="utf-8", newline="") as file:
            return float(next(csv.DictReader(file, delimiter="\t"))["s"]) or None
    except (OSError, StopIteration, KeyError, ValueError):
        return None


def _resumed(log: Path) -> bool:
    """Whether a job took some of its cell from the journal, by its log."""
    try:
        return FROM_JOURNAL in log.read_text(encoding="utf-8")
    except OSError:
        return False


def _metadata(sweep: Path) -> dict[str, Any]:
    import pyarrow.parquet as pq

    try:
        told: dict[str, Any] = json.loads(pq.read_schema(sweep).metadata[b"sweep"])
    except (OSError, KeyError, ValueError, TypeError):
        return {}
    return told


def _alike(metadata: Mapping[str, Any], machine: Machine, config: Mapping[str, Any]) -> bool:
    on_gpu = metadata.get("device") == "cuda"
    dtype = resources.run_dtype(config["dtype"], on_gpu)
    same = on_gpu == machine.on_gpu and metadata.get("dtype") == dtype
    named = not on_gpu or machine.driver in str(metadata.get("device_name"))
    return bool(metadata) and same and named
