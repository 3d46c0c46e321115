"""Statistics over people: answers of one person are correlated, so people are the units.

Per item -> per persona -> headline (macro mean). Intervals are Student's t over persona
means (Miller 2024, arXiv:2411.00640, clustered errors with equal weight a cluster); tests are
paired sign-flip permutations over personas, Holm-corrected within a report.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EXACT_LIMIT = 20  # non-zero pairs up to which all 2^n assignments are enumerated
NUM_DRAWS = 10_000


@dataclass(frozen=True)
class Interval:
    """A mean over people with its 95 % interval; None where one person allows no interval."""

    mean: float
    low: float | None
    high: float | None
    num_personas: int
    num_items: int


def macro_mean(values: Mapping[str, Sequence[float]]) -> Interval:
    """Mean of persona means, each person weighing the same.

    Args:
        values: item values by persona; people without items are ignored.

    Raises:
        ValueError: no values at all.
    """
    means = [sum(own) / len(own) for own in values.values() if own]
    if not means:
        raise ValueError("no scored answers to average")
    num_items = sum(len(own) for own in values.values())
    mean = sum(means) / len(means)
    low, high = _t_interval(means, mean)
    return Interval(mean=mean, low=low, high=high, num_personas=len(means), num_items=num_items)


def persona_means(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    return {name: sum(own) / len(own) for name, own in values.items() if own}


def paired_differences(
    a: Mapping[str, Mapping[Hashable, float]], b: Mapping[str, Mapping[Hashable, float]]
) -> dict[str, list[float]]:
    """a - b on the items that both have, by persona.

    Args:
        a, b: item values by persona and item id.
    """
    return {
        persona: [own[item] - b[persona][item] for item in own if item in b[persona]]
        for persona, own in a.items()
        if persona in b
    }


def sign_flip_p(
    differences: Sequence[float], *, num_draws: int = NUM_DRAWS, seed: int = 0
) -> float:
    """Two-sided p of a paired sign-flip permutation test on the mean difference.

    Zero differences are not flipped and stay in the mean. Up to 20 others all assignments
    are enumerated, p = extreme / 2^n; beyond, p = (extreme + 1) / (draws + 1) with one
    `random.Random(seed).getrandbits(1)` a pair (InterviewSim, released rules).

    Args:
        differences: (num_personas,) per-person mean differences.
    """
    import numpy as np

    moving = np.array([d for d in differences if d != 0.0])
    if not len(moving):
        return 1.0
    count = len(differences)
    observed = abs(moving.sum() / count)
    if len(moving) <= EXACT_LIMIT:
        permuted = _all_sums(moving) / count
        added, total = 0, len(permuted)
    else:
        generator = random.Random(seed)
        bits = [[generator.getrandbits(1) for _ in moving] for _ in range(num_draws)]
        permuted = (np.array(bits) * 2 - 1) @ moving / count
        added, total = 1, num_draws + 1
    tolerance = 1e-12 * np.maximum(1.0, np.maximum(np.abs(permuted), observed))
    extreme = int((np.abs(permuted) >= observed - tolerance).sum())
    return (extreme + added) / total


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction; keeps the order."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        corrected[index] = largest
    return corrected


def minimum_detectable_difference(
    num_personas: int, spread: float, *, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """Smallest true mean difference found with this power, given the spread (standard
    deviation) of per-person differences; None when one person can show none."""
    if num_personas < 2:
        return None
    from scipy.stats import t

    freedom = num_personas - 1
    factor = float(t.ppf(1 - alpha / 2, freedom) + t.ppf(power, freedom))
    return factor * spread / num_personas**0.5


def by_persona(rows: Iterable[tuple[str, Hashable, float]]) -> dict[str, dict[Hashable, float]]:
    """Group (persona, item, value) rows."""
    grouped: dict[str, dict[Hashable, float]] = {}
    for persona, item, value in rows:
        grouped.setdefault(persona, {})[item] = value
    return grouped


def _t_interval(means: Sequence[float], mean: float) -> tuple[float | None, float | None]:
    if len(means) < 2:
        return None, None
    from scipy.stats import t

    variance = sum((value - mean) ** 2 for value in means) / (len(means) - 1)
    half = float(t.ppf(0.975, len(means) - 1)) * (variance / len(means)) ** 0.5
    return mean - half, mean + half


def _all_sums(values: Any) -> Any:
    """Sums under all 2^n sign assignments, built by doubling."""
    import numpy as np

    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    return sums
