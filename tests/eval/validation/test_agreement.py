"""Kappas and correlations against hand values, published examples and scipy."""

import random

import pytest
from scipy.stats import pearsonr, rankdata

from eval.validation.agreement import (
    cluster_interval,
    cohen_kappa,
    exact_share,
    fleiss_kappa,
    majority,
    mean_pairwise,
    pair_entry,
    quadratic_kappa,
    spearman,
    within_one_share,
)


def test_cohen_kappa_by_hand():
    # 20 yes/yes, 5 yes/no, 10 no/yes, 15 no/no: observed 0.7, expected 0.5, kappa 0.4
    a = [1] * 25 + [0] * 25
    b = [1] * 20 + [0] * 5 + [1] * 10 + [0] * 15
    assert cohen_kappa(a, b) == pytest.approx(0.4)


def test_quadratic_kappa_by_hand():
    # squared distances 0, 1, 0, 4 over all 16 pairs of (1, 2, 3, 5) and (1, 3, 3, 3)
    a, b = [1, 2, 3, 5], [1, 3, 3, 3]
    expected = sum((x - y) ** 2 for x in a for y in b) / 16
    assert quadratic_kappa(a, b) == pytest.approx(1 - (5 / 4) / expected)
    # with two labels the weights are those of the unweighted kappa
    c, d = [1, 1, 2, 2, 1], [1, 2, 2, 2, 1]
    assert quadratic_kappa(c, d) == pytest.approx(cohen_kappa(c, d))


def test_quadratic_kappa_equals_the_matrix_formula():
    chance = random.Random(1)
    a = [chance.randint(1, 5) for _ in range(200)]
    b = [min(5, max(1, x + chance.choice([-1, 0, 0, 1]))) for x in a]
    n = len(a)
    observed = [
        [sum(x == i and y == j for x, y in zip(a, b, strict=True)) for j in range(1, 6)]
        for i in range(1, 6)
    ]
    weights = [[(i - j) ** 2 / 16 for j in range(5)] for i in range(5)]
    rows, columns = [sum(r) for r in observed], [sum(c) for c in zip(*observed, strict=True)]
    top = sum(weights[i][j] * observed[i][j] for i in range(5) for j in range(5))
    bottom = sum(weights[i][j] * rows[i] * columns[j] / n for i in range(5) for j in range(5))
    assert quadratic_kappa(a, b) == pytest.approx(1 - top / bottom)


def test_spearman_is_pearson_of_mid_ranks():
    a, b = [1, 2, 2, 4, 5, 3], [2, 1, 2, 5, 5, 3]
    assert spearman(a, b) == pytest.approx(pearsonr(rankdata(a), rankdata(b)).statistic)
    assert spearman([1, 2, 3], [30, 20, 10]) == pytest.approx(-1)


def test_fleiss_kappa_of_the_published_example():
    # Fleiss 1971's worked table as in textbooks: 10 items, 14 raters, 5 labels, kappa 0.210
    counts = [
        (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
        (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
    ]  # fmt: skip
    ratings = [[label for label, n in enumerate(row) for _ in range(n)] for row in counts]
    assert fleiss_kappa(ratings) == pytest.approx(0.210, abs=5e-4)


def test_what_is_not_defined_is_none():
    assert cohen_kappa([], []) is None and quadratic_kappa([3, 3], [3, 3]) is None
    assert spearman([3, 3, 3], [1, 2, 3]) is None and fleiss_kappa([[2, 2]]) is None
    assert fleiss_kappa([]) is None and exact_share([], []) is None
    # a judge that never varies agrees no better than chance
    assert quadratic_kappa([3, 3, 3], [1, 3, 5]) == pytest.approx(0)


def test_shares_and_votes():
    assert exact_share([1, 2, 5], [1, 3, 3]) == pytest.approx(1 / 3)
    assert within_one_share([1, 2, 5], [1, 3, 3]) == pytest.approx(2 / 3)
    assert majority([4, 4, 2]) == 4 and majority([4, 2]) is None and majority([1, 2, 3]) is None


def test_pairs_are_of_what_both_rated():
    entry = pair_entry({"x": 1, "y": 4, "z": 2}, {"y": 4, "z": 3, "w": 5})
    assert (entry["num_pairs"], entry["num_dropped"]) == (2, 2)
    assert (entry["exact"], entry["within_one"]) == (0.5, 1.0)
    assert mean_pairwise([{"x": 1}, {"y": 2}], cohen_kappa) is None


def test_an_interval_needs_two_people_and_draws_whole_ones():
    def share(items):
        return sum(item[0] == "a" for item in items) / len(items)

    items = {f"{unit}{n}": unit for unit in "ab" for n in range(3)}
    assert cluster_interval(items, share) == (0.0, 1.0)  # of two people, twice the same
    assert cluster_interval({"a1": "a", "a2": "a"}, share) == (None, None)
