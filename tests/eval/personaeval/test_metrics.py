"""The worked examples of PersonaEval's rules, ties, bin edges, and several samples as one."""

import numpy as np
import pytest

from eval.personaeval.clustered import clustered_mean
from eval.personaeval.consistency import average, vote
from eval.personaeval.metrics import (
    brier,
    expected_calibration_error,
    predicted,
    rank,
    top_k,
    top_one,
)

A, B, C, D = (0.4, 0.3, 0.2, 0.1), (0.85, 0.15, 0, 0), (0.25,) * 4, (0.05, 0.6, 0.05, 0.3)
VECTORS, TRUTHS = [A, B, C, D], [1, 1, 0, 1]
CASES = list(zip(VECTORS, TRUTHS, strict=True))


def test_worked_example_top_one_takes_the_first_of_equals():
    assert [top_one(p, t) for p, t in CASES] == [0, 0, 1, 1]


def test_worked_example_under_the_official_stable_ties():
    ranks = [rank(p, t, "official_stable") for p, t in CASES]
    assert ranks == [2, 2, 4, 1] and sum(ranks) / 4 == 2.25
    assert [top_k(p, t, 2, "official_stable") for p, t in CASES] == [1, 1, 0, 1]


def test_worked_example_with_ranks_shared_among_equals():
    assert [rank(p, t) for p, t in CASES] == [2, 2, 2.5, 1]
    assert sum(rank(p, t) for p, t in CASES) / 4 == 1.875
    assert [top_k(p, t, 2) for p, t in CASES] == [1, 1, 0.5, 1]


def test_worked_example_brier_and_calibration():
    assert brier(VECTORS, TRUTHS) == pytest.approx(0.196875, abs=1e-12)
    assert expected_calibration_error(VECTORS, TRUTHS) == pytest.approx(0.6, abs=1e-12)


def test_worked_example_brier_pools_options_and_not_items():
    four, five = (0.25,) * 4, (0.2,) * 5
    assert brier([four, five], [0, 0]) == pytest.approx(1.55 / 9, abs=1e-12)
    assert brier([four], [0]) == pytest.approx(0.1875) and brier([five], [0]) == pytest.approx(0.16)
    assert brier([(1, 0, 0, 0)], [1]) == 0.5


def test_the_official_order_is_the_reversed_stable_argsort():
    generator = np.random.default_rng(0)
    for _ in range(500):
        p = generator.integers(0, 4, size=5) / 10
        order = np.argsort(p, kind="stable")[::-1].tolist()
        assert [rank(p, t, "official_stable") for t in range(5)] == [
            order.index(t) + 1 for t in range(5)
        ]


def test_shared_ranks_and_places_are_the_expectation_over_random_tie_orders():
    p, generator = (0.3, 0.3, 0.1, 0.3), np.random.default_rng(0)
    noisy = np.array(p) + generator.uniform(0, 1e-6, size=(20_000, 4))
    ranks = (noisy > noisy[:, [0]]).sum(axis=1) + 1
    assert rank(p, 0) == pytest.approx(ranks.mean(), abs=0.02)
    assert top_k(p, 0, 2) == pytest.approx((ranks <= 2).mean(), abs=0.02)


def test_a_confidence_at_an_edge_lies_in_the_bin_that_ends_there():
    edge = np.linspace(0, 1, 21)[17]
    assert edge == 0.8500000000000001
    # 0.85 and 0.84 share a bin; were 0.85 in the next one, the error would be (0.15 + 0.84) / 2
    vectors = [(0.85, 0.15), (0.84, 0.16)]
    assert expected_calibration_error(vectors, [0, 1]) == pytest.approx(0.845 - 0.5)


def test_a_confidence_outside_of_the_bins_adds_no_error_but_counts_in_the_weight():
    assert expected_calibration_error([(0.0, 0.0), (1.0, 0.0)], [0, 1]) == pytest.approx(0.5)
    assert expected_calibration_error([(1.2, -0.2)], [1]) == 0.0


def test_no_vectors_are_no_score():
    with pytest.raises(ValueError, match="no valid"):
        brier([], [])


def test_a_vote_is_the_majority_then_the_likelier_then_the_first():
    assert vote([(0.6, 0.4, 0), (0.6, 0.4, 0), (0, 0.9, 0.1)]) == 0
    assert vote([(0.6, 0.4, 0), (0, 0.9, 0.1)]) == 1  # one each; 0.65 against 0.3
    assert vote([(0.6, 0.4), (0.4, 0.6)]) == 0


def test_the_average_of_samples_may_differ_from_their_vote():
    vectors = [(0.51, 0.49), (0.51, 0.49), (0.0, 1.0)]
    assert vote(vectors) == 0 and predicted(average(vectors)) == 1


def test_the_interval_over_works_of_one_size_is_the_t_interval_over_their_means():
    from eval.stats import macro_mean

    values = {"a": [1.0, 0.0], "b": [1.0, 1.0], "c": [0.0, 0.0], "d": [1.0, 0.0]}
    flat = [(value, work) for work, own in values.items() for value in own]
    found = clustered_mean([value for value, _ in flat], [work for _, work in flat])
    wanted = macro_mean(values)
    assert (found.mean, found.low, found.high) == pytest.approx(
        (wanted.mean, wanted.low, wanted.high)
    )
    assert found.num_clusters == 4 and found.num_items == 8


def test_one_work_allows_no_interval():
    assert clustered_mean([1.0, 0.0], ["a", "a"]).low is None
