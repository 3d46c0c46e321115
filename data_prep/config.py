"""Settings: dataclass defaults, then a YAML file, then `part.field=value` overrides.

YAML and overrides state only what differs. Unknown keys are refused with the known ones.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from data_prep.records import STRICT, describe

__all__ = ["STRICT", "load_config", "load_yaml", "resolved"]

C = TypeVar("C")


def load_config(kind: type[C], path: Path | None = None, overrides: Iterable[str] = ()) -> C:
    """Build a config dataclass from its defaults, a YAML file and overrides, the later wins.

    Args:
        overrides: strings such as `train.lora.rank=32`; values are read as YAML.

    Raises:
        ValueError: unknown key, ill-typed value, missing required field, broken YAML.
    """
    settings: dict[str, Any] = load_yaml(path) if path else {}
    for override in overrides:
        _set(settings, override)
    _refuse_unknown(kind, settings, where=str(path) if path else "command line")
    try:
        return TypeAdapter(kind).validate_python(settings)
    except ValidationError as error:
        raise ValueError(describe(error, kind.__name__, str(path or ""))) from None


def load_yaml(path: Path) -> dict[str, Any]:
    """Parse a YAML mapping with the safe loader.

    Raises:
        ValueError: missing, not YAML, or not a mapping.
    """
    try:
        value = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"config {path} does not exist; check the path") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        first_line = " ".join(str(error).split())
        raise ValueError(f"config {path} is not YAML: {first_line}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"config {path} holds {type(value).__name__}, expected `key: value` lines")
    return value


def resolved(config: object) -> dict[str, Any]:
    """All settings as JSON-ready values, defaults included, for the run folder."""
    value: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    return value


def _set(settings: dict[str, Any], override: str) -> None:
    path, equals, text = override.partition("=")
    keys = path.split(".")
    if not equals or not all(keys):
        raise ValueError(f"override {override!r} is not of the form part.field=value")
    for key in keys[:-1]:
        if settings.get(key) is None:  # absent, or a section left empty in the YAML file
            settings[key] = {}
        settings = settings[key]
        if not isinstance(settings, dict):
            raise ValueError(f"override {override!r}: {key!r} is a value, it has no fields")
    try:
        settings[keys[-1]] = yaml.safe_load(text)
    except yaml.YAMLError:
        settings[keys[-1]] = text


def _refuse_unknown(
    kind: Any, settings: Mapping[str, Any], *, where: str, prefix: str = ""
) -> None:
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for key, value in settings.items():
        if key not in fields:
            close = difflib.get_close_matches(str(key), fields, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(
                f"{where}: unknown setting {prefix + str(key)!r}; {hint}"
                f"known: {', '.join(sorted(fields))}"
            )
        nested = _section_type(kind, key)
        if nested is not None and isinstance(value, Mapping):
            _refuse_unknown(nested, value, where=where, prefix=f"{prefix}{key}.")


def _section_type(kind: Any, name: str) -> Any:
    """The dataclass of a field, also of one that may be None; else None."""
    import typing

    hint = typing.get_type_hints(kind)[name]
    kinds = [one for one in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(one)]
    return kinds[0] if kinds else None
