"""Who answers, as one string everywhere: server `model` field, eval methods, report rows.

    BASE                        the base model, no persona
    NAME[@VERSION][+CONTEXT]    an adapter, by persona bundle
    base:NAME[+CONTEXT]         the base model, prompted as that persona

CONTEXT is `profile, long_profile, interview_profile, chronological-M, random-K,
retrieval-K` or `hybrid-K-M`.
"""

from __future__ import annotations

import re
from typing import Literal

from pydantic.dataclasses import dataclass

from data_prep.records import PERSONA_ID, STRICT

ContextKind = Literal[
    "none",
    "profile",
    "long_profile",
    "interview_profile",
    "chronological",
    "random",
    "retrieval",
    "hybrid",
]
_NUM_SIZES = {"chronological": 1, "random": 1, "retrieval": 1, "hybrid": 2}
_PLAIN = ("profile", "long_profile", "interview_profile")
_WHO = re.compile(
    rf"(?P<base>base:)?(?P<name>{PERSONA_ID})(@(?P<version>[0-9a-f]{{12}}))?(\+(?P<context>[a-z_0-9-]+))?"
)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ContextSpec:
    """A context method: `num_ranked` pairs by relevance or chance, then `num_recent` last ones."""

    kind: ContextKind = "none"
    num_ranked: int = 0
    num_recent: int = 0

    def __str__(self) -> str:
        sizes = [str(n) for n in (self.num_ranked, self.num_recent) if n]
        return "-".join([self.kind, *sizes])


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Who:
    """A parsed answerer; `name` is None for the bare base model."""

    name: str | None
    is_adapter: bool
    version: str | None = None
    context: ContextSpec = ContextSpec()

    def __str__(self) -> str:
        if self.name is None:
            return "BASE"
        text = self.name if self.is_adapter else f"base:{self.name}"
        text += f"@{self.version}" if self.version else ""
        return text if self.context.kind == "none" else f"{text}+{self.context}"


def parse_who(text: str) -> Who:
    """Parse an answerer.

    Raises:
        ValueError: not of the grammar above.
    """
    if text == "BASE":
        return Who(name=None, is_adapter=False)
    match = _WHO.fullmatch(text)
    if match is None or (match["base"] and match["version"]):
        raise ValueError(
            f"{text!r} names nobody; write BASE, NAME[@VERSION][+CONTEXT] or base:NAME[+CONTEXT], "
            "for example ada, ada+retrieval-10, base:ada+chronological-100"
        )
    return Who(
        name=match["name"],
        is_adapter=not match["base"],
        version=match["version"],
        context=parse_context(match["context"]) if match["context"] else ContextSpec(),
    )


def parse_context(text: str) -> ContextSpec:
    """Parse a context method such as `chronological-100` or `hybrid-50-50`.

    Raises:
        ValueError: unknown method or wrong sizes.
    """
    if text in _PLAIN:
        return ContextSpec(kind=text)  # type: ignore[arg-type]
    kind, *sizes = text.split("-")
    wanted = _NUM_SIZES.get(kind)
    if wanted != len(sizes) or not all(re.fullmatch("[1-9][0-9]{0,8}", s) for s in sizes):
        known = ", ".join([*_PLAIN, "chronological-M", "random-K", "retrieval-K", "hybrid-K-M"])
        raise ValueError(f"unknown context {text!r}; known: {known} (M, K positive whole numbers)")
    numbers = [int(size) for size in sizes]
    if kind == "chronological":
        return ContextSpec(kind="chronological", num_recent=numbers[0])
    return ContextSpec(kind=kind, num_ranked=numbers[0], num_recent=sum(numbers[1:]))  # type: ignore[arg-type]
