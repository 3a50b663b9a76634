"""What outputs are stamped with, and which archive a run is about: functions that rules share."""

from optionbias import clone, publication, settings, verification


def made(wildcards, input) -> str:
    """What stamps hold of the clone and the config, as JSON.

    A function of `input` is not compared by Snakemake: another commit is no reason to make anything anew.
    Other settings are one, for what computes tables and figures: their digest is a parameter by itself.
    """
    return json.dumps(
        clone.state() | {"config": settings.digest(config)}, sort_keys=True
    )


def recorded_config() -> str:
    """The settings behind the outputs, as JSON: of the statistics, and of answers where this run asks."""
    told = {
        "statistics": settings.of_statistics(config),
        "sha256": settings.digest(config),
    }
    answers = settings.of_answers(config) if ASKS else None
    return json.dumps(told | {"answers": answers}, sort_keys=True)


def lock_digests() -> dict[str, str]:
    """What pins packages and models, by path in the clone, so that a change of it is seen.

    Not workflow/data.lock: jobs of the same run write it.
    """
    return {
        name: provenance.quick_digest(path)
        for name, path in publication.locks(provenance.ROOT).items()
        if name != publication.DATA_LOCK
    }


def verified_outputs(wildcards) -> list[str]:
    """What `verify` compares with: an archive, or the outputs of this run.

    A function, since rules that come later make them, and an archive that is not there concerns no other rule.
    """
    if config["bundle"]:
        return [bundle_file(wildcards)]
    return [*rules.tables.input, *rules.figures.input, *rules.cohort.output]


def bundle_file(wildcards) -> str:
    """The archive that `restore` unpacks, or `verify` checks."""
    if config["bundle"] is None:
        raise WorkflowError(
            "config key `bundle`: which archive? for example `--config bundle=results/bundle/mini.tar`"
        )
    if Path(config["bundle"]).is_dir():
        raise WorkflowError(
            f"config key `bundle`: {config['bundle']} is a folder, not an archive"
        )
    if not Path(config["bundle"]).is_file():
        raise WorkflowError(
            f"config key `bundle`: no such file: {config['bundle']} (looked for in {Path.cwd()})"
        )
    return config["bundle"]
