"""Everything that the rules share: the checked config and cohort, paths, and code digests."""

import json
import re
import sys
from importlib.util import find_spec
from pathlib import Path

from snakemake.exceptions import WorkflowError
from snakemake.settings.types import DeploymentMethod

if workflow.basedir not in sys.path:
    sys.path.insert(0, workflow.basedir)

from optionbias import catalogue, endpoint, noise, provenance, validation
from optionbias.benchmarks import registry
from optionbias.cohort import Cohort, locate, read_cohort, write_described
from optionbias.items import ItemsError, check_user_benchmark
from optionbias.orderings import MAX_K_ALL
from optionbias.provenance import code_digests
from optionbias.sweep import READOUTS

provenance.use_this_clone()

# Readouts whose sweeps this workflow makes itself; others are read from `sweeps`.
FIRST_TOKEN_READOUTS = ("first-token", "five-shot", "all-orderings")
GENERATED_READOUTS = ("chain-of-thought", "direct-answer")
# `make vllm` installs it apart from the rest: it needs other versions of some packages.
VLLM_PYTHON = Path(workflow.basedir) / ".venv-vllm" / "bin" / "python"


def checked_cohort() -> Cohort:
    """The cohort of this run; every fault of config, cohort or a user's items is one error."""
    try:
        validation.normalise(config)
        validation.check(config, "config", "config.yaml")
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
        if folder is not None and not Path(folder, "config.json").is_file():
            faults.append(
                f"{cohort.path}: checkpoint {name}: `source.path`: no config.json in {folder}"
            )
    faults += unaskable(cohort)
    return [*faults, *missing_backend(), *too_many_orderings(cohort)]


def missing_backend() -> list[str]:
    """A backend that is asked for by name and that no job would find."""
    there = with_conda() or find_spec("vllm") or VLLM_PYTHON.is_file()
    asked = {
        "backend": config["backend"] == "vllm",
        "noise_floor": "vllm" in noise.variants(config["noise_floor"]),
    }
    return [
        f"config key `{key}`: vLLM is not installed; `make vllm` installs it"
        for key, wanted in asked.items()
        if wanted and not there
    ]


def with_conda() -> bool:
    """Whether jobs run in the environments of envs/."""
    methods = workflow.deployment_settings.deployment_method
    return DeploymentMethod.CONDA in methods


def python_of(readouts: tuple[str, ...], reread: str = "") -> str:
    """The Python of the jobs of some readouts: where they may use vLLM, that of `make vllm`."""
    wanted = {
        "vllm": True,
        "auto": readouts == GENERATED_READOUTS,
        "transformers": False,
    }
    own = (
        (wanted[config["backend"]] or "vllm" in reread)
        and VLLM_PYTHON.is_file()
        and not with_conda()
    )
    return str(VLLM_PYTHON) if own else "python"


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
NOISE = noise.variants(config["noise_floor"])
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
    variant = reread.split("/")[1]
    size, seed = str(config["noise_items"]), str(config["seed"])
    return ["--variant", variant, "--reread-items", size, "--reread-seed", seed]


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


def user_file(benchmark: str, key: str) -> list[str]:
    """A user's own file of a benchmark, as a list for `input:`; empty for built-in benchmarks."""
    given = COHORT.benchmarks[benchmark].get(key)
    return [str(COHORT.find(given))] if given else []


def published(benchmark: str):
    """The published benchmark that a name of the cohort stands for, None for any other."""
    return registry.published_entry(COHORT.benchmarks[benchmark])


def published_module(benchmark: str) -> list[str]:
    """The module of a published benchmark, none of any other."""
    name = registry.builtin_name(COHORT.benchmarks[benchmark])
    return [registry.MODULES[name]] if name in registry.PUBLISHED else []


def published_arguments(benchmark: str) -> list[str]:
    """Which benchmark, source and subjects a job is about."""
    entry = COHORT.benchmarks[benchmark]
    arguments = ["--published", registry.builtin_name(entry)]
    if "variant" in entry:
        arguments += ["--variant", entry["variant"]]
    return arguments + (
        ["--subjects", *entry["subjects"]] if "subjects" in entry else []
    )


def items_arguments(benchmark: str, key: str) -> list[str]:
    """What a benchmark's `items` (or `exemplars`) are made of, and the settings they depend on.

    The seed is an argument, and so a reason to make them anew, only where something is drawn.
    """
    if user_file(benchmark, key):
        return []
    seed = ["--seed", str(config["seed"])]
    made = published(benchmark)
    if made is None:
        return ["--generated", benchmark, *seed]
    source = made.source(COHORT.benchmarks[benchmark].get("variant"))
    if key == "items" and not source.gold_first:
        seed = ["--seed", "0"]
    repairs = json.dumps(config["repairs"], sort_keys=True)
    return [*published_arguments(benchmark), "--repairs", repairs, *seed]


def files_of_published(benchmark: str, *parts: str) -> list[str]:
    """Manifests of a published benchmark's files, for `input:`; empty for any other benchmark."""
    if published(benchmark) is None:
        return []
    return [f"results/data/{benchmark}/{part}.json" for part in parts]


def published_files(benchmark: str, part: str) -> dict[str, str | None]:
    """Names and known digests of a published benchmark's files: a change of them fetches anew."""
    source = published(benchmark).source(COHORT.benchmarks[benchmark].get("variant"))
    pool = source.pool.files if source.pool else ()
    return {
        file.name: file.sha256 for file in (source.files if part == "items" else pool)
    }


def files_of_data(wildcards) -> list[str]:
    """Items of every benchmark of the cohort and their audit."""
    if COHORT.simulated:
        raise WorkflowError(
            f"cohort {COHORT.label} has no items, its answers are simulated: name another cohort, for "
            f"example `--config cohort=mini`"
        )
    items = [f"results/items/{benchmark}.parquet" for benchmark in BENCHMARKS]
    return [*items, *rules.data_audit.output]


def files_of_mirror(wildcards) -> list[str]:
    """Manifests of everything that a mirror of the cohort's published benchmarks holds."""
    manifests = [
        manifest
        for benchmark in ([] if COHORT.simulated else BENCHMARKS)
        for manifest in files_of_published(benchmark, *parts_of_published(benchmark))
    ]
    if not manifests:
        raise WorkflowError(
            f"cohort {COHORT.label} has no published benchmark that could be mirrored: name a cohort "
            f"that has, for example `--config cohort=real-mini`"
        )
    return manifests


def parts_of_published(benchmark: str) -> list[str]:
    """What a mirror of a published benchmark holds: its items, and its pool where it has one."""
    has_pool = published(benchmark) and published_files(benchmark, "exemplars")
    return ["items", "exemplars"] if has_pool else ["items"]


def audited(benchmark: str) -> dict:
    """What the data audit needs to know of a benchmark."""
    entry = COHORT.benchmarks[benchmark]
    about = {"name": benchmark, "title": COHORT.title(benchmark), "k": entry["K"]}
    about |= {key: entry.get(key, "not stated") for key in ("source", "licence")}
    if published(benchmark) is not None:
        about["published"] = registry.builtin_name(entry)
        about |= {key: entry[key] for key in ("variant", "subjects") if key in entry}
    return about | {"five_shot": benchmark in FIVE_SHOT}


def sample_size(readout: str) -> int | None:
    """Items that a readout samples from each benchmark; None for all."""
    return config["items"].get(readout, COHORT.readouts[readout].get("items"))


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


def items_code(benchmark: str, key: str) -> dict[str, str]:
    """Code that makes a benchmark's items: the module of a built-in one besides the script."""
    name = registry.builtin_name(COHORT.benchmarks[benchmark])
    modules = [registry.MODULES[name]] if name and not user_file(benchmark, key) else []
    return code_digests("scripts/benchmark_items.py", *modules)


wildcard_constraints:
    benchmark="|".join(map(re.escape, COHORT.benchmarks)),
    checkpoint="|".join(map(re.escape, COHORT.checkpoints)),
    readout="|".join(READOUTS),
    part="items|exemplars",
    reread=f"(noise/({'|'.join(noise.VARIANTS)})/)?",
    analysis="|".join(ANALYSES),
    table="|".join(catalogue.TABLES),
    figure="|".join(FIGURES),
