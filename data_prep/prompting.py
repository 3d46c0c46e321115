"""The one place that turns a persona, a question and a context into chat messages.

Training, serving and judging all call `build_messages`, so an adapter is asked in the words
it was trained on. The `PromptSpec` travels: `sft/prompt.json` -> persona bundle -> server.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.engine import Message
from data_prep.records import STRICT, QAPair, Turn, content_hash, to_row

PROMPTS = Path(__file__).parent / "prompts"
DEFAULT_PROMPT = "interview-answer.v1"


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PromptSpec:
    """How a persona is addressed.

    `system` may hold `{name}`; `persona_name` is None in the bundle of a category or pooled
    adapter, which is addressed as each of its people in turn. `template_args` go to the chat
    template (for example `enable_thinking`). `system_role: in_user` is for templates that know
    no system role.
    """

    id: str
    system: str
    persona_name: str | None
    template_args: dict[str, Any] = Field(default_factory=dict)
    system_role: Literal["native", "in_user"] = "native"

    def for_persona(self, name: str) -> PromptSpec:
        return replace(self, persona_name=name)

    def digest(self) -> str:
        return content_hash(to_row(self), digits=12)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Context:
    """What the model may read about the person: a profile, and Q&A pairs in this order."""

    profile: str | None = None
    pairs: tuple[QAPair, ...] = ()


NO_CONTEXT = Context()


def persona_prompt(
    name: str | None, *, prompt_id: str = DEFAULT_PROMPT, **settings: Any
) -> PromptSpec:
    """The prompt of a named person, its wording read from `prompts/PROMPT_ID.txt`.

    Raises:
        ValueError: no such prompt.
    """
    return PromptSpec(
        id=prompt_id, system=read_prompt(PROMPTS, prompt_id), persona_name=name, **settings
    )


def read_prompt(folder: Path, prompt_id: str) -> str:
    path = folder / f"{prompt_id}.txt"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.txt")))
        raise ValueError(f"no prompt {prompt_id!r}; known: {known}")
    return path.read_text(encoding="utf-8").strip()


def build_messages(
    spec: PromptSpec,
    question: str,
    context: Context = NO_CONTEXT,
    prior_turns: Sequence[Turn] = (),
) -> tuple[Message, ...]:
    """Messages that end with the question; the reply is the persona's answer.

    The part that many questions share (who it is, what is known) comes first, so that
    engines compute it once.

    Args:
        prior_turns: what was said just before, speaker `persona` or `interviewer`.

    Raises:
        ValueError: the prompt is that of several people and none of them is named.
    """
    if spec.persona_name is None:
        raise ValueError("this prompt is for several people; say as whom the model is addressed")
    system = _fill(spec.system, spec.persona_name) + _context_text(context, spec.persona_name)
    messages: list[Message] = [{"role": "system", "content": system}]
    for turn in prior_turns:
        role: Literal["user", "assistant"] = "assistant" if turn.speaker == "persona" else "user"
        _append(messages, role, turn.text)
    _append(messages, "user", question)
    if spec.system_role == "in_user":
        messages = _system_into_user(messages)
    return tuple(messages)


def _fill(template: str, name: str) -> str:
    return template.replace("{name}", name)


def _context_text(context: Context, name: str) -> str:
    parts = []
    if context.profile:
        parts.append(f"\n\nAbout {name}:\n{context.profile.strip()}")
    if context.pairs:
        spoken = "\n\n".join(f"Question: {p.question}\n{name}: {p.answer}" for p in context.pairs)
        parts.append(f"\n\nFrom earlier interviews with {name}:\n\n{spoken}")
    return "".join(parts)


def _append(messages: list[Message], role: Literal["user", "assistant"], text: str) -> None:
    """Add a message; two in a row of one role are joined, as chat templates demand turns."""
    if messages[-1]["role"] == role:
        messages[-1] = {"role": role, "content": f"{messages[-1]['content']}\n{text}"}
    elif role == "assistant" and messages[-1]["role"] == "system":
        return  # a template wants the user first; an answer without its question says little
    else:
        messages.append({"role": role, "content": text})


def _system_into_user(messages: list[Message]) -> list[Message]:
    system, first, *rest = messages
    joined: Message = {"role": "user", "content": f"{system['content']}\n\n{first['content']}"}
    return [joined, *rest]
