"""Faults of configuration files: each named with its file and its key, in one line."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from optionbias import validation
from optionbias.validation import ConfigError, check, read_yaml
from synthetic import FEW

SCHEMA = """
type: object
additionalProperties: false
required: [name, size]
properties:
  name: {type: string, pattern: "^[a-z]+$"}
  size: {type: integer, minimum: 2, maximum: 26}
  device: {enum: [auto, cpu, cuda]}
  limit: {type: [number, "null"]}
  version: {const: 1}
  tags: {type: array, minItems: 1, uniqueItems: true, items: {type: string}}
  nested:
    type: object
    additionalProperties: false
    required: [inner]
    properties:
      inner: {type: boolean}
      deep: {type: array, items: {type: object, required: [k], properties: {k: {type: integer}}}}
  source:
    oneOf:
      - {type: object, additionalProperties: false, required: [hub, revision],
         properties: {hub: {type: string}, revision: {type: string}}}
      - {type: object, additionalProperties: false, required: [path],
         properties: {path: {type: string, minLength: 1}}}
"""


@pytest.fixture(autouse=True)
def schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A schema with one of each kind of rule."""
    (tmp_path / "toy.schema.yaml").write_text(SCHEMA, encoding="utf-8")
    monkeypatch.setattr(validation, "SCHEMAS", tmp_path)


def fault(**entries: Any) -> str:
    """The message for a file with these entries besides, or in the place of, valid ones."""
    value = {"name": "a", "size": 4, **entries}
    value = {key: v for key, v in value.items() if v is not ...}
    with pytest.raises(ConfigError) as caught:
        check(value, "toy", "toy.yaml")
    message = str(caught.value)
    assert message.startswith("toy.yaml: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        ({"extra": 1}, "unknown key `extra` (known here: device, limit, name, nested, size, source, tags, version)"),
        ({"size": ...}, "missing key `size`"),
        ({"size": ..., "name": ...}, "missing key `name`, `size`"),
        ({"size": "4"}, "`size` is '4', not of type integer"),
        ({"size": 4.5}, "`size` is 4.5, not of type integer"),
        ({"size": True}, "`size` is True, not of type integer"),
        ({"size": None}, "`size` is None, not of type integer"),
        ({"limit": "much"}, "`limit` is 'much', not of type number or null"),
        ({"device": "gpu"}, "`device` is 'gpu', not one of auto, cpu, cuda"),
        ({"version": 2}, "`version` is 2, not one of 1"),
        ({"nested": {}}, "missing key `nested.inner`"),
        ({"nested": {"inner": True, "more": 1}}, "unknown key `nested.more`"),
        ({"nested": {"inner": 3}}, "`nested.inner` is 3, not of type boolean"),
        ({"nested": {"inner": True, "deep": [{"k": 1}, {"k": "x"}]}}, "`nested.deep.1.k` is 'x'"),
        ({"nested": {"inner": True, "deep": [{}]}}, "missing key `nested.deep.0.k`"),
        ({"source": {"hub": "a/b"}}, "missing key `source.revision`"),
        ({"source": {"path": 5}}, "`source.path` is 5, not of type string"),
    ],
)  # fmt: skip
def test_a_fault_names_its_key(entries: dict[str, Any], expected: str) -> None:
    assert expected in fault(**entries)


@pytest.mark.parametrize(
    ("entries", "key"),
    [
        ({"size": 1}, "`size`"),
        ({"size": 27}, "`size`"),
        ({"name": "A b"}, "`name`"),
        ({"tags": []}, "`tags`"),
        ({"tags": ["a", "a"]}, "`tags`"),
        ({"source": {"path": ""}}, "`source"),
        ({"source": {}}, "`source"),
        ({"source": "here"}, "`source"),
        ({"source": {"hub": "a", "revision": "b", "path": "c"}}, "`source"),
    ],
)
def test_other_faults_name_their_key_too(entries: dict[str, Any], key: str) -> None:
    assert key in fault(**entries)


def test_every_fault_is_one_message() -> None:
    message = fault(size="x", device="gpu", extra=1)
    parts = message.split("; ")
    assert len(parts) == 3
    assert all(part.startswith("toy.yaml: ") for part in parts)


def test_keys_that_are_not_text_are_named() -> None:
    # YAML reads `2: x` as a number and `yes: x` as true; both are only unknown keys.
    with pytest.raises(ConfigError) as caught:
        check({"name": "a", "size": 4, "extra": 1, 2: "x", True: "y"}, "toy", "toy.yaml")
    message = str(caught.value)
    assert all(f"`{key}`" in message for key in ("extra", "2", "True"))


def test_valid_values_pass() -> None:
    check({"name": "a", "size": 4}, "toy", "toy.yaml")
    check({"name": "a", "size": 4, "limit": None, "source": {"path": "x"}}, "toy", "toy.yaml")


def test_what_is_not_a_mapping() -> None:
    for value in (None, [], "text", 3):
        with pytest.raises(ConfigError, match=r"^toy\.yaml: the file is .*, not of type object"):
            check(value, "toy", "toy.yaml")


values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.sampled_from(["", "a", "auto", "x/y"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["inner", "deep", "k", "hub", "path", "new"]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


@FEW
@given(st.dictionaries(st.sampled_from(["name", "size", "device", "limit", "tags", "nested", "source", "new"]), values))  # fmt: skip
def test_any_fault_is_a_config_error_with_the_file(value: dict[str, Any]) -> None:
    try:
        check(value, "toy", "toy.yaml")
    except ConfigError as error:
        assert str(error).startswith("toy.yaml: ")
        assert "`" in str(error)
        assert "\n" not in str(error)


# --- YAML ------------------------------------------------------------------------------------


def test_yaml_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("name: é\nK: [1, 2]\n", encoding="utf-8")
    assert read_yaml(path) == {"name": "é", "K": [1, 2]}
    path.write_text("", encoding="utf-8")
    assert read_yaml(path) is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"name: [a\nK: 2\n", "not YAML"),
        (b"a: b: c\n", "line 1"),
        (b"\tname: a\n", "not YAML"),
        (b"name: caf\xe9\n", "not UTF-8 at byte 9"),
        (b"name: !!python/object:os.system x\n", "not YAML"),
        (b"a: 1\n---\nb: 2\n", "not YAML"),
    ],
)
def test_a_file_that_is_not_yaml(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_yaml(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ")
    assert expected in message
    assert "\n" not in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.yaml: no such file"):
        read_yaml(tmp_path / "absent.yaml")


@pytest.mark.parametrize("name", ["config", "cohort"])
def test_the_workflows_schemas_are_schemas(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Path(validation.__file__).parents[1] / "workflow" / "schemas"
    monkeypatch.setattr(validation, "SCHEMAS", folder)
    schema = yaml.safe_load((folder / f"{name}.schema.yaml").read_text(encoding="utf-8"))
    validation.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    with pytest.raises(ConfigError, match=r"here\.yaml: unknown key `nonsense`"):
        check({"nonsense": 1}, name, "here.yaml")


def test_a_repeated_key_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: a\nreadouts:\n  five-shot: 1\n  five-shot: 2\n")
    with pytest.raises(ConfigError, match="key `five-shot` is repeated in the mapping on line 3"):
        read_yaml(path)
