"""Which of a person's words are read: the worked rules of InterviewSim, section 3."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.context import select_context
from data_prep.records import Persona, QAPair
from data_prep.who import parse_context

ADA = Persona(id="ada", name="Ada", profile="A potter.")


def pair(number):
    return QAPair(
        id=f"q{number}", persona_id="ada", interview_id="i", index=number,
        question=f"Question {number}?", answer=f"Answer {number}.", answer_raw="",
    )  # fmt: skip


PAIRS = [pair(number) for number in range(1, 11)]


def ids(method, *, question="Why?", seed=0, ranker=None, pairs=PAIRS):
    context = select_context(
        parse_context(method),
        persona=ADA,
        train_pairs=pairs,
        question=question,
        seed=seed,
        ranker=ranker,
    )
    return [p.id for p in context.pairs]


def ranked(*numbers):
    return lambda question, num_pairs: [PAIRS[n - 1] for n in numbers][:num_pairs]


def test_chronological_is_the_last_pairs_oldest_first():
    assert ids("chronological-3") == ["q8", "q9", "q10"]
    assert ids("chronological-99") == [p.id for p in PAIRS]


def test_hybrid_is_the_worked_example_of_the_rules():
    # train q1..q10, retrieved [q2, q9], three recent: q9 is not repeated, and not replaced
    assert ids("hybrid-2-3", ranker=ranked(2, 9)) == ["q2", "q9", "q10", "q8"]


def test_retrieval_keeps_the_best_first():
    assert ids("retrieval-3", ranker=ranked(7, 1, 4)) == ["q7", "q1", "q4"]


def test_random_follows_the_released_seed():
    material = b"5\0ada\0Why?"
    seed = int.from_bytes(hashlib.sha256(material).digest(), "big")
    chosen = sorted(random.Random(seed).sample(range(10), 4))
    assert ids("random-4", seed=5) == [PAIRS[i].id for i in chosen]


@given(st.integers(1, 15), st.integers(0, 3), st.text(max_size=5))
def test_random_draws_each_pair_once_in_time_order(size, seed, question):
    found = ids(f"random-{size}", question=question, seed=seed)
    numbers = [int(name[1:]) for name in found]
    assert numbers == sorted(set(numbers)) and len(numbers) == min(size, 10)


def test_another_question_draws_other_pairs():
    assert len({tuple(ids("random-4", question=f"{i}?")) for i in range(20)}) > 10


def test_a_profile_is_read_alone():
    context = select_context(
        parse_context("profile"), persona=ADA, train_pairs=PAIRS, question="Why?"
    )
    assert context.profile == "A potter." and context.pairs == ()


def test_a_missing_profile_is_refused():
    with pytest.raises(ValueError, match=r"'ada' has no long_profile; add one"):
        ids("long_profile")


def test_retrieval_without_an_index_is_refused():
    with pytest.raises(ValueError, match=r"context retrieval-3 needs a retrieval index"):
        ids("retrieval-3")


def test_a_person_without_training_pairs_gets_no_context():
    assert ids("chronological-3", pairs=[]) == ids("random-3", pairs=[]) == []
