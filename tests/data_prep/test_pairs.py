"""Questions and answers as a reader would cut them."""

import pytest

from data_prep.interviewee import Finding
from data_prep.pairs import PairConfig, build_pairs
from data_prep.records import Turn
from data_prep.self_contained import is_self_contained

LONG = "It took me many years to learn that, and I am still learning."


def pairs_of(*turns, config=None, own=("JANE",), language="en"):
    finding = Finding(
        labels=own, interviewer_labels=("Q",), role_only=False, match="name", answerer="JANE"
    )
    return build_pairs(
        [Turn(speaker=who, text=text) for who, text in turns],
        finding,
        persona_id="jane",
        interview_id="jane-1",
        language=language,
        config=config or PairConfig(),
    )


def test_a_question_and_its_answer_are_a_pair():
    (pair,) = pairs_of(("Q", "Why chess?"), ("JANE", LONG))
    assert (pair.question, pair.answer, pair.answer_raw) == ("Why chess?", LONG, LONG)
    assert (pair.id, pair.index, pair.turn_ids, pair.prior_turns) == ("jane-1-q0000", 0, (0, 1), ())


def test_turns_of_a_speaker_are_merged():
    (pair,) = pairs_of(
        ("Q", "Tell me."), ("Q", "Why chess?"), ("JANE", "Well, my aunt"), ("JANE", LONG)
    )
    assert pair.question == "Tell me. Why chess?"
    assert pair.answer == f"Well, my aunt {LONG}"
    assert pair.turn_ids == (0, 1, 2, 3)


def test_stage_notes_stay_only_in_the_raw_answer():
    raw = "It was [Laughter] a long way (inaudible), and (Laughter.) we sang."
    (pair,) = pairs_of(("Q", "How was it?"), ("JANE", raw))
    assert pair.answer == "It was a long way, and we sang."
    assert pair.answer_raw == raw


def test_an_opening_statement_is_no_answer():
    pairs = pairs_of(
        ("MC", "Here is Jane."), ("JANE", LONG * 9), ("Q", "Why chess?"), ("JANE", LONG)
    )
    assert [pair.question for pair in pairs] == ["Why chess?"]


def test_a_moderator_who_hands_over_is_dropped():
    pairs = pairs_of(
        ("Q", "Who taught you?"), ("JANE", LONG),
        ("MC", "Thank you. Next, the line of Ann Lee."), ("Q", "Why chess?"), ("JANE", LONG),
        ("MC", "That is all the time we have."), ("JANE", LONG),
    )  # fmt: skip
    assert [pair.question for pair in pairs] == ["Who taught you?", "Why chess?"]


def test_traffic_at_the_end_of_an_answer_is_dropped():
    for traffic in (
        "\n\nGo ahead, Bob.",
        " Go ahead.",
        "\n\nMr. Fox [Paul Fox, News].",
        "\n\nNancy.",
    ):
        (pair,) = pairs_of(("Q", "Why chess?"), ("JANE", LONG + traffic))
        assert pair.answer == LONG
        assert pair.answer_raw == LONG + traffic


def test_thanks_and_nods_are_no_answers():
    turns = [
        ("Q", "Why chess?"),
        ("JANE", "Thank you very much, everyone. Thanks."),
        ("Q", "And now?"),
    ]
    assert pairs_of(*turns, ("JANE", "Yes.")) == []
    assert pairs_of(("Q", "Thank you, Madam Mayor."), ("JANE", LONG)) == []


def test_an_interjection_does_not_cut_an_answer():
    (pair,) = pairs_of(
        ("Q", "Why chess?"),
        ("JANE", "My aunt played —"),
        ("Q", "Right."),
        ("JANE", "— all winter long."),
    )
    assert pair.answer == "My aunt played — all winter long."
    assert pair.turn_ids == (0, 1, 2, 3) or pair.turn_ids == (0, 1, 3)


def test_follow_ups_are_pairs_of_their_own_with_what_came_before():
    pairs = pairs_of(
        ("Q", "Why chess?"), ("JANE", LONG), ("Q", "And after that?"), ("JANE", LONG),
        ("Q", "Why?"), ("JANE", LONG), ("Q", "Where were you born?"), ("JANE", LONG),
    )  # fmt: skip
    assert [pair.self_contained for pair in pairs] == [True, False, False, True]
    assert [turn.speaker for turn in pairs[2].prior_turns] == ["interviewer", "persona"] * 2
    assert pairs[3].prior_turns[0].text == "And after that?"


def test_a_question_back_joins_the_two_halves():
    (pair,) = pairs_of(
        ("Q", "Which of the games do you like best?"), ("JANE", "Of all of them, ever?"),
        ("Q", "Of last year's."), ("JANE", LONG),
    )  # fmt: skip
    assert pair.question == "Which of the games do you like best? Of last year's."


def test_an_interrupted_question_is_put_together():
    (pair,) = pairs_of(
        ("Q", "Just one more on —"),
        ("JANE", "Sure."),
        ("Q", "— on chess. Who won?"),
        ("JANE", LONG),
    )
    assert pair.question == "Just one more on on chess. Who won?"


def test_several_interviewers_are_kept_apart():
    pairs = pairs_of(
        ("ANN", "Why chess?"), ("JANE", LONG), ("BOB", "Why not cards?"), ("JANE", LONG)
    )
    assert [pair.question for pair in pairs] == ["Why chess?", "Why not cards?"]


def test_a_repeated_passage_is_taken_once():
    assert len(pairs_of(*[("Q", "Why chess?"), ("JANE", LONG)] * 3)) == 1


def test_length_limits_are_settings():
    turns = [("Q", "Why chess?"), ("JANE", LONG)]
    assert pairs_of(*turns, config=PairConfig(min_answer_words=50)) == []
    assert pairs_of(*turns, config=PairConfig(max_answer_words=6)) == []
    with pytest.raises(ValueError, match="must not exceed"):
        PairConfig(min_answer_words=9, max_answer_words=8)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why did you take up chess?", True),
        ("What is open source?", True),
        ("Do you think that the tariff will fall this year?", True),
        ("Is it possible to live on art?", True),
        ("Why?", False),
        ("And the highest?", False),
        ("How did that feel?", False),
        ("Did he ever come back?", False),
        ("Can you say more about that?", False),
        ("You just said you were tired. Were you ill?", False),
        ("What did they do next?", False),
    ],
)
def test_questions_that_point_backwards_are_not_self_contained(question, expected):
    assert is_self_contained(question) is expected


def test_other_languages_count_as_self_contained():
    assert is_self_contained("And?", "de")
