"""Settings of a role-identification run."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.records import STRICT
from eval.personaeval.metrics import Tie
from eval.personaeval.parsing import Parse


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RoleConfig:
    """How items are put to a model and how its answers count.

    `generate` asks for a written distribution; `likelihood` compares the probabilities of the
    names themselves, for models too small to write one. `samples` above 1 is self-consistency.
    `rotations` shows each item that many times, its candidates rotated by one place each time.
    """

    mode: Literal["generate", "likelihood"] = "generate"
    parse: Parse = "renorm"
    tie: Tie = "midrank"
    shots: Literal[0, 1, 3, 5] = 0
    samples: Literal[1, 3, 5] = 1
    temperature: float = Field(default=0.7, gt=0)  # of samples and of second attempts
    attempts: int = Field(default=5, ge=1)  # an unreadable reply is asked for again
    rotations: int | Literal["all"] = 1
    likelihood: Literal["sum", "per_character"] = "sum"  # which reading is the headline
    max_tokens: int = Field(default=1024, ge=16)
    num_items: int | None = Field(default=None, ge=1)  # fewer, evenly spaced
    adapters: tuple[str, ...] = ()  # NAME or NAME@VERSION, compared with the base
    template_args: dict[str, Any] = Field(default_factory=dict)
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.rotations, int) and self.rotations < 1:
            raise ValueError(f"role.rotations must be at least 1 or all, got {self.rotations}")
        if self.mode == "likelihood" and self.samples > 1:
            raise ValueError(
                "role.samples draws replies, which likelihood has none of; set role.mode=generate "
                "or role.samples=1"
            )
        if len(set(self.adapters)) < len(self.adapters):
            raise ValueError(f"role.adapters names one twice: {', '.join(self.adapters)}")
