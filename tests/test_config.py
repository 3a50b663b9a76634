"""config.yaml itself: it fits its schema, and the command line's values get their types."""

from __future__ import annotations

from pathlib import Path

from optionbias.validation import check, normalise, read_yaml

ROOT = Path(__file__).parents[1]


def test_the_default_config_fits_its_schema() -> None:
    config = read_yaml(ROOT / "config.yaml")
    check(config, "config", "config.yaml")
    assert config["cohort"] == "mini" and config["sweeps"] is None


def test_values_of_the_command_line_get_their_types() -> None:
    config = {"resume": "false", "draws": 2e3, "seed": 1.5, "cohort": "true"}
    normalise(config)
    assert config == {"resume": False, "draws": 2000, "seed": 1.5, "cohort": "true"}
    assert type(config["draws"]) is int
