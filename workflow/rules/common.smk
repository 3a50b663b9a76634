"""Everything that the rules share: the checked config and cohort, paths, and code digests."""

import json
import os
import re
import sys
from pathlib import Path

from snakemake.exceptions import WorkflowError

if workflow.basedir not in sys.path:
    sys.path.insert(0, workflow.basedir)

from optionbias import catalogue, endpoint, provenance, rereads, validation
from optionbias.benchmarks import registry
from optionbias.cohort import Cohort, locate, read_cohort, write_described
from optionbias.items import ItemsError, check_user_benchmark
from optionbias.orderings import MAX_K_ALL
from optionbias.preflight import cards
from optionbias.provenance import code_digests
from optionbias.sweep import FIRST_TOKEN_READOUTS, GENERATED_READOUTS, READOUTS

provenance.use_this_clone()


def checked_cohort() -> Cohort:
    """The cohort of this run; every fault of config, cohort or a user's items is one error."""
    try:
        validation.normalise(config)
        validation.check(config, "config", "config (config.yaml or --config)")
        path = locate(config["cohort"], Path(workflow.basedir) / "workflow" / "cohorts")
        cohort = read_cohort(path, needs_models=config["sweeps"] is None)
    except validation.ConfigError as error:
        raise WorkflowError(str(error)) from None
    if config["sweeps"] is not None:
        faults = missing_sweeps(cohort)
    elif cohort.simulated:
        faults = too_many_orderings(cohort)
    else:
        faults = [*unrunnable(cohort), *faulty_items(cohort), *useless_mirror(cohort)]
    faults += useless_sizes(cohort)
    if faults:
        raise WorkflowError("\n".join(faults))
    return cohort


def unrunnable(cohort: Cohort) -> list[str]:
    """What no job could run, so that it is said before the first one."""
    faults = []
    for name in cohort.checkpoints:
        folder = cohort.source(name).get("path")
        if folder is not None and (fault := faulty_folder(Path(folder))):
            faults.append(f"{cohort.path}: checkpoint {name}: `source.path`: {fault}")
    faults += unaskable(cohort)
    readouts = {cell.readout for cell in cohort.cells}
    faults += missing_vllm(
        letters=not readouts.isdisjoint(FIRST_TOKEN_READOUTS),
        answers=not readouts.isdisjoint(GENERATED_READOUTS),
    )
    faults += unknown_environments(cohort)
    return [*faults, *unknown_card(), *too_many_orderings(cohort)]


def faulty_folder(folder: Path) -> str | None:
    """Why a local checkpoint could not be loaded, as far as a look at its small files tells."""
    file = folder / "config.json"
    if not file.is_file():
        return f"no config.json in {folder}"
    try:
        json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        return f"{file} is not JSON: {error}"
    if not any(folder.glob("*.safetensors")) and not any(folder.glob("*.bin")):
        return f"no weights (*.safetensors) in {folder}"
    return None


def unknown_card() -> list[str]:
    """A card that preflight does not know."""
    if config["card"] is not None:
        try:
            cards.stated(config, cards.read_cards())
        except validation.ConfigError as error:
            return [str(error)]
    return []


def unaskable(cohort: Cohort) -> list[str]:
    """Checkpoints whose source is not of their kind, and closed ones that no API could answer for."""
    asked = {cell.checkpoint for cell in cohort.cells if cell.readout == "closed"}
    faults = [
        f"{cohort.path}: checkpoint {name}: `source.model` belongs to a checkpoint with `closed: true`"
        for name, entry in cohort.checkpoints.items()
        if "model" in entry.get("source", {}) and not entry.get("closed")
    ]
    return faults + [
        f"{cohort.path}: checkpoint {name}: {fault}"
        for name in sorted(asked)
        for fault in endpoint.faults(
            cohort.checkpoints[name].get("source"), config["cost_limit"]
        )
    ]


def missing_keys(jobs) -> list[str]:
    """What the environment lacks to ask the closed models of these jobs, a line a variable."""
    faults = set()
    for checkpoint in {
        job.wildcards.checkpoint for job in jobs if job.rule.name == "closed_sweep"
    }:
        try:
            endpoint.Endpoint.of(COHORT.source(checkpoint)).read_key()
        except endpoint.KeyMissingError as error:
            faults.add(str(error))
    return sorted(faults)


def too_many_orderings(cohort: Cohort) -> list[str]:
    """Benchmarks that are asked for under all K! orderings of more options than can be."""
    asked = {c.benchmark for c in cohort.cells if c.readout == "all-orderings"}
    return [
        f"{cohort.path}: `readouts.all-orderings`: {benchmark} has more than {MAX_K_ALL} options"
        for benchmark in sorted(asked)
        if cohort.benchmarks[benchmark]["K"] > MAX_K_ALL
    ]


def faulty_items(cohort: Cohort) -> list[str]:
    """Every faulty row of every file of the user's; jobs themselves need not look again."""
    if not workflow.is_main_process:
        return []
    faults = []
    for name, benchmark in cohort.benchmarks.items():
        files = {
            key: cohort.find(benchmark[key])
            for key in ("items", "exemplars")
            if key in benchmark
        }
        try:
            check_user_benchmark(name, benchmark["K"], **files)
        except ItemsError as error:
            faults.append(str(error))
    return faults


def useless_sizes(cohort: Cohort) -> list[str]:
    """Sample sizes of readouts that sample nothing in this run."""
    if not config["items"]:
        return []
    if config["sweeps"] is not None:
        return ["config key `items`: given sweeps are read whole"]
    if cohort.simulated:
        return ["config key `items`: simulated benchmarks are sized by `size`"]
    return [
        f"config key `items.{readout}`: cohort {cohort.name} has no such readout"
        for readout in config["items"]
        if readout not in cohort.readouts
    ]


def useless_mirror(cohort: Cohort) -> list[str]:
    """A local mirror from which no file that is still to be had could come."""
    mirror = config["mirror"]
    if mirror is None or mirror.startswith(("http://", "https://")):
        return []
    wanted = {
        registry.builtin_name(cohort.benchmarks[name])
        for name in {cell.benchmark for cell in cohort.cells}
        if registry.published_entry(cohort.benchmarks[name])
        and not Path(f"results/data/{name}/items.json").is_file()
    }
    if not wanted or any(Path(mirror, name, "raw").is_dir() for name in wanted):
        return []
    if not Path(mirror).is_dir():
        return [
            f"config key `mirror`: no such folder: {mirror} (looked for in {Path.cwd()}); a mirror is a "
            f"folder or an http(s) address"
        ]
    return [
        f"config key `mirror`: {mirror} holds no published benchmark of cohort {cohort.name}, "
        f"such as {min(wanted)}/raw; `snakemake mirror` makes such a folder, results/mirror"
    ]


def missing_sweeps(cohort: Cohort) -> list[str]:
    root = config["sweeps"]
    missing = [
        cell for cell in cohort.cells if not Path(sweep_path(root, *cell)).is_file()
    ]
    if not missing:
        return []
    return [
        f"config key `sweeps`: {config['sweeps']} lacks {len(missing)} of {len(cohort.cells)} sweeps "
        f"of cohort {cohort.name}, the first is {sweep_path(root, *missing[0])}; add them, or name "
        f"the cells under `except` in {cohort.path}"
    ]


def sweep_path(root: str, readout: str, benchmark: str, checkpoint: str) -> str:
    return f"{root}/{readout}/{benchmark}/{checkpoint}.parquet"


COHORT = checked_cohort()
# Simulated answers never lie where a real cohort of the same benchmarks would look for its own.
SWEEPS = config["sweeps"] or (
    "results/simulated" if COHORT.simulated else "results/sweeps"
)
SIMULATES = COHORT.simulated and config["sweeps"] is None
# Items are made, and models asked, only where answers are neither given nor simulated.
ASKS = not COHORT.simulated and config["sweeps"] is None


def sweep_inputs(wanted) -> list[str]:
    """What a rule that reads the cells which `wanted` accepts declares as input."""
    cells = [cell for cell in COHORT.cells if wanted(cell)]
    if SIMULATES:  # one job simulates a readout of a benchmark, into one folder
        return sorted({f"{SWEEPS}/{c.readout}/{c.benchmark}" for c in cells})
    return [sweep_path(SWEEPS, *cell) for cell in cells]


# Re-reads for the noise floor: which variants, and where they lie.
NOISE = rereads.variants(config["noise_floor"])
NOISE_FOLDER = f"{SWEEPS}/noise"


def reread_inputs(benchmark: str) -> list[str]:
    """The re-reads of a benchmark's cells: those that are made, or of given sweeps those there are."""
    paths = [
        sweep_path(f"{NOISE_FOLDER}/{variant}", *cell)
        for cell in COHORT.cells
        if cell.benchmark == benchmark and cell.readout in FIRST_TOKEN_READOUTS
        for variant in NOISE
    ]
    return paths if ASKS else [path for path in paths if Path(path).is_file()]


def reread_arguments(reread: str) -> list[str]:
    """How and how much of a cell is read again, from the wildcard `reread` (noise/VARIANT/ or nothing)."""
    if not reread:
        return []
    variant = rereads.variant_of(reread)
    size, seed = str(config["noise_items"]), str(config["seed"])
    return ["--variant", variant, "--reread-items", size, "--reread-seed", seed]


def told_at_start(jobs) -> str:
    """What preflight says of the jobs of a run that read cells; an error where it cannot succeed."""
    reading = ("first_token_sweep", "generated_sweep", "closed_sweep")
    asked = [dict(job.wildcards.items()) for job in jobs if job.rule.name in reading]
    if not (asked and config["preflight"] and workflow.is_main_process):
        return ""
    from optionbias.preflight import start

    try:
        return start.at_start(COHORT, config, SWEEPS, asked, workflow.local_exec)
    except start.CannotSucceedError as error:
        raise WorkflowError(str(error)) from None


BENCHMARKS = sorted({cell.benchmark for cell in COHORT.cells})
FIVE_SHOT = sorted({c.benchmark for c in COHORT.cells if c.readout == "five-shot"})
TABLES = [t for t in catalogue.TABLES if t != "noise" or NOISE]
FIGURES = list(catalogue.FIGURES)
ANALYSES = list(catalogue.ANALYSES)


def reads(analysis: str, cell) -> bool:
    """Whether an analysis reads the sweep of a cell."""
    k = COHORT.benchmarks[cell.benchmark]["K"]
    return catalogue.ANALYSES[analysis].reads(cell.readout, k)


def statistics_files(names):
    return [f"results/statistics/{name}.parquet" for name in names]


def sample_size(readout: str) -> int | None:
    """Items that a readout samples from each benchmark; None for all."""
    return config["items"].get(readout, COHORT.readouts[readout].get("items"))


def sample_arguments(readout: str) -> list[str]:
    """Which items of a benchmark a readout asks, where it does not ask all."""
    size = sample_size(readout)
    return (
        [] if size is None else ["--sample", str(size), "--seed", str(config["seed"])]
    )


def input_digests(files: list[str]) -> dict[str, str]:
    """Content of a user's own files: what decides a rerun, whatever their times are.

    As a parameter it must be a function of the wildcards alone: Snakemake does not compare
    parameters that are derived from `input`.
    """
    return {Path(f).name: provenance.quick_digest(Path(f)) for f in files}


def checkpoint_files(checkpoint: str) -> list[str]:
    """Files of a local checkpoint, so that a change of them is seen."""
    folder = COHORT.source(checkpoint).get("path")
    return (
        sorted(str(p) for p in Path(folder).iterdir() if p.is_file()) if folder else []
    )


wildcard_constraints:
    benchmark="|".join(map(re.escape, COHORT.benchmarks)),
    checkpoint="|".join(map(re.escape, COHORT.checkpoints)),
    readout="|".join(READOUTS),
    part="items|exemplars",
    reread=f"(noise/({'|'.join(rereads.VARIANTS)})/)?",
    analysis="|".join(ANALYSES),
    table="|".join(catalogue.TABLES),
    figure="|".join(FIGURES),
