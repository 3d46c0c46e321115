"""What is to be trained, and when training again would give the same adapter."""

import datetime
import shutil
from dataclasses import replace

import pytest

from data_prep.corpus import Corpus
from data_prep.files import read_jsonl, write_jsonl
from train.config import LoraConfig, TrainConfig
from train.jobs import (
    Job,
    category_jobs,
    category_name,
    job_hash,
    persona_jobs,
    pooled_job,
    training_set,
)

ADA = Job(name="ada-quill", scope="persona", persona_ids=("ada-quill",))


@pytest.fixture
def changed(corpus, tmp_path):
    """A copy of the corpus with fields of a person changed."""

    def make(name, **fields):
        folder = tmp_path / "corpus"
        shutil.copytree(corpus.folder, folder, dirs_exist_ok=True)
        rows = [r | fields if r["id"] == name else r for r in read_jsonl(folder / "personas.jsonl")]
        write_jsonl(folder / "personas.jsonl", rows)
        return Corpus(folder)

    return make


def test_a_job_a_person_in_the_order_asked_for(corpus):
    assert persona_jobs(corpus, ["cleo-marsh", "ada-quill"])[1] == ADA
    with pytest.raises(ValueError, match=r"no persona 'ada-quil'.*did you mean 'ada-quill'"):
        persona_jobs(corpus, ["ada-quil"])


def test_a_job_a_category(corpus, changed):
    assert category_jobs(corpus) == [
        Job(name="category-potters", scope="category", persona_ids=("ada-quill", "bo-fenn")),
        Job(name="category-sailors", scope="category", persona_ids=("cleo-marsh",)),
    ]
    alone = category_jobs(changed("ada-quill", category=None))
    assert alone[0].persona_ids == ("bo-fenn",)


def test_everybody_is_pooled_but_for_those_split_inside_their_interview(corpus):
    assert pooled_job(corpus).persona_ids == ("ada-quill", "bo-fenn")


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        ("Study participants", "category-study-participants"),
        ("Arts & Crafts!", "category-arts-crafts"),
    ],
)
def test_a_categorys_name_is_that_of_a_bundle(category, expected):
    assert category_name(category) == expected
    assert len(category_name(category * 9)) <= 63


def test_the_latest_pairs_of_each_person_are_kept(corpus):
    pooled = pooled_job(corpus)
    found = training_set(corpus, pooled, TrainConfig(max_pairs=2, max_validation_pairs=1))
    assert [pair_id for example in found.train for pair_id in example.pair_ids] == [
        "ada-quill-2013-05-01-talk-q0002",
        "ada-quill-2013-05-01-talk-q0003",
        "bo-fenn-2003-05-01-talk-q0002",
        "bo-fenn-2003-05-01-talk-q0003",
    ]
    assert len(found.validation) == 2


def test_a_pooled_set_keeps_each_persons_own_prompt_and_names_nobody_itself(corpus):
    found = training_set(corpus, pooled_job(corpus), TrainConfig())
    assert found.prompt.persona_name is None
    names = {example.messages[0].content.count("Ada Quill") > 0 for example in found.train}
    assert names == {True, False}
    assert training_set(corpus, ADA, TrainConfig()).prompt.persona_name == "Ada Quill"


def test_nothing_held_out_is_trained_on(corpus):
    for job in (*persona_jobs(corpus, sorted(corpus.splits)), *category_jobs(corpus)):
        found = training_set(corpus, job, TrainConfig())
        trained = {pair_id for e in (*found.train, *found.validation) for pair_id in e.pair_ids}
        said = " ".join(m.content for e in (*found.train, *found.validation) for m in e.messages)
        for name in job.persona_ids:
            for pair in corpus.part(name, "test"):
                assert pair.id not in trained and pair.answer not in said


def test_a_person_who_did_not_agree_to_training_stops_every_job_with_them(changed):
    consent = {"scopes": ["prepare", "evaluate"]}
    corpus = changed("bo-fenn", consent=consent)
    assert training_set(corpus, ADA, TrainConfig())
    for job in (pooled_job(corpus), category_jobs(corpus)[0]):
        with pytest.raises(
            ValueError, match=r"consent of 'bo-fenn' covers prepare, evaluate, not 'train'"
        ):
            training_set(corpus, job, TrainConfig())


def test_an_expired_consent_stops_training(changed):
    yesterday = str(datetime.date.today() - datetime.timedelta(days=1))
    corpus = changed("ada-quill", consent={"scopes": ["train"], "expires": yesterday})
    with pytest.raises(ValueError, match=r"expired on"):
        training_set(corpus, ADA, TrainConfig())


def test_the_hash_follows_all_that_shapes_the_adapter(corpus):
    config = TrainConfig()
    data = training_set(corpus, ADA, config)
    prompt = replace(data.prompt, system="You are not {name}.")
    hashes = [
        job_hash(ADA, data, config, "base"),
        job_hash(ADA, data, config, "other base"),
        job_hash(ADA, data, TrainConfig(lora=LoraConfig(rank=8)), "base"),
        job_hash(ADA, data, TrainConfig(seed=1), "base"),
        job_hash(ADA, replace(data, train=data.train[1:]), config, "base"),
        job_hash(ADA, replace(data, validation=()), config, "base"),
        job_hash(ADA, replace(data, prompt=prompt), config, "base"),
    ]
    assert len(set(hashes)) == len(hashes)
    assert job_hash(ADA, training_set(corpus, ADA, config), config, "base") == hashes[0]


@pytest.mark.parametrize("rank", [0, 513])
def test_a_rank_that_no_server_takes_is_refused_before_training(rank):
    with pytest.raises(ValueError, match=r"rank"):
        LoraConfig(rank=rank)
