"""A judge's validation from the command line: settings, engine, probes, badge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from data_prep.corpus import Corpus
from data_prep.files import read_json
from eval.validation.run import Signature, gather, plan_asks, validate
from eval.validation.wording import plan_lines, validation_lines
from personae.evaluating import judge_engine
from personae.settings import EvalCommand, ValidateCommand, load_config
from serve.engines import load_engine


def validation_settings(
    name: str | None, config: Path | None, of_eval: Path | None, overrides: Sequence[str]
) -> ValidateCommand:
    """Settings of a validation.

    Args:
        of_eval: an evaluation's config, whose judge and judge's engine are taken: a judge asked
            in another way is another judge, and would find no badge.

    Raises:
        ValueError: nobody is named, both files are given, or settings that would be ignored.
    """
    if of_eval is None:
        named = [f"judge.name={name}"] if name else []
        command = load_config(ValidateCommand, config, [*overrides, *named])
        if command.judge.engine:
            raise ValueError("judge.engine is not used here; set engine.* instead")
        return command
    if config is not None:
        raise ValueError("--config and --eval both name settings; use one of them")
    evaluation = load_config(EvalCommand, of_eval)
    if evaluation.eval.judge is None:
        raise ValueError(f"{of_eval} names no judge; add `eval: {{judge: {{name: ...}}}}` to it")
    wrong = [word for word in overrides if not word.startswith("validate.")]
    if wrong:
        raise ValueError(f"{wrong[0]} would change the judge of {of_eval}; change it there")
    given = load_config(ValidateCommand, None, [*overrides, f"judge.name={name or 'judge'}"])
    judge = replace(evaluation.eval.judge, engine={}, name=name or evaluation.eval.judge.name)
    return replace(given, engine=judge_engine(evaluation), judge=judge)


def run_validation(
    command: ValidateCommand,
    corpus: Path,
    judges: Path,
    *,
    roleid: Path | None,
    labels: Path | None,
    signature: Signature | None,
    dry_run: bool,
) -> list[str]:
    """Validate, or say what it would take; returns lines for the person who asked.

    Raises:
        ValueError: any mistake in settings or files, before a model is loaded.
        Checkpointed: a stop was asked for; what was replied is kept.
    """
    material = gather(Corpus(corpus), command.validate, roleid, labels)
    if dry_run:
        return plan_lines(plan_asks(material, command.validate, command.judge, constrained=True))
    engine = load_engine(command.engine)
    path = validate(judges, material, engine, command.validate, command.judge, signature)
    return [*validation_lines(read_json(path)), f"written to {path}"]
