"""Rows of a run read as answers: a probability per candidate, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from eval.personaeval.config import RoleConfig
from eval.personaeval.items import RoleItem
from eval.personaeval.parsing import parse_reply
from eval.personaeval.plan import Use

Answer = dict[str, Any]


def answers_of(
    uses: Sequence[Use],
    rows: Mapping[str, Mapping[str, Any]],
    items: Iterable[RoleItem],
    config: RoleConfig,
) -> list[Answer]:
    """One answer per use; `probabilities` follow the item's own order of candidates.

    `status` is `ok`, `invalid` (no readable distribution in any attempt) or `transport_error`
    (the reply that decides never arrived: such an item is not scored, and a second run asks).
    `second` is what the other reading makes of the same row: the strict parse, or the other
    likelihood normalisation.
    """
    by_id = {item.id: item for item in items}
    return [_answer(use, rows, by_id[use.item_id], config) for use in uses]


def _answer(
    use: Use, rows: Mapping[str, Mapping[str, Any]], item: RoleItem, config: RoleConfig
) -> Answer:
    answer: Answer = {
        "item_id": use.item_id,
        "answerer": use.answerer,
        "rotation": use.rotation,
        "sample": use.sample,
        "order": list(use.order),
        "key": use.keys[0],
        "attempt": 0,
        "status": "transport_error",
        "probabilities": None,
        "second": None,
        "problem": "was not asked",
    }
    for attempt, key in enumerate(use.keys):
        row = rows.get(key)
        if row is None:  # a later attempt that was not needed, or not yet made
            break
        answer |= {"key": key, "attempt": attempt, **_read(row, use, item, config)}
        if answer["status"] != "invalid":
            break
    return answer


def _read(row: Mapping[str, Any], use: Use, item: RoleItem, config: RoleConfig) -> dict[str, Any]:
    if row["status"] == "transport_error":
        return {"status": "transport_error", "problem": row["detail"] or "no answer arrived"}
    if row["status"] != "ok":
        return {"status": "invalid", "problem": f"{row['status']}: {row['detail']}"}
    if config.mode == "likelihood":
        return {"status": "ok", "problem": ""} | _readings(row, use, config)
    parsed = parse_reply(row["text"], item.names, config.parse)
    if parsed.probabilities is None:
        cut = "cut off; " if row["finish_reason"] == "length" else ""
        return {"status": "invalid", "problem": cut + parsed.problem}
    vector = list(parsed.probabilities)
    return {
        "status": "ok",
        "problem": "",
        "probabilities": vector,
        "second": vector if parsed.is_strict else None,
    }


def _readings(row: Mapping[str, Any], use: Use, config: RoleConfig) -> dict[str, Any]:
    sums = row["option_logprobs"]
    per_character = [s / len(name) for s, name in zip(sums, row["options"], strict=True)]
    readings = {
        "sum": _placed(softmax(sums), use.order),
        "per_character": _placed(softmax(per_character), use.order),
    }
    headline = readings.pop(config.likelihood)
    return {"probabilities": headline, "second": next(iter(readings.values()))}


def softmax(logprobs: Sequence[float]) -> list[float]:
    """Probabilities within the options alone."""
    highest = max(logprobs)
    weights = [math.exp(value - highest) for value in logprobs]
    return [weight / sum(weights) for weight in weights]


def _placed(shown: Sequence[float], order: Sequence[int]) -> list[float]:
    """From the order shown back to the item's own."""
    placed = [0.0] * len(shown)
    for value, position in zip(shown, order, strict=True):
        placed[position] = value
    return placed
