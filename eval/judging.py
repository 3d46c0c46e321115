"""The judge stage: content similarity of each reply to what the person really said.

A verdict that cannot be read is asked for again, then kept as unread with its reason; a
candidate without an answer is never shown to the judge. The judge is named by the user and
is never silently the model it rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data_prep.engine import Constraint, Engine, Message, Reply, Request, Sampling
from data_prep.files import only_writer
from data_prep.interrupt import heeding, stop_flag
from data_prep.journal import Journal, compact, read_rows
from data_prep.progress import Progress
from data_prep.prompting import read_prompt
from data_prep.records import content_hash, to_row
from eval.asking import WINDOW, is_torn, say_torn
from eval.config import JudgeConfig
from eval.verdicts import CONTENT_SIMILARITY_SCHEMA, read_content_similarity

PROMPTS = Path(__file__).parent / "prompts"
CONTENT_PROMPT = "content-similarity.v1"


@dataclass(frozen=True)
class Case:
    """One reply to be judged."""

    reply_key: str
    persona_name: str
    question: str
    reference: str
    candidate: str
    candidate_status: str


def refuse_self_judging(judge: Engine, candidate: Engine, config: JudgeConfig) -> bool:
    """Whether judge and candidate share a base; refused unless the user allows it.

    Raises:
        ValueError: they do and `judge.allow_same_base` is off.
    """
    same = judge.fingerprint == candidate.fingerprint
    if same and not config.allow_same_base:
        raise ValueError(
            f"judge {config.name!r} has the same base as the candidates ({candidate.model}); name "
            "another judge, or set judge.allow_same_base=true to try the mechanics only"
        )
    return same


def judge_replies(
    folder: Path, cases: Sequence[Case], engine: Engine, config: JudgeConfig, *, seed: int
) -> None:
    """Judge every case once; rows of all cases end in one table.

    Raises:
        Checkpointed: a stop was asked for.
    """
    by_key = {_key(case, engine, config, seed): case for case in cases}
    constrained = "json_schema" in engine.capabilities
    with only_writer(folder), stop_flag() as stop:
        rows = read_rows(folder)
        say_torn(rows, "judge content similarity")
        settled = rows.settled_keys()
        progress = Progress("  judge content similarity", len(by_key))
        keys = list(by_key)
        with Journal(folder) as journal:
            for start in range(0, len(keys), WINDOW):
                inside = keys[start : start + WINDOW]
                whole = is_torn(inside, rows)
                asked = {key: by_key[key] for key in inside if whole or key not in settled}
                here = f"{progress.done} of {len(keys)} judgements are on disk"

                def generate(requests: Sequence[Request], here: str = here) -> Iterator[Reply]:
                    return heeding(engine.generate(requests), stop, here)

                verdicts = _judge(asked, engine, generate, config, constrained, seed)
                journal.append(row for row in verdicts if row["key"] not in settled)
                progress.step(count=len(inside))
                stop.check(f"{progress.done} of {len(keys)} judgements are on disk")
        compact(folder)


def content_messages(case: Case) -> tuple[Message, ...]:
    """Rules first (shared by all), then question and real answer, then the candidate.

    The texts stand between marks, so that words inside them are data and no instructions.
    """
    rules = read_prompt(PROMPTS, CONTENT_PROMPT).replace("{name}", case.persona_name)
    body = (
        f"<question>\n{quoted(case.question)}\n</question>\n"
        f"<real_answer>\n{quoted(case.reference)}\n</real_answer>\n"
        f"<second_answer>\n{quoted(case.candidate)}\n</second_answer>"
    )
    return ({"role": "system", "content": rules}, {"role": "user", "content": body})


def _judge(
    waiting: Mapping[str, Case],
    engine: Engine,
    generate: Callable[[Sequence[Request]], Iterator[Reply]],
    config: JudgeConfig,
    constrained: bool,
    seed: int,
) -> list[dict[str, Any]]:
    rows = {
        key: _row(key, case, "candidate_invalid", config, engine)
        for key, case in waiting.items()
        if case.candidate_status != "ok" or not case.candidate.strip()
    }
    open_keys = [key for key in waiting if key not in rows]
    for attempt in range(config.attempts):
        requests = [
            verdict_request(
                waiting[key], config, constrained=constrained, attempt=attempt, seed=seed
            )
            for key in open_keys
        ]
        replies = generate(requests) if requests else iter(())
        for key, reply in zip(list(open_keys), replies, strict=True):
            rows[key] = _verdict(key, waiting[key], reply, config, engine, attempt)
        open_keys = [k for k in open_keys if rows[k]["status"] in RETRIED]
    return [rows[key] for key in waiting]


RETRIED = ("judge_unparseable", "judge_truncated", "transport_error")


def verdict_request(
    case: Case, config: JudgeConfig, *, constrained: bool, attempt: int = 0, seed: int = 0
) -> Request:
    """What a judge is asked; `personae judge validate` asks the very same."""
    return Request(
        messages=content_messages(case),
        sampling=Sampling(
            max_tokens=config.max_tokens,
            temperature=config.retry_temperature if attempt else 0.0,
            seed=seed + attempt,
        ),
        constraint=Constraint(json_schema=CONTENT_SIMILARITY_SCHEMA) if constrained else None,
    )


def _verdict(
    key: str, case: Case, reply: Reply, config: JudgeConfig, engine: Engine, attempt: int
) -> dict[str, Any]:
    row = _row(key, case, "ok", config, engine) | {"raw": reply.text, "attempts": attempt + 1}
    return row | read_verdict(reply)


def read_verdict(reply: Reply) -> dict[str, Any]:
    """The score, or the status that says why there is none."""
    if reply.status == "transport_error":
        return {"status": "transport_error", "detail": reply.detail}
    if reply.status == "refused":
        return {"status": "judge_refused", "detail": reply.detail}
    try:
        verdict = read_content_similarity(reply.text)
    except (ValueError, RecursionError) as error:
        status = "judge_truncated" if reply.finish_reason == "length" else "judge_unparseable"
        return {"status": status, "detail": str(error)}
    return {"status": "ok", "score": verdict.score, "explanation": verdict.explanation}


def _row(key: str, case: Case, status: str, config: JudgeConfig, engine: Engine) -> dict[str, Any]:
    return {
        "key": key,
        "status": status,
        "metric": "content_similarity",
        "judge": config.name,
        "judge_model": engine.model,
        "reply_key": case.reply_key,
        "score": None,
        "explanation": None,
        "raw": None,
        "attempts": 0,
        "detail": "",
    }


def _key(case: Case, engine: Engine, config: JudgeConfig, seed: int) -> str:
    named = replace(config, engine={}, allow_same_base=False)
    prompt = read_prompt(PROMPTS, CONTENT_PROMPT)
    parts = [case.__dict__, engine.identity, to_row(named), prompt, seed]
    return content_hash(["content_similarity", *parts], digits=32)


def quoted(text: str) -> str:
    """Angle brackets are spelled out, so that a text cannot close the mark it stands in."""
    return text.strip().replace("<", "&lt;").replace(">", "&gt;")
