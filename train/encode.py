"""The one place that turns messages into `input_ids` and `labels`.

Trainer, canary and engines all encode here, so a model is scored on the very tokens it was
trained on. Supervision covers the answer and its end-of-turn token, nothing else: never the
prompt, never padding, never the newline a template writes after the end-of-turn token.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data_prep.engine import Message
from data_prep.sft import SFTMessage

IGNORED = -100  # the label that cross-entropy skips


@dataclass(frozen=True)
class Encoded:
    """Token ids and, per position, the same id where it is supervised, else IGNORED."""

    input_ids: list[int]
    labels: list[int]

    @property
    def num_supervised(self) -> int:
        return sum(label != IGNORED for label in self.labels)


class Encoder:
    """Encodes chats with one tokenizer and its chat template.

    Raises:
        ValueError: the template is missing, or ends no turn with a token of its own.
    """

    def __init__(self, tokenizer: Any, template_args: dict[str, Any] | None = None) -> None:
        if not tokenizer.chat_template:
            raise ValueError("the tokenizer has no chat template; use an instruction-tuned model")
        self.tokenizer = tokenizer
        self.template_args = dict(template_args or {})
        self.end_of_turn = self._find_end_of_turn()
        self._end_of_turn_text = str(tokenizer.decode([self.end_of_turn]))

    def prompt_ids(self, messages: Sequence[Message]) -> list[int]:
        """Tokens up to where the answer begins."""
        return self._ids(self._render(messages, add_generation_prompt=True))

    def answer_ids(self, answer: str) -> list[int]:
        """Tokens of an answer and its end-of-turn token."""
        # a speaker who quotes a special token says letters, and ends no turn
        said = self.tokenizer(answer.strip(), add_special_tokens=False, split_special_tokens=True)
        return [*said["input_ids"], self.end_of_turn]

    def example(
        self, messages: Sequence[Message], answer: str, *, max_length: int | None = None
    ) -> Encoded:
        """A prompt and its answer, the loss on the answer alone.

        Raises:
            ValueError: question and answer alone are longer than `max_length`.
        """
        said = [SFTMessage(role=m["role"], content=m["content"]) for m in messages]
        return self.conversation(
            [*said, SFTMessage(role="assistant", content=answer, train=True)], max_length=max_length
        )

    def conversation(
        self, messages: Sequence[SFTMessage], *, max_length: int | None = None
    ) -> Encoded:
        """A chat with the loss on every message marked `train`; what follows the last is dropped.

        Args:
            max_length: too long, and the oldest exchanges behind the system message go; an
                answer's tokens are never cut, nor is a chat without system message.

        Raises:
            ValueError: the last exchange alone is longer than `max_length`, no message is
                marked `train`, or the template rewrites earlier turns.
        """
        kept = list(messages)
        encoded = self._encode(kept)
        while max_length and len(encoded.input_ids) > max_length:
            kept = _without_oldest(kept, max_length, len(encoded.input_ids))
            encoded = self._encode(kept)
        if not encoded.num_supervised:
            raise ValueError("no message of the conversation is marked `train`")
        return encoded

    def _encode(self, messages: Sequence[SFTMessage]) -> Encoded:
        ids: list[int] = []
        labels: list[int] = []
        done = ""  # text that `ids` stand for
        plain: list[Message] = [{"role": m.role, "content": m.content.strip()} for m in messages]
        for position, message in enumerate(messages):
            if not message.train:
                continue
            prompt = self._render(plain[:position], add_generation_prompt=True)
            if not prompt.startswith(done):
                raise ValueError(
                    "the chat template changes earlier turns as a chat goes on; "
                    "use single-turn SFT sets with this model"
                )
            before = self._ids(prompt[len(done) :])
            answer = self.answer_ids(message.content)
            ids += before + answer
            labels += [IGNORED] * len(before) + answer
            done = prompt + message.content.strip() + self._end_of_turn_text
        return Encoded(input_ids=ids, labels=labels)

    def _render(self, messages: Sequence[Message], *, add_generation_prompt: bool) -> str:
        text = self.tokenizer.apply_chat_template(
            list(messages),
            tokenize=False,
            add_generation_prompt=add_generation_prompt,
            **self.template_args,
        )
        return str(text)

    def _ids(self, text: str) -> list[int]:
        # special tokens are in the text already: the template wrote them
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _find_end_of_turn(self) -> int:
        """The token a template puts right behind an answer; generation must stop there."""
        marker = "Yes."
        chat: list[Message] = [
            {"role": "user", "content": "Ready?"},
            {"role": "assistant", "content": marker},
        ]
        rendered = self._render(chat, add_generation_prompt=False)
        behind = rendered[rendered.rindex(marker) + len(marker) :]
        ids = self._ids(behind)
        if not ids or ids[0] not in self.tokenizer.all_special_ids:
            raise ValueError(
                f"the chat template ends an answer with {behind[:20]!r}, expected a special token; "
                "mend the tokenizer's chat template"
            )
        return ids[0]


def _without_oldest(messages: list[SFTMessage], limit: int, length: int) -> list[SFTMessage]:
    """Drop the oldest exchange behind the system message.

    Without one, what the system would say stands in the oldest message, which then must stay.
    """
    later = [p for p in range(2, len(messages)) if messages[p].role == "user"]
    if messages[0].role != "system" or not later:
        raise ValueError(
            f"question and answer have {length} tokens, the limit is {limit}; raise max_length"
        )
    return [messages[0], *messages[later[0] :]]
