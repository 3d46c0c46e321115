"""Defaults, then YAML, then overrides; what would be ignored is refused."""

import dataclasses
from typing import Literal

import pytest
from pydantic.dataclasses import dataclass

from data_prep.config import STRICT, load_config, load_yaml, resolved


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Oven:
    degrees: int = 180
    fan_speed: float = 0.5
    shelves: tuple[str, ...] = ("top",)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Bakery:
    name: str
    oven: Oven = Oven()
    spare: Oven | None = None
    kind: Literal["bread", "cake"] = "bread"


@pytest.fixture
def yaml_file(tmp_path):
    def write(text):
        path = tmp_path / "bakery.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_later_wins_default_then_yaml_then_override(yaml_file):
    path = yaml_file("name: Crumb\noven: {degrees: 200, fan_speed: 0.1}\n")
    found = load_config(Bakery, path, ["oven.degrees=220"])
    assert found == Bakery(name="Crumb", oven=Oven(degrees=220, fan_speed=0.1, shelves=("top",)))


@pytest.mark.parametrize(
    ("override", "field", "value"),
    [
        ("oven.fan_speed=1e-3", "fan_speed", 0.001),  # YAML 1.1 takes 1e-3 for a text
        ("oven.shelves=[top, low]", "shelves", ("top", "low")),
        ("oven.degrees=230", "degrees", 230),
    ],
)
def test_override_values_are_read_as_yaml(override, field, value):
    assert getattr(load_config(Bakery, None, ["name=x", override]).oven, field) == value


def test_an_override_may_hold_equals_signs_and_broken_yaml():
    assert load_config(Bakery, None, ["name=a=b"]).name == "a=b"
    assert load_config(Bakery, None, ["name=[half"]).name == "[half"


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("ovn.degrees=1", "unknown setting 'ovn'; did you mean 'oven'"),
        ("oven.degree=1", "unknown setting 'oven.degree'; did you mean 'degrees'.*fan_speed"),
        ("spare.degree=1", "unknown setting 'spare.degree'; did you mean 'degrees'"),
        ("oven.colour=red", "unknown setting 'oven.colour'; known: degrees, fan_speed, shelves"),
        ("oven.degrees=hot", "Bakery.oven.degrees: .*valid integer.*found 'hot'"),
        ("kind=pie", "'bread' or 'cake'"),
        ("oven", "not of the form part.field=value"),
        (".degrees=1", "not of the form part.field=value"),
        ("name.first=x", "'name' is a value, it has no fields"),
    ],
)
def test_a_wrong_override_is_refused_in_one_line(override, says):
    with pytest.raises(ValueError, match=says) as caught:
        load_config(Bakery, None, ["name=Crumb", override])
    assert "\n" not in str(caught.value)


def test_an_unknown_key_in_a_file_names_the_file_and_a_near_key(yaml_file):
    path = yaml_file("name: Crumb\noven:\n  fan_sped: 1\n")
    with pytest.raises(
        ValueError, match=r"bakery.yaml: .*'oven.fan_sped'; did you mean 'fan_speed'"
    ):
        load_config(Bakery, path)


def test_a_missing_required_field_is_named():
    with pytest.raises(ValueError, match=r"Bakery.name: Field required"):
        load_config(Bakery)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a: [1\nb: 2", "is not YAML"),
        ("- a\n- b\n", "holds list, expected `key: value` lines"),
        (b"name: \xff\xfe\n", "is not YAML"),
        ("name: !!python/object/apply:os.getcwd []\n", "is not YAML"),
    ],
)
def test_a_file_that_is_no_mapping_is_refused(yaml_file, content, says):
    with pytest.raises(ValueError, match=says):
        load_config(Bakery, yaml_file(content))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"absent.yaml does not exist"):
        load_yaml(tmp_path / "absent.yaml")


def test_an_empty_file_states_nothing(yaml_file):
    assert load_yaml(yaml_file("# only a comment\n")) == {}


def test_an_empty_section_is_one_without_settings(yaml_file):
    path = yaml_file("name: Crumb\noven:\n")
    assert load_config(Bakery, path, ["oven.degrees=99"]).oven == Oven(degrees=99)


def test_a_resolved_config_loads_as_itself(yaml_file):
    config = Bakery(name="Crumb", spare=Oven(shelves=("a", "b")))
    assert load_config(Bakery, yaml_file(str(resolved(config)))) == config


def test_every_shipped_config_is_understood():
    from pathlib import Path

    from personae.settings import EvalCommand, TrainCommand

    kinds = {"eval": EvalCommand, "train": TrainCommand}
    configs = Path(__file__).resolve().parents[2] / "configs"
    found = [load_config(kinds[path.parent.name], path) for path in configs.glob("*/*.yaml")]
    assert found and all(dataclasses.is_dataclass(config) for config in found)
