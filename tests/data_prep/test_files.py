"""Files are whole or absent, private, and say what made them."""

import json
import os
import stat
import subprocess
import sys

import pytest

from data_prep import files
from data_prep.files import (
    check_manifest,
    make_folder,
    only_writer,
    read_json,
    read_jsonl,
    replacing,
    write_json,
    write_jsonl,
    write_manifest,
)
from data_prep.records import SCHEMA_VERSION


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_folders_are_private(tmp_path):
    path = tmp_path / "corpus" / "deep" / "stats.json"
    write_json(path, {"pairs": 3})
    make_folder(tmp_path / "adapters" / "ada")
    assert mode(path) == 0o600
    folders = [
        path.parent,
        path.parent.parent,
        tmp_path / "adapters",
        tmp_path / "adapters" / "ada",
    ]
    assert [oct(mode(folder)) for folder in folders] == ["0o700"] * 4


def test_an_existing_folder_keeps_its_rights(tmp_path):
    (tmp_path / "shared").mkdir(mode=0o750)
    make_folder(tmp_path / "shared")
    assert mode(tmp_path / "shared") == 0o750


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    path = tmp_path / "personas.jsonl"
    path.write_text("old\n")

    def rows():
        yield {"id": "ada"}
        raise RuntimeError("killed here")

    with pytest.raises(RuntimeError):
        write_jsonl(path, rows())
    assert path.read_text() == "old\n" and os.listdir(tmp_path) == ["personas.jsonl"]


def test_a_reader_never_sees_a_half_written_file(tmp_path):
    path = tmp_path / "card.md"
    with replacing(path) as file:
        file.write("half")
        file.flush()
        assert not path.exists()
    assert path.read_text() == "half"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'{"a": 1}\n{"a": \n', "line 2 is not JSON"),
        (b'{"a": 1}\n\n[1]\n', "line 3 holds list, expected an object"),
        (b'{"a": "\xe9"}\n', "is not UTF-8"),
    ],
)
def test_a_damaged_line_is_named(tmp_path, content, says):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"rows.jsonl {says}"):
        list(read_jsonl(path))


def test_a_missing_json_file_says_what_to_do(tmp_path):
    with pytest.raises(ValueError, match=r"splits.json does not exist; run the step"):
        read_json(tmp_path / "splits.json")
    with pytest.raises(ValueError, match=r"plan.jsonl does not exist; run the step"):
        list(read_jsonl(tmp_path / "plan.jsonl"))


def test_a_second_writer_is_told_and_a_dead_one_holds_nothing(tmp_path):
    hold = "import sys, pathlib; from data_prep.files import only_writer\n"
    hold += "with only_writer(pathlib.Path(sys.argv[1])): print('held', flush=True); input()"
    other = subprocess.Popen(
        [sys.executable, "-c", hold, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert other.stdout.readline() == b"held\n"
    with pytest.raises(ValueError, match=r"written by another process"), only_writer(tmp_path):
        pass
    other.kill()
    other.wait()
    with only_writer(tmp_path):
        pass


def test_a_manifest_says_what_made_the_folder(tmp_path):
    write_manifest(tmp_path, "prep", config={"a": 1}, inputs={"x.txt": "00"}, counts={"pairs": 2})
    found = check_manifest(tmp_path, "prep")
    assert found["schema_version"] == SCHEMA_VERSION and found["counts"] == {"pairs": 2}
    assert {"git_revision", "tool_version", "packages", "config", "inputs", "seed"} <= set(found)
    with pytest.raises(ValueError, match=r"written by stage 'prep', expected 'judge'"):
        check_manifest(tmp_path, "judge")


@pytest.mark.parametrize("version", [SCHEMA_VERSION + 1, "2", None])
def test_a_newer_schema_is_refused(tmp_path, version):
    write_json(tmp_path / "manifest.json", {"schema_version": version, "stage": "prep"})
    with pytest.raises(ValueError, match=r"schema version .* this tool reads up to"):
        check_manifest(tmp_path, "prep")


def test_an_older_schema_is_migrated_step_by_step(tmp_path, monkeypatch):
    def forward(folder, manifest):
        return manifest | {"steps": [*manifest.get("steps", []), manifest.get("steps")]}

    old = SCHEMA_VERSION - 2
    monkeypatch.setattr(files, "MIGRATIONS", {old: forward, old + 1: forward})
    (tmp_path / "manifest.json").write_text(json.dumps({"schema_version": old, "stage": "prep"}))
    assert len(check_manifest(tmp_path, "prep")["steps"]) == 2
