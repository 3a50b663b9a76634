"""What outputs are stamped with, and which archive a run is about: functions that rules share."""

from optionbias import clone, settings


def made(wildcards, input) -> str:
    """What stamps hold of the clone and the config, as JSON.

    A function of `input` is not compared by Snakemake: another commit is no reason to make anything anew.
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


def bundle_file(wildcards) -> str:
    """The archive that `restore` unpacks."""
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
