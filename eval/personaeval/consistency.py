"""Several drawn replies to one item made into one answer (PersonaEval, spec section 6).

`vote`: the majority of the predictions; it has no probabilities, so accuracy is all that can
be said of it. `average`: the mean vector of the valid samples, each weighing the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from eval.personaeval.metrics import Vector, predicted


def average(vectors: Sequence[Vector]) -> tuple[float, ...]:
    """Mean of the vectors, option by option."""
    return tuple(sum(values) / len(vectors) for values in zip(*vectors, strict=True))


def vote(vectors: Sequence[Vector]) -> int:
    """Position with most predictions; ties by higher mean probability, then by list order."""
    votes = [predicted(p) for p in vectors]
    means = average(vectors)
    return max(range(len(means)), key=lambda k: (votes.count(k), means[k], -k))
