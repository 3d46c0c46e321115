"""What is to be trained: one adapter per persona, per category, or one for all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pydantic.dataclasses import dataclass

from data_prep.corpus import Corpus
from data_prep.prompting import PromptSpec
from data_prep.records import STRICT, content_hash, refuse_without_consent, to_row
from data_prep.sft import SFTExample, read_prompt_spec, read_sft
from train.bundle import Scope
from train.config import TrainConfig


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Job:
    """One adapter to train, from the SFT sets of these people."""

    name: str
    scope: Scope
    persona_ids: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class TrainingSet:
    """All that goes into one adapter, besides the base and the settings."""

    prompt: PromptSpec
    train: tuple[SFTExample, ...]
    validation: tuple[SFTExample, ...]


def persona_jobs(corpus: Corpus, persona_ids: Sequence[str]) -> list[Job]:
    """Raises ValueError for a person who is not in the corpus, or could not be split."""
    for persona_id in persona_ids:
        corpus.persona(persona_id)
        if persona_id not in corpus.splits:
            raise ValueError(
                f"persona {persona_id!r} has too few exchanges to train on; add transcripts"
            )
    return [Job(name=name, scope="persona", persona_ids=(name,)) for name in persona_ids]


def category_jobs(corpus: Corpus) -> list[Job]:
    """One job per category; people without a category are left out."""
    members: dict[str, list[str]] = {}
    for persona_id in sorted(corpus.splits):
        category = corpus.persona(persona_id).category
        if category:
            members.setdefault(category, []).append(persona_id)
    return [
        Job(name=category_name(category), scope="category", persona_ids=tuple(ids))
        for category, ids in sorted(members.items())
    ]


def pooled_job(corpus: Corpus) -> Job:
    """One job over everybody whose split is by interview.

    People split inside their only interview are left out, unless they are all there is:
    the two kinds of evidence are not mixed unasked.
    """
    by_interview = [n for n, s in sorted(corpus.splits.items()) if s.rule.kind == "by_interview"]
    return Job(
        name="pooled", scope="pooled", persona_ids=tuple(by_interview or sorted(corpus.splits))
    )


def category_name(category: str) -> str:
    slug = re.sub(r"[^a-z0-9]+", "-", category.lower()).strip("-")
    return f"category-{slug}"[:63].rstrip("-")


def training_set(corpus: Corpus, job: Job, config: TrainConfig) -> TrainingSet:
    """Read the job's SFT sets, checking consent.

    Raises:
        ValueError: consent is missing, or there is nothing to train on.
    """
    refuse_without_consent((corpus.persona(name) for name in job.persona_ids), "train")
    folders = [corpus.folder / "sft" / name for name in job.persona_ids]
    train = [e for folder in folders for e in _latest(read_sft(folder, "train"), config.max_pairs)]
    validation = [
        e
        for folder in folders
        for e in _latest(read_sft(folder, "validation"), config.max_validation_pairs)
    ]
    if not train:
        raise ValueError(f"{job.name!r} has no training pairs; see stats.json of the corpus")
    prompt = read_prompt_spec(folders[0])
    if job.scope != "persona":
        prompt = replace(prompt, persona_name=None)
    return TrainingSet(prompt=prompt, train=tuple(train), validation=tuple(validation))


def _latest(examples: list[SFTExample], limit: int | None) -> list[SFTExample]:
    return examples[-limit:] if limit else examples


def job_hash(job: Job, data: TrainingSet, config: TrainConfig, base_fingerprint: str) -> str:
    """Equal exactly when training again would give the same adapter."""
    return content_hash([to_row(job), to_row(data), to_row(config), base_fingerprint], digits=16)
