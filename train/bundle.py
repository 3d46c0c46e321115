"""The persona bundle: a PEFT adapter folder plus `persona.json`, all that is needed to use it.

    adapters/NAME/VERSION/adapter_model.safetensors, adapter_config.json, persona.json
    adapters/NAME/current      names the promoted version

VERSION is a hash over weights, prompt and base identity, so a folder never changes its
meaning. No torch here: servers and planners read bundles without loading a model.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.engine import Message, Sampling
from data_prep.files import make_folder, read_json, sha256_file, write_json, write_text
from data_prep.prompting import PromptSpec
from data_prep.records import PERSONA_ID, SCHEMA_VERSION, STRICT, content_hash, from_row, to_row

WEIGHTS = "adapter_model.safetensors"
RECORD = "persona.json"
VERSION = re.compile(r"[0-9a-f]{12}")

Scope = Literal["persona", "category", "pooled"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Canary:
    """An answer with the log-probability of each token under the adapter and under the base.

    It proves later that the adapter is applied, and applied as it was trained. Values are
    natural logarithms; the last one belongs to the end-of-turn token.
    """

    messages: tuple[Message, ...]
    completion: str
    adapter_logprobs: tuple[float, ...]
    base_logprobs: tuple[float, ...]

    def distance(self) -> float:
        """Mean |adapter - base| in nats; under 0.2 the adapter has learnt nothing."""
        return mean_absolute(self.adapter_logprobs, self.base_logprobs)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PersonaBundle:
    """What `persona.json` holds."""

    name: str = Field(pattern=f"^{PERSONA_ID}$")
    version: str = Field(pattern="^[0-9a-f]{12}$")
    scope: Scope
    persona_ids: tuple[str, ...]
    base_model: str
    base_fingerprint: str
    template_hash: str
    prompt: PromptSpec
    sampling: Sampling
    corpus_digest: str
    config_hash: str
    training: dict[str, Any]
    canary: Canary
    certificate: dict[str, Any] | None = None
    schema_version: int = SCHEMA_VERSION

    @property
    def full_name(self) -> str:
        return f"{self.name}@{self.version}"


LEARNT_NOTHING = 0.2  # nats


def mean_absolute(left: tuple[float, ...], right: tuple[float, ...]) -> float:
    return sum(abs(a - b) for a, b in zip(left, right, strict=True)) / len(left)


def canary_problem(canary: Canary, measured: tuple[float, ...], *, exact: bool) -> str | None:
    """Why these log-probabilities show that the adapter is not applied as trained, or None.

    The error to the adapter's values must be at most a quarter of that to the base's, and at
    most 0.02 nat in float32 (`exact`), 0.15 nat in bfloat16 or quantised.
    """
    if len(measured) != len(canary.adapter_logprobs):
        return (
            f"the canary has {len(measured)} tokens here, {len(canary.adapter_logprobs)} when it "
            "was trained; tokenizer or template differ"
        )
    error = mean_absolute(measured, canary.adapter_logprobs)
    to_base = mean_absolute(measured, canary.base_logprobs)
    limit = 0.02 if exact else 0.15
    if not (error <= limit and error <= to_base / 4):  # so worded, NaN is a problem
        return (
            f"the canary is {error:.3f} nat from the adapter's values (at most {limit}) and "
            f"{to_base:.3f} from the base's; the adapter is not applied as it was trained"
        )
    return None


def bundle_version(weights: Path, prompt: PromptSpec, base_fingerprint: str) -> str:
    return content_hash([sha256_file(weights), to_row(prompt), base_fingerprint], digits=12)


def publish(adapters: Path, staged: Path, bundle: PersonaBundle) -> Path:
    """Move a finished adapter folder to its place and promote it; returns the new folder."""
    write_json(staged / RECORD, to_row(bundle))
    home = make_folder(adapters / bundle.name)
    target = home / bundle.version
    if target.exists():  # the same weights, prompt and base: training was repeated
        shutil.rmtree(target)
    os.replace(staged, target)
    write_text(home / "current", bundle.version + "\n")
    return target


def read_bundle(folder: Path) -> PersonaBundle:
    """Read and check a version's folder.

    Raises:
        ValueError: not a bundle, written by a newer tool, or its weights were changed.
    """
    if not (folder / RECORD).exists():
        raise ValueError(
            f"{folder} is not a persona bundle (no {RECORD}); train one with `personae train`"
        )
    row = read_json(folder / RECORD)
    version = row.get("schema_version") if isinstance(row, dict) else None
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise ValueError(
            f"{folder} has schema version {version}, "
            f"this tool reads up to {SCHEMA_VERSION}; update personae"
        )
    bundle = from_row(PersonaBundle, row, where=str(folder / RECORD))
    if not (folder / WEIGHTS).is_file():
        raise ValueError(f"{folder} has no {WEIGHTS}; restore it or train again")
    if bundle_version(folder / WEIGHTS, bundle.prompt, bundle.base_fingerprint) != bundle.version:
        raise ValueError(
            f"{folder}: weights or prompt are not those of version {bundle.version}; "
            "restore the folder or train again"
        )
    return bundle


def find_bundle(adapters: Path, name: str, version: str | None = None) -> Path:
    """Folder of an adapter's version, by default the promoted one.

    Raises:
        ValueError: no such adapter or version; the known ones are listed.
    """
    names = list_names(adapters)
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        known = ", ".join(names) or "none, train one with `personae train`"
        raise ValueError(f"no adapter {name!r} in {adapters}; {hint}known: {known}")
    home = adapters / name
    version = version or (home / "current").read_text(encoding="utf-8").strip()
    if not VERSION.fullmatch(version) or not (home / version).is_dir():
        known = ", ".join(sorted(p.name for p in home.iterdir() if VERSION.fullmatch(p.name)))
        raise ValueError(f"adapter {name!r} has no version {version!r}; known: {known}")
    return home / version


def list_names(adapters: Path) -> list[str]:
    """Names of all promoted adapters in a folder."""
    if not adapters.is_dir():
        return []
    return sorted(path.parent.name for path in adapters.glob("*/current"))


def refuse_other_base(bundle: PersonaBundle, *, base_model: str, fingerprint: str) -> None:
    """Raises ValueError when the adapter was trained on other weights than these."""
    if bundle.base_fingerprint != fingerprint:
        raise ValueError(
            f"adapter {bundle.name!r} was trained on {bundle.base_model!r} "
            f"({bundle.base_fingerprint}), this engine serves {base_model!r} ({fingerprint}); "
            "serve that model or train again on this one"
        )
