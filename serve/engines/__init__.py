"""Which engine to use, and how to get it. Choosing one never imports the others."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.engine import Engine
from data_prep.records import STRICT
from serve.engines.scripted import ScriptedConfig

ENGINES = {  # resolved on use; each is called with the config and the adapters' folders
    "transformers": "serve.engines.transformers:TransformersEngine",
    "scripted": "serve.engines.scripted:from_config",
}
NO_ADAPTERS: Mapping[str, Path] = MappingProxyType({})


@dataclass(frozen=True, kw_only=True, config=STRICT)
class EngineConfig:
    """An engine and the weights it serves.

    `dtype: auto` is bfloat16 where the hardware multiplies it, else float32.
    `max_batch_tokens` bounds the tokens in memory at once: prompts, shared prefixes counted
    for each request, and what may still be generated. `max_model_len` lowers the base's own
    context length.
    """

    engine: Literal["transformers", "scripted"] = "transformers"
    base_model: str = "packaged:smollm2-135m-instruct"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    max_batch_tokens: int = Field(default=8192, ge=1)
    max_model_len: int | None = Field(default=None, ge=1)
    max_resident_adapters: int = Field(default=16, ge=1)
    share_prefixes: bool = True  # compute a prompt's beginning once for all that have it
    allow_scripted: bool = False
    scripted: ScriptedConfig = ScriptedConfig()

    def __post_init__(self) -> None:
        if self.engine != "scripted" and self.scripted != ScriptedConfig():
            raise ValueError(
                f"engine.scripted has settings, but the engine is {self.engine!r}; remove them"
            )


def load_engine(config: EngineConfig, adapters: Mapping[str, Path] = NO_ADAPTERS) -> Engine:
    """Build the engine; adapters are loaded when a request first names them.

    Args:
        adapters: bundle folder of each `NAME@VERSION` that may be asked for.

    Raises:
        ValueError: the scripted engine without permission, or no such base model.
    """
    if config.engine == "scripted" and not config.allow_scripted:
        raise ValueError(
            "the scripted engine makes replies up and is for tests of processes; "
            "choose another engine, or permit it with --allow-scripted"
        )
    engine: Engine = pkgutil.resolve_name(ENGINES[config.engine])(config, adapters)
    return engine
