"""Role identification as a probe: a judge that cannot tell who speaks cannot rate an imitation.

The items are asked as the benchmark asks them in likelihood mode (`eval/personaeval`), without
examples. Two floors stand beside the judge: chance, and the profile with most words in common,
because a bag of words is no judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from eval.personaeval.asking import LIKELIHOOD_PROMPT, PROMPTS, request_of
from eval.personaeval.baselines import word_overlap
from eval.personaeval.config import RoleConfig
from eval.personaeval.items import RoleItem, load_items
from eval.plan import spread
from eval.validation.asks import Answers, Ask
from eval.validation.config import ValidateConfig
from eval.validation.figures import Measure, condition, figure, measure, result

__all__ = ["LIKELIHOOD_PROMPT", "PROMPTS", "identify", "read_items", "role_identification"]

PROBE = "role_identification"
AS_BENCHMARK = RoleConfig(mode="likelihood")


def read_items(path: Path, limit: int | None = None) -> list[RoleItem]:
    """Items of a file, at most `limit` at even distances, whole works kept apart by their name.

    Raises:
        ValueError: a broken item; names the line.
    """
    return spread(load_items([path]), limit)


def identify(items: Sequence[RoleItem]) -> list[Ask]:
    """One choice among the candidates' names for each item."""
    return [
        Ask(
            PROBE,
            item.id,
            item.work or item.id,
            "choice",
            "choose",
            request_of(item, (), AS_BENCHMARK, rotation=0, sample=0, attempt=0, adapter=None),
        )
        for item in items
    ]


def role_identification(
    answers: Answers, items: Sequence[RoleItem], config: ValidateConfig
) -> dict[str, Any]:
    """Accuracy over works, its lead over chance and over words in common.

    Both leads must be told apart from none: the lower end of the interval is above 0.
    """
    outcomes = {item.id: item for item in answers.items(PROBE)}
    measures: dict[str, list[Measure]] = {"accuracy": [], "lead_on_chance": [], "lead_on_words": []}
    words, chances = [], []
    for item in items:
        own, truth = outcomes[item.id], item.truth_index
        chance, by_words = 1 / len(item.candidates), _credit(word_overlap(item), truth)
        words.append(Measure(own.unit, by_words))
        chances.append(Measure(own.unit, chance))
        floors = {"accuracy": 0.0, "lead_on_chance": chance, "lead_on_words": by_words}
        for name, floor in floors.items():
            right = measure(own, ("choice",), lambda chosen, t=truth, f=floor: (chosen == t) - f)
            measures[name].append(right)
    figures = {
        "accuracy": figure(measures["accuracy"], against=0, in_favour=1),
        "lead_on_chance": figure(measures["lead_on_chance"], against=-1, in_favour=1),
        "lead_on_words": figure(measures["lead_on_words"], against=-1, in_favour=1),
        "chance": figure(chances, against=0, in_favour=1),
        "words_in_common": figure(words, against=0, in_favour=1),
    }
    least = config.thresholds.min_role_accuracy
    conditions = [
        condition("accuracy", figures["accuracy"], ">=", least),
        _told_apart("lead_on_chance", figures["lead_on_chance"]),
        _told_apart("lead_on_words", figures["lead_on_words"]),
    ]
    return result(figures, conditions, list(outcomes.values()), min_items=config.min_items)


def _credit(shares: Sequence[float], truth: int) -> float:
    """Of the candidate with most words in common; equal ones share it."""
    best = max(shares)
    return (shares[truth] == best) / shares.count(best)


def _told_apart(name: str, found: dict[str, Any]) -> dict[str, Any]:
    """The lower end of the interval; one work allows no interval and so no decision."""
    entry = condition(name, found, ">", 0.0)
    if entry["met"]:
        entry["met"] = None if found["low"] is None else found["low"] > 0
    return entry | {"figure": f"{name}, lower end", "lower_end": found["low"]}
