"""An evaluation from its config: builds the engines, runs the stages, writes the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data_prep.corpus import Corpus
from data_prep.engine import Engine, Request
from data_prep.files import only_writer, read_json
from data_prep.interrupt import stop_flag
from data_prep.progress import say
from eval import run as stages
from eval.plan import Plan
from eval.report import summary_lines, write_report
from personae.settings import EvalCommand
from serve.engines import EngineConfig, load_engine
from train.bundle import VERSION, list_names


def evaluate(config: EvalCommand, wanted: Sequence[str]) -> list[str]:
    """Run stages in their order; returns lines for the person who started it.

    Raises:
        ValueError: any mistake in config or folders, before a model is loaded where possible.
        Checkpointed: a stop was asked for; what is finished is kept.
    """
    corpus, run, adapters = Corpus(Path(config.corpus)), Path(config.out), Path(config.adapters)
    if list(wanted) == ["judge"] and config.eval.judge is None:
        raise ValueError("no judge is named; add `eval: {judge: {name: ...}}` to the config")
    if "judge" in wanted:
        _refuse_same_base(config)
    with only_writer(run):
        stages.start_run(run, config.eval)
        _ask_models(config, wanted, corpus)
        if "score" in wanted:
            say("score")
            stages.score(run, corpus, config.eval)
        if "report" not in wanted:
            return [f"{run} has {', '.join(wanted)}"]
        return report_lines(run, adapters)


def _refuse_same_base(config: EvalCommand) -> None:
    """By the names alone, before a night of replies; the weights are compared when they load."""
    judge = config.eval.judge
    if judge is None or judge.allow_same_base:
        return
    if judge_engine(config).base_model == config.engine.base_model:
        raise ValueError(
            f"judge {judge.name!r} has the same base as the candidates "
            f"({config.engine.base_model}); name another in eval.judge.engine.base_model, or set "
            "eval.judge.allow_same_base=true to try the mechanics only"
        )


def _ask_models(config: EvalCommand, wanted: Sequence[str], corpus: Corpus) -> None:
    """The stages that take long; a stop asked for while a model loads or between them counts."""
    run, adapters = Path(config.out), Path(config.adapters)
    engines = Engines(adapters)
    with stop_flag() as stop:
        if "generate" in wanted:
            say("generate")
            engine = engines.get(config.engine)
            stages.generate(
                run, stages.plan_run(corpus, adapters, engine, config.eval), engine, config.eval
            )
            stop.check("all replies are on disk")
        if "judge" in wanted and config.eval.judge is not None:
            say("judge")
            candidate = engines.get(config.engine)
            judge = engines.get(judge_engine(config))
            stages.judge(run, corpus, judge, candidate, config.eval, Path(config.judges))
            stop.check("all judgements are on disk")


def report_lines(run: Path, adapters: Path | None) -> list[str]:
    """Write `report.html`; returns the summary and where the page is."""
    page = write_report(run, adapters=adapters if adapters and adapters.is_dir() else None)
    return [*summary_lines(read_json(run / "metrics.json")), f"report: {page.resolve()}"]


class Engines:
    """One load per model: configs that are equal share an engine."""

    def __init__(self, adapters: Path) -> None:
        self._adapters = adapters
        self._loaded: list[tuple[EngineConfig, Engine]] = []

    def get(self, config: EngineConfig) -> Engine:
        for known, engine in self._loaded:
            if known == config:
                return engine
        engine = load_engine(config, all_versions(self._adapters))
        self._loaded.append((config, engine))
        return engine


def judge_engine(config: EvalCommand) -> EngineConfig:
    """The judge's engine: its own settings over the defaults, not over the candidate's."""
    from pydantic import TypeAdapter, ValidationError

    from data_prep.records import describe

    assert config.eval.judge is not None
    try:
        engine = TypeAdapter(EngineConfig).validate_python(config.eval.judge.engine)
    except ValidationError as error:
        raise ValueError(describe(error, "eval.judge.engine")) from None
    return replace(engine, allow_scripted=config.engine.allow_scripted)


def all_versions(adapters: Path) -> dict[str, Path]:
    """Folder of every version of every adapter, by full name."""
    return {
        f"{name}@{folder.name}": folder
        for name in list_names(adapters)
        for folder in sorted((adapters / name).iterdir())
        if VERSION.fullmatch(folder.name)
    }


def say_plan(config: EvalCommand) -> None:
    """Print what a run would ask, without asking it."""
    corpus, adapters = Corpus(Path(config.corpus)), Path(config.adapters)
    engine = Engines(adapters).get(config.engine)
    plan = stages.plan_run(corpus, adapters, engine, config.eval)
    _print_counts(plan, engine)
    if plan.missing:
        for method, people in plan.missing.items():
            print(f"no adapter for {method}: {', '.join(people)}")


def _print_counts(plan: Plan, engine: Engine) -> None:
    def tokens(requests: Sequence[Request]) -> int:
        return sum(
            engine.count_tokens(message["content"])
            for request in requests
            for message in request.messages
        )

    scores, replies = list(plan.score_requests.values()), list(plan.reply_requests.values())
    print(f"{len(scores)} held-out answers to score, {tokens(scores)} prompt tokens")
    print(f"{len(replies)} questions to answer, {tokens(replies)} prompt tokens")
    print(f"{len(plan.uses)} table cells use them")
