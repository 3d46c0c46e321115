"""Training one adapter: it learns, leaves the base alone, and resumes as if never stopped."""

import os
import signal

import pytest
import torch
from safetensors.torch import load_file

from data_prep.interrupt import Checkpointed, StopFlag
from train.base_model import load_model, load_tokenizer, resolve
from train.config import LoraConfig, TrainConfig
from train.encode import IGNORED, Encoder
from train.solo import COMPLETE, pad, train_adapter

WEIGHTS = "adapter_model.safetensors"


@pytest.fixture(scope="module")
def base(tiny_base):
    return resolve(str(tiny_base))


@pytest.fixture(scope="module")
def tokenizer(base):
    return load_tokenizer(base)


@pytest.fixture(scope="module")
def examples(tokenizer):
    encoder = Encoder(tokenizer)
    return [
        encoder.example(({"role": "user", "content": f"Q{n}?"},), "abc" * (1 + n % 3) + ".")
        for n in range(8)
    ]


@pytest.fixture(scope="module")
def train_in(base, tokenizer, examples):
    def run(work, *, stop=None, data=None, validation=(), model=None, save=None, **settings):
        given = {"epochs": 3, "batch_size": 2, "learning_rate": 2e-2, "lora": LoraConfig(rank=4)}
        trained, summary = train_adapter(
            model or load_model(base, torch.float32),
            tokenizer,
            data or examples,
            validation,
            TrainConfig(**given | settings),
            work=work,
            label="ada",
            stop=stop or StopFlag(),
        )
        if save:
            trained.save_pretrained(save)
        return trained, summary

    return run


@pytest.fixture
def train(train_in, tmp_path):
    return lambda work="work", **settings: train_in(tmp_path / work, **settings)


@pytest.fixture(scope="module")
def once(train_in, tmp_path_factory):
    """An undisturbed run with the default settings: its adapter and its summary."""
    folder = tmp_path_factory.mktemp("once")
    return folder, train_in(folder / "work", save=folder)[1]


@pytest.fixture(scope="module")
def validated(examples):
    return {"validation": examples[:2], "lora": LoraConfig(rank=4, dropout=0.1)}


@pytest.fixture(scope="module")
def once_validated(train_in, validated, tmp_path_factory):
    """The same with a validation set and dropout, which draws random numbers."""
    folder = tmp_path_factory.mktemp("once")
    return folder, train_in(folder / "work", save=folder, **validated)[1]


class StopAt(StopFlag):
    """Asks for a stop once it was looked at so often: the watcher looks after every step."""

    def __init__(self, step):
        self.looks = 0
        self.step = step

    @property
    def asked(self):
        self.looks += 1
        return self.looks >= self.step


def test_training_lowers_the_loss_and_says_what_it_did(once, examples):
    _, summary = once
    assert summary.train_losses[-1] < 0.8 * summary.train_losses[0]
    assert summary.num_steps == 12 and len(summary.train_losses) == 3
    assert summary.num_supervised_tokens == 3 * sum(e.num_supervised for e in examples)
    assert summary.best_epoch is None and summary.validation_losses == []


def test_the_base_is_given_back_bit_identical_and_serves_the_next_adapter(
    train, base, once, tmp_path
):
    model = load_model(base, torch.float32)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trained, _ = train("first", model=model, seed=5, save=tmp_path / "first-adapter")
    assert any("lora_B" in name and value.any() for name, value in trained.state_dict().items())
    given_back = trained.unload()
    after = given_back.state_dict()
    assert list(after) == list(before)
    assert all(torch.equal(after[name], value) for name, value in before.items())
    # an adapter over the used base is the one over a fresh base: nothing is left behind
    train("second", model=given_back, save=tmp_path / "second-adapter")
    assert equal_weights(tmp_path / "second-adapter", once[0])
    assert not equal_weights(tmp_path / "first-adapter", once[0])  # the seed was another


@pytest.mark.parametrize("step", [4, 7])
def test_a_resumed_run_equals_the_undisturbed_one_bit_for_bit(
    train, tmp_path, once_validated, validated, step
):
    # stopped at the end of an epoch, and in the middle of one
    folder, undisturbed = once_validated
    with pytest.raises(Checkpointed, match=rf"ada is saved at step {step}"):
        train(stop=StopAt(step), **validated)
    _, resumed = train(save=tmp_path / "resumed", **validated)
    assert equal_weights(folder, tmp_path / "resumed")
    assert resumed.num_steps == undisturbed.num_steps
    assert resumed.validation_losses == undisturbed.validation_losses
    assert resumed.best_epoch == undisturbed.best_epoch


def test_a_half_written_checkpoint_is_passed_over(train, once, tmp_path):
    with pytest.raises(Checkpointed):
        train(stop=StopAt(5))
    newest = tmp_path / "work" / "checkpoint-5"
    (newest / COMPLETE).unlink()
    (newest / "optimizer.pt").write_bytes(b"half")
    (tmp_path / "work" / "checkpoint-9").mkdir()
    train(save=tmp_path / "resumed")
    assert equal_weights(once[0], tmp_path / "resumed")


def test_a_stop_signal_checkpoints(train, tmp_path):
    from data_prep.interrupt import stop_flag

    with stop_flag() as stop:
        os.kill(os.getpid(), signal.SIGUSR1)
        with pytest.raises(Checkpointed, match=r"saved at step 1"):
            train(stop=stop)
    assert (tmp_path / "work" / "checkpoint-1" / COMPLETE).exists()


def test_a_stop_at_the_last_step_is_a_finished_run(train):
    _, summary = train(stop=StopAt(12))
    assert summary.num_steps == 12


def test_the_best_epoch_by_validation_is_what_is_returned(train, tokenizer, tmp_path):
    encoder = Encoder(tokenizer)
    question = ({"role": "user", "content": "Q?"},)
    learnt = [encoder.example(question, "yyyyyyyy") for _ in range(4)]
    held_out = [encoder.example(question, "zzzzzzzz")]  # gets worse the more is learnt
    trained, summary = train(data=learnt, validation=held_out, epochs=3, learning_rate=0.2)
    assert summary.best_epoch == 1 + summary.validation_losses.index(min(summary.validation_losses))
    assert summary.best_epoch < 3 and len(summary.validation_losses) == 3
    ids = torch.tensor([held_out[0].input_ids])
    labels = torch.tensor([held_out[0].labels])
    with torch.no_grad():
        loss = float(trained.eval()(input_ids=ids, labels=labels).loss)
    assert loss == pytest.approx(min(summary.validation_losses), rel=1e-4)


def test_a_loss_that_is_no_number_is_refused(train):
    with pytest.raises(
        ValueError, match=r"loss is (nan|inf) at step \d+; lower train.learning_rate"
    ):
        train(learning_rate=1e30, max_grad_norm=1e30)


def test_padding_is_on_the_right_masked_and_never_supervised():
    rows = [{"input_ids": [5, 6, 7], "labels": [IGNORED, 6, 7]}, {"input_ids": [7], "labels": [7]}]
    batch = pad(rows, 7)  # 7 is a supervised token as well as the padding
    assert batch["input_ids"].tolist() == [[5, 6, 7], [7, 7, 7]]
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert batch["labels"].tolist() == [[IGNORED, 6, 7], [7, IGNORED, IGNORED]]


def test_padding_changes_no_loss(base, examples, tokenizer):
    model = load_model(base, torch.float32)
    short, long = sorted(examples, key=lambda e: len(e.input_ids))[:: len(examples) - 1]

    def logits(*given):
        rows = [{"input_ids": e.input_ids, "labels": e.labels} for e in given]
        batch = pad(rows, tokenizer.pad_token_id)
        batch.pop("labels")
        with torch.no_grad():
            return model(**batch).logits[0, : len(given[0].input_ids)]

    # masked sums are added in another order, so the last digits may differ
    torch.testing.assert_close(logits(short, long), logits(short), rtol=0, atol=1e-5)


def test_the_adapter_is_one_that_servers_load(train, tmp_path):
    import json

    train(save=tmp_path / "adapter", epochs=1)
    config = json.loads((tmp_path / "adapter" / "adapter_config.json").read_text())
    assert (config["r"], config["bias"], config["modules_to_save"]) == (4, "none", None)
    assert not config["use_dora"] and config["init_lora_weights"] is True
    names = {path.name for path in (tmp_path / "adapter").iterdir()}
    assert WEIGHTS in names and not [n for n in names if n.endswith((".bin", ".pt", ".pkl"))]
    values = load_file(tmp_path / "adapter" / WEIGHTS).values()
    assert {value.dtype for value in values} == {torch.float32}


def equal_weights(one, other):
    a, b = (load_file(folder / WEIGHTS) for folder in (one, other))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)
