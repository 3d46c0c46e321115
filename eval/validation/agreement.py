"""Agreement of raters: shares, kappas, rank correlation, majority votes.

Cohen 1960 and 1968 (quadratic weights), Fleiss 1971. None stands where a statistic is not
defined: no ratings in common, or raters who never vary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations
from typing import Any

Ratings = Mapping[Any, int]  # of one rater, by item
Statistic = Callable[[Sequence[int], Sequence[int]], float | None]


def exact_share(a: Sequence[int], b: Sequence[int]) -> float | None:
    return _share(abs(x - y) == 0 for x, y in zip(a, b, strict=True))


def within_one_share(a: Sequence[int], b: Sequence[int]) -> float | None:
    return _share(abs(x - y) <= 1 for x, y in zip(a, b, strict=True))


def cohen_kappa(a: Sequence[int], b: Sequence[int]) -> float | None:
    """1 - observed / expected disagreement; labels are names without order."""
    return _kappa(a, b, lambda x, y: float(x != y))


def quadratic_kappa(a: Sequence[int], b: Sequence[int]) -> float | None:
    """As `cohen_kappa`, a disagreement weighing the square of its distance."""
    return _kappa(a, b, lambda x, y: float((x - y) ** 2))


def spearman(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Rank correlation with mid-ranks for ties."""
    if len(a) < 2 or len(set(a)) < 2 or len(set(b)) < 2:
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(a, b).statistic)


def fleiss_kappa(ratings: Sequence[Sequence[int]]) -> float | None:
    """Agreement of several raters who all rated every item.

    Args:
        ratings: (num_items, num_raters) labels without order.
    """
    if not ratings or len(ratings[0]) < 2:
        return None
    num_raters = len(ratings[0])
    assert all(len(row) == num_raters for row in ratings)
    counts = [Counter(row) for row in ratings]
    agreeing = [
        (sum(n * n for n in count.values()) - num_raters) / (num_raters * (num_raters - 1))
        for count in counts
    ]
    observed = sum(agreeing) / len(agreeing)
    total = len(ratings) * num_raters
    labels = Counter(label for row in ratings for label in row)
    expected = sum((n / total) ** 2 for n in labels.values())
    return None if expected == 1 else (observed - expected) / (1 - expected)


def majority(labels: Sequence[int]) -> int | None:
    """The label that more than half gave, else None."""
    if not labels:
        return None
    label, count = Counter(labels).most_common(1)[0]
    return label if 2 * count > len(labels) else None


def shared(a: Ratings, b: Ratings) -> tuple[list[int], list[int]]:
    """Ratings of the items that both rated, in one order."""
    both = [item for item in a if item in b]
    return [a[item] for item in both], [b[item] for item in both]


def pair_entry(a: Ratings, b: Ratings) -> dict[str, Any]:
    """All agreement statistics of two raters on what both rated."""
    x, y = shared(a, b)
    return {
        "num_pairs": len(x),
        "num_dropped": len({*a, *b}) - len(x),
        "exact": rounded(exact_share(x, y)),
        "within_one": rounded(within_one_share(x, y)),
        "cohen_kappa": rounded(cohen_kappa(x, y)),
        "quadratic_kappa": rounded(quadratic_kappa(x, y)),
        "spearman": rounded(spearman(x, y)),
    }


def mean_pairwise(raters: Sequence[Ratings], statistic: Statistic) -> float | None:
    """Mean over pairs of raters: between people, the ceiling for a judge."""
    found = [statistic(*shared(a, b)) for a, b in combinations(raters, 2)]
    return mean([value for value in found if value is not None])


def mean_against(judge: Ratings, raters: Sequence[Ratings], statistic: Statistic) -> float | None:
    """Mean over raters of their agreement with the judge: comparable to the ceiling."""
    found = [statistic(*shared(judge, rater)) for rater in raters]
    return mean([value for value in found if value is not None])


def cluster_interval(
    units: Mapping[Hashable, str],
    statistic: Callable[[Sequence[Hashable]], float | None],
    *,
    num_draws: int = 1000,
    seed: int = 0,
) -> tuple[float | None, float | None]:
    """95 % bootstrap interval that draws whole units (people), not items.

    Args:
        units: unit of each item.
        statistic: of a list of items, some of them several times.
    """
    import numpy as np

    members: dict[str, list[Hashable]] = {}
    for item, unit in units.items():
        members.setdefault(unit, []).append(item)
    if len(members) < 2:
        return None, None
    groups = [members[unit] for unit in sorted(members)]
    generator = np.random.default_rng(seed)
    drawn = []
    for _ in range(num_draws):
        chosen = generator.integers(len(groups), size=len(groups))
        value = statistic([item for index in chosen for item in groups[index]])
        if value is not None:
            drawn.append(value)
    if len(drawn) < num_draws / 2:
        return None, None
    low, high = np.quantile(drawn, [0.025, 0.975])
    return round(float(low), 6), round(float(high), 6)


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _share(holds: Any) -> float | None:
    found = [float(value) for value in holds]
    return mean(found)


def _kappa(a: Sequence[int], b: Sequence[int], weight: Callable[[int, int], float]) -> float | None:
    if not a:
        return None
    observed = sum(weight(x, y) for x, y in zip(a, b, strict=True)) / len(a)
    of_a, of_b = Counter(a), Counter(b)
    expected = sum(weight(x, y) * m * n for x, m in of_a.items() for y, n in of_b.items())
    expected /= len(a) ** 2
    return None if expected == 0 else 1 - observed / expected
