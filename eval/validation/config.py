"""Settings of a judge's validation: how much is asked, and what must be reached.

The thresholds are reasoned in `docs/judge-validation.md`. Changing one is allowed and shown
wherever the badge is.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.config import resolved
from data_prep.records import STRICT

ProbeName = Literal[
    "role_identification",
    "order_swap",
    "self_agreement",
    "scale_use",
    "monotonicity",
    "length_bias",
    "master_keys",
    "readability",
    "human_agreement",
    "reasoning",
]
REQUIRED: tuple[ProbeName, ...] = get_args(ProbeName)[:8]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Thresholds:
    """Shares lie in [0, 1]; unread verdicts count against the judge in all of them."""

    min_role_accuracy: float = Field(default=0.5, ge=0, le=1)
    min_order_consistency: float = Field(default=0.8, ge=0, le=1)
    min_exact_agreement_greedy: float = Field(default=0.95, ge=0, le=1)  # temperature 0
    min_close_agreement_sampled: float = Field(default=0.9, ge=0, le=1)  # 0.7, within one point
    min_levels: int = Field(default=4, ge=1, le=5)
    max_modal_share: float = Field(default=0.7, ge=0, le=1)
    min_ordered_triples: float = Field(default=0.8, ge=0, le=1)
    max_raised_by_padding: float = Field(default=0.1, ge=0, le=1)
    max_fooled_by_master_keys: float = Field(default=0.05, ge=0, le=1)
    max_unread: float = Field(default=0.05, ge=0, le=1)
    min_human_kappa: float = Field(default=0.4, ge=-1, le=1)  # quadratic weights
    min_share_of_ceiling: float = Field(default=0.8, ge=0)  # of the kappa between people


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ValidateConfig:
    """`num_pairs` held-out pairs, spread over people; probes that repeat use fewer of them.

    A probe with fewer than `min_items` readable or unread items is incomplete, and so is a
    judge that lacks a `required` probe.
    """

    num_pairs: int = Field(default=40, ge=2)
    num_repeated_pairs: int = Field(default=20, ge=1)  # self-agreement and master keys
    num_repeats: int = Field(default=3, ge=2)
    num_reasoning_pairs: int = Field(default=10, ge=1)
    max_reasoning_tokens: int = Field(default=1024, ge=16)
    num_roleid_items: int | None = Field(default=None, ge=1)  # None is all
    min_words: int = Field(default=12, ge=4)  # of an answer that is probed
    max_words: int = Field(default=150, ge=4)
    min_items: int = Field(default=20, ge=1)
    required: tuple[ProbeName, ...] = REQUIRED
    thresholds: Thresholds = Thresholds()
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_words < self.min_words:
            raise ValueError(
                f"validate.max_words is {self.max_words}, below min_words {self.min_words}"
            )


def changed_rules(config: ValidateConfig) -> dict[str, Any]:
    """What decides the badge and is not the default, as used here."""
    usual, used = resolved(ValidateConfig()), resolved(config)
    changed = {
        name: value
        for name, value in used["thresholds"].items()
        if value != usual["thresholds"][name]
    }
    rules = ("min_items", "required")
    return changed | {name: used[name] for name in rules if used[name] != usual[name]}
