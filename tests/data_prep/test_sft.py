"""SFT sets: what training sees, with the loss on the answer alone."""

import pytest

from data_prep.prompting import persona_prompt
from data_prep.records import QAPair, Turn
from data_prep.sft import read_prompt_spec, read_sft, single_turn, write_sft

PRIOR = (Turn(speaker="interviewer", text="Where?"), Turn(speaker="persona", text="In a kiln."))
PROMPT = persona_prompt("Ada Quill", template_args={"enable_thinking": False})


def pair(number=0, **fields):
    given = {
        "id": f"q{number}", "persona_id": "ada", "interview_id": "i", "index": number,
        "question": "And then?", "answer": "We glazed it.", "answer_raw": "We, uh, glazed it.",
    }  # fmt: skip
    return QAPair(**given | fields)


def test_the_loss_is_on_the_answer_alone():
    example = single_turn(pair(prior_turns=PRIOR, self_contained=False), PROMPT)
    assert [(m.role, m.train) for m in example.messages] == [
        ("system", False),
        ("user", False),
        ("assistant", False),  # what the person said before is context, learnt from its own pair
        ("user", False),
        ("assistant", True),
    ]
    assert example.messages[-1].content == "We glazed it." and example.pair_ids == ("q0",)


def test_a_self_contained_question_stands_alone():
    example = single_turn(pair(prior_turns=PRIOR, self_contained=True), PROMPT)
    assert [m.role for m in example.messages] == ["system", "user", "assistant"]


def test_a_set_is_read_as_it_was_written(tmp_path):
    train, validation = [pair(n) for n in range(3)], [pair(3)]
    write_sft(tmp_path, PROMPT, train=train, validation=validation)
    assert read_sft(tmp_path, "train") == [single_turn(p, PROMPT) for p in train]
    assert read_sft(tmp_path, "validation") == [single_turn(p, PROMPT) for p in validation]
    assert read_prompt_spec(tmp_path) == PROMPT


def test_a_person_without_a_set_is_named(tmp_path):
    with pytest.raises(
        ValueError, match=r"ada/train.jsonl does not exist; this persona has no split"
    ):
        read_sft(tmp_path / "ada", "train")


def test_a_line_that_is_no_example_is_refused_with_its_file(tmp_path):
    (tmp_path / "train.jsonl").write_text('{"persona_id": "ada", "messages": []}\n')
    with pytest.raises(ValueError, match=r"train.jsonl: SFTExample.pair_ids: Field required"):
        read_sft(tmp_path, "train")
