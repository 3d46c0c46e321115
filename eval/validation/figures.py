"""A probe's figures with their bounds, and whether they reach a threshold.

An unread verdict is never a number: it is left out of the mean and counted, and the bounds say
what the mean would be if all unread ones were as bad or as good as possible. For the decision
they count against the judge, whose fault they are. Requests lost in transport are not its
fault: where they could turn the decision, there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eval.stats import macro_mean
from eval.validation.asks import Item, Outcome

ProbeStatus = Literal["passed", "failed", "incomplete", "not_run", "not_applicable", "measured"]


@dataclass(frozen=True)
class Measure:
    """One item's number in [0, 1] or on any scale; None where it could not be read."""

    unit: str
    value: float | None
    is_lost: bool = False  # unread because the endpoint failed


def measure(item: Item, variants: Iterable[str], value: Any) -> Measure:
    """`value` of the verdicts of these variants, if all of them could be read."""
    outcomes = [item.outcomes[variant] for variant in variants]
    if all(outcome.status == "ok" for outcome in outcomes):
        return Measure(item.unit, float(value(*(outcome.value for outcome in outcomes))))
    unread = [outcome for outcome in outcomes if outcome.status != "ok"]
    return Measure(item.unit, None, is_lost=all(outcome.is_lost for outcome in unread))


def figure(measures: Sequence[Measure], *, against: float, in_favour: float) -> dict[str, Any]:
    """Mean over units (people, works) with its interval, counts and bounds.

    Args:
        against, in_favour: the worst and the best value that an unread item could have had.
    """
    read = [m for m in measures if m.value is not None]
    lost = sum(m.is_lost for m in measures)
    found: dict[str, Any] = {"mean": None, "low": None, "high": None}
    if read:
        interval = _macro(read, against, against)
        found = {name: _rounded(getattr(interval, name)) for name in found}
        if interval.low is not None:  # Student's t draws past the ends of the scale
            found["low"] = max(found["low"], min(against, in_favour))
            found["high"] = min(found["high"], max(against, in_favour))
    worst, best, only_lost = None, None, None
    if measures:
        worst = _rounded(_macro(measures, against, against).mean)
        best = _rounded(_macro(measures, in_favour, in_favour).mean)
        only_lost = _rounded(_macro(measures, against, in_favour).mean)
    return found | {
        "num_units": len({m.unit for m in read}),
        "num_items": len(measures),
        "num_unread": len(measures) - len(read) - lost,
        "num_lost": lost,
        "worst_case": worst,
        "best_case": best,
        "if_lost_were_good": only_lost,
    }


def _macro(measures: Sequence[Measure], unread: float, lost: float) -> Any:
    values: dict[str, list[float]] = {}
    for m in measures:
        missing = lost if m.is_lost else unread
        values.setdefault(m.unit, []).append(missing if m.value is None else m.value)
    return macro_mean(values)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def condition(
    name: str, found: dict[str, Any], relation: Literal[">=", "<=", ">"], threshold: float
) -> dict[str, Any]:
    """Whether a figure's worst case reaches a threshold; None where lost requests decide."""
    met: bool | None = None
    if found["worst_case"] is not None:
        met = _holds(found["worst_case"], relation, threshold)
        if not met and _holds(found["if_lost_were_good"], relation, threshold):
            met = None
    return {
        "figure": name,
        "relation": relation,
        "threshold": threshold,
        "worst_case": found["worst_case"],
        "met": met,
    }


def _holds(value: float, relation: str, threshold: float) -> bool:
    if relation == ">=":
        return value >= threshold
    return value > threshold if relation == ">" else value <= threshold


def result(
    figures: dict[str, Any],
    conditions: Sequence[dict[str, Any]],
    items: Sequence[Item],
    *,
    min_items: int,
    note: str = "",
) -> dict[str, Any]:
    """A probe's entry in the file: figures, conditions, counts, and what follows from them.

    A condition that fails, fails the probe; one that cannot be decided, or too few items,
    leave it incomplete.
    """
    status: ProbeStatus = "passed"
    if len(items) < min_items:
        status = "incomplete"
        note = f"{len(items)} items, min_items is {min_items}. {note}".strip()
    elif any(entry["met"] is False for entry in conditions):
        status = "failed"
    elif any(entry["met"] is None for entry in conditions):
        status = "incomplete"
    outcomes = [outcome for item in items for outcome in item.outcomes.values()]
    return {
        "status": status,
        "figures": figures,
        "conditions": list(conditions),
        "num_items": len(items),
        "num_units": len({item.unit for item in items}),
        "outcomes": status_counts(outcomes),
        "note": note,
    }


def not_run(status: ProbeStatus, note: str) -> dict[str, Any]:
    return {
        "status": status,
        "figures": {},
        "conditions": [],
        "num_items": 0,
        "num_units": 0,
        "outcomes": {},
        "note": note,
    }


def status_counts(outcomes: Iterable[Outcome]) -> dict[str, int]:
    return dict(sorted(Counter(outcome.status for outcome in outcomes).items()))
