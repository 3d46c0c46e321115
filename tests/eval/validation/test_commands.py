"""The commands as a person types them, with an engine that makes replies up."""

import json

import pytest

from data_prep.journal import read_table, write_table
from personae.cli import main
from personae.judging import validation_settings

MADE_UP = ["engine.engine=scripted", "--allow-scripted"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_validate_counts_then_measures_then_shows_the_badge(here, people, roleid_items, capsys):
    words = ["judge", "validate", "--corpus", str(people.folder), "--name", "owl"]
    words += ["--roleid", str(roleid_items), "validate.num_pairs=24"]
    assert main([*words, "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "20 requests to choose for role_identification" in out and "prompt tokens" in out
    assert not (here / "judges").exists()
    assert main([*words, *MADE_UP, "--signed-by", "R. Hale", "--date", "2025-03-01"]) == 0
    out = capsys.readouterr().out
    [file] = (here / "judges").glob("*.json")
    assert "badge: failed (" in out and f"written to judges/{file.name}" in out
    assert "ordered triples" in out and "not met" in out
    assert json.loads(file.read_text())["signed"]["by"] == "R. Hale"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "judge"),
        (["--name", "a", "--signed-by", "R"], "--signed-by and --date go together"),
        (["--name", "a", "--signed-by", "R", "--date", "soon"], "expected YYYY-MM-DD"),
        (["--name", "a", "judge.engine.dtype=auto"], "set engine.* instead"),
        (["--name", "a", "validate.num_pair=3"], "did you mean 'num_pairs'"),
        (["--name", "a", "validate.max_words=5"], "below min_words"),
        (["--name", "a", "--labels", "none.csv"], "none.csv does not exist"),
        (["--name", "a", "validate.min_words=100"], "judge validation needs 2"),
    ],
)
def test_mistakes_are_one_line(here, people, capsys, words, says):
    assert main(["judge", "validate", "--corpus", str(people.folder), *words]) == 2
    err = capsys.readouterr().err
    assert says in err and err.count("\n") == 1


def test_the_judge_of_an_evaluation_is_taken_as_it_is(here):
    (here / "eval.yaml").write_text(
        "eval: {judge: {name: owl, max_tokens: 90, engine: {dtype: float32}}}\n"
    )
    command = validation_settings(None, None, here / "eval.yaml", ["validate.num_pairs=9"])
    assert (command.judge.name, command.judge.max_tokens) == ("owl", 90)
    assert command.engine.dtype == "float32" and command.validate.num_pairs == 9
    with pytest.raises(ValueError, match="would change the judge of"):
        validation_settings(None, None, here / "eval.yaml", ["judge.max_tokens=9"])


def test_panel_writes_what_it_prints(here, capsys):
    for name, score in (("a", 4), ("b", 2)):
        row = {"key": "k", "status": "ok", "metric": "content_similarity", "judge": name,
               "judge_model": name, "reply_key": "r1", "score": score}  # fmt: skip
        write_table(here / name / "judge" / "rows.parquet", [row])
    assert main(["judge", "panel", "a", "b", "--out", "panel"]) == 0
    out = capsys.readouterr().out
    assert "a / b: 1  0  0.00  0.00" in out and "a 4, b 2: r1" in out
    assert json.loads((here / "panel" / "panel.json").read_text())["num_replies"] == 1
    assert read_table(here / "panel" / "panel.parquet")[0]["mean"] == 3
    assert main(["judge", "panel", "a"]) == 2
