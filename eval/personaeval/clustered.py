"""Means over items with intervals over works: lines of one play are no independent evidence.

The estimate weighs every item the same, as PersonaEval does. Its standard error sums residuals
by work first (clustered errors: Miller 2024, arXiv:2411.00640, with the factor C / (C - 1)),
and Student's t has C - 1 degrees of freedom; ten works are few, and the interval says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval; None where one work allows none."""

    mean: float
    low: float | None
    high: float | None
    num_items: int
    num_clusters: int


def clustered_mean(
    values: Sequence[float], clusters: Sequence[Hashable], sizes: Sequence[float] | None = None
) -> Estimate:
    """Mean of values, or the ratio sum(values) / sum(sizes).

    Args:
        values: (num_items,) a number per item, or its sum over `sizes` parts.
        clusters: (num_items,) what items share: their work.
        sizes: (num_items,) parts per item, such as options; 1 each by default.

    Raises:
        ValueError: no items.
    """
    if not values:
        raise ValueError("no scored items to average")
    sizes = sizes or [1.0] * len(values)
    total = sum(sizes)
    mean = sum(values) / total
    residuals: dict[Hashable, float] = defaultdict(float)
    for value, size, cluster in zip(values, sizes, clusters, strict=True):
        residuals[cluster] += value - mean * size
    count = len(residuals)
    if count < 2:
        return Estimate(mean, None, None, len(values), count)
    from scipy.stats import t

    variance = count / (count - 1) * sum(r * r for r in residuals.values()) / total**2
    half = float(t.ppf(0.975, count - 1)) * variance**0.5
    return Estimate(mean, mean - half, mean + half, len(values), count)
