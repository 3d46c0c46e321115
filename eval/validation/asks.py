"""What a validation asks, as engine requests, and how the replies are read.

Verdicts are asked for exactly as the judge stage asks for them: same prompt, same constraint,
same limits, same retries. Everything is journalled, so a second run asks nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from data_prep.engine import Engine, Reply, Request, request_key
from data_prep.journal import read_rows
from eval.asking import ask, reply_row
from eval.config import JudgeConfig
from eval.judging import RETRIED, Case, read_verdict, verdict_request

Status = Literal[
    "ok", "judge_unparseable", "judge_truncated", "judge_refused", "transport_error", "no_choice"
]


@dataclass(frozen=True)
class Ask:
    """One request and why it is made. Asks of one `unit` (a person, a work) are correlated."""

    probe: str
    item: str
    unit: str
    variant: str
    operation: Literal["generate", "choose"]
    request: Request


@dataclass(frozen=True)
class Outcome:
    """A verdict, 1 to 5, or the position of the option chosen; else why there is neither."""

    status: str
    value: int | None = None
    num_prompt_tokens: int = 0
    has_reasoning: bool = False

    @property
    def is_lost(self) -> bool:
        """The endpoint failed, which says nothing about the judge."""
        return self.status == "transport_error"


@dataclass(frozen=True)
class Item:
    """All that was asked of one item in one probe, by variant."""

    id: str
    unit: str
    outcomes: Mapping[str, Outcome]


class Answers:
    """Outcomes of asks, by probe and item; asks of one request share its outcome.

    Args:
        found: asks with the key of their request and what came of it.
    """

    def __init__(self, found: Iterable[tuple[Ask, str, Outcome]]) -> None:
        self._found = list(found)

    def items(self, probe: str) -> list[Item]:
        units: dict[str, str] = {}
        outcomes: dict[str, dict[str, Outcome]] = {}
        for own, _, outcome in self._found:
            if own.probe == probe:
                units[own.item] = own.unit
                outcomes.setdefault(own.item, {})[own.variant] = outcome
        return [Item(item, units[item], outcomes[item]) for item in outcomes]

    def verdicts(self) -> list[Item]:
        """Every request for a verdict once, an item each."""
        unique = {
            key: Item(key, own.unit, {"verdict": outcome})
            for own, key, outcome in self._found
            if own.operation == "generate"
        }
        return list(unique.values())


def verdict_ask(
    probe: str,
    case: Case,
    unit: str,
    variant: str,
    judge: JudgeConfig,
    constrained: bool,
    seed: int,
) -> Ask:
    request = verdict_request(case, judge, constrained=constrained, seed=seed)
    return Ask(probe, case.reply_key, unit, variant, "generate", request)


def collect(folder: Path, asks: Sequence[Ask], engine: Engine, judge: JudgeConfig) -> Answers:
    """Ask what is not on disk yet, and read all of it.

    Raises:
        Checkpointed: a stop was asked for.
    """
    keys = {id(own): request_key(own.operation, own.request, engine.identity) for own in asks}
    verdicts = {keys[id(own)]: own.request for own in asks if own.operation == "generate"}
    choices = {keys[id(own)]: own.request for own in asks if own.operation == "choose"}
    outcomes = _verdicts(folder, verdicts, engine, judge) if verdicts else {}
    if choices:
        ask(folder / "choices", choices, engine.choose, choice_row, label="choices of the judge")
        rows = read_rows(folder / "choices").by_key
        outcomes |= {key: _choice(rows[key]) for key in choices}
    return Answers((own, keys[id(own)], outcomes[keys[id(own)]]) for own in asks)


def _verdicts(
    folder: Path, requests: Mapping[str, Request], engine: Engine, judge: JudgeConfig
) -> dict[str, Outcome]:
    """Each attempt has a folder; what it leaves unread is asked again in the next."""
    outcomes: dict[str, Outcome] = {}
    waiting = dict(requests)
    for attempt in range(judge.attempts):
        again = {key: _attempt(request, attempt, judge) for key, request in waiting.items()}
        asked = {key: request_key("generate", r, engine.identity) for key, r in again.items()}
        place = folder / f"verdicts-{attempt}"
        label = (
            "verdicts of the judge" if not attempt else f"unread verdicts, attempt {attempt + 1}"
        )
        ask(place, {asked[k]: again[k] for k in again}, engine.generate, verdict_row, label=label)
        rows = read_rows(place).by_key
        outcomes |= {key: _verdict(rows[asked[key]]) for key in waiting}
        waiting = {k: r for k, r in waiting.items() if outcomes[k].status in RETRIED}
        if not waiting:
            break
    return outcomes


def _attempt(request: Request, attempt: int, judge: JudgeConfig) -> Request:
    """As the judge stage does: another seed, and warm enough that it matters."""
    if not attempt:
        return request
    sampling = request.sampling
    temperature = max(sampling.temperature, judge.retry_temperature)
    return replace(
        request,
        sampling=replace(sampling, temperature=temperature, seed=sampling.seed + attempt),
    )


def verdict_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    return reply_row(key, request, reply) | {"reasoning": reply.reasoning}


def choice_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    return {
        "options": list(request.options),
        "option_logprobs": list(reply.option_logprobs),
        "num_prompt_tokens": reply.num_prompt_tokens,
        "detail": reply.detail,
    }


def _verdict(row: Mapping[str, Any]) -> Outcome:
    reply = Reply(
        text=row["text"],
        status=row["status"],
        finish_reason=row["finish_reason"],
        detail=row["detail"],
    )
    found = read_verdict(reply)
    return Outcome(
        status=found["status"],
        value=found.get("score"),
        num_prompt_tokens=row["num_prompt_tokens"],
        has_reasoning=bool(row["reasoning"]),
    )


def _choice(row: Mapping[str, Any]) -> Outcome:
    """The most probable option; several equally probable ones are no choice."""
    if row["status"] != "ok":
        lost = row["status"] == "transport_error"
        return Outcome(status="transport_error" if lost else "judge_refused")
    logprobs = row["option_logprobs"]
    best = max(logprobs)
    if logprobs.count(best) > 1:
        return Outcome(status="no_choice")
    return Outcome(status="ok", value=logprobs.index(best))
