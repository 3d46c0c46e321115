"""Statistics against hand values, the spec's worked examples, and scipy."""

import itertools
import random

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from eval.stats import (
    EXACT_LIMIT,
    by_persona,
    holm,
    macro_mean,
    minimum_detectable_difference,
    paired_differences,
    persona_means,
    sign_flip_p,
)

values = st.floats(-100, 100).map(lambda v: round(v, 3))


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [
        ((3, 4, 5, 2, 4), (3, 3, 3, 3, 2), 0.375),  # InterviewSim, worked example 3
        ((0.8, 0.7, 0.9, 0.6), (0.5, 0.6, 0.7, 0.5), 0.125),
        ((1, 2, 3), (1, 2, 3), 1.0),
        ((2,), (1,), 1.0),  # one person: both signs are as extreme
    ],
)
def test_the_worked_examples(a, b, p):
    assert sign_flip_p([x - y for x, y in zip(a, b, strict=True)]) == p


def test_no_differences_is_no_evidence():
    assert sign_flip_p([]) == sign_flip_p([0.0] * 30) == 1.0


@given(st.lists(values, min_size=2, max_size=9))
def test_exact_p_is_the_share_of_all_sign_assignments(differences):
    moving = [d for d in differences if d]
    observed = abs(sum(differences))
    totals = [
        abs(sum(sign * d for sign, d in zip(signs, moving, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(moving))
    ]
    expected = sum(total >= observed - 1e-9 for total in totals) / len(totals)
    assert sign_flip_p(differences) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(5))
def test_exact_p_is_scipys(seed):
    differences = np.random.default_rng(seed).normal(0.3, 1, size=12)
    found = scipy.stats.permutation_test(
        (differences, np.zeros(12)), lambda x, y: np.mean(x - y), permutation_type="samples",
        n_resamples=np.inf,
    )  # fmt: skip
    assert sign_flip_p(list(differences)) == pytest.approx(found.pvalue)


def spelt_out(differences, num_draws, seed):
    """The released rule in plain Python: one bit a pair, draw by draw."""
    chance = random.Random(seed)
    moving = [d for d in differences if d != 0]
    observed = abs(sum(moving) / len(differences))
    extreme = 0
    for _ in range(num_draws):
        flipped = [d if chance.getrandbits(1) else -d for d in moving]
        permuted = abs(sum(flipped) / len(differences))
        extreme += permuted >= observed - 1e-12 * max(1.0, permuted, observed)
    return (extreme + 1) / (num_draws + 1)


@pytest.mark.parametrize("mean", [0.0, 0.2, 0.5])
def test_beyond_twenty_people_the_draws_follow_the_released_rule(mean):
    chance = random.Random(7)
    differences = [round(chance.gauss(mean, 1), 3) for _ in range(EXACT_LIMIT + 5)] + [0.0, 0.0]
    assert sign_flip_p(differences, num_draws=500) == spelt_out(differences, 500, 0)
    assert sign_flip_p(differences, num_draws=500, seed=3) == spelt_out(differences, 500, 3)


def test_zeros_do_not_count_towards_the_limit_of_enumeration():
    differences = [0.1 * n for n in range(1, 11)] + [0.0] * 40
    assert sign_flip_p(differences) == 2 / 2**10  # all of one sign, or all of the other


@given(st.lists(values, min_size=1, max_size=8))
def test_p_has_no_direction(differences):
    assert sign_flip_p(differences) == sign_flip_p([-d for d in differences])
    assert 0 < sign_flip_p(differences) <= 1


def test_holm_by_hand():
    # sorted 0.01, 0.02, 0.03, 0.04: times 4, 3, 2, 1 = 0.04, 0.06, 0.06, 0.04; never falling
    assert holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(1e-6, 1), max_size=12))
def test_holm_only_raises_and_keeps_the_order(p_values):
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    for (p, c), (q, d) in itertools.combinations(zip(p_values, corrected, strict=True), 2):
        assert p >= q or c <= d
    if p_values:
        assert min(corrected) == pytest.approx(min(1.0, min(p_values) * len(p_values)))


def test_every_person_weighs_the_same():
    # means 1 and 4; pooled over items it would be 1.75
    found = macro_mean({"ada": [1.0, 1.0, 1.0], "bo": [4.0], "cleo": []})
    assert (found.mean, found.num_personas, found.num_items) == (2.5, 2, 4)
    assert persona_means({"ada": [1.0, 2.0], "bo": []}) == {"ada": 1.5}


@given(st.lists(values, min_size=2, max_size=20).filter(lambda v: len(set(v)) > 1))
def test_the_interval_is_students_over_people(means):
    found = macro_mean({str(i): [value] for i, value in enumerate(means)})
    expected = scipy.stats.ttest_1samp(means, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-6, abs=1e-6)


def test_one_person_allows_no_interval():
    found = macro_mean({"ada": [1.0, 2.0]})
    assert (found.mean, found.low, found.high) == (1.5, None, None)


def test_nothing_scored_is_no_mean():
    with pytest.raises(ValueError, match=r"no scored answers"):
        macro_mean({"ada": []})


def test_only_items_that_both_have_are_compared():
    a = by_persona([("ada", "q1", 3.0), ("ada", "q2", 5.0), ("bo", "q1", 1.0)])
    b = by_persona([("ada", "q2", 1.0), ("ada", "q3", 9.0), ("cleo", "q1", 1.0)])
    assert paired_differences(a, b) == {"ada": [4.0]}


def test_the_detectable_difference_is_found_as_often_as_promised():
    # 12 people, spread 1: simulate the paired t test at that true difference
    size = minimum_detectable_difference(12, 1.0)
    draws = np.random.default_rng(0).normal(size, 1.0, size=(4000, 12))
    power = (scipy.stats.ttest_1samp(draws, 0, axis=1).pvalue < 0.05).mean()
    assert 0.77 < power < 0.85  # the formula is an approximation, 0.8 promised
    assert minimum_detectable_difference(1, 1.0) is None
