"""One evaluation from plan to metrics: generate -> judge -> score, each stage resumable.

runs/NAME/config.yaml         all settings, defaults included
runs/NAME/generate/           plan.jsonl, likelihood/, replies/
runs/NAME/judge/              verdicts
runs/NAME/score/              likelihood.parquet, answers.parquet
runs/NAME/metrics.json        every number of the report
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import yaml

from data_prep.config import resolved
from data_prep.context import Ranker
from data_prep.corpus import Corpus
from data_prep.engine import Engine, require
from data_prep.files import (
    make_folder,
    read_json,
    read_jsonl,
    write_json,
    write_jsonl,
    write_manifest,
    write_text,
)
from data_prep.journal import read_rows
from eval.asking import ask, reply_row, score_row
from eval.config import EvalConfig, JudgeConfig
from eval.judging import Case, judge_replies, refuse_self_judging
from eval.plan import Plan, Planner
from eval.score import score_run, verdict_key
from eval.validation.identity import find_validation


def start_run(run: Path, config: EvalConfig) -> None:
    """Make the run folder, or refuse one that was begun with other settings.

    Raises:
        ValueError: the settings differ from those the run was begun with.
    """
    settings = resolved(config)
    path = make_folder(run) / "config.yaml"
    if path.exists() and yaml.safe_load(path.read_text(encoding="utf-8")) != settings:
        raise ValueError(
            f"{run} was begun with other settings (see {path}); use another --out, or delete it"
        )
    write_text(path, yaml.safe_dump(settings, sort_keys=True, allow_unicode=True))


def plan_run(
    corpus: Corpus,
    adapters: Path,
    engine: Engine,
    config: EvalConfig,
    rankers: dict[str, Ranker] | None = None,
) -> Plan:
    """All requests of the run.

    Raises:
        ValueError: whatever would make the run fail later, found now.
    """
    require(engine, {"score_text", "generate"}, "this evaluation")
    return Planner(corpus, adapters, engine, config, rankers).plan()


def generate(run: Path, plan: Plan, engine: Engine, config: EvalConfig) -> None:
    """Answer the plan's requests; what is on disk is not asked again."""
    folder = make_folder(run / "generate")
    write_jsonl(folder / "plan.jsonl", (asdict(use) for use in plan.uses))
    requests = (*plan.score_requests.values(), *plan.reply_requests.values())
    write_json(
        folder / "notes.json",
        {
            "missing": plan.missing,
            "num_follow_ups": plan.num_follow_ups,
            "adapters": sorted({request.adapter for request in requests if request.adapter}),
            "base_model": engine.model,
            "base_fingerprint": engine.fingerprint,
            "engine_identity": engine.identity,
        },
    )
    ask(
        folder / "likelihood",
        plan.score_requests,
        engine.score_text,
        score_row,
        label="score held-out answers",
    )
    ask(
        folder / "replies",
        plan.reply_requests,
        engine.generate,
        reply_row,
        label="answer questions",
    )
    counts = {"uses": len(plan.uses), "score_requests": len(plan.score_requests)}
    counts["reply_requests"] = len(plan.reply_requests)
    write_manifest(folder, "generate", config=resolved(config), counts=counts, seed=config.seed)


def judge(
    run: Path,
    corpus: Corpus,
    engine: Engine,
    candidate: Engine,
    config: EvalConfig,
    judges: Path | None = None,
) -> None:
    """Judge the replies of a run.

    Args:
        judges: where validations are; what is found there stands beside the judge's numbers.

    Raises:
        ValueError: no judge is named, the judge is the candidate, replies are missing, or the
            judge's validation is damaged.
    """
    named = _judge_config(config)
    same_base = refuse_self_judging(engine, candidate, named)
    validation = find_validation(judges, engine, named) if judges else None
    cases = list(_cases(run, corpus))
    judge_replies(run / "judge", cases, engine, named, seed=config.seed)
    write_json(
        run / "judge" / "judge.json",
        {
            "name": named.name,
            "model": engine.model,
            "same_base": same_base,
            "validation": validation,
        },
    )
    write_manifest(
        run / "judge",
        "judge",
        config=resolved(config),
        counts={"cases": len(cases)},
        seed=config.seed,
    )


def score(run: Path, corpus: Corpus, config: EvalConfig) -> dict[str, Any]:
    """Write and return `metrics.json`; no model is called."""
    judge_file = run / "judge" / "judge.json"
    metrics = {
        "schema_version": 1,
        "question": "Does an adapter answer more like the person than the prompted base does?",
        "primary": {"method": config.primary, "baseline": config.baseline},
        **score_run(run, corpus, config),
        "notes": read_json(run / "generate" / "notes.json"),
        "judge": read_json(judge_file) if judge_file.exists() else None,
        "corpus": {"digest": corpus.digest(), "people": _people(corpus)},
    }
    write_json(run / "metrics.json", metrics)
    write_manifest(run / "score", "score", config=resolved(config), seed=config.seed)
    return metrics


def _people(corpus: Corpus) -> dict[str, dict[str, Any]]:
    return {
        name: {
            "name": corpus.persona(name).name,
            "category": corpus.persona(name).category,
            "split": split.rule.kind,
            "num_train": len(split.train),
            "num_validation": len(split.validation),
            "num_test": len(split.test),
        }
        for name, split in sorted(corpus.splits.items())
    }


def _cases(run: Path, corpus: Corpus) -> list[Case]:
    replies = read_rows(run / "generate" / "replies").by_key
    pairs: dict[str, Any] = {}
    cases: dict[str, Case] = {}
    for use in read_jsonl(run / "generate" / "plan.jsonl"):
        if use["table"] != "reply":
            continue
        if use["pair_id"] not in pairs:
            pairs |= {pair.id: pair for pair in corpus.part(use["persona_id"], "test")}
        reply, pair = replies.get(use["key"]), pairs[use["pair_id"]]
        if reply is None:
            raise ValueError(f"{run} has replies missing; run `--stage generate` again first")
        cases[verdict_key(use)] = Case(
            reply_key=verdict_key(use),
            persona_name=corpus.persona(use["persona_id"]).name,
            question=pair.question,
            reference=pair.answer,
            candidate=reply["text"],
            candidate_status=reply["status"],
        )
    return list(cases.values())


def _judge_config(config: EvalConfig) -> JudgeConfig:
    if config.judge is None:
        raise ValueError("no judge is named; add `judge: {name: ..., engine: ...}` to the config")
    return config.judge
