"""Settings of training; options that a server refuses at load are refused here, before."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.records import STRICT

SERVABLE_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)  # vLLM's --max-lora-rank


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LoraConfig:
    """The update to each linear layer is `alpha / rank` times a product of two thin matrices."""

    rank: int = Field(default=16, ge=1)
    alpha: float = Field(default=32.0, gt=0)
    dropout: float = Field(default=0.0, ge=0, lt=1)
    target_modules: str | tuple[str, ...] = "all-linear"

    def __post_init__(self) -> None:
        if self.rank > SERVABLE_RANKS[-1]:
            raise ValueError(
                f"lora.rank is {self.rank}, vLLM serves at most {SERVABLE_RANKS[-1]}; lower it"
            )


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TrainConfig:
    """How one adapter is trained; `epochs` is a maximum when there is a validation interview."""

    base_model: str = "packaged:smollm2-135m-instruct"
    lora: LoraConfig = LoraConfig()
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    epochs: int = Field(default=3, ge=1)
    learning_rate: float = Field(default=5e-4, gt=0)
    warmup_fraction: float = Field(default=0.05, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    batch_size: int = Field(default=4, ge=1)
    max_grad_norm: float = Field(default=1.0, gt=0)
    max_length: int = Field(default=1024, ge=16)  # tokens; longer ones lose their oldest context
    max_pairs: int | None = Field(default=None, ge=1)  # the latest ones of each person
    max_validation_pairs: int | None = Field(default=50, ge=1)
    gradient_checkpointing: bool = False
    seed: int = 0
