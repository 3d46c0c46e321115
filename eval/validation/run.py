"""A judge's validation from corpus to badge, resumable.

judges/HASH.json         figures, thresholds, what was passed, the badge
judges/work/HASH/        the judge's replies: journals while they come in, then tables

HASH names the judge, not the corpus: validating the same judge on another corpus replaces the
file, and replies that both have in common are not asked for again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data_prep.config import resolved
from data_prep.corpus import Corpus
from data_prep.engine import Engine, require
from data_prep.files import (
    git_revision,
    only_writer,
    sha256_file,
    tool_version,
    write_json,
    write_manifest,
)
from data_prep.records import SCHEMA_VERSION
from eval.config import JudgeConfig
from eval.personaeval.items import RoleItem
from eval.validation import reasoning
from eval.validation.asks import Ask, collect
from eval.validation.config import ValidateConfig, changed_rules
from eval.validation.figures import not_run
from eval.validation.human import Labels, human_agreement, label_asks, read_labels
from eval.validation.identity import judge_hash, judge_identity
from eval.validation.plan import Planner
from eval.validation.probes import corpus_probes
from eval.validation.roleid import identify, read_items, role_identification
from eval.validation.subjects import Subject, choose_subjects


@dataclass(frozen=True)
class Material:
    """What a judge is probed with."""

    corpus_digest: str
    subjects: list[Subject]
    items: list[RoleItem]
    labels: Labels | None
    files: dict[str, str]  # hashes of the given files


@dataclass(frozen=True)
class Signature:
    """Who answers for a validation, and when they said so (ISO date)."""

    by: str
    date: str


def gather(
    corpus: Corpus, config: ValidateConfig, roleid: Path | None = None, labels: Path | None = None
) -> Material:
    """Raises ValueError for a corpus that cannot be used, broken items or labels."""
    given = {"roleid": roleid, "labels": labels}
    return Material(
        corpus_digest=corpus.digest(),
        subjects=choose_subjects(corpus, config),
        items=read_items(roleid, config.num_roleid_items) if roleid else [],
        labels=read_labels(labels) if labels else None,
        files={name: sha256_file(path) for name, path in given.items() if path},
    )


def plan_asks(
    material: Material, config: ValidateConfig, judge: JudgeConfig, *, constrained: bool
) -> list[Ask]:
    """Everything but the comparison with reasoning, which depends on the model's template."""
    asks = Planner(material.subjects, config, judge, constrained=constrained).asks()
    if material.labels is not None:
        asks += label_asks(material.labels, judge, constrained=constrained, seed=config.seed)
    return asks + identify(material.items)


def validate(
    judges: Path,
    material: Material,
    engine: Engine,
    config: ValidateConfig,
    judge: JudgeConfig,
    signature: Signature | None = None,
) -> Path:
    """Probe the judge and write `judges/HASH.json`; the same replies give the same bytes.

    Raises:
        ValueError: the engine cannot choose, or the file's folder is being written.
        Checkpointed: a stop was asked for; what was replied is kept.
    """
    require(engine, {"generate", "choose"}, "judge validation")
    identity = judge_identity(engine, judge)
    name = judge_hash(identity)
    work = judges / "work" / name
    with only_writer(work):
        probes = _probe(work, material, engine, config, judge)
        write_manifest(work, "validate", config=resolved(config), seed=config.seed)
    found = {
        "schema_version": SCHEMA_VERSION,
        "hash": name,
        "judge": {"name": judge.name, "model": engine.model, "fingerprint": engine.fingerprint},
        "identity": identity,
        **verdict_on(probes, config.required),
        "thresholds": resolved(config)["thresholds"],
        "changed_rules": changed_rules(config),
        "probes": probes,
        "settings": resolved(config),
        "material": {"corpus": material.corpus_digest, **material.files},
        "tool": {"version": tool_version(), "git_revision": git_revision()},
        "signed": None if signature is None else {"by": signature.by, "date": signature.date},
    }
    path = judges / f"{name}.json"
    write_json(path, found)
    return path


def verdict_on(probes: dict[str, dict[str, Any]], required: Sequence[str]) -> dict[str, Any]:
    """The badge: failed if any probe failed, incomplete if a required one was not passed."""
    failed = [name for name, found in probes.items() if found["status"] == "failed"]
    incomplete = [
        name
        for name, found in probes.items()
        if found["status"] == "incomplete"
        or (name in required and found["status"] not in ("passed", "failed"))
    ]
    badge = "failed" if failed else "incomplete" if incomplete else "validated"
    return {"badge": badge, "failed": failed, "incomplete": incomplete}


def _probe(
    work: Path, material: Material, engine: Engine, config: ValidateConfig, judge: JudgeConfig
) -> dict[str, dict[str, Any]]:
    constrained = "json_schema" in engine.capabilities
    asks = plan_asks(material, config, judge, constrained=constrained)
    answers = collect(work, asks, engine, judge)
    probes = {"role_identification": not_run("not_run", "No items were given (--roleid).")}
    if material.items:
        probes["role_identification"] = role_identification(answers, material.items, config)
    probes |= corpus_probes(answers, config)
    probes["human_agreement"] = not_run("not_run", "No labels were given (--labels).")
    if material.labels is not None:
        probes["human_agreement"] = human_agreement(answers, material.labels, config)
    planner = Planner(material.subjects, config, judge, constrained=constrained)
    probes["reasoning"] = _compare_reasoning(work, planner, engine)
    return probes


def _compare_reasoning(work: Path, planner: Planner, engine: Engine) -> dict[str, Any]:
    place = work / "reasoning"
    once = replace(planner.judge, attempts=1)
    switch = reasoning.has_switch(collect(place, reasoning.switch_asks(planner), engine, once))
    if switch is None:
        return not_run("incomplete", "The replies that tell were lost in transport.")
    if not switch:
        return not_run("not_applicable", "The model's template has no switch for reasoning.")
    asks = reasoning.reasoning_asks(planner, planner.config.num_reasoning_pairs)
    return reasoning.reasoning(collect(place, asks, engine, planner.judge), planner.config)
