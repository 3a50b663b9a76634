"""What jobs ask of a machine."""

from __future__ import annotations

import pytest

from optionbias import resources


@pytest.mark.parametrize(
    ("params_b", "dtype", "card", "gpus"),
    [
        (0.5, "auto", 80, 1),
        (32, "auto", 80, 1),
        (38, "bfloat16", 80, 1),  # 76 GB: exactly what a card has left beside its headroom
        (38.1, "bfloat16", 80, 2),
        (70, "auto", 80, 2),
        (72.7, "auto", 80, 2),
        (70, "float32", 80, 4),
        (70, "auto", 40, 4),
        (70, "auto", 50, 4),  # four, not three and some: heads divide over powers of two
        (8, "auto", 24, 1),
        (14, "float16", 24, 2),
        (0.5, "auto", 2, 1),  # half of a small card, where the headroom would leave nothing
        (0.6, "auto", 2, 2),
    ],
)
def test_gpus_by_parameters_dtype_and_memory_of_the_card(
    params_b: float, dtype: str, card: float, gpus: int
) -> None:
    weights = resources.weights_gb(params_b, resources.run_dtype(dtype, on_gpu=True))
    assert resources.gpus_for(weights, card) == gpus


def test_weights_are_float32_on_a_cpu_unless_the_config_says() -> None:
    assert resources.run_dtype("auto", on_gpu=False) == "float32"
    assert resources.run_dtype("auto", on_gpu=True) == "bfloat16"
    assert resources.run_dtype("float16", on_gpu=False) == "float16"
    # A re-read's own dtype goes first; other variants leave it alone.
    assert resources.run_dtype("auto", True, "float32") == "float32"
    assert resources.run_dtype("auto", True, "alone") == "bfloat16"
    assert [resources.weights_gb(1.5, dtype) for dtype in ("float32", "bfloat16")] == [6.0, 3.0]


def test_memory_of_the_host() -> None:
    """On a CPU twice the weights; for one GPU the weights once, over two GPUs half of them."""
    assert resources.cell_memory_mb(4.0, 0, vllm=False) == 3000 + 8000
    assert resources.cell_memory_mb(4.0, 0, vllm=True) == 3000 + 4000 + 8000
    assert resources.cell_memory_mb(60.0, 1, vllm=False) == 8000 + 66000
    assert resources.cell_memory_mb(140.0, 2, vllm=True) == 8000 + 77000
    assert resources.conversion_memory_mb(0.25) == 3000 + 3000


def test_memory_and_time_grow_with_the_attempts() -> None:
    assert [resources.grown_mb(4000, n) for n in (1, 2, 3)] == [4000, 6000, 8000]
    assert [resources.grown_minutes(60, n) for n in (1, 2, 3)] == [60, 120, 180]
    assert resources.grown_minutes(1000, 2) == resources.LONGEST_MINUTES
    assert resources.cell_minutes(70, gpus=2) == 240 + 420
    assert resources.cell_minutes(1, gpus=0) == 240 + 600
