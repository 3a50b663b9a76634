"""Which environment of envs/ the jobs of each rule run in; functions alone."""

import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

if workflow.basedir not in sys.path:
    sys.path.insert(0, workflow.basedir)

from optionbias import environments, rereads

WITH_CONDA = DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method
ENVIRONMENTS = environments.Environments(Path(workflow.basedir), WITH_CONDA)


def python_in(environment):
    """The Python of an environment's jobs, as a parameter.

    Parameters that are functions of `input` are not compared with earlier runs: where an environment
    lies, or whether there is one, is no reason to make anything anew.

    Args:
        environment: its name, or a function of the wildcards that gives it.
    """

    def python(wildcards, input):
        name = environment(wildcards) if callable(environment) else environment
        return ENVIRONMENTS.python(name)

    return python


def conda_in(environment):
    """The file of the environment that a function of the wildcards gives, for `conda:`."""
    return lambda wildcards: f"../../envs/{environment(wildcards)}.yaml"


def checkpoint_environment(wildcards) -> str:
    """Where a checkpoint is resolved, and converted where it must be."""
    return environments.of_checkpoint(COHORT.checkpoints[wildcards.checkpoint])


def letters_environment(wildcards) -> str:
    """Where a checkpoint's letters are read (again, as the variant of the noise floor says)."""
    variant = rereads.variant_of(wildcards.reread)
    backend = environments.letters_backend(variant, config["backend"])
    entry = COHORT.checkpoints[wildcards.checkpoint]
    return ENVIRONMENTS.of_letters(entry, backend, config["device"])


def answers_environment(wildcards) -> str:
    """Where a checkpoint generates answers."""
    entry = COHORT.checkpoints[wildcards.checkpoint]
    return ENVIRONMENTS.of_answers(entry, config["backend"], config["device"])


def missing_vllm(letters: bool, answers: bool) -> list[str]:
    """A vLLM that the config asks for by name and that no job would find.

    Args:
        letters, answers: whether the cohort has readouts of this kind.
    """
    everywhere = config["backend"] == "vllm"
    reread = "vllm" in rereads.variants(config["noise_floor"])
    asked = [
        ("backend", everywhere and letters, environments.LETTERS),
        ("backend", everywhere and answers, environments.ANSWERS),
        ("noise_floor", reread and letters, environments.LETTERS),
    ]
    return [
        f"config key `{key}`: vLLM is not installed; {environments.install_line(by_device)}"
        for key, wanted, by_device in asked
        if wanted and not ENVIRONMENTS.has_vllm(by_device, config["device"])
    ]


def unknown_environments(cohort) -> list[str]:
    """Checkpoints that name an environment that there is not."""
    known = ENVIRONMENTS.names()
    return [
        f"{cohort.path}: checkpoint {name}: `environment`: there is no envs/{entry['environment']}.yaml "
        f"(there are {', '.join(known)})"
        for name, entry in cohort.checkpoints.items()
        if "environment" in entry and entry["environment"] not in known
    ]
