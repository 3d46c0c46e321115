"""The command line: exit codes, one readable line for a mistake, and nothing lost on the way."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from personae import cli
from personae.cli import CHECKPOINTED, COMMANDS, MISTAKE, PARTS_FAILED, main

STAGES = ("generate", "judge", "score")  # said as they begin
EVALUATION = """
engine: {engine: scripted, base_model: candidate}
eval:
  methods: ["base:{persona}", "{persona}"]
  generate: {questions_per_persona: 1}
  judge: {name: strict, engine: {engine: scripted, base_model: rater}}
"""


@pytest.fixture
def personae(capfd):
    """Run a command in this process: exit code, output, and what is not progress on stderr."""

    def run(*words):
        try:
            code = main([str(word) for word in words])
        except SystemExit as leaving:  # argparse
            code = leaving.code
        out, err = capfd.readouterr()
        lines = [line for line in err.splitlines() if line.strip() and not line.startswith("  ")]
        return code, out, [line for line in lines if line not in STAGES]

    return run


@pytest.fixture
def refused(personae):
    """Run a command that must be refused; returns its one line."""

    def run(*words):
        code, _, lines = personae(*words)
        assert code == MISTAKE, lines
        assert len(lines) == 1 and lines[0].startswith("personae: "), lines
        return lines[0].removeprefix("personae: ")

    return run


@pytest.fixture
def raw(tmp_path, write_interviews):
    write_interviews(tmp_path / "raw", "Ada Quill", range(2011, 2014))
    return tmp_path / "raw"


@pytest.fixture
def evaluation(tmp_path, corpus, adapters):
    """A config of a made-up evaluation, with its folders as overrides."""
    path = tmp_path / "evaluation.yaml"
    path.write_text(EVALUATION)

    def words(out="run"):
        return [path, f"corpus={corpus.folder}", f"adapters={adapters}", f"out={tmp_path / out}"]

    return words


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def in_a_process(*words, **settings):
    return subprocess.Popen(
        [sys.executable, "-m", "personae", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


# help


def test_help_lists_every_command(personae):
    code, out, _ = personae("--help")
    assert code == 0 and all(f"\n    {name} " in out for name in COMMANDS)
    assert personae()[:2] == (0, out)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_shows_examples_of_it(personae, command):
    code, out, _ = personae(command, "--help")
    assert code == 0
    examples = out.split("examples:\n")[1].split("\n\n")[0].splitlines()
    assert examples and all(line.strip().startswith(f"personae {command}") for line in examples)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_examples_are_understood(command):
    module = __import__(f"personae.commands.{command}", fromlist=["EXAMPLES"])
    for line in re.findall(r"^  personae (.*)$", module.EXAMPLES, re.MULTILINE):
        import shlex

        _, options = cli._parse(shlex.split(line))
        assert options.command == command


def test_the_version_is_printed(personae):
    code, out, _ = personae("--version")
    assert code == 0 and re.fullmatch(r"personae \S+\n", out)


# settings may stand anywhere


def test_settings_may_stand_behind_options(personae, corpus):
    words = ["train", corpus.folder, "--persona", "ada-quill", "--dry-run"]
    assert "over 3 epochs" in personae(*words)[1]
    assert "over 7 epochs" in personae(*words, "train.epochs=7")[1]
    assert "over 7 epochs" in personae("train", corpus.folder, "train.epochs=7", *words[2:])[1]


@pytest.mark.parametrize("words", [["train", "c", "--all", "--fast"], ["demo", "stray"], ["learn"]])
def test_unknown_words_are_refused(personae, words):
    code, _, lines = personae(*words)
    assert code == MISTAKE and words[-1] in lines[-1]


# mistakes


def test_a_missing_corpus(refused, tmp_path):
    said = refused("train", tmp_path / "nowhere", "--all")
    assert "is not a corpus" in said and "make one with `personae prep`" in said


def test_an_unknown_person(refused, corpus):
    said = refused("train", corpus.folder, "--persona", "ada-quil")
    assert "did you mean 'ada-quill'?" in said


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("train.lora.rnk=8", "unknown setting 'train.lora.rnk'; did you mean 'rank'?"),
        ("trian.epochs=1", "unknown setting 'trian'; did you mean 'train'?"),
        ("train.epochs=0", "TrainCommand.train.epochs: Input should be greater than or equal to 1"),
        ("train.epochs=many", "valid integer"),
        ("train.lora.rank=999", "vLLM serves at most 512"),
        ("epochs", "not of the form part.field=value"),
    ],
)
def test_a_wrong_setting(refused, corpus, setting, says):
    said = refused("train", corpus.folder, "--all", setting)
    assert says in said and "errors.pydantic.dev" not in said


def test_a_missing_adapter(refused, adapters):
    said = refused("ask", "ada-quil", "Why?", "--adapters", adapters)
    assert "no adapter 'ada-quil'" in said and "did you mean 'ada-quill'?" in said


def test_an_adapter_of_another_base(refused, adapters, tiny_base):
    said = refused(
        "ask", "ada-quill", "Why?", "--adapters", adapters, f"engine.base_model={tiny_base}"
    )
    assert "was trained on 'scripted' (000000000000)" in said and "train again" in said


def test_tampered_weights(refused, adapters, tmp_path):
    shutil.copytree(adapters, tmp_path / "adapters")
    for weights in (tmp_path / "adapters").glob("ada-quill/*/adapter_model.safetensors"):
        weights.write_bytes(b"other")
    said = refused("ask", "ada-quill", "Why?", "--adapters", tmp_path / "adapters")
    assert "weights or prompt are not those of version" in said


@pytest.mark.parametrize(
    ("who", "says"),
    [
        ("Ada", "'Ada' names nobody; write BASE"),
        ("ada-quill+memory-3", "unknown context 'memory-3'; known: profile"),
        ("base:ada-quill+chronological-3", "name them with --corpus"),
        ("ada-quill@000000000000", "has no version '000000000000'; known: "),
    ],
)
def test_a_wrong_answerer(refused, adapters, who, says):
    assert says in refused("ask", who, "Why?", "--adapters", adapters)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("eval: [unclosed", "is not YAML"),
        ("eval: {methds: []}", "unknown setting 'eval.methds'; did you mean 'methods'?"),
        ("eval: {judge: {nam: x}}", "unknown setting 'eval.judge.nam'; did you mean 'name'?"),
        ("eval: {judge: {}}", "name: Field required"),
        ("eval: {primary: '{persona}+profile'}", "is to be compared"),
        ("- eval", "holds list, expected `key: value` lines"),
    ],
)
def test_a_broken_config(refused, tmp_path, text, says):
    (tmp_path / "broken.yaml").write_text(text)
    said = refused("eval", tmp_path / "broken.yaml")
    assert says in said and "broken.yaml" in said


def test_a_missing_config(refused, tmp_path):
    assert "absent.yaml does not exist" in refused("eval", tmp_path / "absent.yaml")


def test_a_made_up_engine_needs_permission(refused, evaluation):
    assert "permit it with --allow-scripted" in refused("eval", *evaluation())


def test_judging_without_a_judge(refused, evaluation, tmp_path):
    said = refused("eval", *evaluation(), "eval.judge=", "--stage", "judge", "--allow-scripted")
    assert "no judge is named" in said


def test_a_judge_that_is_the_candidate_is_found_before_the_replies_are_made(
    refused, evaluation, tmp_path
):
    same = "eval.judge.engine.base_model=candidate"
    said = refused("eval", *evaluation(), same, "--allow-scripted")
    assert "has the same base as the candidates" in said
    assert not (tmp_path / "run" / "generate").exists()


def test_a_run_without_results(refused, tmp_path):
    said = refused("report", tmp_path)
    assert "has no metrics.json; finish it with `personae eval" in said


def test_raw_that_is_missing_empty_or_not_named(refused, tmp_path):
    assert "nowhere does not exist" in refused("prep", tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    assert "empty holds no documents" in refused("prep", tmp_path / "empty")
    assert "no RAW was named, only settings" in refused("prep", "prep.prompt=x")


def test_raw_in_which_nothing_is_an_interview(refused, tmp_path):
    (tmp_path / "raw" / "ada").mkdir(parents=True)
    (tmp_path / "raw" / "ada" / "a.txt").write_text("")
    said = refused("prep", tmp_path / "raw", "--out", tmp_path / "corpus")
    assert "no interview was accepted" in said and "rejects.jsonl" in said


def test_a_corpus_of_a_newer_tool(refused, corpus, tmp_path):
    shutil.copytree(corpus.folder, tmp_path / "newer")
    manifest = json.loads((tmp_path / "newer" / "manifest.json").read_text())
    (tmp_path / "newer" / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    assert "update personae" in refused("train", tmp_path / "newer", "--all")


def test_a_folder_that_may_not_be_written(refused, raw, tmp_path):
    (tmp_path / "file").write_text("in the way")
    said = refused("prep", raw, "--out", tmp_path / "file" / "corpus")
    assert str(tmp_path / "file") in said


# what a command does and says


def test_bad_files_are_named_and_the_code_is_0_or_3_if_strict(personae, raw, tmp_path):
    (raw / "ada-quill" / "empty.txt").write_bytes(b"")
    words = ["prep", raw, "--out", tmp_path / "corpus"]
    code, out, lines = personae(*words)
    assert code == 0 and lines == []
    assert "refused  ada-quill/empty.txt: unreadable: found an empty file" in out
    assert "people 1, interviews 3, pairs 12, documents refused 1" in out
    assert personae(*words, "--strict")[0] == PARTS_FAILED


def test_dry_runs_write_nothing(personae, raw, tmp_path, corpus, evaluation):
    before = sorted(tmp_path.rglob("*"))
    for words in (
        ["prep", raw, "--out", tmp_path / "corpus"],
        ["train", corpus.folder, "--pooled", "--adapters", tmp_path / "adapters"],
        ["eval", *evaluation(), "--allow-scripted"],
    ):
        code, out, lines = personae(*words, "--dry-run")
        assert code == 0 and out and lines == []
    assert sorted(tmp_path.rglob("*")) == before


def test_stages_may_be_run_one_by_one(personae, evaluation, tmp_path):
    assert personae("eval", *evaluation("whole/run"), "--allow-scripted")[0] == 0
    for stage in ("generate", "judge", "score", "report"):
        code, *_ = personae("eval", *evaluation("parts/run"), "--allow-scripted", "--stage", stage)
        assert code == 0
    whole, parts = contents(tmp_path / "whole"), contents(tmp_path / "parts")
    assert whole == parts and "run/metrics.json" in whole


def test_other_settings_do_not_continue_a_run(personae, refused, evaluation):
    personae("eval", *evaluation(), "--allow-scripted", "--stage", "generate")
    said = refused("eval", *evaluation(), "--allow-scripted", "eval.seed=5")
    assert "was begun with other settings" in said


# what happens to it


def test_sigterm_checkpoints_with_75_and_the_same_command_ends_as_if_undisturbed(
    personae, evaluation, tmp_path
):
    slow = "engine.scripted.delay_seconds=0.02"
    process = in_a_process("eval", *evaluation("stopped/run"), "--allow-scripted", slow)
    for line in process.stderr:
        if line.startswith("generate"):
            break
    wait_for(tmp_path / "stopped/run/generate/likelihood")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == CHECKPOINTED, err
    [line] = [line for line in err.splitlines() if line.startswith("personae: ")]
    assert "stopped by a signal" in line and "run the same command again" in line
    for name in ("stopped", "undisturbed"):
        assert personae("eval", *evaluation(f"{name}/run"), "--allow-scripted")[0] == 0
    assert contents(tmp_path / "stopped") == contents(tmp_path / "undisturbed")


def wait_for(folder):
    import time

    for _ in range(1000):
        if folder.is_dir() and list(folder.glob("part-*")):
            return
        time.sleep(0.01)
    pytest.fail(f"{folder} has no journal")


def test_a_bug_of_ours_shows_its_traceback(monkeypatch, raw, tmp_path):
    def broken(*args):
        raise KeyError("no such thing")

    monkeypatch.setattr("data_prep.prepare.prepare", broken)
    with pytest.raises(KeyError):  # which Python prints, and leaves with 1
        main(["prep", str(raw), "--out", str(tmp_path / "corpus")])


def test_debugging_shows_the_traceback_of_a_mistake(monkeypatch, tmp_path):
    monkeypatch.setenv("PERSONAE_DEBUG", "1")
    with pytest.raises(ValueError, match=r"is not a corpus"):
        main(["train", str(tmp_path), "--all"])


def test_ctrl_c_is_no_traceback(monkeypatch, personae, raw, tmp_path):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr("data_prep.prepare.prepare", interrupted)
    code, _, [line] = personae("prep", raw, "--out", tmp_path / "corpus")
    assert code == 130 and "run the same command again" in line


def test_another_eval_on_the_path_is_told(tmp_path):
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval" / "__init__.py").write_text("")
    root = Path(cli.__file__).resolve().parents[1]
    process = in_a_process(
        "report", tmp_path,
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": f"{tmp_path}:{root}"},
    )  # fmt: skip
    _, err = process.communicate(timeout=60)
    assert process.returncode == MISTAKE
    assert "the package 'eval' comes from" in err and "Traceback" not in err


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 256 KiB that can be made larger."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("may not mount a small file system here (needs root)")

    def enlarge():
        subprocess.run(["mount", "-o", "remount,size=16m", str(place)], check=True)

    yield place, enlarge
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_one_line_and_loses_nothing(
    small_disk, refused, personae, tmp_path, write_interviews
):
    place, enlarge = small_disk
    write_interviews(tmp_path / "raw", "Ada Quill", range(1951, 1971), num_exchanges=8)
    words = ["prep", tmp_path / "raw", "--out", place / "corpus"]
    said = refused(*words)
    assert "no space is left on the disk" in said and "run the same command again" in said
    assert not list(place.rglob("*.tmp"))
    kept = {path: path.stat().st_mtime_ns for path in place.glob("corpus/ingest/*/*.json")}
    assert 0 < len(kept) < 20
    enlarge()
    assert personae(*words)[0] == 0
    assert all(path.stat().st_mtime_ns == time for path, time in kept.items())  # read once
    personae("prep", tmp_path / "raw", "--out", tmp_path / "elsewhere")
    assert contents(place / "corpus") == contents(tmp_path / "elsewhere")
