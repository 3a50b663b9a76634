"""What a job needs of a machine: GPUs, memory of the host, minutes.

Estimates from a checkpoint's size, made to be enough on the first attempt and to grow with each
further one. They shape no stored number.
"""

from __future__ import annotations

import math

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
# Of each card, for CUDA itself, activations and a small cache of keys and values.
GPU_HEADROOM_GB = 4.0
# Python with the libraries of a cell, and those that drive a GPU.
LIBRARIES_MB = 3000
GPU_LIBRARIES_MB = 8000
# On a CPU weights lie in memory twice: as they were loaded, and reordered for matrix products.
COPIES_ON_CPU = 2
# The cache of keys and values that vLLM takes on a CPU, and what a GGUF file's weights take until
# they are saved as a folder: as they are read, as float32 and as they are written.
VLLM_CPU_CACHE_MB = 4000
CONVERSION_BYTES = 12
# Few partitions of clusters let a job run for longer. A cell that runs out of time goes on from its
# journal at the next attempt.
LONGEST_MINUTES = 24 * 60
# CPU threads of a cell that runs on a GPU: they load weights and tokenise.
THREADS_BESIDE_GPU = 4


def run_dtype(dtype: str, on_gpu: bool, variant: str | None = None) -> str:
    """The dtype in which a cell is read: a config's, or that of the re-read `variant`."""
    if variant in BYTES:
        return variant
    if dtype == "auto":
        return "bfloat16" if on_gpu else "float32"
    return dtype


def weights_gb(params_b: float, dtype: str) -> float:
    """Gigabytes (10^9 bytes) of `params_b` billion parameters in a dtype."""
    return params_b * BYTES[dtype]


def gpus_for(weights: float, gpu_memory_gb: float) -> int:
    """GPUs that hold so many gigabytes of weights: a power of two, over which attention heads divide.

    Args:
        weights: gigabytes of weights.
        gpu_memory_gb: memory of one card.
    """
    room = max(gpu_memory_gb - GPU_HEADROOM_GB, gpu_memory_gb / 2)  # small cards hold small models
    least = max(1, math.ceil(weights / room))
    return 1 << (least - 1).bit_length()


def cell_memory_mb(weights: float, gpus: int, vllm: bool) -> int:
    """Megabytes of the host's memory for reading a cell, maybe by vLLM.

    For one GPU the weights are loaded into the host's memory first; over several they are spread
    as they are read, so a part is there at a time.
    """
    if gpus == 0:
        cache = VLLM_CPU_CACHE_MB if vllm else 0
        return LIBRARIES_MB + cache + math.ceil(1000 * COPIES_ON_CPU * weights)
    return GPU_LIBRARIES_MB + math.ceil(1.1 * 1000 * weights / gpus)


def conversion_memory_mb(params_b: float) -> int:
    """Megabytes of memory for converting a GGUF file of `params_b` billion parameters."""
    return LIBRARIES_MB + math.ceil(1000 * CONVERSION_BYTES * params_b)


def cell_minutes(params_b: float, gpus: int) -> int:
    """Minutes for reading a cell at the first attempt: hours, as a queue wants, not a forecast."""
    return math.ceil(240 + params_b * (6 if gpus else 600))


def grown_mb(megabytes: int, attempt: int) -> int:
    """Memory at an attempt (1, 2, ...): half as much again each time."""
    return megabytes + megabytes * (attempt - 1) // 2


def grown_minutes(minutes: int, attempt: int) -> int:
    """Minutes at an attempt (1, 2, ...): as much again each time, a day at most."""
    return min(minutes * attempt, LONGEST_MINUTES)
