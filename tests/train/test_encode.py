"""Messages to tokens: the loss is on the answer and its end-of-turn token, and nowhere else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from data_prep.prompting import PromptSpec, build_messages
from data_prep.records import QAPair, Turn
from data_prep.sft import SFTMessage, single_turn
from train.encode import IGNORED, Encoder

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def byte_tokenizer(template=CHATML):
    """A token a byte; pad is the end-of-turn token, as in SmolLM2."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytewise = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
    bytewise.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytewise.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=bytewise,
        bos_token="<|im_start|>",
        eos_token="<|im_end|>",
        pad_token="<|im_end|>",
        chat_template=template,
    )


@pytest.fixture(scope="module")
def tokenizer():
    return byte_tokenizer()


@pytest.fixture(scope="module")
def encoder(tokenizer):
    return Encoder(tokenizer)


def message(role, content, train=False):
    return SFTMessage(role=role, content=content, train=train)


CHAT = [
    message("system", "You are Ada."),
    message("user", "Where?"),
    message("assistant", "In a kiln.", train=True),
    message("user", "Why?"),
    message("assistant", "It is warm.", train=True),
]


def supervised(encoder, encoded):
    """The text under the loss, each run of supervised tokens apart."""
    runs, current = [], []
    for label in [*encoded.labels, IGNORED]:
        if label != IGNORED:
            current.append(label)
        elif current:
            runs.append(encoder.tokenizer.decode(current))
            current = []
    return runs


def test_the_answer_and_its_end_are_supervised_and_nothing_else(encoder):
    messages = ({"role": "system", "content": "Be Ada."}, {"role": "user", "content": "Why?"})
    encoded = encoder.example(messages, " My aunt taught me.\n")
    assert supervised(encoder, encoded) == ["My aunt taught me.<|im_end|>"]
    assert encoder.tokenizer.decode(encoded.input_ids) == (
        "<|im_start|>system\nBe Ada.<|im_end|>\n<|im_start|>user\nWhy?<|im_end|>\n"
        "<|im_start|>assistant\nMy aunt taught me.<|im_end|>"
    )


def test_end_of_turn_is_supervised_though_it_is_the_padding_token(encoder, tokenizer):
    assert encoder.end_of_turn == tokenizer.pad_token_id == tokenizer.eos_token_id
    encoded = encoder.example(({"role": "user", "content": "Why?"},), "So.")
    assert encoded.labels[-1] == encoder.end_of_turn == encoded.input_ids[-1]
    assert encoded.labels.count(encoder.end_of_turn) == 1  # the prompt's own ends are not


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.text(max_size=40))
def test_any_example_is_the_served_prompt_followed_by_the_answer(question, answer):
    encoder = Encoder(TOKENIZER)
    messages = (
        {"role": "system", "content": "Be Ada."},
        {"role": "user", "content": question.strip()},
    )
    encoded = encoder.example(messages, answer)
    prompt, reply = encoder.prompt_ids(messages), encoder.answer_ids(answer)
    assert encoded.input_ids == prompt + reply
    assert encoded.labels == [IGNORED] * len(prompt) + reply
    assert encoded.num_supervised == len(reply)


TOKENIZER = byte_tokenizer()


def test_every_marked_answer_of_a_chat_is_supervised(encoder):
    encoded = encoder.conversation(CHAT)
    assert supervised(encoder, encoded) == ["In a kiln.<|im_end|>", "It is warm.<|im_end|>"]
    whole = encoder.tokenizer.apply_chat_template(
        [{"role": m.role, "content": m.content} for m in CHAT], tokenize=False
    )
    assert encoder.tokenizer.decode(encoded.input_ids) + "\n" == whole


def test_an_unmarked_answer_is_context(encoder):
    chat = [*CHAT[:2], message("assistant", "In a kiln."), *CHAT[3:]]
    encoded = encoder.conversation(chat)
    assert supervised(encoder, encoded) == ["It is warm.<|im_end|>"]
    assert encoded.input_ids == encoder.conversation(CHAT).input_ids


def test_what_follows_the_last_marked_answer_is_dropped(encoder):
    more = [*CHAT, message("user", "Really?"), message("assistant", "Yes.")]
    assert encoder.conversation(more) == encoder.conversation(CHAT)


@given(st.integers(60, 200))
def test_too_long_loses_its_oldest_exchanges_and_never_answer_tokens(limit):
    encoder = Encoder(TOKENIZER)
    chat = [CHAT[0], *(m for n in range(5) for m in exchange(n))]
    whole = encoder.conversation(chat)
    try:
        encoded = encoder.conversation(chat, max_length=limit)
    except ValueError:
        # system and last exchange alone are longer
        assert len(encoder.conversation([chat[0], *chat[-2:]]).input_ids) > limit
        return
    assert len(encoded.input_ids) <= limit
    kept = supervised(encoder, encoded)
    assert kept == supervised(encoder, whole)[-len(kept) :] and kept[-1] == "Answer 4.<|im_end|>"
    assert encoder.tokenizer.decode(encoded.input_ids).startswith(
        "<|im_start|>system\nYou are Ada."
    )
    longer = [CHAT[0], *chat[-2 * (len(kept) + 1) :]]
    assert len(kept) == 5 or len(encoder.conversation(longer).input_ids) > limit


def exchange(number):
    return message("user", f"Question {number}?"), message(
        "assistant", f"Answer {number}.", train=True
    )


def test_an_answer_that_does_not_fit_is_refused_not_cut(encoder):
    with pytest.raises(
        ValueError, match=r"question and answer have .* the limit is 40; raise max_length"
    ):
        encoder.conversation([*CHAT[:2], message("assistant", "x" * 50, train=True)], max_length=40)


def test_a_prompt_inside_the_first_question_is_never_dropped_with_it(encoder):
    # system_role in_user: the persona's prompt stands in the oldest message
    spec = PromptSpec(id="t", system="You are {name}.", persona_name="Ada", system_role="in_user")
    prior = (Turn(speaker="interviewer", text="Where?"), Turn(speaker="persona", text="x" * 60))
    pair = QAPair(
        id="q", persona_id="ada", interview_id="i", index=0, question="And?", answer="Warm.",
        answer_raw="", prior_turns=prior, self_contained=False,
    )  # fmt: skip
    example = single_turn(pair, spec)
    served = build_messages(spec, "And?", prior_turns=prior)
    encoded = encoder.conversation(example.messages)
    assert encoded.input_ids[: len(encoder.prompt_ids(served))] == encoder.prompt_ids(served)
    with pytest.raises(ValueError, match=r"raise max_length"):
        encoder.conversation(example.messages, max_length=len(encoded.input_ids) - 10)


def test_template_arguments_reach_the_template():
    template = "{% if thinking %}<think>{% endif %}" + CHATML
    prompt = Encoder(byte_tokenizer(template), {"thinking": True}).prompt_ids(
        ({"role": "user", "content": "Why?"},)
    )
    assert TOKENIZER.decode(prompt).startswith("<think>")


@pytest.mark.parametrize(
    "template",
    [
        "{% for message in messages %}{{ message['content'] }}\n{% endfor %}",
        "{% for message in messages %}{{ message['content'] }}{% endfor %}",
        "{% for message in messages %}[INST]{{ message['content'] }}[/INST]{% endfor %}",
    ],
)
def test_a_template_that_ends_no_turn_is_refused(template):
    with pytest.raises(ValueError, match=r"expected a special token"):
        Encoder(byte_tokenizer(template))


def test_a_tokenizer_without_template_is_refused():
    with pytest.raises(ValueError, match=r"no chat template; use an instruction-tuned model"):
        Encoder(byte_tokenizer(None))


def test_a_template_that_rewrites_earlier_turns_is_refused_for_chats():
    # as templates do that drop the reasoning of earlier answers
    template = CHATML.replace(
        "{{ message['content'] }}",
        "{{ message['content'] if loop.last else '(' + message['content'] }}",
    )
    encoder = Encoder(byte_tokenizer(template))
    with pytest.raises(ValueError, match=r"changes earlier turns"):
        encoder.conversation(CHAT)


def test_a_chat_without_a_marked_answer_is_refused(encoder):
    with pytest.raises(ValueError, match=r"no message of the conversation is marked"):
        encoder.conversation([message("user", "Why?"), message("assistant", "So.")])


def test_a_special_token_in_an_answer_is_letters_and_ends_no_turn(encoder):
    ids = encoder.answer_ids("They wrote <|im_end|> on the wall.")
    assert ids.count(encoder.end_of_turn) == 1
    assert ids[-1] == encoder.end_of_turn
