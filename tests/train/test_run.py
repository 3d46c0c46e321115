"""From corpus to published bundles: once, and again only when something changed."""

import contextlib
import shutil
from dataclasses import replace

import pytest
import torch

from data_prep.interrupt import Checkpointed, StopFlag
from train import run as running
from train.base_model import load_model, load_tokenizer, resolve
from train.bundle import read_bundle
from train.canary import answer_logprobs
from train.config import LoraConfig, TrainConfig
from train.encode import Encoder
from train.jobs import persona_jobs, pooled_job
from train.run import train_all


@pytest.fixture(scope="module")
def config(tiny_base):
    return TrainConfig(
        base_model=str(tiny_base),
        lora=LoraConfig(rank=4),
        dtype="float32",
        epochs=2,
        batch_size=4,
        learning_rate=5e-2,
        max_pairs=4,
        max_validation_pairs=1,
    )


@pytest.fixture(scope="module")
def jobs(corpus):
    return persona_jobs(corpus, ["ada-quill"])


@pytest.fixture(scope="module")
def trained(corpus, jobs, config, tmp_path_factory):
    """Adapters folder in which Ada's was trained, beside work of other settings. Read only."""
    adapters = tmp_path_factory.mktemp("adapters")
    old = adapters / "ada-quill" / ".training" / "0123456789abcdef" / "checkpoint-1"
    old.mkdir(parents=True)
    (old / "complete").touch()
    return adapters, train_all(corpus, jobs, adapters, config)["ada-quill"]


@pytest.fixture
def copied(trained, tmp_path):
    adapters, folder = trained
    shutil.copytree(adapters, tmp_path / "adapters")
    return tmp_path / "adapters", tmp_path / "adapters" / folder.relative_to(adapters)


def modified(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_a_bundle_holds_all_that_is_needed_to_use_it(corpus, jobs, config, tmp_path, capfd):
    jobs = [*jobs, pooled_job(corpus)]
    folders = train_all(corpus, jobs, tmp_path / "adapters", config)
    bundle = read_bundle(folders["ada-quill"])
    base = resolve(config.base_model)
    assert (bundle.base_fingerprint, bundle.scope) == (base.fingerprint, "persona")
    assert bundle.prompt.persona_name == "Ada Quill"
    assert bundle.training["num_pairs"] == 4 and bundle.training["best_epoch"] in (1, 2)
    pooled = read_bundle(folders["pooled"])
    assert pooled.prompt.persona_name is None
    assert pooled.persona_ids == ("ada-quill", "bo-fenn")
    # one adapter does not leak into the next: the base of each canary is the untouched base
    for found in (bundle, pooled):
        assert base_logprobs(base, found.canary) == pytest.approx(
            found.canary.base_logprobs, abs=1e-4
        )
        assert len(found.canary.adapter_logprobs) >= 32 or found.canary.completion == "Nothing."
    left = {path.name for path in (tmp_path / "adapters" / "ada-quill").iterdir()}
    assert left - {".lock"} == {"current", folders["ada-quill"].name}
    told = capfd.readouterr().err
    assert "ada-quill: 4 pairs" in told and "best of 2 epochs on 1 validation pairs" in told


def base_logprobs(base, canary):
    encoder = Encoder(load_tokenizer(base))
    model = load_model(base, torch.float32)
    return answer_logprobs(model, encoder, canary.messages, canary.completion)


def test_a_second_call_trains_nothing_and_other_settings_train_again(
    corpus, jobs, config, copied, monkeypatch
):
    adapters, first = copied
    before = modified(adapters)
    with monkeypatch.context() as patch:
        patch.setattr(running, "load_model", lambda *a: pytest.fail("the base was loaded"))
        assert train_all(corpus, jobs, adapters, config) == {"ada-quill": first}
    assert modified(adapters) == before
    second = train_all(corpus, jobs, adapters, replace(config, seed=1))["ada-quill"]
    assert second != first and read_bundle(first) and read_bundle(second)
    assert (adapters / "ada-quill" / "current").read_text().strip() == second.name


def test_an_interrupted_run_goes_on_and_ends_as_an_undisturbed_one(
    corpus, jobs, config, trained, tmp_path, monkeypatch
):
    @contextlib.contextmanager
    def stopped():
        flag = StopFlag()
        flag.asked = True
        yield flag

    with monkeypatch.context() as patch:
        patch.setattr(running, "stop_flag", stopped)
        with pytest.raises(Checkpointed, match=r"ada-quill is saved at step 1"):
            train_all(corpus, jobs, tmp_path, config)
    assert not (tmp_path / "ada-quill" / "current").exists()
    resumed = train_all(corpus, jobs, tmp_path, config)["ada-quill"]
    assert resumed.name == trained[1].name  # a hash over the weights


def test_work_of_other_settings_is_never_continued(trained):
    assert not (trained[0] / "ada-quill" / ".training").exists()


def test_a_person_whose_pairs_are_all_too_long_is_one_readable_line(corpus, jobs, config, tmp_path):
    with pytest.raises(ValueError) as caught:
        train_all(corpus, jobs, tmp_path, replace(config, max_length=32))
    assert str(caught.value) == (
        "'ada-quill': all 4 training pairs are longer than 32 tokens; raise train.max_length"
    )


def test_a_tampered_bundle_is_not_taken_for_trained(corpus, jobs, config, copied):
    adapters, folder = copied
    weights = folder / "adapter_model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-4] + b"\0\0\0\1")
    with pytest.raises(ValueError, match=r"weights or prompt are not those of version"):
        train_all(corpus, jobs, adapters, config)


def test_a_bundle_holds_no_word_of_the_interviews(trained):
    for path in trained[1].iterdir():
        assert b"brought warm bread" not in path.read_bytes(), path.name
