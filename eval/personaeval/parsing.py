"""From a judge's reply to a probability for each candidate, or the reason why there is none.

The rules are those of PersonaEval's released code (spec section 3). `strict` is that code's;
`renorm` also takes finite, non-negative vectors with a positive sum, percentages among them,
and says that it rescaled. What is not accepted is never a number.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from eval.personaeval.lenient import read_lenient_object

Parse = Literal["strict", "renorm"]
TOLERANCE = 1e-5  # of the sum, as released
FENCE = "```"


@dataclass(frozen=True)
class Parsed:
    """`probabilities` in the order of the names, or None and the `problem`.

    `is_strict`: the strict rule takes the reply too; else its numbers were rescaled.
    """

    probabilities: tuple[float, ...] | None
    is_strict: bool = False
    problem: str = ""


def parse_reply(text: str, names: Sequence[str], parse: Parse = "renorm") -> Parsed:
    """Read the last fenced block of a reply, or the whole reply when it has none.

    Every name must be a key, spelt exactly so; other keys are passed over. Under `strict` the
    values are what `float` takes and sum to 1 within 1e-5; a negative one or one above 1 then
    passes, as in the released code. NaN and infinity never pass.
    """
    try:
        found = read_lenient_object(last_block(text))
        numbers = _numbers(found, names, percent=False)
    except ValueError as error:
        numbers, problem = None, str(error)
    if numbers is not None:
        total = sum(numbers)
        if abs(total - 1) <= TOLERANCE:
            return Parsed(numbers, is_strict=True)
        problem = f"the probabilities sum to {total:g}, not to 1"
    if parse == "renorm":
        return _rescaled(text, names, problem)
    return Parsed(None, problem=problem)


def last_block(text: str) -> str:
    """The inside of the last fenced block, language tag included; without one, the text.

    A block has at least one character, and white space behind its first fence is passed over
    as long as a later fence ends it (the released pattern, without its backtracking).
    """
    block, start = text, text.find(FENCE)
    while start >= 0:
        inside = start + len(FENCE)
        content = inside + len(text[inside:]) - len(text[inside:].lstrip())
        end = text.find(FENCE, content + 1)
        if end < 0 and content > inside:  # nothing but white space between two fences
            end = text.find(FENCE, content)
        if end < 0:
            break
        block = text[content:end]
        start = text.find(FENCE, end + len(FENCE))
    return block


def _rescaled(text: str, names: Sequence[str], problem: str) -> Parsed:
    try:
        # in a reply cut off within a number, no sum would give the loss away
        found = read_lenient_object(last_block(text), must_close=True)
        numbers = _numbers(found, names, percent=True)
    except ValueError as error:
        return Parsed(None, problem=str(error))
    signs = {_has_percent(found[n]) for n, p in zip(names, numbers, strict=True) if p}
    if len(signs) > 1:
        return Parsed(None, problem="percentages and plain numbers are mixed")
    if any(number < 0 for number in numbers):
        return Parsed(None, problem="a probability is negative")
    total = sum(numbers)
    if not 0 < total < math.inf:
        return Parsed(None, problem=f"the probabilities sum to {total:g}")
    return Parsed(tuple(number / total for number in numbers))


def _numbers(found: dict[str, Any], names: Sequence[str], *, percent: bool) -> tuple[float, ...]:
    if missing := [name for name in names if name not in found]:
        raise ValueError(f"no probability for {', '.join(map(repr, missing))}")
    return tuple(_number(found[name], name, percent=percent) for name in names)


def _number(value: Any, name: str, *, percent: bool) -> float:
    scale = 1.0
    if percent and _has_percent(value):
        value, scale = value.strip().removesuffix("%"), 0.01
    try:
        number = float(value) * scale
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{value!r:.60} for {name!r} is no number") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r:.60} for {name!r} is not finite")
    return number


def _has_percent(value: Any) -> bool:
    return isinstance(value, str) and value.strip().endswith("%")
