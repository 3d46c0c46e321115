import pytest

from data_prep.engine import Reply, Request, Sampling
from serve.engines import EngineConfig
from serve.engines.scripted import ScriptedConfig, ScriptedEngine


def ask(question, **settings):
    return Request(messages=({"role": "user", "content": question},), **settings)


def test_given_replies_come_in_turn():
    engine = ScriptedEngine(["Yes.", Reply(status="transport_error", finish_reason="error")])
    first, second = engine.generate([ask("One?"), ask("Two?")])
    assert (first.text, second.status) == ("Yes.", "transport_error")


def test_a_function_may_answer_every_operation():
    engine = ScriptedEngine(lambda operation, request: Reply(option_logprobs=(-1.0, -2.0)))
    assert next(engine.choose([ask("One?", options=("a", "b"))])).option_logprobs == (-1.0, -2.0)


def test_replies_depend_on_the_request_alone():
    one, other = ScriptedEngine(), ScriptedEngine()
    requests = [ask(f"Question {i}?") for i in range(5)]
    assert list(one.generate(requests)) == list(other.generate(requests[::-1]))[::-1]
    changed = next(one.generate([ask("Question 0?", adapter="ada@0123456789ab")]))
    assert changed.text != next(one.generate(requests)).text


def test_the_fractions_asked_for_fail():
    config = ScriptedConfig(
        transport_error_fraction=0.2, refusal_fraction=0.2, truncation_fraction=0.2
    )
    replies = list(ScriptedEngine(config=config).generate([ask(f"{i}?") for i in range(500)]))
    failed = [reply for reply in replies if reply.status == "transport_error"]
    refused = [reply for reply in replies if reply.status == "refused"]
    cut = [reply for reply in replies if reply.finish_reason == "length"]
    # 100 expected of each, standard deviation 9
    assert all(60 < len(group) < 140 for group in (failed, refused, cut))


def test_a_stop_text_ends_a_reply():
    engine = ScriptedEngine()
    whole = next(engine.generate([ask("Why?")])).text
    word = whole.split()[2]
    [reply] = engine.generate([ask("Why?", sampling=Sampling(stop=(word,)))])
    assert word not in reply.text


def test_fractions_that_add_up_to_more_than_all_are_refused():
    with pytest.raises(ValueError, match=r"add up to 1\.2"):
        ScriptedConfig(refusal_fraction=0.6, truncation_fraction=0.6)


def test_scripted_settings_of_another_engine_are_refused():
    with pytest.raises(ValueError, match="engine is 'transformers'; remove them"):
        EngineConfig(scripted=ScriptedConfig(delay_seconds=1))
