"""Read judges' verdicts strictly: what is not exactly a verdict is never a number.

InterviewSim's released rules (spec sections 4.1 and 4.5): one JSON object with exactly the
expected fields, at most one code fence around it, no prose outside, no duplicate keys, no
number as string, no `4.0`, no `true`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

CONTENT_SIMILARITY_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "score": {"type": "integer", "minimum": 1, "maximum": 5},
        "explanation": {"type": "string", "minLength": 1, "maxLength": 160},
    },
    "required": ["score", "explanation"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class ContentVerdict:
    """1 (contradicts or misses the core) to 5 (same core ideas)."""

    score: int
    explanation: str


def read_content_similarity(text: str) -> ContentVerdict:
    """Parse a content-similarity verdict.

    Raises:
        ValueError: it is not exactly one; the message says why.
    """
    value = read_object(text)
    if set(value) != {"score", "explanation"}:
        raise ValueError(f"fields are {sorted(value)}, expected score and explanation")
    score, explanation = value["score"], value["explanation"]
    if type(score) is not int or not 1 <= score <= 5:
        raise ValueError(f"score is {score!r}, expected a whole number from 1 to 5")
    if not isinstance(explanation, str) or not explanation.strip():
        raise ValueError("explanation is blank")
    return ContentVerdict(score=score, explanation=explanation.strip())


def read_object(text: str) -> dict[str, Any]:
    """Parse one JSON object, refusing duplicate keys and non-finite numbers.

    Raises:
        ValueError: anything else.
    """
    value = json.loads(
        without_fence(text), object_pairs_hook=_unique, parse_constant=_refuse_constant
    )
    if not isinstance(value, dict):
        raise ValueError(f"found a JSON {type(value).__name__}, expected an object")
    return value


def without_fence(text: str) -> str:
    """Strip one code fence whose first line starts with three backticks and last is just them."""
    lines = text.strip().splitlines()
    if len(lines) >= 2 and lines[0].startswith("```") and lines[-1].strip() == "```":
        return "\n".join(lines[1:-1])
    return text.strip()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("a key stands twice")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
