"""Configuration files checked against their JSON schemas, one clear line per fault."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

SCHEMAS = Path(__file__).parents[1] / "workflow" / "schemas"


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A loader that does not let the second of two equal keys win silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                line = node.start_mark.line + 1
                raise yaml.YAMLError(f"key `{key}` is repeated in the mapping on line {line}")
        return super().construct_mapping(node, deep)


class ConfigError(ValueError):
    """A config or cohort file that cannot be used; the message names the file and the key."""


def read_yaml(path: Path) -> Any:
    """Parse a YAML file, or raise `ConfigError` with the line of the fault."""
    try:
        return yaml.load(path.read_text(encoding="utf-8"), _Loader)
    except FileNotFoundError as error:
        raise ConfigError(f"{path}: no such file") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 at byte {error.start}") from error
    except yaml.YAMLError as error:
        text = " ".join(str(error).split())
        raise ConfigError(f"{path}: not YAML: {text}") from error


def check(value: Any, schema: str, source: str) -> None:
    """Raise `ConfigError` naming `source` and every faulty key, unless `value` fits the schema.

    Args:
        value: the parsed file.
        schema: name of a file in workflow/schemas, without its ending.
        source: what to call the file in the message.
    """
    validator = Draft202012Validator(read_yaml(SCHEMAS / f"{schema}.schema.yaml"))
    errors = sorted(validator.iter_errors(value), key=lambda e: [str(p) for p in e.absolute_path])
    if errors:
        raise ConfigError("; ".join(_lines(errors, source)))


def normalise(config: dict[str, Any]) -> None:
    """Give values of the command line the types that the schema means, in place.

    `--config` passes `resume=false` as a text, `draws=2e3` as a float, and everything within a
    mapping, such as `items={first-token: 100}`, as a text. A mapping that may be null is empty then:
    nothing else takes keys away that a file before it has set.
    """
    schema = read_yaml(SCHEMAS / "config.schema.yaml")
    _give_types(config, schema["properties"], schema["$defs"])


def _give_types(config: dict[str, Any], properties: dict[str, Any], defs: dict[str, Any]) -> None:
    for key, value in config.items():
        entry = properties.get(key, {})
        if "$ref" in entry:
            entry = defs[entry["$ref"].removeprefix("#/$defs/")]
        kind = entry.get("type")
        if "object" in _listed(kind) and isinstance(value, dict):
            _give_types(value, entry["properties"], defs)
        elif "object" in _listed(kind) and "null" in _listed(kind) and value in (None, "null"):
            config[key] = {}
        elif "boolean" in _listed(kind) and str(value).lower() in ("true", "false"):
            config[key] = str(value).lower() == "true"
        elif kind == "integer":
            config[key] = _whole(value)
        elif isinstance(kind, list) and "null" in kind and value == "null":
            config[key] = None


def _listed(kind: Any) -> list[str]:
    """The types that a schema's `type` allows."""
    return kind if isinstance(kind, list) else [kind]


def _whole(value: Any) -> Any:
    """The integer that a float or a text stands for; anything else as it is."""
    if isinstance(value, str):
        with suppress(ValueError):
            value = float(value) if set(value) & set(".eE") else int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _lines(errors: Iterable[ValidationError], source: str) -> list[str]:
    return [f"{source}: {_describe(error)}" for error in errors]


def _describe(error: Any) -> str:
    """One line that names the key, for the kinds of fault a person makes."""
    if error.context:
        # Of the alternatives, speak of the one that this value comes closest to.
        branches: dict[Any, list[Any]] = {}
        for inner in error.context:
            branches.setdefault(inner.schema_path[0], []).append(inner)
        return _describe(min(branches.values(), key=len)[0])
    where = ".".join(str(part) for part in error.absolute_path)
    at = f"`{where}`" if where else "the file"
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        unknown = sorted(set(error.instance) - set(known), key=str)
        prefix = f"{where}." if where else ""
        names = ", ".join(f"`{prefix}{name}`" for name in unknown)
        return f"unknown key {names} (known here: {', '.join(known)})"
    if error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        prefix = f"{where}." if where else ""
        return "missing key " + ", ".join(f"`{prefix}{name}`" for name in missing)
    if error.validator == "type":
        wanted = error.validator_value
        kinds = " or ".join(wanted) if isinstance(wanted, list) else wanted
        return f"{at} is {error.instance!r}, not of type {kinds}"
    if error.validator in ("enum", "const"):
        allowed = error.validator_value
        choices = allowed if isinstance(allowed, list) else [allowed]
        return f"{at} is {error.instance!r}, not one of {', '.join(map(str, choices))}"
    if error.validator == "pattern" and "description" in error.schema:
        return f"{at} is {error.instance!r}: {error.schema['description']}"
    return f"{at}: {error.message}"
