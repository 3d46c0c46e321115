"""SFT sets: Q&A pairs as the chats that training sees, one folder per persona.

sft/NAME/train.jsonl, validation.jsonl    one `SFTExample` a line
sft/NAME/prompt.json                      the `PromptSpec` that training copies on
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic.dataclasses import dataclass

from data_prep.files import read_json, read_jsonl, write_json, write_jsonl
from data_prep.prompting import PromptSpec, build_messages
from data_prep.records import STRICT, QAPair, from_row, to_row


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SFTMessage:
    """A chat message; the loss is on those with `train`."""

    role: Literal["system", "user", "assistant"]
    content: str
    train: bool = False


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SFTExample:
    """One training chat and the Q&A pairs it was made from."""

    persona_id: str
    pair_ids: tuple[str, ...]
    messages: tuple[SFTMessage, ...]


def single_turn(pair: QAPair, prompt: PromptSpec) -> SFTExample:
    """The question as served, and the answer. A follow-up keeps the turns it refers to."""
    asked = build_messages(
        prompt, pair.question, prior_turns=() if pair.self_contained else pair.prior_turns
    )
    said = tuple(SFTMessage(role=m["role"], content=m["content"]) for m in asked)
    answer = SFTMessage(role="assistant", content=pair.answer, train=True)
    return SFTExample(persona_id=pair.persona_id, pair_ids=(pair.id,), messages=(*said, answer))


def write_sft(folder: Path, prompt: PromptSpec, **parts: Iterable[QAPair]) -> None:
    """Write one persona's sets: `train=...`, `validation=...`, each as its pairs come."""
    write_json(folder / "prompt.json", to_row(prompt))
    for part, pairs in parts.items():
        rows = (to_row(single_turn(pair, prompt)) for pair in pairs)
        write_jsonl(folder / f"{part}.jsonl", rows)


def read_sft(folder: Path, part: Literal["train", "validation"]) -> list[SFTExample]:
    """Read one part of a persona's set.

    Raises:
        ValueError: there is none, or a line is not an SFT example.
    """
    path = folder / f"{part}.jsonl"
    if not path.exists():
        raise ValueError(f"{path} does not exist; this persona has no split, see stats.json")
    return [from_row(SFTExample, row, where=str(path)) for row in read_jsonl(path)]


def read_prompt_spec(folder: Path) -> PromptSpec:
    return from_row(
        PromptSpec, read_json(folder / "prompt.json"), where=str(folder / "prompt.json")
    )
