"""Which replies the report shows, and how they are written into the page.

Not the best ones: questions at even distances, the same for every method, decided before
anybody looks at a reply. All of them are in `score/answers.parquet`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from data_prep.journal import Row

MAX_QUESTIONS = 120
MAX_CHARACTERS = 1200  # of one text
RULE = (
    f"At most {MAX_QUESTIONS} questions, the same number for each person, at even distances in "
    f"the order of the interviews; texts are shortened after {MAX_CHARACTERS:,} characters."
)


def choose_samples(
    answers: Sequence[Row], likelihood: Sequence[Row], methods: Sequence[str]
) -> list[dict[str, Any]]:
    """Questions with every method's reply, verdict, and bits of the real answer.

    Returns:
        One entry a question, in plan order, ready for JSON; `replies` is as long as `methods`,
        None where a method does not apply to that person.
    """
    replies: dict[tuple[str, str], dict[str, Row]] = {}
    for row in answers:
        replies.setdefault((row["persona_id"], row["pair_id"]), {})[row["method"]] = row
    bits = {
        (row["persona_id"], row["pair_id"], row["method"]): row["bits_per_character"]
        for row in likelihood
        if row["table"] == "likelihood"
    }
    return [
        {
            "person": persona,
            "question": _short(first["question"]),
            "reference": _short(first["reference"]),
            "replies": [
                _reply(own[method], bits.get((persona, pair, method))) if method in own else None
                for method in methods
            ],
        }
        for (persona, pair), own in _spread_over_people(replies)
        for first in [next(iter(own.values()))]
    ]


def _reply(row: Row, bits_per_character: float | None) -> dict[str, Any]:
    return {
        "text": _short(row["reply"] or ""),
        "reply_status": row["reply_status"],
        "is_cut_off": row["finish_reason"] == "length",
        "status": row["status"],
        "score": row["score"],
        "explanation": row["explanation"],
        "detail": row["detail"],
        "bits_per_character": bits_per_character,
    }


def _spread_over_people(
    replies: Mapping[tuple[str, str], dict[str, Row]],
) -> list[tuple[tuple[str, str], dict[str, Row]]]:
    by_person: dict[str, list[tuple[str, str]]] = {}
    for persona, pair in replies:
        by_person.setdefault(persona, []).append((persona, pair))
    shown = spread(list(by_person), MAX_QUESTIONS)
    each = MAX_QUESTIONS // max(len(shown), 1)
    return [(item, replies[item]) for person in shown for item in spread(by_person[person], each)]


def spread(items: Sequence[Any], limit: int) -> list[Any]:
    """At most `limit` of them at even distances."""
    if limit >= len(items):
        return list(items)
    return [items[i * len(items) // limit] for i in range(limit)]


def _short(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS].rstrip() + " […]"


ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def embedded_json(value: object) -> str:
    """JSON that cannot end the script element it stands in, whatever people said."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return text.translate(ESCAPES)
