"""Items made of interviews: who gave this answer, among people with the nearest profiles?"""

import numpy as np
import pytest

from data_prep.files import read_jsonl, write_jsonl
from data_prep.prepare import prepare
from eval.personaeval.curate import (
    CurateConfig,
    Dialogue,
    Person,
    choose_distractors,
    curate,
    dialogues_of,
    nearest_people,
    tf_idf,
)
from eval.personaeval.hard_cases import family, keep_hard, read_results
from eval.personaeval.run import run_role_identification
from serve.engines.scripted import ScriptedEngine

LONG = " ".join(["word"] * 25)
PEOPLE = {
    "ada": Person("Ada Quill", "A potter who makes blue bowls and teaches."),
    "bo": Person("Bo Fenn", "A potter who makes blue plates."),
    "cy": Person("Cy Marsh", "A sailor of the northern sea who teaches."),
    "di": Person("Di Lark", "A sailor and a cook."),
    "ed": Person("Ed Thorn", "Nothing in common whatsoever."),
}


def dialogue(number=0, **fields):
    given = {
        "id": f"d{number}", "work": f"talk {number % 4}", "known_speaker": "Interviewer",
        "known_text": "Why?", "speaker": "ada", "target_text": f"{LONG} {number}",
    }  # fmt: skip
    return Dialogue(**given | fields)


def test_an_item_has_the_speaker_and_the_people_with_nearest_profiles():
    config = CurateConfig(shots_share=0)
    [item] = curate([dialogue()], PEOPLE, [tf_idf], config).items
    # worked by hand: bo shares potter, who, makes, blue; cy who and teaches; di only "a"
    assert set(item.names) == {"Ada Quill", "Bo Fenn", "Cy Marsh", "Di Lark"}
    assert item.truth == "Ada Quill" and item.work == "talk 0" and item.known_text == "Why?"
    assert all(c.profile for c in item.candidates)


def test_embedders_choose_in_turn_and_give_their_next_best_when_they_agree():
    assert choose_distractors([["a", "b", "c"], ["a", "c", "b"], ["a", "d"]], 3) == ["a", "c", "d"]
    assert choose_distractors([["a", "b", "c"]], 3) == ["a", "b", "c"]
    assert choose_distractors([["a", "b"], ["b", "a"]], 3) == ["a", "b"]


def test_each_embedder_ranks_the_others_by_its_own_likeness():
    def by_length(texts):
        sizes = np.array([[len(text), 1.0] for text in texts])
        return sizes / np.linalg.norm(sizes, axis=1, keepdims=True)

    near = nearest_people(PEOPLE, [tf_idf, by_length])
    assert near["ada"][0][0] == "bo" and len(near["ada"]) == 2
    assert "ada" not in near["ada"][0] and len(near["ada"][1]) == 4


def test_bag_of_words_is_cosine_of_unit_rows():
    vectors = tf_idf(["a b", "a b", "c", ""])
    assert np.allclose(np.linalg.norm(vectors, axis=1), [1, 1, 1, 0])
    assert vectors[0] @ vectors[1] == pytest.approx(1) and vectors[0] @ vectors[2] == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"target_text": " ".join(["word"] * 24)}, "too_short"),
        ({"target_text": f"{LONG}, said ADA."}, "names_the_speaker"),
        ({"known_text": "And you, Mr Quill?"}, "names_the_speaker"),
        ({"speaker": "nobody"}, "same_name"),
        ({"problem": "no_consent"}, "no_consent"),
        ({"target_text": f"{LONG} 0"}, "repeated"),
    ],
)
def test_every_dropped_record_has_its_reason(fields, reason):
    found = curate(
        [dialogue(), dialogue(1, **fields)], PEOPLE, [tf_idf], CurateConfig(shots_share=0)
    )
    assert [item.id for item in found.items] == ["d0"]
    assert [(drop.id, drop.reason) for drop in found.dropped] == [("d1", reason)]


def test_works_are_divided_between_items_and_examples():
    dialogues = [dialogue(n) for n in range(40)]
    found = curate(dialogues, PEOPLE, [tf_idf], CurateConfig(shots_share=0.25))
    assert len(found.items) == 30 and len(found.shots) == 10
    assert not {item.work for item in found.items} & {item.work for item in found.shots}


def test_the_truth_stands_at_every_place_and_the_seed_decides():
    dialogues = [dialogue(n) for n in range(80)]
    first = curate(dialogues, PEOPLE, [tf_idf], CurateConfig(shots_share=0))
    assert first == curate(dialogues, PEOPLE, [tf_idf], CurateConfig(shots_share=0))
    places = [item.truth_index for item in first.items]
    assert min(map(places.count, range(4))) >= 10


def test_nobody_has_too_many_items():
    config = CurateConfig(max_items_per_person=3, shots_share=0)
    found = curate([dialogue(n) for n in range(8)], PEOPLE, [tf_idf], config)
    assert len(found.items) == 3
    assert [drop.reason for drop in found.dropped] == ["enough_of_person"] * 5


def test_people_of_one_name_are_no_candidates_and_too_few_people_are_refused():
    people = PEOPLE | {"ada-2": Person("Ada  quill", "Another one.")}
    found = curate([dialogue(), dialogue(1, speaker="bo")], people, [tf_idf], CurateConfig())
    assert [item.truth for item in found.items] == ["Bo Fenn"]
    assert [drop.reason for drop in found.dropped] == ["same_name"]
    with pytest.raises(ValueError, match="4 candidates are needed; write profiles"):
        curate([dialogue()], {"ada": PEOPLE["ada"]}, [tf_idf], CurateConfig())


def test_an_interview_corpus_becomes_items(tmp_path, write_interviews):
    from data_prep.corpus import Corpus

    names = ["Ada Quill", "Bo Fenn", "Cy Marsh", "Di Lark", "Ed Thorn", "Flo Gray"]
    rows = []
    for number, name in enumerate(names):
        folder = write_interviews(
            tmp_path / "raw", name, range(2001 + 5 * number, 2004 + 5 * number)
        )
        profile = f"{name} works with {'clay' if number < 3 else 'boats'}."
        rows.append({"id": folder.name, "name": name, "profile": profile})
    del rows[4]["profile"]
    rows[5]["consent"] = {"scopes": ["prepare", "train"]}
    write_jsonl(tmp_path / "raw" / "personas.jsonl", rows)
    prepare([tmp_path / "raw"], tmp_path / "corpus")
    dialogues, people = dialogues_of(Corpus(tmp_path / "corpus"))
    assert set(people) == {"ada-quill", "bo-fenn", "cy-marsh", "di-lark"}
    reasons = {d.speaker: d.problem for d in dialogues}
    assert reasons["ed-thorn"] == "no_profile" and reasons["flo-gray"] == "no_consent"
    found = curate(dialogues, people, [tf_idf], CurateConfig(min_words=10))
    # these speakers say their own name in every answer
    assert {drop.reason for drop in found.dropped} >= {"names_the_speaker", "no_profile"}


def test_hard_items_are_those_that_enough_models_miss(make_item):
    items = [make_item(n, truth=0) for n in range(3)]
    sure, half, lost = (0.9, 0.1, 0, 0), (0.5, 0.5, 0, 0), (0.1, 0.9, 0, 0)
    results = {
        "qwen-max": {"drama-000": sure, "drama-001": half, "drama-002": lost},
        "llama-3": {"drama-000": lost, "drama-001": half},
    }
    kept, dropped = keep_hard(items, results, at_least=2)
    assert [item.id for item in kept] == ["drama-001"]
    assert kept[0].filtered_by == ("qwen-max", "llama-3")
    assert [drop.reason for drop in dropped] == ["too_easy", "too_few_answers"]
    assert len(keep_hard(items, results, at_least=1)[0]) == 3
    with pytest.raises(ValueError, match="3 models must find an item hard, but 2"):
        keep_hard(items, results, at_least=3)


def test_results_of_a_run_are_read_for_the_filter(tmp_path, items, written):
    replies = [written(items[0].names, [0.4, 0.3, 0.2, 0.1])] * 23 + ["?"] * 5
    run_role_identification(tmp_path, items, ScriptedEngine(replies, model="m-1"), _default())
    model, vectors = read_results(tmp_path)
    assert model == "m-1" and len(vectors) == 23 and vectors["drama-000"] == [0.4, 0.3, 0.2, 0.1]
    assert sum(1 for _ in read_jsonl(tmp_path / "answers.jsonl")) == 24


def _default():
    from eval.personaeval.config import RoleConfig

    return RoleConfig()


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", "qwen"),
        ("qwen-max", "qwen"),
        ("packaged:smollm2-135m-instruct", "smollm"),
        ("/models/Llama-3/", "llama"),
        ("qwen2:latest", "qwen"),
        ("4o", "4o"),
    ],
)
def test_a_family_is_the_letters_a_name_begins_with(model, name):
    assert family(model) == name
