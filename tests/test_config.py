"""config.yaml itself: it fits its schema, and the command line's values get their types."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from snakemake.utils import update_config

from optionbias.repairs import DEFAULTS, REPAIRS
from optionbias.validation import ConfigError, check, normalise, read_yaml

ROOT = Path(__file__).parents[1]


def default() -> dict[str, Any]:
    config: dict[str, Any] = read_yaml(ROOT / "config.yaml")
    return config


def fault(**changes: object) -> str:
    """What is said of the default config with some keys replaced."""
    with pytest.raises(ConfigError) as caught:
        check({**default(), **changes}, "config", "config.yaml")
    return str(caught.value)


def test_the_default_config_fits_its_schema() -> None:
    config = default()
    check(config, "config", "config.yaml")
    assert config["cohort"] == "mini" and config["sweeps"] is None
    assert config["mirror"] is None and config["items"] == {}


def test_values_of_the_command_line_get_their_types() -> None:
    config = {"resume": "false", "draws": 2e3, "seed": 1.5, "cohort": "true"}
    normalise(config)
    assert config == {"resume": False, "draws": 2000, "seed": 1.5, "cohort": "true"}
    assert type(config["draws"]) is int


def test_so_do_values_within_a_mapping() -> None:
    """Snakemake leaves everything within braces a text."""
    config: dict[str, Any] = {
        "repairs": {"strip_blanks": "false", "drop_empty": "True", "fix_mojibake": True},
        "items": {"first-token": "100", "five-shot": "2e1", "all-orderings": 5},
    }
    normalise(config)
    assert config["repairs"] == {"strip_blanks": False, "drop_empty": True, "fix_mojibake": True}
    assert config["items"] == {"first-token": 100, "five-shot": 20, "all-orderings": 5}
    assert {type(size) for size in config["items"].values()} == {int}


def test_what_is_no_value_of_the_type_stays_for_the_check_to_name() -> None:
    config: dict[str, Any] = {
        "repairs": {"strip_blanks": "maybe", "no_such": "true"},
        "items": {"first-token": "few", "five-shot": "2.5", "other": "3"},
        "draws": "many",
    }
    normalise(config)
    assert config == {
        "repairs": {"strip_blanks": "maybe", "no_such": "true"},
        "items": {"first-token": "few", "five-shot": 2.5, "other": "3"},
        "draws": "many",
    }
    for odd in ({"repairs": "strip_blanks"}, {"repairs": None}, {"items": ["first-token"]}):
        given = dict(odd)
        normalise(given)
        assert given == odd


def test_null_is_no_folder() -> None:
    config: dict[str, Any] = {"mirror": "null", "sweeps": "null", "cohort": "null"}
    normalise(config)
    assert config == {"mirror": None, "sweeps": None, "cohort": "null"}


@pytest.mark.parametrize("value", [None, "null"])
def test_null_takes_the_sizes_of_another_file_away(value: str | None) -> None:
    """Snakemake merges mappings: an empty one over {first-token: 100} changes nothing."""
    config = {**default(), "items": {"first-token": 100}}
    update_config(config, {"items": {}})
    assert config["items"] == {"first-token": 100}
    update_config(config, {"items": value})
    check({**config, "items": None}, "config", "config.yaml")
    normalise(config)
    check(config, "config", "config.yaml")
    assert config["items"] == {}


def test_the_repairs_of_the_config_are_those_of_the_code() -> None:
    assert default()["repairs"] == DEFAULTS
    schema = read_yaml(ROOT / "workflow" / "schemas" / "config.schema.yaml")
    entry = schema["properties"]["repairs"]
    assert entry["required"] == list(entry["properties"]) == list(REPAIRS)


def test_the_config_says_what_the_paper_presumably_did() -> None:
    """In brackets, behind each repair."""
    text = (ROOT / "config.yaml").read_text(encoding="utf-8")
    told = dict(re.findall(r"^  (\w+): (?:true|false) +# \[(true|false)\]", text, re.M))
    assert told == {name: str(repair.paper).lower() for name, repair in REPAIRS.items()}


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"repairs": {**DEFAULTS, "strip_blank": True}},
            "config.yaml: unknown key `repairs.strip_blank` (known here: "
            + ", ".join(sorted(DEFAULTS))
            + ")",
        ),
        (
            {"repairs": {**DEFAULTS, "strip_blanks": "maybe"}},
            "config.yaml: `repairs.strip_blanks` is 'maybe', not of type boolean",
        ),
        (
            {"repairs": {**DEFAULTS, "drop_empty": 1}},
            "config.yaml: `repairs.drop_empty` is 1, not of type boolean",
        ),
        (
            {"repairs": {k: v for k, v in DEFAULTS.items() if k != "letter_order"}},
            "config.yaml: missing key `repairs.letter_order`",
        ),
        (
            {"repairs": "strip_blanks"},
            "config.yaml: `repairs` is 'strip_blanks', not of type object",
        ),
        (
            {"items": {"zero-shot": 4}},
            "config.yaml: unknown key `items.zero-shot` "
            "(known here: all-orderings, chain-of-thought, closed, direct-answer, first-token, five-shot)",
        ),
        (
            {"items": {"first-token": "few"}},
            "config.yaml: `items.first-token` is 'few', not of type integer",
        ),
        (
            {"items": {"first-token": 1}},
            "config.yaml: `items.first-token`: 1 is less than the minimum of 2",
        ),
        ({"items": 100}, "config.yaml: `items` is 100, not of type object or null"),
        ({"mirror": 7}, "config.yaml: `mirror` is 7, not of type string or null"),
        ({"mirror": ""}, "config.yaml: `mirror`: '' should be non-empty"),
    ],
)
def test_faults_of_the_data_keys_are_one_line(changes: dict[str, Any], line: str) -> None:
    assert fault(**changes) == line


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("maybe", "`noise_floor` is 'maybe', not of type boolean or array"),
        (["closed"], "`noise_floor.0` is 'closed', not one of alone, float32, bfloat16, vllm"),
        ([], "`noise_floor`: [] should be non-empty"),
        (["alone", "alone"], "`noise_floor`: ['alone', 'alone'] has non-unique elements"),
    ],
)
def test_faults_of_the_noise_floor_are_named(value: object, said: str) -> None:
    assert said in fault(noise_floor=value)


def test_the_noise_floor_of_the_command_line() -> None:
    config = {"noise_floor": "true"}
    normalise(config)
    assert config == {"noise_floor": True}
