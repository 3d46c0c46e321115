"""A disk that fills in mid-write: one line, exit 2; with more room the same command finishes."""

import shutil
import subprocess

import pytest

from tests.chaos.harness import DONE, MISTAKE, differences, num_injuries
from tests.chaos.test_eval import num_rows


@pytest.fixture
def small_disk(tmp_path):
    """Mounts a file system of so many KiB; called again it changes the size."""
    place = tmp_path / "disk"
    place.mkdir()

    def resize(kibibytes):
        size = f"size={kibibytes}k"
        options = f"remount,{size}" if place.is_mount() else f"mode=700,{size}"
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], capture_output=True, text=True
        )
        if mounted.returncode:
            pytest.skip(f"cannot mount a small disk, which needs root: {mounted.stderr.strip()}")
        return place

    yield resize
    if place.is_mount():
        subprocess.run(["umount", place], check=True)


def size_in_kibibytes(folder):
    """What the files take on a tmpfs: whole pages of 4 KiB."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return sum(-(-path.stat().st_size // 4096) * 4 for path in files)


def test_prep_on_a_full_disk_keeps_what_is_read(personae, raw, prepared, small_disk, chance):
    enough = 20 * size_in_kibibytes(prepared)
    for number in range(num_injuries(2)):
        share = chance.uniform(0.2, 0.95)
        corpus = small_disk(round(share * size_in_kibibytes(prepared))) / f"corpus-{number}"
        ended = personae.run("prep", raw, "--out", corpus)
        assert ended.code == MISTAKE, ended.err
        assert "no space is left on the disk" in ended.complaint
        assert list(corpus.glob("ingest/*/*.json"))
        small_disk(enough)
        assert personae.run("prep", raw, "--out", corpus).code == DONE
        assert differences(corpus, prepared) == []
        shutil.rmtree(corpus)


def test_eval_on_a_full_disk_keeps_finished_rows(
    personae, eval_config, evaluated, small_disk, chance
):
    enough = 20 * size_in_kibibytes(evaluated)
    for _ in range(num_injuries(2)):
        share = chance.uniform(0.6, 0.95)  # with less room there is no finished row
        run = small_disk(round(share * size_in_kibibytes(evaluated))) / "run"
        command = ("eval", eval_config, f"out={run}", "--allow-scripted")
        ended = personae.run(*command)
        assert ended.code == MISTAKE, ended.err
        assert "no space is left on the disk" in ended.complaint
        finished = num_rows(run)
        assert finished
        small_disk(enough)
        assert personae.run(*command).code == DONE
        assert differences(run, evaluated) == []
        shutil.rmtree(run)


def test_train_on_a_full_disk_says_so(personae, prepared, small_disk, tiny_base):
    # that it goes on afterwards is tested by killing it: both leave a half-written checkpoint
    adapters = small_disk(300) / "adapters"
    base = f"train.base_model={tiny_base}"
    ended = personae.run("train", prepared, "--persona", "bo-fenn", "--adapters", adapters, base)
    assert ended.code == MISTAKE, ended.err
    assert "no space is left on the disk" in ended.complaint
