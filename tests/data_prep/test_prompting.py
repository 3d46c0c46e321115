"""One builder of messages: the same words in training, serving and judging."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.prompting import Context, PromptSpec, build_messages, persona_prompt
from data_prep.records import QAPair, Turn, from_row, to_row
from data_prep.sft import single_turn

SPEC = PromptSpec(id="test", system="You are {name}.", persona_name="Ada Quill")


def pair(number, **fields):
    return QAPair(
        **{
            "id": f"q{number}",
            "persona_id": "ada",
            "interview_id": "i",
            "index": number,
            "question": f"Question {number}?",
            "answer": f"Answer {number}.",
            "answer_raw": "",
        }
        | fields
    )


def test_the_question_comes_last_and_the_persona_first():
    assert build_messages(SPEC, "Why?") == (
        {"role": "system", "content": "You are Ada Quill."},
        {"role": "user", "content": "Why?"},
    )


def test_context_stands_in_the_system_message_in_the_order_given():
    context = Context(profile=" Potter. \n", pairs=(pair(2), pair(1)))
    [system, _] = build_messages(SPEC, "Why?", context)
    assert system["content"] == (
        "You are Ada Quill.\n\nAbout Ada Quill:\nPotter.\n\n"
        "From earlier interviews with Ada Quill:\n\n"
        "Question: Question 2?\nAda Quill: Answer 2.\n\nQuestion: Question 1?\nAda Quill: Answer 1."
    )


def test_two_questions_share_all_but_the_last_message():
    context = Context(pairs=(pair(1),))
    one, other = (build_messages(SPEC, question, context) for question in ("Why?", "How?"))
    assert one[:-1] == other[:-1]


def test_braces_in_a_name_or_text_are_no_template():
    spec = PromptSpec(id="t", system="You are {name}, {mood}.", persona_name="{question} 100%s")
    assert build_messages(spec, "{name}?")[0]["content"] == "You are {question} 100%s, {mood}."
    assert build_messages(spec, "{name}?")[1]["content"] == "{name}?"


def test_a_prompt_of_several_people_must_be_told_whom_it_addresses():
    pooled = PromptSpec(id="t", system="You are {name}.", persona_name=None)
    with pytest.raises(ValueError, match=r"say as whom"):
        build_messages(pooled, "Why?")
    assert build_messages(pooled.for_persona("Bo"), "Why?")[0]["content"] == "You are Bo."


TURNS = (
    Turn(speaker="interviewer", text="Where?"),
    Turn(speaker="persona", text="In a kiln."),
)


def test_prior_turns_become_a_chat():
    roles = [m["role"] for m in build_messages(SPEC, "And then?", prior_turns=TURNS)]
    assert roles == ["system", "user", "assistant", "user"]


@given(st.lists(st.sampled_from(["persona", "interviewer"]), max_size=6), st.booleans())
def test_roles_always_take_turns_and_end_with_the_question(speakers, in_user):
    spec = PromptSpec(
        id="t", system="S", persona_name="Ada", system_role="in_user" if in_user else "native"
    )
    turns = [Turn(speaker=who, text=f"said {i}") for i, who in enumerate(speakers)]
    messages = build_messages(spec, "Why?", prior_turns=turns)
    roles = [m["role"] for m in messages]
    if not in_user:
        assert roles.pop(0) == "system"
    assert roles == (["user", "assistant"] * len(roles))[: len(roles)] and roles[-1] == "user"
    assert messages[-1]["content"].endswith("Why?")
    asked = [m["content"] for m in messages if m["role"] == "user"]
    assert all(any(t.text in text for text in asked) for t in turns if t.speaker == "interviewer")


def test_a_template_without_system_role_gets_it_in_the_first_question():
    spec = PromptSpec(id="t", system="You are {name}.", persona_name="Ada", system_role="in_user")
    [first, _, last] = build_messages(spec, "And then?", prior_turns=TURNS)
    assert first == {"role": "user", "content": "You are Ada.\n\nWhere?"}
    assert last == {"role": "user", "content": "And then?"}
    [only] = build_messages(spec, "Why?")
    assert only == {"role": "user", "content": "You are Ada.\n\nWhy?"}


def test_training_asks_in_the_very_words_of_serving():
    prompt = persona_prompt("Ada Quill")
    for asked in (pair(1), pair(2, prior_turns=TURNS, self_contained=False)):
        example = single_turn(asked, prompt)
        prior = () if asked.self_contained else TURNS
        served = build_messages(prompt, asked.question, prior_turns=prior)
        trained = tuple({"role": m.role, "content": m.content} for m in example.messages[:-1])
        assert trained == served


def test_a_prompt_travels_as_json_and_its_digest_follows_every_field():
    spec = persona_prompt("Ada", template_args={"enable_thinking": False})
    assert from_row(PromptSpec, to_row(spec)) == spec
    others = [
        persona_prompt("Bo", template_args={"enable_thinking": False}),
        persona_prompt("Ada"),
        persona_prompt("Ada", template_args={"enable_thinking": False}, system_role="in_user"),
    ]
    assert len({s.digest() for s in (spec, *others)}) == 4


def test_an_unknown_prompt_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"no prompt 'shouting'; known: .*interview-answer.v1"):
        persona_prompt("Ada", prompt_id="shouting")
