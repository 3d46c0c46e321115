"""What holds for every engine."""

import json
from dataclasses import replace

import pytest

from data_prep.engine import Constraint, Request, Sampling
from serve.engines import load_engine


@pytest.fixture(params=["scripted", "transformers"])
def engine(request, tiny):
    return load_engine(replace(tiny, engine=request.param, allow_scripted=True))


def ask(question, **settings):
    settings.setdefault("sampling", Sampling(max_tokens=12))
    return Request(messages=({"role": "user", "content": question},), **settings)


QUESTIONS = [f"Question {'very ' * (i % 4)}{i}?" for i in range(9)]


def test_replies_come_in_the_order_of_the_requests(engine):
    requests = [ask(question, completion=f"Answer {i}.") for i, question in enumerate(QUESTIONS)]
    alone = [next(engine.score_text([request])) for request in requests]
    together = list(engine.score_text(requests))
    assert [reply.num_output_tokens for reply in together] == [
        reply.num_output_tokens for reply in alone
    ]
    for one, other in zip(alone, together, strict=True):
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)


def test_the_same_list_gets_the_same_replies(engine):
    requests = [
        ask(question, sampling=Sampling(max_tokens=9, temperature=1, seed=3))
        for question in QUESTIONS
    ]
    assert list(engine.generate(requests)) == list(engine.generate(requests))


def test_a_reply_at_its_token_limit_says_so(engine):
    reply = next(engine.generate([ask("Why?", sampling=Sampling(max_tokens=3))]))
    assert (reply.finish_reason, reply.num_output_tokens) == ("length", 3)


def test_one_log_probability_a_token_and_one_for_the_end_of_turn(engine):
    answer = "My aunt taught me."
    reply = next(engine.score_text([ask("Why chess?", completion=answer)]))
    assert len(reply.token_logprobs) == engine.count_tokens(answer) + 1
    assert all(value < 0 for value in reply.token_logprobs)


def test_choose_gives_one_sum_an_option(engine):
    options = ("Yes", "No", "A long answer that differs")
    reply = next(engine.choose([ask("Chess?", options=options)]))
    assert len(reply.option_logprobs) == 3 and all(value < 0 for value in reply.option_logprobs)


def test_choices_and_schemas_bind_the_reply(engine):
    pytest.importorskip("xgrammar")
    schema = {
        "type": "object",
        "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 5}},
        "required": ["score"],
    }
    choice, verdict, free = engine.generate(
        [
            ask("Chess?", constraint=Constraint(choices=("often", 'by "night"'))),
            ask("Chess?", constraint=Constraint(json_schema=schema), sampling=Sampling()),
            ask("Chess?"),
        ]
    )
    assert choice.text in ("often", 'by "night"')
    assert json.loads(verdict.text)["score"] in range(1, 6)
    assert free.text not in ("often", 'by "night"')


@pytest.mark.parametrize(
    ("operation", "settings", "message"),
    [
        ("score_text", {}, "request 1 has no completion"),
        ("score_text", {"completion": "  "}, "request 1 has no completion"),
        ("choose", {}, "request 1 has no options"),
        ("choose", {"options": ("Yes", " ")}, "request 1 has no options or an empty one"),
        ("generate", {"adapter": "ada@0123456789ab"}, "asks for adapter .*this engine has: none"),
        (
            "choose",
            {"options": ("Yes",), "constraint": Constraint(choices=("Yes",))},
            "which choose ignores",
        ),
    ],
)
def test_a_request_that_cannot_be_served_is_refused_before_any_work(
    engine, operation, settings, message
):
    fine = ask("Chess?", completion="Yes.", options=("Yes",))
    with pytest.raises(ValueError, match=message):
        getattr(engine, operation)([fine, ask("Chess?", **settings)])


def test_a_request_longer_than_the_context_is_refused_with_both_numbers(tiny):
    for name in ("scripted", "transformers"):
        config = replace(tiny, engine=name, allow_scripted=True, max_model_len=40)
        with pytest.raises(
            ValueError, match=r"request 0 has \d+ prompt tokens .* context holds 40"
        ):
            load_engine(config).generate([ask("Why? " * 40)])


def test_the_scripted_engine_needs_permission(tiny):
    with pytest.raises(ValueError, match="--allow-scripted"):
        load_engine(replace(tiny, engine="scripted"))
