"""A badge belongs to one judge: its weights, its prompt, its settings. Work is never done twice."""

import json
from dataclasses import replace

import pytest

from eval import run as stages
from eval.config import EvalConfig, GenerateConfig, JudgeConfig, LikelihoodConfig
from eval.validation.config import Thresholds
from eval.validation.identity import find_validation
from eval.validation.run import Signature, gather, plan_asks, validate
from serve.engines.scripted import ScriptedEngine
from tests.eval.validation.judges import CONFIG, JUDGE, judge_that


def test_a_second_validation_asks_nothing_and_writes_the_same_bytes(probe, tmp_path):
    first = judge_that()
    found = probe(first)
    [file] = (tmp_path / "judges").glob("*.json")
    before = file.read_bytes()
    again = judge_that()
    probe(again)
    assert first.num_asked > 400 and again.num_asked == 0 and file.read_bytes() == before
    assert file.stem == found["hash"]


def test_a_killed_validation_goes_on_where_it_was(probe, tmp_path):
    class Killed(BaseException):
        pass

    calls = iter(range(10_000))

    def dies(marks, request):
        if next(calls) == 200:
            raise Killed
        return 3

    with pytest.raises(Killed):
        probe(judge_that(dies))
    rest = judge_that(lambda marks, request: 3)
    found = probe(rest)
    whole = judge_that(lambda marks, request: 3)
    assert found == probe(whole, folder=tmp_path / "whole")
    assert rest.num_asked == whole.num_asked - 192  # three windows of 64 were on disk


def test_more_pairs_ask_only_what_is_new(probe, people):
    probe(judge_that(), config=replace(CONFIG, num_pairs=12))
    more = judge_that()
    probe(more)
    asks = plan_asks(gather(people, CONFIG), CONFIG, JUDGE, constrained=True)
    assert 0 < more.num_asked < len({str(ask.request) for ask in asks})


def test_the_badge_is_found_by_what_the_judge_is(probe, tmp_path, monkeypatch):
    judges = tmp_path / "judges"
    assert find_validation(judges, judge_that(), JUDGE) is None
    found = probe(judge_that())
    badge = find_validation(judges, judge_that(), JUDGE)
    assert badge["badge"] == "validated" and badge["file"] == f"{found['hash']}.json"
    assert badge["thresholds"] == found["thresholds"] and badge["signed"] is None
    # the name is a label; weights and settings are not
    assert find_validation(judges, judge_that(), replace(JUDGE, name="other")) == badge
    assert find_validation(judges, judge_that(), replace(JUDGE, max_tokens=99)) is None
    assert find_validation(judges, ScriptedEngine(model="other"), JUDGE) is None
    free = judge_that()
    free.capabilities -= {"json_schema"}
    assert find_validation(judges, free, JUDGE) is None
    read = find_validation.__globals__["read_prompt"]
    changed = lambda folder, name: read(folder, name) + " Be kind."  # noqa: E731
    monkeypatch.setitem(find_validation.__globals__, "read_prompt", changed)
    assert find_validation(judges, judge_that(), JUDGE) is None


def test_eased_thresholds_and_the_signature_are_written_down(people, tmp_path):
    config = replace(CONFIG, thresholds=Thresholds(min_levels=1), required=("scale_use",))
    path = validate(
        tmp_path, gather(people, config), judge_that(), config, JUDGE,
        Signature(by="R. Hale", date="2025-03-01"),
    )  # fmt: skip
    found = json.loads(path.read_text())
    assert found["changed_rules"] == {"min_levels": 1, "required": ["scale_use"]}
    assert found["signed"] == {"by": "R. Hale", "date": "2025-03-01"}
    assert found["badge"] == "validated" and str(tmp_path) not in path.read_text()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema_version": 99}, "update personae"),
        ({"identity": {}}, "is of another judge"),
    ],
)
def test_a_strange_file_is_no_badge(probe, tmp_path, change, says):
    found = probe(judge_that())
    path = tmp_path / "judges" / f"{found['hash']}.json"
    path.write_text(json.dumps(found | change))
    with pytest.raises(ValueError, match=says):
        find_validation(tmp_path / "judges", judge_that(), JUDGE)


def test_an_evaluation_shows_the_badge_of_its_judge(corpus, adapters, probe, tmp_path):
    config = EvalConfig(
        methods=("base:{persona}", "{persona}"),
        missing_adapters="skip",
        likelihood=LikelihoodConfig(answers_per_persona=1, controls=False, who_said_it=False),
        generate=GenerateConfig(questions_per_persona=1),
        judge=JUDGE,
    )
    run, candidate = tmp_path / "run", ScriptedEngine(model="candidate")
    stages.start_run(run, config)
    stages.generate(run, stages.plan_run(corpus, adapters, candidate, config), candidate, config)

    def badge():
        stages.judge(run, corpus, judge_that(), candidate, config, tmp_path / "judges")
        return stages.score(run, corpus, config)["judge"]["validation"]

    assert badge() is None
    probe(judge_that(lambda marks, request: 1))
    found = badge()
    assert found["badge"] == "failed" and found["failed"] == ["scale_use", "monotonicity"]
    assert json.loads((run / "judge" / "judge.json").read_text())["validation"] == found


def test_settings_that_decide_nothing_about_a_verdict_do_not_decide_the_judge():
    engine = judge_that()
    from eval.validation.identity import judge_hash, judge_identity

    a = judge_identity(engine, JudgeConfig(name="a", allow_same_base=True, engine={"dtype": "x"}))
    assert judge_hash(a) == judge_hash(judge_identity(engine, JudgeConfig(name="b")))
