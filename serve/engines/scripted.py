"""An engine without a model: replies are a function of the request's hash.

For tests of processes, such as "a killed run ends as an undisturbed one", and of what
happens when replies fail. It stands in for any other engine, so it accepts their settings.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.engine import Operation, Reply, Request, request_key
from data_prep.records import STRICT, content_hash
from serve.engines.common import check_length, check_requests

if TYPE_CHECKING:
    from serve.engines import EngineConfig

CONTEXT_LENGTH = 32_768
_WORDS = "well we then really always my work people time years never much it was is good".split()

Answer = str | Reply
Script = Sequence[Answer] | Callable[[Operation, Request], Answer]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ScriptedConfig:
    """Delay of each reply, and the fractions of requests, by hash, that fail in some way.

    A truncated reply is cut in the middle and ends with `length`.
    """

    delay_seconds: float = Field(default=0.0, ge=0.0)
    transport_error_fraction: float = Field(default=0.0, ge=0.0, le=1.0)
    refusal_fraction: float = Field(default=0.0, ge=0.0, le=1.0)
    truncation_fraction: float = Field(default=0.0, ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        total = self.transport_error_fraction + self.refusal_fraction + self.truncation_fraction
        if total > 1.0:
            raise ValueError(f"the fractions that fail add up to {total:g}, at most 1 is possible")


def from_config(config: EngineConfig, adapters: Mapping[str, Path]) -> ScriptedEngine:
    return ScriptedEngine(
        config=config.scripted,
        adapters=adapters,
        model=config.base_model,
        context_length=config.max_model_len or CONTEXT_LENGTH,
    )


class ScriptedEngine:
    """Serves hashes of requests, or the replies it is given.

    Args:
        replies: in the order `generate` is asked for them, or a function of operation and
            request; a text stands for an untroubled reply. Given replies are not made to fail.
        adapters: the names that may be asked for; None allows any.
    """

    capabilities: frozenset[Operation] = frozenset(
        {"generate", "choose", "score_text", "json_schema", "choices"}
    )

    def __init__(
        self,
        replies: Script | None = None,
        *,
        config: ScriptedConfig | None = None,
        adapters: Collection[str] | None = None,
        model: str = "scripted",
        context_length: int = CONTEXT_LENGTH,
    ) -> None:
        self.model = model
        self.fingerprint = content_hash(["scripted", model], digits=12)
        self.identity = self.fingerprint
        self.context_length = context_length
        self.num_asked = 0  # requests replied to so far, for tests that count work
        self._config = config or ScriptedConfig()
        self._adapters = adapters
        self._script = replies if callable(replies) else None
        self._given = None if replies is None or callable(replies) else iter(replies)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, requests: Sequence[Request]) -> Iterator[Reply]:
        return self._run("generate", requests)

    def choose(self, requests: Sequence[Request]) -> Iterator[Reply]:
        return self._run("choose", requests)

    def score_text(self, requests: Sequence[Request]) -> Iterator[Reply]:
        return self._run("score_text", requests)

    def _run(self, operation: Operation, requests: Sequence[Request]) -> Iterator[Reply]:
        check_requests(operation, requests, capabilities=self.capabilities, adapters=self._adapters)
        for index, request in enumerate(requests):
            more = request.sampling.max_tokens if operation == "generate" else 0
            if operation == "score_text":
                more = self.count_tokens(request.completion or "") + 1
            check_length(index, self._num_prompt(request), more, self.context_length)
        return (self._reply(operation, request) for request in requests)

    def _reply(self, operation: Operation, request: Request) -> Reply:
        if self._config.delay_seconds:
            time.sleep(self._config.delay_seconds)
        self.num_asked += 1
        if self._script is not None:
            return self._as_reply(self._script(operation, request), request)
        if self._given is not None and operation == "generate":
            answer = next(self._given, None)
            assert answer is not None, f"the script has no reply number {self.num_asked}"
            return self._as_reply(answer, request)
        # seeding with a text gives the same numbers on every machine
        chance = random.Random(request_key(operation, request, self.identity))
        return self._fault(chance.random(), request) or self._made_up(operation, request, chance)

    def _as_reply(self, answer: Answer, request: Request) -> Reply:
        if isinstance(answer, Reply):
            return answer
        return Reply(
            text=answer,
            num_prompt_tokens=self._num_prompt(request),
            num_output_tokens=self.count_tokens(answer) + 1,
        )

    def _fault(self, share: float, request: Request) -> Reply | None:
        """The reply of a request whose hash lies in one of the failing fractions."""
        config, num_prompt = self._config, self._num_prompt(request)
        if share < config.transport_error_fraction:
            return Reply(
                status="transport_error", finish_reason="error", detail="scripted transport error"
            )
        share -= config.transport_error_fraction
        if share < config.refusal_fraction:
            return Reply(
                text="I cannot answer that.",
                status="refused",
                finish_reason="refused",
                detail="scripted refusal",
                num_prompt_tokens=num_prompt,
            )
        share -= config.refusal_fraction
        if share < config.truncation_fraction:
            return Reply(
                text="I was just about to",
                finish_reason="length",
                num_prompt_tokens=num_prompt,
                num_output_tokens=5,
            )
        return None

    def _made_up(self, operation: Operation, request: Request, chance: random.Random) -> Reply:
        num_prompt = self._num_prompt(request)
        if operation == "choose":
            return Reply(
                option_logprobs=tuple(
                    sum(_logprobs(option.split(), chance)) for option in request.options
                ),
                num_prompt_tokens=num_prompt,
                num_output_tokens=sum(self.count_tokens(option) for option in request.options),
            )
        if operation == "score_text":
            logprobs = _logprobs([*(request.completion or "").split(), "<end>"], chance)
            return Reply(
                token_logprobs=logprobs,
                num_prompt_tokens=num_prompt,
                num_output_tokens=len(logprobs),
            )
        words = _words(request, chance)
        limit = request.sampling.max_tokens
        return Reply(
            text=_before_stop(" ".join(words[:limit]), request.sampling.stop),
            finish_reason="stop" if len(words) < limit else "length",
            num_prompt_tokens=num_prompt,
            num_output_tokens=min(len(words) + 1, limit),
        )

    def _num_prompt(self, request: Request) -> int:
        return sum(self.count_tokens(message["content"]) for message in request.messages)


def _logprobs(words: Sequence[str], chance: random.Random) -> tuple[float, ...]:
    return tuple(-round(chance.uniform(0.05, 4.0), 6) for _ in words)


def _words(request: Request, chance: random.Random) -> list[str]:
    if request.constraint is None:
        return [chance.choice(_WORDS) for _ in range(chance.randint(8, 40))]
    if request.constraint.choices:
        return chance.choice(request.constraint.choices).split(" ")
    schema = request.constraint.json_schema or {}
    return json.dumps(_instance(schema, schema, chance)).split(" ")


def _instance(schema: Mapping[str, Any], root: Mapping[str, Any], chance: random.Random) -> Any:
    """A value that fits the schema, for the parts of JSON Schema that our prompts use."""
    if "$ref" in schema:
        part: Mapping[str, Any] = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            part = part[key]
        return _instance(part, root, chance)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return chance.choice(schema["enum"])
    for union in ("anyOf", "oneOf"):
        if union in schema:
            return _instance(chance.choice(schema[union]), root, chance)
    match schema.get("type", "object" if "properties" in schema else "string"):
        case "object":
            fields = schema.get("properties", {})
            return {name: _instance(field, root, chance) for name, field in fields.items()}
        case "array":
            least = schema.get("minItems", 1)
            count = chance.randint(least, schema.get("maxItems", least + 1))
            return [_instance(schema.get("items", {}), root, chance) for _ in range(count)]
        case "integer":
            least = schema.get("minimum", 0)
            return chance.randint(least, schema.get("maximum", least + 10))
        case "number":
            least = schema.get("minimum", 0.0)
            return round(chance.uniform(least, schema.get("maximum", least + 1.0)), 3)
        case "boolean":
            return chance.random() < 0.5
        case "null":
            return None
        case _:
            return " ".join(chance.choice(_WORDS) for _ in range(3))


def _before_stop(text: str, stops: Sequence[str]) -> str:
    ends = [text.find(stop) for stop in stops if stop in text]
    return text[: min(ends)].rstrip() if ends else text
