"""Scores of probability vectors against the truth (PersonaEval, spec section 4).

Ties: `midrank` shares ranks and places among equals; `official_stable` reproduces the released
code with a stable sort, under which the last listed of equals ranks highest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Tie = Literal["midrank", "official_stable"]
Vector = Sequence[float]
NUM_BINS = 20


def predicted(p: Vector) -> int:
    """Position of the highest probability, the first one of equals."""
    return max(range(len(p)), key=lambda k: p[k])


def top_one(p: Vector, truth: int) -> float:
    """1.0 if the prediction is the truth."""
    return float(predicted(p) == truth)


def top_k(p: Vector, truth: int, k: int, tie: Tie = "midrank") -> float:
    """Whether the truth is among the k likeliest; of equals at the edge, their share of places."""
    if tie == "official_stable":
        return float(rank(p, truth, tie) <= k)
    greater, equal = _around(p, truth)
    return min(1.0, max(0.0, (k - greater) / equal))


def rank(p: Vector, truth: int, tie: Tie = "midrank") -> float:
    """Place of the truth from 1 (likeliest) to K."""
    if tie == "official_stable":
        order = sorted(range(len(p)), key=lambda k: p[k])[::-1]
        return float(order.index(truth) + 1)
    greater, equal = _around(p, truth)
    return 1 + greater + (equal - 1) / 2


def squared_errors(p: Vector, truth: int) -> list[float]:
    """(p - 1[option is truth])^2 of every option."""
    return [(value - (k == truth)) ** 2 for k, value in enumerate(p)]


def brier(vectors: Sequence[Vector], truths: Sequence[int]) -> float:
    """Mean squared error pooled over all (item, option) pairs, so divided by K as released.

    Raises:
        ValueError: no vectors.
    """
    _refuse_none(vectors)
    pooled = [e for p, t in zip(vectors, truths, strict=True) for e in squared_errors(p, t)]
    return sum(pooled) / len(pooled)


def expected_calibration_error(
    vectors: Sequence[Vector], truths: Sequence[int], *, num_bins: int = NUM_BINS
) -> float:
    """|mean confidence - accuracy| of the prediction over right-closed bins, weighted by count.

    Edges come from linspace, so 0.85 lies in the bin that ends at 0.8500000000000001. A
    confidence of 0, or one above 1 (strict parsing allows it), falls in no bin.

    Raises:
        ValueError: no vectors.
    """
    import numpy as np

    _refuse_none(vectors)
    confidence = np.array([max(p) for p in vectors])
    correct = np.array([top_one(p, t) for p, t in zip(vectors, truths, strict=True)])
    bins = np.searchsorted(np.linspace(0, 1, num_bins + 1), confidence, side="left") - 1
    error = 0.0
    for number in range(num_bins):
        inside = bins == number
        if inside.any():
            gap = abs(confidence[inside].mean() - correct[inside].mean())
            error += float(gap) * int(inside.sum()) / len(vectors)
    return error


def _around(p: Vector, truth: int) -> tuple[int, int]:
    """How many options are above the truth, and how many level with it, itself included."""
    return sum(value > p[truth] for value in p), sum(value == p[truth] for value in p)


def _refuse_none(vectors: Sequence[Vector]) -> None:
    if not vectors:
        raise ValueError("no valid probability vectors to score")
