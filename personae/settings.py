"""Command configs: each composes the packages' settings, so overrides start with the part."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from pydantic.dataclasses import dataclass

from data_prep.config import load_config, resolved
from data_prep.prepare import PrepConfig
from data_prep.records import STRICT
from eval.config import EvalConfig, JudgeConfig
from eval.personaeval.config import RoleConfig
from eval.personaeval.curate import CurateConfig
from eval.validation.config import ValidateConfig
from serve.engines import EngineConfig
from train.config import TrainConfig

__all__ = [
    "AskCommand",
    "CurateCommand",
    "EvalCommand",
    "PrepCommand",
    "RoleidCommand",
    "TrainCommand",
    "ValidateCommand",
    "load_config",
    "paths_and_overrides",
    "resolved",
]

OVERRIDE = re.compile(r"[a-z_]+(\.[a-z_]+)+=.*", re.DOTALL)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PrepCommand:
    prep: PrepConfig = PrepConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TrainCommand:
    train: TrainConfig = TrainConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class AskCommand:
    engine: EngineConfig = EngineConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class EvalCommand:
    """`corpus`, `adapters`, `out` and `judges` (validations) are paths; relative ones start at
    the current folder."""

    corpus: str = "corpus"
    adapters: str = "adapters"
    out: str = "runs/eval"
    judges: str = "judges"
    engine: EngineConfig = EngineConfig()
    eval: EvalConfig = EvalConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ValidateCommand:
    """`judge` is as `eval.judge` in an evaluation, but for its engine, which is `engine`."""

    engine: EngineConfig = EngineConfig()
    judge: JudgeConfig
    validate: ValidateConfig = ValidateConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RoleidCommand:
    engine: EngineConfig = EngineConfig()
    role: RoleConfig = RoleConfig()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class CurateCommand:
    curate: CurateConfig = CurateConfig()


def paths_and_overrides(words: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Tell `part.field=value` from paths; a path that exists is a path."""
    overrides = [w for w in words if OVERRIDE.fullmatch(w) and not Path(w).exists()]
    return [Path(word) for word in words if word not in overrides], overrides
