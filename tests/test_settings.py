"""Which keys of the config a stamp's digest covers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from optionbias.settings import SHAPE_ANSWERS, SHAPE_NOTHING, digest, of_answers, of_statistics
from optionbias.validation import read_yaml

ROOT = Path(__file__).parents[1]


@pytest.fixture
def config() -> dict[str, Any]:
    read: dict[str, Any] = read_yaml(ROOT / "config.yaml")
    return read


def test_every_named_key_is_one_of_the_config(config: dict[str, Any]) -> None:
    assert {*SHAPE_NOTHING, *SHAPE_ANSWERS} <= set(config)
    assert not set(SHAPE_NOTHING) & set(SHAPE_ANSWERS)


def test_the_documentation_names_every_key_that_is_left_out() -> None:
    page = (ROOT / "docs" / "publishing.md").read_text(encoding="utf-8")
    listed = page[page.index("**What `config` digests**") :].partition("## ")[0]
    missing = [key for key in (*SHAPE_NOTHING, *SHAPE_ANSWERS) if f"`{key}`" not in listed]
    assert not missing


def test_what_shapes_the_statistics(config: dict[str, Any]) -> None:
    assert {"seed", "draws", "repetitions", "small_mass", "noise_floor"} <= set(
        of_statistics(config)
    )
    assert set(of_answers(config)) == set(SHAPE_ANSWERS)
    before = digest(config)
    for key in config:
        same = key in SHAPE_NOTHING or key in SHAPE_ANSWERS
        assert (digest({**config, key: "another"}) == before) is same, key
    # A key that nobody classified counts.
    assert digest({**config, "new": 1}) != before
    assert digest(dict(reversed(config.items()))) == before
