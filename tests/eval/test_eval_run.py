"""A whole evaluation with an engine that makes replies up: plan, generate, judge, score."""

import json

import pytest
import yaml

from data_prep.journal import read_rows, read_table
from eval.config import EvalConfig, GenerateConfig, JudgeConfig, LikelihoodConfig
from eval.run import generate, judge, plan_run, score, start_run
from serve.engines.scripted import ScriptedConfig, ScriptedEngine

CONFIG = EvalConfig(
    methods=("base:{persona}", "base:{persona}+chronological-3", "{persona}", "{category}"),
    missing_adapters="skip",
    likelihood=LikelihoodConfig(answers_per_persona=2),
    generate=GenerateConfig(questions_per_persona=2),
    judge=JudgeConfig(name="strict"),
)


@pytest.fixture
def evaluate(corpus, adapters):
    """All stages into a folder; returns the metrics and the two engines."""

    def run(folder, *, faults=None, config=CONFIG):
        candidate = ScriptedEngine(config=faults, model="candidate")
        rater = ScriptedEngine(config=faults, model="rater")
        start_run(folder, config)
        generate(folder, plan_run(corpus, adapters, candidate, config), candidate, config)
        judge(folder, corpus, rater, candidate, config)
        return score(folder, corpus, config), candidate, rater

    return run


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def test_every_number_of_the_metrics_has_its_rows(evaluate, tmp_path, corpus):
    metrics, candidate, rater = evaluate(tmp_path)
    assert metrics == json.loads((tmp_path / "metrics.json").read_text())
    assert metrics["statuses"] == {
        "likelihood": {"ok": len(read_table(tmp_path / "score" / "likelihood.parquet"))},
        "replies": {"ok": 3 * 2 * 4 - 2},  # Cleo's category has no adapter
        "judgements": {"ok": 3 * 2 * 4 - 2},
    }
    assert metrics["notes"]["missing"] == {"{category}": ["cleo-marsh"]}
    assert metrics["judge"]["same_base"] is False and rater.num_asked == 22
    assert candidate.num_asked == len(read_rows(tmp_path / "generate/likelihood").by_key) + 22
    assert [group["split"] for group in metrics["groups"]] == ["by_interview", "within_interview"]
    # a made-up engine has no favourite: the bits are those of its rows, method by method
    rows = read_table(tmp_path / "score" / "likelihood.parquet")
    ada = [
        row["bits"] / row["num_characters"]
        for row in rows
        if (row["table"], row["method"], row["persona_id"])
        == ("likelihood", "{persona}", "ada-quill")
    ]
    entries = {e["method"]: e for e in metrics["groups"][0]["likelihood"]["methods"]}
    assert entries["{persona}"]["personas"]["ada-quill"] == pytest.approx(sum(ada) / 2, abs=1e-6)


def test_all_stages_again_ask_nothing_and_change_nothing(evaluate, tmp_path):
    evaluate(tmp_path)
    before = contents(tmp_path)
    _, candidate, rater = evaluate(tmp_path)
    assert candidate.num_asked == rater.num_asked == 0 and contents(tmp_path) == before


def test_two_runs_of_one_config_are_alike_byte_by_byte(evaluate, tmp_path):
    evaluate(tmp_path / "one")
    evaluate(tmp_path / "two")
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_faults_are_counted_bounded_and_made_good_by_the_next_run(evaluate, tmp_path):
    faults = ScriptedConfig(transport_error_fraction=0.3, refusal_fraction=0.1)
    broken, *_ = evaluate(tmp_path, faults=faults)
    assert broken["statuses"]["likelihood"]["transport_error"] > 0
    assert broken["statuses"]["judgements"]["candidate_invalid"] > 0
    mended, candidate, _ = evaluate(tmp_path)  # the endpoint is up again
    assert set(mended["statuses"]["likelihood"]) <= {"ok", "refused"}
    assert "transport_error" not in mended["statuses"]["replies"]
    arrived = mended["statuses"]["replies"]["ok"]
    judged = mended["statuses"]["judgements"]
    assert sum(judged.values()) == 22 and judged["ok"] + judged.get("judge_refused", 0) == arrived
    whole, asked, _ = evaluate(tmp_path / "whole")
    assert candidate.num_asked < asked.num_asked
    if "refused" not in mended["statuses"]["likelihood"]:
        assert mended["groups"][0]["likelihood"] == whole["groups"][0]["likelihood"]


def test_a_run_is_not_continued_with_other_settings(tmp_path):
    start_run(tmp_path, CONFIG)
    start_run(tmp_path, CONFIG)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text())["judge"]["name"] == "strict"
    with pytest.raises(ValueError, match=r"was begun with other settings"):
        start_run(tmp_path, EvalConfig(methods=CONFIG.methods))


def test_the_judge_needs_a_name_all_replies_and_another_base(evaluate, tmp_path, corpus, adapters):
    candidate = ScriptedEngine(model="candidate")
    nobody = EvalConfig(methods=CONFIG.methods, missing_adapters="skip")
    with pytest.raises(ValueError, match=r"no judge is named"):
        judge(tmp_path, corpus, ScriptedEngine(), candidate, nobody)
    with pytest.raises(ValueError, match=r"has the same base as the candidates"):
        judge(tmp_path, corpus, ScriptedEngine(model="candidate"), candidate, CONFIG)


def test_scoring_and_judging_before_generating_is_told(tmp_path, corpus):
    start_run(tmp_path, CONFIG)
    for stage in (
        lambda: score(tmp_path, corpus, CONFIG),
        lambda: judge(tmp_path, corpus, ScriptedEngine(), ScriptedEngine(model="c"), CONFIG),
    ):
        with pytest.raises(
            ValueError, match=r"plan.jsonl does not exist; run the step that writes it"
        ):
            stage()


def test_an_engine_that_cannot_score_is_refused_before_any_work(corpus, adapters):
    engine = ScriptedEngine()
    engine.capabilities = frozenset({"generate"})
    with pytest.raises(ValueError, match=r"this evaluation needs score_text, which the engine"):
        plan_run(corpus, adapters, engine, CONFIG)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"primary": "{persona}+profile"}, "is to be compared, but methods are"),
        ({"methods": ("base:{persona}", "{persona}", "nobody here")}, "names nobody"),
        ({"methods": ("base:{persona}", "{persona}", "{persona}+memory-3")}, "unknown context"),
    ],
)
def test_methods_are_checked_while_loading(settings, says):
    with pytest.raises(ValueError, match=says):
        EvalConfig(**settings)


def test_a_run_holds_relative_paths_only(evaluate, tmp_path, corpus, adapters):
    evaluate(tmp_path / "run")
    marks = [str(path).encode() for path in (tmp_path, corpus.folder, adapters)]
    found = contents(tmp_path / "run")
    assert not [name for name, data in found.items() if any(mark in data for mark in marks)]
