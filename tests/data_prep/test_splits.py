"""Whole interviews are held out, the latest ones."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from data_prep.records import Interview
from data_prep.splits import SplitConfig, split_persona


def interview(sequence, name=None):
    return Interview(
        id=name or f"i{sequence:02d}", persona_id="ada", sequence=sequence, date=None,
        date_precision="unknown", title="", source="", sha256="",
    )  # fmt: skip


def pairs_of(interviews, num_pairs=2):
    return {own.id: [f"{own.id}-q{n}" for n in range(num_pairs)] for own in interviews}


def split(num_interviews, num_pairs=2, **settings):
    interviews = [interview(n) for n in range(num_interviews)]
    return split_persona(
        "ada", interviews, pairs_of(interviews, num_pairs), SplitConfig(**settings)
    )


def interviews_in(part):
    return list(dict.fromkeys(pair_id.split("-")[0] for pair_id in part))


@pytest.mark.parametrize(("num", "num_test"), [(11, 3), (6, 2), (2, 1), (5, 1), (10, 2)])
def test_the_worked_sizes_of_the_rules(num, num_test):
    assert len(interviews_in(split(num).test)) == num_test


@given(st.integers(2, 60), st.randoms())
def test_parts_are_whole_interviews_in_time_order_and_cover_everything(num, chance):
    interviews = [interview(n) for n in range(num)]
    chance.shuffle(interviews)
    found = split_persona("ada", interviews, pairs_of(interviews))
    parts = [interviews_in(part) for part in (found.train, found.validation, found.test)]
    assert [name for part in parts for name in part] == [f"i{n:02d}" for n in range(num)]
    assert len(parts[2]) == math.ceil(num / 5) and len(parts[1]) == (num >= 3)
    assert found.rule.has_validation == (num >= 3) and found.rule.kind == "by_interview"
    assert len(found.train) == 2 * len(parts[0])


def test_two_interviews_leave_no_validation():
    found = split(2)
    assert interviews_in(found.train) == ["i00"] and found.validation == ()


def test_equal_sequences_are_ordered_by_id():
    interviews = [interview(0, "b"), interview(0, "a"), interview(0, "c")]
    found = split_persona("ada", interviews, pairs_of(interviews))
    assert interviews_in(found.train + found.validation + found.test) == ["a", "b", "c"]


def test_interviews_without_pairs_do_not_count():
    interviews = [interview(n) for n in range(4)]
    pairs = pairs_of(interviews) | {"i03": []}
    found = split_persona("ada", interviews, pairs)
    assert interviews_in(found.test) == ["i02"]


def test_one_interview_is_split_inside_behind_a_gap():
    # 10 pairs: ceil(0.2 * 10) = 2 tested, 2 left out, 6 trained
    found = split(1, num_pairs=10)
    assert found.rule.kind == "within_interview" and not found.rule.has_validation
    assert found.train == tuple(f"i00-q{n}" for n in range(6))
    assert found.test == ("i00-q8", "i00-q9") and found.validation == ()


@given(st.integers(1, 40), st.integers(0, 5), st.floats(0.05, 0.9))
def test_inside_an_interview_nothing_is_trained_on_near_the_test(num_pairs, gap, fraction):
    num_test = math.ceil(fraction * num_pairs)
    if num_pairs - num_test - gap < 1:
        with pytest.raises(ValueError, match=r"too few to split"):
            split(1, num_pairs=num_pairs, gap=gap, test_fraction=fraction)
        return
    found = split(1, num_pairs=num_pairs, gap=gap, test_fraction=fraction)
    last_trained = int(found.train[-1].split("q")[1])
    first_tested = int(found.test[0].split("q")[1])
    assert first_tested - last_trained == gap + 1
    assert found.test[-1] == f"i00-q{num_pairs - 1}" and len(found.test) == math.ceil(
        fraction * num_pairs
    )


@pytest.mark.parametrize(
    ("interviews", "pairs", "settings"), [(0, 2, {}), (1, 3, {}), (1, 50, {"single": "skip"})]
)
def test_too_little_to_split_is_refused(interviews, pairs, settings):
    with pytest.raises(ValueError, match=r"persona 'ada' has .* add transcripts"):
        split(interviews, pairs, **settings)


def test_a_fraction_that_leaves_nothing_to_train_on_is_refused():
    with pytest.raises(ValueError, match=r"test_fraction 0.9 of 3 interviews leaves none"):
        split(3, test_fraction=0.9)
