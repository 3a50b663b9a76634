"""What jobs ask of a machine or a cluster: functions for `resources:` and `threads:`.

None of it is a reason to run a job again. Partitions, accounts and the like are a profile's matter.
"""

from functools import cache

from optionbias import devices, environments, rereads
from optionbias import resources as needs
from optionbias.preflight import cards
from optionbias.readouts import gpu_lease


# On a cluster every job has GPUs of its own; a number of them limits the jobs of one machine.
resource_scopes:
    gpu="local",


@cache
def gpus_here() -> int:
    """GPUs of this machine that the run may use."""
    return len(gpu_lease.visible())


@cache
def gpu_memory() -> float:
    """Memory of one of the GPUs that cells run on, in 10^9 bytes."""
    return cards.memory_gb(config, devices.gpus() if runs_here() else [])


def runs_here() -> bool:
    """Whether jobs run on this machine rather than on a cluster's.

    A job that a run has started on a cluster is no run of its own. Which executor runs is known
    once there are jobs; before, and in a dry run, a number of jobs (`--jobs`) stands for a cluster.
    """
    if not workflow.is_main_process:
        return False
    if workflow.executor_plugin is None or workflow.dryrun:
        return workflow.resource_settings.nodes is None
    return workflow.local_exec


# As long as nobody says `--resources gpu=N`, a local run starts no more GPU cells than there are GPUs.
if config["device"] != "cpu" and runs_here():
    workflow.global_resources.setdefault("gpu", gpus_here())


def params_b(wildcards) -> float:
    """Parameters of a checkpoint, in billions: those of its files where the cohort tells them."""
    entry = COHORT.checkpoints[wildcards.checkpoint]
    return entry.get("stored_params_b", entry["params_b"])


def cell_weights(wildcards, on_gpu: bool) -> float:
    """Gigabytes of a cell's weights, in the dtype in which it is read."""
    variant = rereads.variant_of(wildcards.get("reread", ""))
    dtype = needs.run_dtype(config["dtype"], on_gpu, variant)
    return needs.weights_gb(params_b(wildcards), dtype)


def cell_gpus(wildcards) -> int:
    """GPUs of a cell: none on a CPU, and none where the run is local and there are none."""
    if config["device"] == "cpu":
        return 0
    if config["device"] == "auto" and runs_here() and gpus_here() == 0:
        return 0
    return needs.gpus_for(cell_weights(wildcards, on_gpu=True), gpu_memory())


def cell_gpu(wildcards) -> int:
    """GPUs that a cell asks for as GPUs: none where it asks for them as `gres`."""
    return 0 if config["gres"] else cell_gpus(wildcards)


def cell_gres(wildcards) -> str:
    """The same as SLURM's generic resource, called as the config's `gres` says."""
    count = cell_gpus(wildcards)
    return f"{config['gres']}:{count}" if count else ""


def hardware_arguments(wildcards) -> list[str]:
    """What a cell runs on; without a GPU of its own it must take none that others have."""
    count = cell_gpus(wildcards)
    on_cpu = config["device"] == "auto" and count == 0
    return ["--device", "cpu" if on_cpu else config["device"], "--gpus", str(count)]


def cell_threads(wildcards) -> int:
    """CPU threads of a cell: as configured, beside a GPU a few more."""
    beside = needs.THREADS_BESIDE_GPU if cell_gpus(wildcards) else 1
    return max(config["threads"], beside)


def cell_memory(wildcards, attempt: int) -> int:
    """Megabytes of memory of a cell."""
    count = cell_gpus(wildcards)
    weights = cell_weights(wildcards, on_gpu=count > 0)
    variant = rereads.variant_of(wildcards.get("reread", ""))
    backend = environments.letters_backend(variant, config["backend"])
    vllm = backend == "vllm" or wildcards.readout in GENERATED_READOUTS
    return needs.grown_mb(needs.cell_memory_mb(weights, count, vllm), attempt)


def checkpoint_memory(wildcards, attempt: int) -> int:
    """Megabytes of memory for resolving a checkpoint: a GGUF file is converted."""
    if "gguf" in COHORT.source(wildcards.checkpoint):
        return needs.grown_mb(needs.conversion_memory_mb(params_b(wildcards)), attempt)
    return needs.grown_mb(needs.LIBRARIES_MB, attempt)


def cell_minutes(wildcards, attempt: int) -> int:
    """Minutes of a cell."""
    minutes = needs.cell_minutes(params_b(wildcards), cell_gpus(wildcards))
    return needs.grown_minutes(minutes, attempt)


def memory(megabytes: int):
    """Memory that grows with the attempts, for `mem_mb`."""
    return lambda wildcards, attempt: needs.grown_mb(megabytes, attempt)


def minutes(first: int):
    """Time that grows with the attempts, for `runtime`."""
    return lambda wildcards, attempt: needs.grown_minutes(first, attempt)
