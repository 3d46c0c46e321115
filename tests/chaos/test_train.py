"""`personae train`, injured: the adapter is the undisturbed one's, to the last bit."""

import json
import shutil
import signal
from dataclasses import replace

import pytest

from tests.chaos.harness import (
    CHECKPOINTED,
    DONE,
    KILLED,
    MISTAKE,
    Injury,
    Personae,
    differences,
)
from tests.chaos.people import write_people
from train.solo import COMPLETE

NAME = "ada-quill"
NUM_STEPS = 27  # 18 training pairs, two a batch, three epochs


@pytest.fixture(scope="module")
def two_people(code, cache, tmp_path_factory):
    """A corpus of two people with five interviews each. Read only."""
    folder = tmp_path_factory.mktemp("two")
    write_people(folder / "raw", ["Ada Quill", "Bo Fenn"], num_interviews=5, num_exchanges=6)
    ended = Personae(code, cache, folder).run("prep", "raw", "--out", "corpus")
    assert ended.code == DONE, ended.err
    return folder / "corpus"


@pytest.fixture
def command(two_people, tiny_base):
    settings = {"base_model": tiny_base, "batch_size": 2, "learning_rate": 0.01}
    overrides = [f"train.{name}={value}" for name, value in settings.items()]
    return ("train", two_people, "--persona", NAME, *overrides)


def checkpoints(adapters):
    """Whole ones by step, of this run alone."""
    found = adapters.glob(f"{NAME}/.training/*/checkpoint-*/{COMPLETE}")
    by_step = {int(mark.parent.name.split("-")[1]): mark.parent for mark in found}
    return {step: folder for step, folder in sorted(by_step.items()) if step <= NUM_STEPS}


def test_training_killed_at_any_stage_ends_as_an_undisturbed_one(personae, command, tmp_path):
    calm = replace(personae, folder=tmp_path / "calm")
    adapters = personae.folder / "adapters"
    others = leave_work_of_other_settings(adapters)

    # killed in the middle of training, while an undisturbed run goes on elsewhere
    with calm.start(*command) as undisturbed:
        with personae.start(*command) as first:
            assert first.until(lambda: bool(checkpoints(adapters)))
            first.send(signal.SIGSTOP)
            second = personae.run(*command)  # a second one is told, and harms nothing
            first.send(signal.SIGKILL)
            assert first.wait().code == KILLED
        assert second.code == MISTAKE and "is being written by another process" in second.complaint
        assert undisturbed.wait().code == DONE
    assert not others[NAME].exists() and others["bo-fenn"].exists()

    # a later checkpoint is half-written; then a stop signal in the middle of an epoch
    (step, newest), *_ = checkpoints(adapters).items()
    half = newest.with_name(f"checkpoint-{NUM_STEPS - 1}")
    shutil.copytree(newest, half)
    (half / COMPLETE).unlink()
    (half / "optimizer.pt").write_bytes(b"half")
    stop = Injury(signal.SIGTERM, when=lambda: not half.exists())
    stopped = personae.injured(stop, *command)
    assert stopped.code == CHECKPOINTED, stopped.err
    assert f"{NAME} is saved at step {max(checkpoints(adapters))}" in stopped.complaint
    assert step < max(checkpoints(adapters)) < NUM_STEPS

    # the newest checkpoint is half-deleted; then a kill after the last one, before publishing
    (checkpoints(adapters)[max(checkpoints(adapters))] / "optimizer.pt").unlink()
    last = Injury(when=lambda: NUM_STEPS in checkpoints(adapters))
    killed = personae.injured(last, *command)
    assert killed.code == KILLED, killed.err
    assert not (adapters / NAME / "current").exists()

    assert personae.run(*command).code == DONE
    found, expected = adapters / NAME, calm.folder / "adapters" / NAME
    version = (expected / "current").read_text().strip()
    record = f"{version}/persona.json"
    assert differences(found, expected, apart_from=[record]) == []
    assert without_times(found / record) == without_times(expected / record)


def leave_work_of_other_settings(adapters):
    """What runs with other settings left when they were killed: of this person, of another."""
    left = {}
    for name in (NAME, "bo-fenn"):
        left[name] = adapters / name / ".training" / "0123456789abcdef"
        checkpoint = left[name] / f"checkpoint-{NUM_STEPS + 50}"
        checkpoint.mkdir(parents=True)
        (checkpoint / "trainer_state.json").write_text("{}")
        (checkpoint / COMPLETE).touch()
        (left[name] / "bundle").mkdir()
        (left[name] / "bundle" / "adapter_model.safetensors").write_bytes(b"of others")
    return left


def without_times(path):
    record = json.loads(path.read_text())
    assert record["training"].pop("seconds") > 0
    return record
