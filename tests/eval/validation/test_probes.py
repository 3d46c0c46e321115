"""A good judge passes; each kind of bad one fails the probes that are about it, and no other."""

import random
from dataclasses import replace

import pytest

from data_prep.engine import Reply
from eval.validation.config import REQUIRED
from eval.validation.texts import MASTER_KEYS
from tests.eval.validation.judges import CONFIG, JUDGE, choose, judge_that, overlap_score

BAD = {
    "constant": (lambda marks, request: 1, {"scale_use", "monotonicity"}),
    "constant and kind": (
        lambda marks, request: 3,
        {"scale_use", "monotonicity", "master_keys"},
    ),
    "loves length": (
        lambda marks, request: min(
            5, overlap_score(marks) + (len(marks["second_answer"].split()) > 60)
        ),
        {"length_bias"},
    ),
    "takes empty words for an answer": (
        lambda marks, request: (
            5
            if marks["second_answer"] in [key.strip() for key in MASTER_KEYS]
            else overlap_score(marks)
        ),
        {"master_keys"},
    ),
    "wavers when warm": (
        lambda marks, request: (
            random.Random(request.sampling.seed).choice([1, 5])
            if request.sampling.temperature
            else overlap_score(marks)
        ),
        {"self_agreement"},
    ),
    "wavers when cold": (
        lambda marks, request: max(
            1,
            overlap_score(marks) - (request.sampling.seed > 0 and request.sampling.seed % 200 > 0),
        ),
        {"self_agreement"},
    ),
}


def test_a_good_judge_is_validated(probe):
    found = probe(judge_that())
    assert found["badge"] == "validated" and found["failed"] == found["incomplete"] == []
    statuses = {name: entry["status"] for name, entry in found["probes"].items()}
    assert {statuses[name] for name in REQUIRED} == {"passed"}
    assert statuses["human_agreement"] == "not_run" and statuses["reasoning"] == "not_applicable"
    roles = found["probes"]["role_identification"]["figures"]
    assert roles["accuracy"]["mean"] == 1 and roles["chance"]["mean"] == pytest.approx(1 / 3)
    scores = found["probes"]["monotonicity"]["figures"]
    assert scores["score_truth"]["mean"] == 5 and scores["score_other"]["mean"] == 1
    assert found["probes"]["scale_use"]["figures"]["distribution"]["3"] > 0


@pytest.mark.parametrize(("rates", "fails"), BAD.values(), ids=BAD)
def test_a_bad_judge_fails_the_probe_that_is_about_it(probe, rates, fails):
    found = probe(judge_that(rates))
    assert found["badge"] == "failed" and set(found["failed"]) == fails


def test_a_judge_that_prefers_the_first_place_fails_order_swap_alone(probe):
    def first(operation, request):
        if request.options == ("A", "B"):
            return Reply(option_logprobs=(-0.1, -2.0))
        return choose(operation, request)

    found = probe(judge_that(chooses=first))
    assert found["failed"] == ["order_swap"]
    figures = found["probes"]["order_swap"]["figures"]
    assert figures["consistent"]["mean"] == 0 and figures["first_chosen"]["mean"] == 1


def test_no_preference_is_no_choice_and_counts_against(probe):
    def neither(operation, request):
        if request.options == ("A", "B"):
            return Reply(option_logprobs=(-1.0, -1.0))
        return choose(operation, request)

    entry = probe(judge_that(chooses=neither))["probes"]["order_swap"]
    assert entry["status"] == "failed" and set(entry["outcomes"]) == {"no_choice"}
    assert entry["figures"]["consistent"]["mean"] is None
    assert entry["figures"]["consistent"]["best_case"] == 1


def test_a_judge_that_guesses_speakers_fails_role_identification_alone(probe):
    def guess(operation, request):
        if len(request.options) == 3:
            return Reply(option_logprobs=(-1.0, -2.0, -3.0))
        return choose(operation, request)

    found = probe(judge_that(chooses=guess))
    assert found["failed"] == ["role_identification"]


def test_unread_verdicts_are_counted_bounded_and_never_numbers(probe, tmp_path):
    def sometimes(marks, request):
        return "Rather good." if "a1word1 " in marks["real_answer"] else overlap_score(marks)

    found = probe(judge_that(sometimes))
    ladder = found["probes"]["monotonicity"]["figures"]["ordered_triples"]
    assert ladder["mean"] == 1 and ladder["num_unread"] == 4  # one pair of 24, four triples
    assert ladder["worst_case"] == pytest.approx(1 - 1 / 24) and ladder["best_case"] == 1
    score = found["probes"]["monotonicity"]["figures"]["score_truth"]
    assert score["mean"] == 5 and score["worst_case"] == pytest.approx(5 - 4 / 24)
    assert found["probes"]["scale_use"]["outcomes"]["judge_unparseable"] == 5
    mute = judge_that(lambda marks, request: "Rather good.")
    silent = probe(mute, folder=tmp_path / "silent")
    assert silent["badge"] == "failed"
    assert {"readability", "scale_use", "monotonicity", "length_bias"} <= set(silent["failed"])
    assert silent["probes"]["scale_use"]["figures"]["distribution"] == dict.fromkeys("12345", 0)


def test_what_is_lost_in_transport_leaves_a_probe_undecided(probe, tmp_path):
    lost = Reply(status="transport_error", finish_reason="error", detail="timeout")

    def fails(marks, request):
        return lost if marks["second_answer"] == "Solution" else overlap_score(marks)

    found = probe(judge_that(fails), judge=replace(JUDGE, attempts=1))
    assert found["badge"] == "incomplete" and "master_keys" in found["incomplete"]
    assert found["probes"]["master_keys"]["figures"]["fooled"]["num_lost"] == 20
    mended = probe(judge_that(), judge=replace(JUDGE, attempts=1))
    assert mended["badge"] == "validated"


def test_without_items_or_with_too_few_pairs_a_judge_is_incomplete(probe):
    assert probe(judge_that(), roleid=None)["incomplete"] == ["role_identification"]
    few = probe(judge_that(), config=replace(CONFIG, num_pairs=8))
    assert few["badge"] == "incomplete" and "monotonicity" in few["incomplete"]
    eased = probe(judge_that(), config=replace(CONFIG, num_pairs=8, min_items=4))
    assert eased["badge"] == "validated" and eased["changed_rules"] == {"min_items": 4}


def test_reasoning_is_compared_where_the_template_has_it(probe):
    def thinks(marks, request):
        is_on = request.template_args.get("enable_thinking")
        if request.template_args:
            assert request.constraint is None
        score = overlap_score(marks) if is_on or not request.template_args else 3
        text = f'{{"score": {score}, "explanation": "So."}}'
        return Reply(text=text, reasoning="Hm." if is_on else "", num_prompt_tokens=9)

    entry = probe(judge_that(thinks))["probes"]["reasoning"]
    assert entry["status"] == "measured" and entry["conditions"] == []
    assert entry["figures"]["ordered_triples_on"]["mean"] == 1
    assert entry["figures"]["ordered_triples_off"]["mean"] == 0
