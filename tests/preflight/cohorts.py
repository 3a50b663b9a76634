"""A tiny cohort whose work is worked out by hand, and its stored counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from optionbias.cohort import Cohort, read_cohort
from optionbias.preflight.workload import Workload
from optionbias.provenance import ROOT
from optionbias.validation import read_yaml

COUNTS = {
    "tokenizer": "a tokeniser",
    "benchmarks": {
        "facts_k2": {
            "items": 10, "K": 2,
            "first-token": {"tokens": 20.0, "run": 15.0},
            "five-shot": {"tokens": 120.0, "run": 15.0, "heads": 2, "head_tokens": 100.0},
        },
        "piqa": {
            "items": 100, "K": 2,
            "first-token": {"tokens": 40.0, "run": 30.0},
            "chain-of-thought": {"tokens": 60.0},
            "download_mb": 5.0,
        },
        "mmlu_five_subjects": {
            "items": 50, "K": 4,
            "first-token": {"tokens": 80.0, "run": 40.0},
            "all-orderings": {"tokens": 80.0, "run": 25.0},
            "closed": {"tokens": 90.0},
        },
    },
}  # fmt: skip


def raw_cohort() -> dict[str, Any]:
    """Two open checkpoints and a closed one on three benchmarks under five readouts."""
    return {
        "name": "tiny",
        "checkpoints": [
            {"name": "small", "family": "F", "params_b": 1, "stored_params_b": 1.2,
             "training": "base", "source": {"hub": "org/small", "revision": "main"}},
            {"name": "large", "family": "F", "params_b": 70, "training": "base", "gated": True,
             "download_gb": 140.0, "dtype": "bfloat16",
             "source": {"hub": "org/large", "revision": "main"}},
            {"name": "shut", "family": "G", "training": "post", "closed": True,
             "source": {"model": "shut", "price": {"input": 2.0, "output": 10.0}}},
        ],
        "benchmarks": [
            {"name": "facts_k2", "K": 2}, {"name": "piqa", "K": 2},
            {"name": "mmlu_five_subjects", "K": 4},
        ],
        "readouts": {
            "first-token": {"checkpoints": "all", "benchmarks": "all"},
            "five-shot": {"checkpoints": ["small"], "benchmarks": ["facts_k2"], "items": 4},
            "chain-of-thought": {"checkpoints": ["small"], "benchmarks": ["piqa"]},
            "all-orderings": {"checkpoints": ["large"], "benchmarks": ["mmlu_five_subjects"]},
            "closed": {"checkpoints": "all", "benchmarks": ["mmlu_five_subjects"]},
        },
    }  # fmt: skip


def read(folder: Path, raw: dict[str, Any] | None = None) -> Cohort:
    """A cohort of this content, the tiny one by default."""
    path = folder / "tiny.yaml"
    path.write_text(yaml.safe_dump(raw or raw_cohort()))
    return read_cohort(path)


def config(**changes: Any) -> dict[str, Any]:
    """The default config with some keys changed."""
    return {**read_yaml(ROOT / "config.yaml"), **changes}


def workload(folder: Path, cohort: Cohort, **changes: Any) -> Workload:
    """The work of a cohort by the counts above."""
    stored = folder / "counts.yaml"
    stored.write_text(yaml.safe_dump(COUNTS))
    return Workload(cohort, config(**changes), stored)
