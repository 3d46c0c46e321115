"""What an engine is: it turns requests into replies. Implementations are in `serve/engines`.

Three operations: `generate` text; `choose` among options by log-probability; `score_text`,
the log-probabilities of a given answer. Requests carry all that determines their reply, so
`request_key` names the row it ends in.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Protocol

from pydantic import Field
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from data_prep.records import STRICT, content_hash, to_row


class Message(TypedDict):
    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Sampling:
    """How to decode; `temperature=0` is greedy, and then the seed has no effect."""

    max_tokens: int = Field(default=256, ge=1)
    temperature: float = Field(default=0.0, ge=0.0)
    top_p: float = Field(default=1.0, gt=0.0, le=1.0)
    seed: int = 0
    stop: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Constraint:
    """What a reply must look like: one of `choices`, or JSON valid under `json_schema`."""

    choices: tuple[str, ...] = ()
    json_schema: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if bool(self.choices) == (self.json_schema is not None):
            raise ValueError("a constraint has either choices or a json_schema")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Request:
    """One question to a model.

    `adapter` is `NAME@VERSION` or None for the base. `options` are for `choose`,
    `completion` (the answer without its end-of-turn token) for `score_text`.
    """

    messages: tuple[Message, ...]
    adapter: str | None = None
    sampling: Sampling = Sampling()
    constraint: Constraint | None = None
    options: tuple[str, ...] = ()
    completion: str | None = None
    template_args: dict[str, Any] = Field(default_factory=dict)


ReplyStatus = Literal["ok", "refused", "transport_error"]
FinishReason = Literal["stop", "length", "refused", "error"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reply:
    """What came back.

    `token_logprobs` (natural logarithm) cover the completion's tokens and, last, the
    end-of-turn token. `option_logprobs` are sums over each option's tokens.
    """

    text: str = ""
    reasoning: str = ""
    status: ReplyStatus = "ok"
    finish_reason: FinishReason = "stop"
    detail: str = ""
    num_prompt_tokens: int = 0
    num_output_tokens: int = 0
    token_logprobs: tuple[float, ...] = ()
    option_logprobs: tuple[float, ...] = ()

    def option_logprobs_per_character(self, options: Sequence[str]) -> tuple[float, ...]:
        return tuple(
            total / max(len(option), 1)
            for total, option in zip(self.option_logprobs, options, strict=True)
        )


Operation = Literal["generate", "choose", "score_text", "json_schema", "choices"]


class Engine(Protocol):
    """Serves one base model and any number of adapters over it.

    Replies come in the order of the requests. A failed request is a reply with a status,
    never a missing one; a request that cannot be served at all raises ValueError.
    """

    capabilities: frozenset[Operation]
    model: str  # the base's name, as it appears in reports
    fingerprint: str  # identity of the base's weights, whatever computes with them
    identity: str  # of weights and number format: all of the engine that decides a reply
    context_length: int

    def count_tokens(self, text: str) -> int: ...

    def generate(self, requests: Sequence[Request]) -> Iterator[Reply]: ...

    def choose(self, requests: Sequence[Request]) -> Iterator[Reply]: ...

    def score_text(self, requests: Sequence[Request]) -> Iterator[Reply]: ...


def request_key(operation: str, request: Request, identity: str) -> str:
    """Hash of all that determines a reply: operation, request and the engine's identity."""
    return content_hash([operation, identity, to_row(request)], digits=32)


def require(engine: Engine, needed: set[Operation], purpose: str) -> None:
    """Refuse an engine that lacks an operation before any work is done.

    Raises:
        ValueError: names what is lacking.
    """
    lacking = sorted(needed - engine.capabilities)
    if lacking:
        raise ValueError(
            f"{purpose} needs {', '.join(lacking)}, which the engine of {engine.model!r} lacks; "
            "choose another engine"
        )
