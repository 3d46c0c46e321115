"""One role-identification run: plan, ask, score; each part resumable and traceable.

config.yaml      settings, and the items' and the model's identity
items.jsonl      the items that are scored; shots.jsonl the examples
plan.jsonl       one line per answer: item, answerer, order, sample and the keys of its rows
rows/            replies or option log-probabilities by key
answers.jsonl    one line per answer: its probabilities, or why there are none
metrics.json     every number
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import yaml

from data_prep.config import resolved
from data_prep.engine import Engine, Reply, Request, require
from data_prep.files import make_folder, write_json, write_jsonl, write_manifest, write_text
from data_prep.interrupt import stop_flag
from data_prep.journal import read_rows
from data_prep.prompting import read_prompt
from data_prep.records import content_hash
from eval.asking import ask, reply_row
from eval.personaeval.answers import answers_of
from eval.personaeval.asking import (
    GENERATE_PROMPT,
    LIKELIHOOD_PROMPT,
    PROMPTS,
    draw_shots,
    pick_shots,
)
from eval.personaeval.config import RoleConfig
from eval.personaeval.items import RoleItem, digest, item_row
from eval.personaeval.plan import Plan, Use, operation_of, plan_run
from eval.personaeval.score import score_answers

Shots = Mapping[str, Sequence[RoleItem]]


def run_role_identification(
    folder: Path,
    items: Sequence[RoleItem],
    engine: Engine,
    config: RoleConfig,
    *,
    shot_pool: Sequence[RoleItem] = (),
) -> dict[str, Any]:
    """Ask what is not yet on disk, score all of it, write and return `metrics.json`.

    Args:
        shot_pool: items of other works to take examples from; without it a work of each track
            is set aside for them.

    Raises:
        ValueError: settings, items and engine do not fit, or the folder holds another run.
        Checkpointed: a stop was asked for.
    """
    shots, scored = choose_items(items, config, shot_pool)
    with stop_flag() as stop:
        plan = prepare(scored, shots, engine, config)
        _start(folder, scored, shots, engine, config)
        write_jsonl(folder / "plan.jsonl", map(asdict, plan.uses))
        ask_plan(folder / "rows", plan, scored, engine, config)
        stop.check("all answers are on disk")
    return score(folder, scored, plan.uses, engine, config)


def choose_items(
    items: Sequence[RoleItem], config: RoleConfig, shot_pool: Sequence[RoleItem] = ()
) -> tuple[Shots, list[RoleItem]]:
    """Examples by track, and the items to score.

    Raises:
        ValueError: not enough items, or an example is also scored.
    """
    shots: Shots = {}
    scored = list(items)
    if shot_pool and config.shots:
        if both := {item.id for item in shot_pool} & {item.id for item in items}:
            raise ValueError(f"items {', '.join(sorted(both)[:3])} are among the examples; remove")
        shots = {
            track: draw_shots(_of_track(shot_pool, track, items), config.shots, config.seed)
            for track in dict.fromkeys(item.track for item in items)
        }
    else:
        shots, scored = pick_shots(items, config.shots, config.seed)
    count = min(config.num_items or len(scored), len(scored))
    return shots, [scored[place * len(scored) // count] for place in range(count)]


def _of_track(pool: Sequence[RoleItem], track: str, items: Sequence[RoleItem]) -> list[RoleItem]:
    works = {item.work for item in items if item.work is not None}
    own = [shot for shot in pool if shot.track == track and shot.work not in works]
    if not own:
        raise ValueError(
            f"no example of track {track!r} is from a work that is not scored; add some to the "
            "file of examples"
        )
    return own


def prepare(items: Sequence[RoleItem], shots: Shots, engine: Engine, config: RoleConfig) -> Plan:
    """The plan, once it is known that the engine can serve all of it.

    Raises:
        ValueError: an operation is lacking, or a prompt does not fit into the context.
    """
    operation = operation_of(config)
    require(engine, {operation}, "role identification")  # type: ignore[arg-type]
    plan = plan_run(items, shots, engine, config)
    refuse_too_long(plan, engine, config)
    return plan


def prompt_tokens(plan: Plan, engine: Engine) -> dict[str, int]:
    """Tokens of each first request's message, template aside, by key."""
    counted: dict[str, int] = {}
    found = {}
    for key, request in plan.attempt(0, plan.uses).items():
        text = request.messages[0]["content"]
        if text not in counted:
            counted[text] = engine.count_tokens(text)
        found[key] = counted[text]
    return found


def refuse_too_long(plan: Plan, engine: Engine, config: RoleConfig) -> None:
    """Raises ValueError before hours of work rather than in their middle."""
    room = engine.context_length - (config.max_tokens if config.mode == "generate" else 0)
    tokens = prompt_tokens(plan, engine)
    long = sorted({u.item_id for u in plan.uses if tokens[u.keys[0]] > room})
    if long:
        raise ValueError(
            f"{len(long)} items do not fit into the context of {engine.context_length} tokens "
            f"(the longest prompt has {max(tokens.values())}), such as {long[0]!r}; lower "
            "role.shots or role.max_tokens, or leave them out"
        )


def ask_plan(
    folder: Path, plan: Plan, items: Sequence[RoleItem], engine: Engine, config: RoleConfig
) -> None:
    """First attempts of all, then again those that could not be read."""
    if config.mode == "likelihood":
        ask(folder, plan.attempt(0, plan.uses), engine.choose, choice_row, label="choose")
        return
    unread: Sequence[Use] = plan.uses
    for attempt in range(config.attempts):
        if not unread:
            return
        label = "identify" if attempt == 0 else f"identify, attempt {attempt + 1}"
        ask(folder, plan.attempt(attempt, unread), engine.generate, written_row, label=label)
        asked = [replace(use, keys=use.keys[: attempt + 1]) for use in unread]
        answers = answers_of(asked, read_rows(folder).by_key, items, config)
        unread = [
            use
            for use, answer in zip(unread, answers, strict=True)
            if answer["status"] == "invalid"
        ]


def choice_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    """Sums of log-probabilities by option, in the order shown."""
    return {
        "options": list(request.options),
        "option_logprobs": list(reply.option_logprobs),
        "num_prompt_tokens": reply.num_prompt_tokens,
        "detail": reply.detail,
    }


def written_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    return reply_row(key, request, reply) | {"reasoning": reply.reasoning}


def score(
    folder: Path,
    items: Sequence[RoleItem],
    uses: Sequence[Use],
    engine: Engine,
    config: RoleConfig,
) -> dict[str, Any]:
    """Write `answers.jsonl` and `metrics.json` from the rows; no model is asked."""
    answers = answers_of(uses, read_rows(folder / "rows").by_key, items, config)
    metrics = {
        "schema_version": 1,
        "benchmark": "personaeval",
        "model": engine.model,
        "model_fingerprint": engine.fingerprint,
        "mode": config.mode,
        "shots": config.shots,
        "items_digest": digest(items),
        **score_answers(answers, items, config, model=engine.model),
    }
    write_jsonl(folder / "answers.jsonl", answers)
    write_json(folder / "metrics.json", metrics)
    write_manifest(
        folder,
        "roleid",
        config=resolved(config),
        inputs={"items": digest(items)},
        counts={"items": len(items), "answers": len(answers)},
        seed=config.seed,
    )
    return metrics


def _start(
    folder: Path, items: Sequence[RoleItem], shots: Shots, engine: Engine, config: RoleConfig
) -> None:
    """Make the folder, or refuse one that was begun with other settings, items or weights."""
    prompt = GENERATE_PROMPT if config.mode == "generate" else LIKELIHOOD_PROMPT
    settings = {
        "role": resolved(config),
        "items": digest(items),
        "shots": {track: [shot.id for shot in own] for track, own in shots.items()},
        "model": engine.model,
        "identity": engine.identity,
        "prompt": f"{prompt} {content_hash(read_prompt(PROMPTS, prompt), digits=12)}",
    }
    path = make_folder(folder) / "config.yaml"
    if path.exists() and yaml.safe_load(path.read_text(encoding="utf-8")) != settings:
        raise ValueError(
            f"{folder} was begun with other settings, items or weights (see {path}); use another "
            "--out, or delete it"
        )
    write_text(path, yaml.safe_dump(settings, sort_keys=True, allow_unicode=True))
    write_jsonl(folder / "items.jsonl", map(item_row, items))
    all_shots = {shot.id: shot for own in shots.values() for shot in own}
    write_jsonl(folder / "shots.jsonl", map(item_row, all_shots.values()))
