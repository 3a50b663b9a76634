"""Which environment of envs/ a job runs in, and with which Python.

With conda an environment is its file, envs/NAME.yaml. Without, it is what `make envs` made in
.envs/NAME, and where that is not there the Python that runs the workflow takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

# Of checkpoints that say nothing themselves.
INFERENCE, INFERENCE_GGUF = "inference", "inference-gguf"
# With which vLLM letters are read and answers generated, by device: the first that was made.
LETTERS = {
    "auto": ("letters-vllm", "generation-cpu"),
    "cuda": ("letters-vllm",),
    "cpu": ("generation-cpu",),
}
ANSWERS = {
    "auto": ("generation", "generation-cpu"),
    "cuda": ("generation",),
    "cpu": ("generation-cpu",),
}


class Environments:
    """The environments of a clone."""

    def __init__(self, root: Path, conda: bool) -> None:
        """Look for them in `root`; `conda` says whether jobs run in conda environments."""
        self.root, self.conda = root, conda
        self._made: dict[str, bool] = {}

    def names(self) -> list[str]:
        """Every environment that there is, sorted."""
        return sorted(path.stem for path in (self.root / "envs").glob("*.yaml"))

    def made(self, name: str) -> bool:
        """Whether `make envs` has made an environment, to its end; looked up once."""
        if name not in self._made:
            self._made[name] = (self.root / ".envs" / name / "installed").is_file()
        return self._made[name]

    def python(self, name: str) -> str:
        """The Python of an environment's jobs: its own where it was made, else that which is active."""
        if self.conda or not self.made(name):
            return "python"
        return str(self.root / ".envs" / name / "bin" / "python")

    def has_vllm(self, by_device: Mapping[str, tuple[str, ...]], device: str) -> bool:
        """Whether a job of LETTERS or ANSWERS will find a vLLM."""
        return self._vllm_here or self.conda or any(self.made(name) for name in by_device[device])

    @cached_property
    def _vllm_here(self) -> bool:
        """Whether the Python that runs the workflow has a vLLM."""
        return find_spec("vllm") is not None

    def of_letters(self, checkpoint: Mapping[str, Any], backend: str, device: str) -> str:
        """The environment in which a checkpoint's letters are read."""
        if backend != "vllm":
            return of_checkpoint(checkpoint)
        return self._vllm(LETTERS[device])

    def of_answers(self, checkpoint: Mapping[str, Any], backend: str, device: str) -> str:
        """The environment in which a checkpoint generates answers.

        `auto` is vLLM where there is one, but a converted checkpoint stays where it was converted.
        """
        if backend == "auto":
            stays = is_converted(checkpoint) or not self.has_vllm(ANSWERS, device)
            backend = "transformers" if stays else "vllm"
        return (
            of_checkpoint(checkpoint) if backend == "transformers" else self._vllm(ANSWERS[device])
        )

    def _vllm(self, names: tuple[str, ...]) -> str:
        made = [] if self.conda else [name for name in names if self.made(name)]
        return [*made, *names][0]


def is_converted(checkpoint: Mapping[str, Any]) -> bool:
    """Whether a cohort's entry is a GGUF, which is converted to a folder before it is loaded."""
    return "gguf" in checkpoint.get("source", {})


def of_checkpoint(checkpoint: Mapping[str, Any]) -> str:
    """The environment in which transformers resolves and loads a checkpoint of a cohort."""
    default = INFERENCE_GGUF if is_converted(checkpoint) else INFERENCE
    return str(checkpoint.get("environment", default))


def letters_backend(variant: str | None, backend: str) -> str:
    """The backend that reads letters: the config's, unless a variant of the noise floor is about it."""
    return {"vllm": "vllm", "alone": "transformers"}.get(variant or "", backend)


def install_line(by_device: Mapping[str, tuple[str, ...]]) -> str:
    """How to install the vLLM of LETTERS or ANSWERS."""
    gpu, cpu = by_device["auto"]
    return f"`make envs ENVS={gpu}` installs it (without a GPU: ENVS={cpu})"
