"""Settings of an evaluation."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.records import STRICT

DEFAULT_METHODS = (
    "base:{persona}",
    "base:{persona}+chronological-10",
    "{persona}",
)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LikelihoodConfig:
    """How many held-out answers of each person are scored; `controls` adds the adapters of
    others, addressed as the person, and `who_said_it` every adapter on every answer."""

    answers_per_persona: int | None = Field(default=None, ge=1)
    controls: bool = True
    who_said_it: bool = True


@dataclass(frozen=True, kw_only=True, config=STRICT)
class GenerateConfig:
    """Questions of each person that are answered in words, for the judge."""

    questions_per_persona: int | None = Field(default=None, ge=0)
    max_tokens: int = Field(default=256, ge=1)
    temperature: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class JudgeConfig:
    """Who rates. There is no default judge: one is named, or nothing is judged.

    `engine` holds the settings of the judge's engine (as in `engine:`), its `base_model` too.
    """

    name: str
    engine: dict[str, Any] = Field(default_factory=dict)
    max_tokens: int = Field(default=200, ge=16)
    attempts: int = Field(default=3, ge=1)  # an unreadable verdict is asked for again
    retry_temperature: float = Field(default=0.7, gt=0)
    allow_same_base: bool = False


@dataclass(frozen=True, kw_only=True, config=STRICT)
class EvalConfig:
    """What is compared. `{persona}` in a method stands for each person in turn."""

    personas: tuple[str, ...] | Literal["all"] = "all"
    methods: tuple[str, ...] = DEFAULT_METHODS
    baseline: str = "base:{persona}"
    primary: str = "{persona}"  # compared with the baseline; the rest is exploratory
    follow_ups: Literal["with_prior_turns", "drop"] = "with_prior_turns"
    missing_adapters: Literal["refuse", "skip"] = "refuse"  # skipped ones are listed in the report
    likelihood: LikelihoodConfig = LikelihoodConfig()
    generate: GenerateConfig = GenerateConfig()
    judge: JudgeConfig | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        from data_prep.who import parse_who

        for method in (*self.methods, self.baseline, self.primary):
            parse_who(method.replace("{persona}", "persona").replace("{category}", "category"))
        for method in (self.baseline, self.primary):
            if method not in self.methods:
                raise ValueError(
                    f"{method!r} is to be compared, but methods are {', '.join(self.methods)}"
                )
