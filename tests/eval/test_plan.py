"""What an evaluation asks: the same questions of every method, and no held-out word in a prompt."""

import json
import shutil
from collections import Counter
from dataclasses import replace

import pytest

from data_prep.corpus import Corpus
from data_prep.files import read_jsonl, write_jsonl
from data_prep.prepare import prepare
from data_prep.prompting import Context
from eval.config import EvalConfig, GenerateConfig, LikelihoodConfig
from eval.plan import PEER, POOLED, Planner, refuse_leaks, spread, without_repeats
from serve import answerers
from serve.engines.scripted import ScriptedEngine
from train.bundle import read_bundle

POTTERS = ("ada-quill", "bo-fenn")
CONTEXTS = (
    "base:{persona}",
    "base:{persona}+chronological-9",
    "base:{persona}+random-5",
    "base:{persona}+retrieval-3",
    "base:{persona}+hybrid-2-3",
    "{persona}",
    "{persona}+chronological-2",
)


def make_plan(corpus, adapters, engine=None, **settings):
    config = EvalConfig(**{"methods": CONTEXTS} | settings)
    rankers = {name: first_pairs(corpus, name) for name in corpus.splits}
    return Planner(corpus, adapters, engine or ScriptedEngine(), config, rankers).plan()


def first_pairs(corpus, name):
    return lambda question, num_pairs: corpus.part(name, "train")[:num_pairs]


def text_of(request):
    return "\n".join(message["content"] for message in request.messages)


def requests_of(plan):
    return plan.score_requests | plan.reply_requests


def test_no_held_out_answer_stands_in_any_prompt(corpus, adapters):
    plan = make_plan(corpus, adapters)
    requests = requests_of(plan)
    for use in plan.uses:
        text = text_of(requests[use.key])
        for name in (use.persona_id, use.addressed_as):
            for part in ("test", "validation"):
                assert not [pair.id for pair in corpus.part(name, part) if pair.answer in text]
    used = {use.num_context_pairs for use in plan.uses if use.table == "likelihood"}
    assert used == {0, 2, 3, 5, 7, 9}  # 7 is all that Cleo has to train on


def test_every_method_is_asked_the_same_questions_of_each_person(corpus, adapters):
    plan = make_plan(corpus, adapters)
    asked = {}
    for use in plan.uses:
        if use.table != "who_said_it":
            asked.setdefault((use.table, use.method), []).append((use.persona_id, use.pair_id))
    for table in ("likelihood", "reply"):
        questions = [sorted(asked[table, method]) for method in CONTEXTS]
        assert all(own == questions[0] for own in questions)
        assert len(questions[0]) == 4 + 4 + 3


def test_adapter_and_prompted_base_see_identical_messages(corpus, adapters):
    plan = make_plan(corpus, adapters)
    requests = requests_of(plan)
    cells = {}
    for use in plan.uses:
        if use.table == "likelihood" and "+" not in use.method:
            text = text_of(requests[use.key])
            cells.setdefault((use.persona_id, use.pair_id), set()).add(text)
    assert all(len(texts) == 1 for texts in cells.values()) and len(cells) == 11


def test_controls_are_other_peoples_adapters_under_ones_own_messages(corpus, adapters):
    plan = make_plan(corpus, adapters, methods=("base:{persona}", "{persona}"))
    controls = {
        (use.persona_id, use.method): use for use in plan.uses if use.method in (PEER, POOLED)
    }
    assert {key: use.who for key, use in controls.items()} == {
        ("ada-quill", PEER): "bo-fenn",
        ("bo-fenn", PEER): "ada-quill",
        **{(name, POOLED): "pooled" for name in corpus.splits},  # Cleo is alone in her category
    }
    for (name, _), use in controls.items():
        request = plan.score_requests[use.key]
        assert use.addressed_as == name
        assert request.adapter.startswith(f"{use.who}@")
        assert corpus.persona(name).name in text_of(request)
    without = make_plan(corpus, adapters, likelihood=LikelihoodConfig(controls=False))
    assert not [use for use in without.uses if use.method in (PEER, POOLED)]


def test_who_said_it_asks_every_suspect_with_and_without_the_adapter(corpus, adapters):
    plan = make_plan(corpus, adapters, methods=("base:{persona}", "{persona}"))
    uses = [use for use in plan.uses if use.table == "who_said_it"]
    # Cleo's evidence is of the weaker kind and stays out of the line-up
    assert len(uses) == (4 + 4) * 2 * 2 and {use.persona_id for use in uses} == set(POTTERS)
    by_cell = {}
    for use in uses:
        cell = by_cell.setdefault((use.pair_id, use.addressed_as), {})
        cell[use.method] = plan.score_requests[use.key]
    for (_, suspect), cell in by_cell.items():
        adapter, base = cell["{persona}"], cell["base:{persona}"]
        assert adapter.messages == base.messages and adapter.completion == base.completion
        assert adapter.adapter.startswith(f"{suspect}@") and base.adapter is None
        assert corpus.persona(suspect).name in text_of(base)


def test_equal_requests_are_asked_once(corpus, adapters):
    plan = make_plan(corpus, adapters, methods=("base:{persona}", "{persona}"))
    own = {
        use.key
        for use in plan.uses
        if use.table == "likelihood" and use.method in CONTEXTS and use.persona_id in POTTERS
    }
    same = {
        use.key
        for use in plan.uses
        if use.table == "who_said_it" and use.addressed_as == use.persona_id
    }
    assert own == same
    # 8 answers of potters: base and adapter as either of two, pooled, peer under one's own name;
    # 3 of Cleo: base, adapter, pooled
    assert len(plan.score_requests) == 8 * 6 + 3 * 3


def test_the_plan_is_the_same_each_time_and_its_keys_follow_the_engine(corpus, adapters):
    one, other = make_plan(corpus, adapters), make_plan(corpus, adapters)
    assert one == other and list(one.score_requests) == list(other.score_requests)
    elsewhere = make_plan(corpus, adapters, ScriptedEngine(model="other"))
    assert not set(one.score_requests) & set(elsewhere.score_requests)


def test_a_missing_adapter_refuses_with_the_known_ones(corpus, adapters, tmp_path):
    some = tmp_path / "some"
    shutil.copytree(adapters / "ada-quill", some / "ada-quill")
    with pytest.raises(ValueError, match=r"no adapter 'bo-fenn' .*known: ada-quill"):
        make_plan(corpus, some)


def test_a_missing_adapter_may_be_skipped_and_is_listed(corpus, adapters, tmp_path):
    some = tmp_path / "some"
    shutil.copytree(adapters / "ada-quill", some / "ada-quill")
    methods = ("base:{persona}", "{persona}", "{category}")
    plan = make_plan(corpus, some, methods=methods, missing_adapters="skip")
    assert plan.missing == {
        "{persona}": ["bo-fenn", "cleo-marsh"],
        "{category}": ["ada-quill", "bo-fenn", "cleo-marsh"],
    }
    asked = {use.persona_id for use in plan.uses if use.method == "{persona}"}
    assert asked == {"ada-quill"}
    assert not [
        use for use in plan.uses if use.table == "who_said_it"
    ]  # one suspect is no question


def test_the_category_adapter_is_addressed_as_the_person(corpus, adapters):
    plan = make_plan(
        corpus,
        adapters,
        methods=("base:{persona}", "{persona}", "{category}"),
        missing_adapters="skip",
    )
    [use] = [u for u in plan.uses if u.method == "{category}" and u.table == "reply"][:1]
    request = plan.reply_requests[use.key]
    assert use.who == "category-potters" and "Ada Quill" in text_of(request)
    assert plan.missing == {"{category}": ["cleo-marsh"]}


def test_numbers_of_answers_and_questions_are_as_configured(corpus, adapters):
    plan = make_plan(
        corpus,
        adapters,
        personas=("bo-fenn",),
        likelihood=LikelihoodConfig(answers_per_persona=2, controls=False, who_said_it=False),
        generate=GenerateConfig(questions_per_persona=0),
    )
    assert Counter(use.table for use in plan.uses) == {"likelihood": 2 * len(CONTEXTS)}
    assert plan.reply_requests == {}


def test_few_pairs_are_spread_evenly():
    pairs = list("abcdefghij")
    assert spread(pairs, 3) == ["a", "d", "g"] and spread(pairs, 99) == spread(pairs, None) == pairs
    assert spread(pairs, 0) == []


def test_an_unknown_person_is_refused_with_a_near_name(corpus, adapters):
    with pytest.raises(ValueError, match=r"did you mean 'bo-fenn'"):
        make_plan(corpus, adapters, personas=("bo-fen",))


@pytest.fixture
def altered(corpus, tmp_path):
    folder = tmp_path / "altered"
    shutil.copytree(corpus.folder, folder)
    return folder


def test_a_person_who_did_not_agree_to_evaluation_is_refused(altered, adapters):
    rows = list(read_jsonl(altered / "personas.jsonl"))
    write_jsonl(altered / "personas.jsonl", [r | {"consent": {"scopes": ["train"]}} for r in rows])
    with pytest.raises(ValueError, match=r"covers train, not 'evaluate'"):
        make_plan(Corpus(altered), adapters)


def test_a_split_that_leaks_is_refused(altered, adapters):
    splits = json.loads((altered / "splits.json").read_text())
    ada = splits["personas"][0]
    ada["train"].append(ada["test"][-1])
    (altered / "splits.json").write_text(json.dumps(splits))
    with pytest.raises(ValueError, match=r"is held-out text; the split leaks"):
        make_plan(Corpus(altered), adapters)


def test_held_out_words_under_another_id_are_a_leak_too(corpus):
    test = corpus.part("ada-quill", "test")
    copy = replace(corpus.part("ada-quill", "train")[0], answer=test[1].answer)
    with pytest.raises(ValueError, match=r"is held-out text"):
        refuse_leaks(Context(pairs=(copy,)), test)
    refuse_leaks(Context(pairs=tuple(corpus.part("ada-quill", "train"))), test)


def context_ids(corpus, adapters, method, context_length):
    """Numbers of the training pairs that are left in the prompt, in their order there."""
    engine = ScriptedEngine(context_length=context_length)
    plan = make_plan(
        corpus,
        adapters,
        engine,
        personas=("ada-quill",),
        methods=("base:{persona}", "{persona}", method),
        likelihood=LikelihoodConfig(answers_per_persona=1, controls=False, who_said_it=False),
        generate=GenerateConfig(questions_per_persona=0),
    )
    [use] = [use for use in plan.uses if use.method == method]
    text = text_of(plan.score_requests[use.key])
    train = corpus.part("ada-quill", "train")
    found = sorted((text.index(p.answer), n) for n, p in enumerate(train) if p.answer in text)
    assert use.num_context_pairs == len(found)
    return [number for _, number in found]


def test_a_window_too_small_for_the_context_loses_the_oldest_pairs(corpus, adapters):
    whole = context_ids(corpus, adapters, "base:{persona}+chronological-9", 5000)
    assert whole == list(range(3, 12))
    fitted = context_ids(corpus, adapters, "base:{persona}+chronological-9", 350)
    assert 0 < len(fitted) < 9 and fitted == whole[-len(fitted) :]


def test_a_window_too_small_for_what_was_retrieved_keeps_the_nearest(corpus, adapters):
    whole = context_ids(corpus, adapters, "base:{persona}+retrieval-9", 5000)
    assert whole == list(range(9))
    fitted = context_ids(corpus, adapters, "base:{persona}+retrieval-9", 350)
    assert 0 < len(fitted) < 9 and fitted == whole[: len(fitted)]


def test_prompt_and_answer_fit_the_window_whatever_it_is(corpus, adapters):
    for context_length in (250, 400, 700):
        engine = ScriptedEngine(context_length=context_length)
        plan = make_plan(corpus, adapters, engine, generate=GenerateConfig(max_tokens=50))
        list(engine.score_text(list(plan.score_requests.values())))
        list(engine.generate(list(plan.reply_requests.values())))


@pytest.fixture(scope="module")
def with_follow_ups(tmp_path_factory):
    """Four interviews, each a question and two follow-ups to it."""
    raw = tmp_path_factory.mktemp("raw") / "ada-quill"
    raw.mkdir()
    for year in range(2001, 2005):
        lines = []
        for n, question in enumerate(
            ["Where did you learn pottery?", "And why?", "Why not before that?"]
        ):
            answer = (
                f"In {year} I told my aunt number {n} about it, and she laughed at the wet clay. "
            )
            lines += [f"INTERVIEWER: {question}", f"ADA QUILL: {answer * 2}"]
        (raw / f"{year}-01-01.txt").write_text("\n".join(lines))
    out = tmp_path_factory.mktemp("out") / "corpus"
    prepare([raw.parent], out)
    return Corpus(out)


ONLY_BASE = {
    "methods": ("base:{persona}", "base:{persona}+chronological-2"),
    "primary": "base:{persona}+chronological-2",
}


def test_follow_ups_are_asked_with_what_went_before(with_follow_ups, tmp_path):
    test = with_follow_ups.part("ada-quill", "test")
    assert [pair.self_contained for pair in test] == [True, False, False]
    plan = make_plan(with_follow_ups, tmp_path, **ONLY_BASE)
    assert plan.num_follow_ups == {"asked with prior turns": 2, "dropped": 0}
    [use] = [u for u in plan.uses if u.pair_id == test[1].id and u.table == "reply"][:1]
    messages = plan.reply_requests[use.key].messages
    assert [m["content"] for m in messages[1:]] == [test[0].question, test[0].answer, "And why?"]
    assert test[1].answer not in text_of(plan.reply_requests[use.key])


def test_follow_ups_may_be_dropped_and_are_counted(with_follow_ups, tmp_path):
    plan = make_plan(with_follow_ups, tmp_path, follow_ups="drop", **ONLY_BASE)
    assert plan.num_follow_ups == {"asked with prior turns": 0, "dropped": 2}
    assert len({use.pair_id for use in plan.uses}) == 1


def test_a_bundle_is_read_once_however_many_answers_it_gives(corpus, adapters, monkeypatch):
    reads = Counter()

    def counted(folder):
        reads[folder] += 1
        return read_bundle(folder)

    monkeypatch.setattr(answerers, "read_bundle", counted)
    make_plan(corpus, adapters)
    assert max(reads.values()) <= 2  # for the prompt, and for the adapter


def test_a_training_answer_that_is_given_again_in_the_test_set_leaves_the_context(corpus):
    test = corpus.part("ada-quill", "test")
    train = corpus.part("ada-quill", "train")
    said_again = replace(train[0], answer=test[0].answer)
    context = without_repeats(Context(pairs=(said_again, *train[1:])), test)
    assert [pair.id for pair in context.pairs] == [pair.id for pair in train[1:]]
    refuse_leaks(context, test)
