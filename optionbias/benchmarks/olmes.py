"""Curated training exemplars of the OLMES evaluation standard.

Upstream keeps them in a Python module, as assignments `STD_FEWSHOT["name"] = [...]` of literals. It
is parsed, never run, and written as JSON.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable
from functools import partial

from optionbias.benchmarks.source import File, SourceError, github

NAME = "olmes_fewshot_train.json"
URL = github("allenai/OLMo-Eval", "e77b194ea47c", "olmo_eval/tasks/olmes_v0_1/std_fewshot.py")


def exemplar_file(benchmark: str, sha256: str) -> File:
    """The exemplars of a benchmark, by the name that OLMES gives it."""
    derive: Callable[[bytes], bytes] = partial(_extract, benchmark)
    return File(NAME, sha256, URL, derive=derive)


def _extract(benchmark: str, served: bytes) -> bytes:
    for node in ast.parse(served).body:
        match node:
            case ast.Assign(
                targets=[
                    ast.Subscript(value=ast.Name(id="STD_FEWSHOT"), slice=ast.Constant(value=name))
                ],
                value=value,
            ) if name == benchmark:
                return json.dumps(ast.literal_eval(value), indent=1, ensure_ascii=False).encode()
    raise SourceError(f"{URL}: holds no exemplars of {benchmark}")
