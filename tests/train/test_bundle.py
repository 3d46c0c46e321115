"""A bundle's version is its content; what was changed, is newer or of another base is refused."""

import json
import math
import shutil

import pytest

from data_prep.engine import Sampling
from data_prep.prompting import persona_prompt
from data_prep.records import SCHEMA_VERSION
from train.bundle import (
    LEARNT_NOTHING,
    RECORD,
    WEIGHTS,
    Canary,
    PersonaBundle,
    bundle_version,
    canary_problem,
    find_bundle,
    list_names,
    publish,
    read_bundle,
    refuse_other_base,
)

BASE = "0123456789ab"


def canary(adapter=(-1.0, -2.0), base=(-2.0, -4.0)):
    return Canary(
        messages=({"role": "user", "content": "Why?"},),
        completion="So.",
        adapter_logprobs=tuple(adapter),
        base_logprobs=tuple(base),
    )


@pytest.fixture
def published(tmp_path):
    def make(name="ada", *, weights=b"weights", person="Ada", base=BASE):
        staged = tmp_path / "staged"
        staged.mkdir()
        (staged / WEIGHTS).write_bytes(weights)
        prompt = persona_prompt(person)
        bundle = PersonaBundle(
            name=name,
            version=bundle_version(staged / WEIGHTS, prompt, base),
            scope="persona",
            persona_ids=(name,),
            base_model="tiny",
            base_fingerprint=base,
            template_hash="",
            prompt=prompt,
            sampling=Sampling(),
            corpus_digest="",
            config_hash="",
            training={"num_steps": 3},
            canary=canary(),
        )
        return publish(tmp_path / "adapters", staged, bundle)

    return make


def test_what_was_published_is_read_and_promoted(published, tmp_path):
    folder = published()
    bundle = read_bundle(folder)
    assert folder == tmp_path / "adapters" / "ada" / bundle.version
    assert find_bundle(tmp_path / "adapters", "ada") == folder
    assert bundle.full_name == f"ada@{bundle.version}"
    assert (folder.parent / "current").read_text() == bundle.version + "\n"


def test_the_version_follows_weights_prompt_and_base(published):
    folders = [
        published(),
        published(weights=b"other"),
        published(person="Bo"),
        published(base="f" * 12),
    ]
    assert len({folder.name for folder in folders}) == 4
    assert published().name == folders[0].name


def test_training_again_to_the_same_weights_replaces_the_folder(published):
    first = published()
    (first / "stray").touch()
    assert published() == first and not (first / "stray").exists() and read_bundle(first)


def test_the_latest_published_version_is_promoted_and_others_stay(published, tmp_path):
    first, second = published(), published(weights=b"other")
    assert find_bundle(tmp_path / "adapters", "ada") == second
    assert find_bundle(tmp_path / "adapters", "ada", first.name) == first


def test_tampered_weights_are_refused(published):
    folder = published()
    (folder / WEIGHTS).write_bytes(b"weightz")
    with pytest.raises(ValueError, match=r"weights or prompt are not those of version"):
        read_bundle(folder)


@pytest.mark.parametrize("field", ["prompt", "base_fingerprint", "version"])
def test_a_tampered_record_is_refused(published, field):
    folder = published()
    row = json.loads((folder / RECORD).read_text())
    changed = {
        "prompt": row["prompt"] | {"system": "Obey."},
        "base_fingerprint": "f" * 12,
        "version": "0" * 12,
    }
    (folder / RECORD).write_text(json.dumps(row | {field: changed[field]}))
    with pytest.raises(ValueError, match=r"restore the folder or train again"):
        read_bundle(folder)


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, None, "1"])
def test_a_newer_schema_is_refused(published, version):
    folder = published()
    row = json.loads((folder / RECORD).read_text())
    # a newer record may hold fields unknown here: the version is looked at first
    (folder / RECORD).write_text(json.dumps(row | {"schema_version": version, "voice": "deep"}))
    with pytest.raises(ValueError, match=f"schema version {version}, this tool reads up to"):
        read_bundle(folder)


@pytest.mark.parametrize("damage", ["{", "[]", "{}"])
def test_a_damaged_record_is_refused_in_one_line(published, damage):
    folder = published()
    (folder / RECORD).write_text(damage)
    with pytest.raises(ValueError) as caught:
        read_bundle(folder)
    assert "\n" not in str(caught.value) and str(folder) in str(caught.value)


def test_missing_weights_are_told(published, tmp_path):
    folder = published()
    (folder / WEIGHTS).unlink()
    with pytest.raises(ValueError, match=r"has no adapter_model.safetensors; restore it"):
        read_bundle(folder)
    with pytest.raises(ValueError, match=r"is not a persona bundle"):
        read_bundle(tmp_path)


def test_an_unknown_adapter_lists_near_and_known_names(published, tmp_path):
    published("ada")
    published("bo", weights=b"bo")
    adapters = tmp_path / "adapters"
    with pytest.raises(
        ValueError, match=r"no adapter 'adda' .*did you mean 'ada'\? known: ada, bo"
    ):
        find_bundle(adapters, "adda")
    with pytest.raises(ValueError, match=r"known: none, train one with"):
        find_bundle(tmp_path / "empty", "ada")


@pytest.mark.parametrize("version", ["0" * 12, "..", "current", "", "../bo"])
def test_an_unknown_version_lists_the_known_ones(published, tmp_path, version):
    known = published().name
    if not version:
        (tmp_path / "adapters" / "ada" / "current").write_text("\n")  # cut short
    with pytest.raises(ValueError, match=f"'ada' has no version .*known: {known}"):
        find_bundle(tmp_path / "adapters", "ada", version or None)


def test_unfinished_training_is_no_adapter(published, tmp_path):
    published()
    (tmp_path / "adapters" / "bo" / ".training" / "abc").mkdir(parents=True)
    assert list_names(tmp_path / "adapters") == ["ada"]
    assert list_names(tmp_path / "nowhere") == []


def test_another_base_is_refused_by_both_names(published):
    bundle = read_bundle(published())
    refuse_other_base(bundle, base_model="renamed", fingerprint=BASE)
    with pytest.raises(
        ValueError, match=r"'ada' was trained on 'tiny' \(0123456789ab\), .*'big' \(ffff\)"
    ):
        refuse_other_base(bundle, base_model="big", fingerprint="ffff")


def test_a_published_bundle_can_be_copied_elsewhere(published, tmp_path):
    folder = published()
    shutil.copytree(folder.parent, tmp_path / "else" / "ada")
    assert read_bundle(find_bundle(tmp_path / "else", "ada")) == read_bundle(folder)


@pytest.mark.parametrize(
    ("shift", "exact", "fits"),
    [
        (0.0, True, True),
        (0.0199, True, True),
        (0.0201, True, False),
        (0.0201, False, True),
        (0.149, False, True),
        (0.151, False, False),
        (math.nan, False, False),
        (math.inf, False, False),
    ],
)
def test_the_canary_holds_up_to_its_limits(shift, exact, fits):
    # base far away: 10 nat, so that only the absolute limit matters
    found = canary(adapter=[-1.0] * 40, base=[-11.0] * 40)
    measured = tuple(value + shift for value in found.adapter_logprobs)
    assert (canary_problem(found, measured, exact=exact) is None) == fits


@pytest.mark.parametrize(("share", "fits"), [(0.19, True), (0.21, False), (1.0, False)])
def test_the_canary_must_be_four_times_nearer_to_the_adapter_than_to_the_base(share, fits):
    # adapter and base 0.05 nat apart: an error e leaves 0.05 - e to the base; e <= that / 4 at 20 %
    found = canary(adapter=[-1.0] * 40, base=[-1.05] * 40)
    measured = (-1.0 - share * 0.05,) * 40
    assert (canary_problem(found, measured, exact=False) is None) == fits


def test_a_canary_of_another_length_tells_of_the_tokenizer():
    assert "tokenizer or template differ" in canary_problem(canary(), (-1.0,), exact=True)


def test_learnt_nothing_is_a_mean_distance_under_a_fifth_of_a_nat():
    # per token 0.1 and 0.3 nat: mean 0.2, not under it; signs do not cancel
    found = canary(adapter=(-1.0, -2.0), base=(-1.1, -1.7))
    assert found.distance() == pytest.approx(LEARNT_NOTHING)


@pytest.mark.parametrize("name", ["Ada", "ada quill", "-ada", "a/b", "..", "a" * 64])
def test_a_name_that_is_no_folder_name_is_refused(published, name):
    with pytest.raises(ValueError):
        published(name)
