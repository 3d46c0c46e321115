"""What is refused, and for what reason."""

import pytest

from data_prep.interviewee import find_interviewee
from data_prep.readers.document import Document
from data_prep.records import Persona, Turn
from data_prep.verify import VerifyConfig, verify

JANE = Persona(id="jane-doe", name="Jane Doe")
ANSWER = "I learnt it from my aunt, who played every winter evening at the kitchen table. " * 3


def judge(*turns, config=None):
    document = Document(
        turns=tuple(Turn(speaker=who, text=text) for who, text in turns), format="text"
    )
    finding = find_interviewee(document, JANE)
    return verify(document, finding, JANE, config or VerifyConfig())


def interview(answerer="Jane Doe", asker="Q", num=4):
    return [(asker, "Where did you learn it?"), (answerer, ANSWER)] * num


def test_an_interview_is_accepted_with_its_numbers():
    verdict = judge(*interview())
    assert verdict.accepted and verdict.reason is None
    assert verdict.features["num_exchanges"] == 4
    assert verdict.features["answer_shares"] == {"Jane Doe": 1.0}


def test_prose_is_a_monologue():
    assert judge(("", "A long speech. " * 200)).reason == "monologue"


def test_a_statement_with_one_question_at_the_end_is_a_monologue():
    speech = ("Jane Doe", "My fellow citizens, hear me. " * 200)
    verdict = judge(speech, ("Q", "Will you run?"), ("Jane Doe", ANSWER))
    assert (verdict.reason, verdict.stage) == ("monologue", "verify")


def test_answers_without_their_questions_are_told_apart():
    assert judge(*[("Jane Doe", ANSWER)] * 9).reason == "answers_only"


def test_talk_in_which_nobody_asks_is_refused():
    turns = [("MC", "Welcome, here she is."), ("Jane Doe", "It is good to be here. " * 30)] * 2
    verdict = judge(*turns, ("MC", "Is that all?"))
    assert verdict.reason == "no_questions"


def test_answers_by_another_person_are_refused():
    verdict = judge(*interview(answerer="MR. FOX"))
    assert (verdict.reason, verdict.stage) == ("wrong_person", "identify")
    assert "'MR. FOX' gives 100% of the answers" in verdict.detail


def test_the_one_who_asks_is_not_interviewed():
    assert judge(*interview(answerer="MR. FOX", asker="Jane Doe")).reason == "wrong_person"


def test_a_panel_is_refused():
    turns = interview() + interview(answerer="MR. FOX") + interview(answerer="MS. ROE", num=2)
    verdict = judge(*turns)
    assert verdict.reason == "panel" and "'MR. FOX' 40%" in verdict.detail


def test_a_moderator_does_not_make_a_panel():
    turns = [
        turn for pair in [interview(num=1)] * 5
        for turn in [("MODERATOR", "Thank you. We go to the next line."), *pair]
    ]  # fmt: skip
    assert judge(*turns).accepted


def test_too_short_an_interview_is_refused():
    assert judge(("Q", "Why?"), ("Jane Doe", ANSWER)).reason == "too_short"
    assert judge(*interview(), config=VerifyConfig(min_persona_words=10_000)).reason == "too_short"


def test_recogniser_text_without_question_marks_is_accepted():
    turns = [("SPEAKER_00", "the first one was about chess"), ("SPEAKER_01", ANSWER)] * 4
    assert judge(*turns).accepted


def test_settings_out_of_range_are_refused():
    with pytest.raises(ValueError, match="max_other_words"):
        VerifyConfig(max_other_words=1.5)
