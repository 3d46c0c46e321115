"""The transformers engine against plain passes of the libraries it is made from."""

import warnings
from dataclasses import replace

import pytest
import torch
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer

from data_prep.engine import Constraint, Request, Sampling
from serve.engines import EngineConfig, load_engine
from train.base_model import resolve
from train.encode import Encoder

PERSON = "You are Ada, who repairs clocks in a small town and answers in a sentence or two."
QUESTIONS = [f"Why {'really ' * (i % 3)}clock {i}?" for i in range(6)]
ANSWERS = [f"My aunt{' and my uncle' * (i % 2)} taught me {i}." for i in range(6)]


def ask(question, *, system=PERSON, max_tokens=12, **settings):
    sampling = settings.pop("sampling", Sampling(max_tokens=max_tokens))
    messages = ({"role": "system", "content": system}, {"role": "user", "content": question})
    return Request(messages=messages, sampling=sampling, **settings)


def scored(adapter=None):
    return [
        ask(question, completion=answer, adapter=adapter)
        for question, answer in zip(QUESTIONS, ANSWERS, strict=True)
    ]


class Plain:
    """The libraries by themselves: one request at a time, whole sequences, all logits."""

    def __init__(self, folder, adapter_folder=None):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        if adapter_folder is not None:
            adapted = PeftModel.from_pretrained(self.model, str(adapter_folder))
            self.model = adapted.merge_and_unload()

    def logprobs(self, request):
        encoded = Encoder(self.tokenizer).example(request.messages, request.completion)
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([encoded.input_ids])).logits[0]
        targets = torch.tensor(encoded.input_ids[1:])[:, None]
        found = torch.log_softmax(logits[:-1], -1).gather(1, targets)[:, 0]
        return found[-encoded.num_supervised :].tolist()

    def generate(self, request):
        ids = torch.tensor([Encoder(self.tokenizer).prompt_ids(request.messages)])
        with torch.no_grad():
            out = self.model.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=request.sampling.max_tokens,
                pad_token_id=self.tokenizer.pad_token_id,
            )
        return self.tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True).strip()


def assert_scores(replies, plain, requests, tolerance=1e-5):
    for reply, request in zip(replies, requests, strict=True):
        assert reply.token_logprobs == pytest.approx(plain.logprobs(request), abs=tolerance)


@pytest.mark.parametrize("max_batch_tokens", [1, 500, 8192])
def test_greedy_replies_are_those_of_the_library(tiny, max_batch_tokens):
    requests = [ask(question) for question in QUESTIONS]
    engine = load_engine(replace(tiny, max_batch_tokens=max_batch_tokens))
    plain = Plain(tiny.base_model)
    assert [r.text for r in engine.generate(requests)] == [plain.generate(r) for r in requests]


@pytest.mark.parametrize("max_batch_tokens", [1, 500, 8192])
def test_scores_are_those_of_a_plain_forward_pass(tiny, max_batch_tokens):
    engine = load_engine(replace(tiny, max_batch_tokens=max_batch_tokens))
    assert_scores(engine.score_text(scored()), Plain(tiny.base_model), scored())


def test_shared_prefixes_change_no_score(tiny):
    with_reuse = load_engine(tiny)
    without = load_engine(replace(tiny, share_prefixes=False))
    fed = []
    for engine in (with_reuse, without):
        body = engine._forward._body
        engine._forward._body = lambda ids, _body=body, **settings: (
            fed.append(ids.numel()) or _body(ids, **settings)
        )
        for one, other in zip(
            engine.score_text(scored()), without.score_text(scored()), strict=True
        ):
            assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=1e-4)
    # the first engine read the prompt once, the second six times
    assert sum(fed[:2]) < 0.6 * fed[-1]


def test_choose_sums_the_scores_of_each_option_without_its_end(tiny):
    engine = load_engine(tiny)
    options = ("Yes", "No, never", "N")
    [reply] = engine.choose([ask("Chess?", options=options)])
    scores = engine.score_text([ask("Chess?", completion=option) for option in options])
    sums = [sum(score.token_logprobs[:-1]) for score in scores]
    assert reply.option_logprobs == pytest.approx(sums, abs=1e-4)


def test_choose_serves_rows_with_different_numbers_of_options(tiny):
    engine = load_engine(tiny)
    requests = [ask(q, options=("A", "Bee", "Sea")[: 1 + i % 3]) for i, q in enumerate(QUESTIONS)]
    alone = [next(engine.choose([request])) for request in requests]
    for one, other in zip(engine.choose(requests), alone, strict=True):
        assert one.option_logprobs == pytest.approx(other.option_logprobs, abs=1e-4)


def test_a_sampled_reply_does_not_depend_on_its_batch(tiny):
    engine = load_engine(tiny)
    request = ask("Chess?", sampling=Sampling(max_tokens=30, temperature=1.2, top_p=0.9, seed=7))
    [alone] = engine.generate([request])
    others = [
        ask(q, sampling=Sampling(max_tokens=5 + 9 * i, temperature=2, seed=i))
        for i, q in enumerate(QUESTIONS)
    ]
    assert list(engine.generate([*others[:3], request, *others[3:]]))[3] == alone
    [reseeded] = engine.generate([replace(request, sampling=replace(request.sampling, seed=8))])
    assert reseeded.text != alone.text


def test_two_prompts_with_one_seed_are_not_drawn_alike():
    from serve.engines.decoding import Writer

    def draws(prompt_ids):
        sampling = Sampling(max_tokens=20, temperature=1, seed=5)
        writer = Writer(prompt_ids, sampling, tokenizer=None, end_ids=frozenset())
        return [writer.take(torch.zeros(1000)) for _ in range(10)]

    assert draws([1, 2]) == draws([1, 2])
    assert draws([1, 2]) != draws([1, 3])


def test_samples_follow_the_distribution_and_the_nucleus():
    from serve.engines.decoding import draw

    probs = torch.tensor([0.1, 0.5, 0.05, 0.35], dtype=torch.float64)
    chances = [(i + 0.5) / 1000 for i in range(1000)]
    counts = torch.bincount(torch.tensor([draw(probs, 1.0, c) for c in chances]), minlength=4)
    assert counts.tolist() == [100, 500, 50, 350]
    # 0.5 alone does not reach 0.8, with 0.35 it does; 0.5 of 0.85 is 588 in 1000
    counts = torch.bincount(torch.tensor([draw(probs, 0.8, c) for c in chances]), minlength=4)
    assert counts.tolist() == [0, 588, 0, 412]


def test_a_stop_text_ends_the_reply_and_is_left_out(tiny):
    engine = load_engine(tiny)
    [whole] = engine.generate([ask("Chess?", max_tokens=20)])
    stop = whole.text[5:8]
    [reply] = engine.generate([ask("Chess?", sampling=Sampling(max_tokens=20, stop=("~~", stop)))])
    assert reply.finish_reason == "stop"
    assert reply.text == whole.text[: whole.text.index(stop)].strip()
    assert reply.num_output_tokens < whole.num_output_tokens


def test_adapters_in_one_list_answer_like_merged_models_and_the_base_stays_the_base(
    tiny, make_adapter
):
    adapters = dict(
        [make_adapter("ada", seed=1), make_adapter("bob", seed=2, targets=("k_proj", "lm_head"))]
    )
    engine = load_engine(tiny, adapters)
    plain = {None: Plain(tiny.base_model)}
    plain |= {name: Plain(tiny.base_model, folder) for name, folder in adapters.items()}
    mixed = [row[i] for i in range(6) for row in map(scored, plain)]
    replies = list(engine.score_text(mixed))
    for request, reply in zip(mixed, replies, strict=True):
        expected = plain[request.adapter].logprobs(request)
        assert reply.token_logprobs == pytest.approx(expected, abs=1e-4)
    assert list(engine.score_text(scored())) == list(load_engine(tiny).score_text(scored()))
    generated = engine.generate([ask("Why?", adapter=name) for name in plain])
    assert [reply.text for reply in generated] == [
        plain[name].generate(ask("Why?")) for name in plain
    ]


def test_more_adapters_than_fit_take_turns(tiny, make_adapter):
    adapters = dict(make_adapter(name, seed=i) for i, name in enumerate(["ada", "bob", "eve"]))
    one_by_one = load_engine(replace(tiny, max_resident_adapters=1), adapters)
    two = load_engine(replace(tiny, max_resident_adapters=2), adapters)
    together = load_engine(tiny, adapters)
    mixed = [row[i] for i in range(2) for row in map(scored, [*adapters, None])]
    for _ in range(2):
        expected = list(together.score_text(mixed))
        assert list(two.score_text(mixed)) == expected
        assert list(one_by_one.score_text(mixed)) == expected
    assert list(two.score_text(scored())) == list(load_engine(tiny).score_text(scored()))


def test_an_adapter_of_another_base_is_refused_in_one_line(tiny, make_adapter):
    adapters = dict([make_adapter("ada", fingerprint="0123456789ab")])
    with pytest.raises(ValueError, match=r"'ada' was trained on .* this engine serves") as caught:
        load_engine(tiny, adapters).score_text(scored(next(iter(adapters))))
    assert "\n" not in str(caught.value)


def test_an_adapter_that_acts_otherwise_than_trained_is_refused(tiny, make_adapter):
    name, folder = make_adapter("ada", canary_shift=-0.05)
    engine = load_engine(tiny, {name: folder})
    for _ in range(2):  # being loaded once must not let it pass the next time
        with pytest.raises(ValueError, match=r"canary is 0\.05.* nat from the adapter's values"):
            list(engine.score_text(scored(name)))
    assert_scores(engine.score_text(scored()), Plain(tiny.base_model), scored())


def test_an_adapter_that_learnt_nothing_warns(tiny, make_adapter):
    name, folder = make_adapter("ada", strength=0.0)
    engine = load_engine(tiny, {name: folder})
    with pytest.warns(UserWarning, match="has learnt nothing"):
        replies = list(engine.score_text(scored(name)))
    assert_scores(replies, Plain(tiny.base_model), scored())


@pytest.mark.parametrize(
    ("setting", "value"),
    [("bias", "all"), ("init_lora_weights", "pissa"), ("modules_to_save", ["lm_head"])],
)
def test_an_adapter_that_would_change_the_base_is_refused(
    tiny, make_adapter, change_settings, setting, value
):
    name, folder = make_adapter("ada")
    change_settings(folder, **{setting: value})
    with pytest.raises(ValueError, match=f"has {setting}=.*other adapters share"):
        load_engine(tiny, {name: folder}).generate([ask("Why?", adapter=name)])


def test_a_constraint_that_cannot_be_compiled_is_refused_before_any_work(tiny):
    pytest.importorskip("xgrammar")
    wrong = Constraint(json_schema={"type": "object", "properties": {"a": {"type": "colour"}}})
    with pytest.raises(ValueError, match="JSON schema of a constraint cannot be used"):
        load_engine(tiny).generate([ask("Why?"), ask("Why?", constraint=wrong)])


def test_bfloat16_stays_near_float32(tiny):
    with warnings.catch_warnings():
        exact = list(load_engine(tiny).score_text(scored()))
        rounded = list(load_engine(replace(tiny, dtype="bfloat16")).score_text(scored()))
    for one, other in zip(exact, rounded, strict=True):
        # bfloat16 keeps 2 to 3 digits
        assert one.token_logprobs == pytest.approx(other.token_logprobs, abs=0.3)


def test_reasoning_is_split_from_the_answer():
    from serve.engines.common import split_reasoning

    assert split_reasoning("<think>\nHm.\n</think>\n\nYes.") == ("Hm.", "Yes.")
    assert split_reasoning("Hm.</think>Yes.") == ("Hm.", "Yes.")  # the template opened it
    assert split_reasoning("<think>Hm") == ("Hm", "")  # cut while thinking
    assert split_reasoning(" Yes. ") == ("", "Yes.")


def test_a_sliding_window_base_is_served_without_shared_prefixes(tiny, tmp_path):
    from transformers import MistralConfig, MistralForCausalLM

    small = AutoModelForCausalLM.from_pretrained(tiny.base_model).config
    torch.manual_seed(0)
    config = MistralConfig(
        vocab_size=small.vocab_size,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        sliding_window=16,
        initializer_range=0.3,
        eos_token_id=small.eos_token_id,
    )
    MistralForCausalLM(config).save_pretrained(tmp_path)
    AutoTokenizer.from_pretrained(tiny.base_model).save_pretrained(tmp_path)
    engine = load_engine(replace(tiny, base_model=str(tmp_path)))
    plain = Plain(tmp_path)
    assert not engine._forward.can_share
    assert_scores(engine.score_text(scored()), plain, scored(), tolerance=1e-4)
    requests = [ask(question) for question in QUESTIONS]
    assert [r.text for r in engine.generate(requests)] == [plain.generate(r) for r in requests]
    options = ("Yes", "No, never")
    replies = engine.choose([ask(question, options=options) for question in QUESTIONS])
    for question, reply in zip(QUESTIONS, replies, strict=True):
        own = [plain.logprobs(ask(question, completion=option))[:-1] for option in options]
        assert reply.option_logprobs == pytest.approx([sum(one) for one in own], abs=1e-3)


@pytest.mark.slow
def test_the_packaged_model_answers_and_scores_like_the_library():
    try:
        folder = resolve(EngineConfig().base_model).folder
    except ValueError as error:
        pytest.skip(str(error))
    engine = load_engine(EngineConfig(dtype="float32"))
    plain = Plain(folder)
    requests = [
        ask("What is the capital of France?", completion="Paris is the capital.", max_tokens=24),
        ask("Name a colour.", completion="Blue, like the sea.", max_tokens=24),
    ]
    replies = list(engine.generate(requests))
    assert [reply.text for reply in replies] == [plain.generate(request) for request in requests]
    assert replies[0].finish_reason == "stop"
    assert_scores(engine.score_text(requests), plain, requests, tolerance=1e-3)
