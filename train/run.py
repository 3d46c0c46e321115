"""Train all adapters of a job list over one loaded base, and publish each as a bundle.

An adapter that is already published with the same data, settings and base is kept; one that
was interrupted continues from its checkpoint. The work in progress lives in
`adapters/NAME/.training/HASH/`, so changed settings never continue an old run.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from safetensors import SafetensorError

from data_prep.corpus import Corpus
from data_prep.engine import Sampling
from data_prep.files import make_folder, only_writer
from data_prep.interrupt import StopFlag, stop_flag
from data_prep.progress import say
from data_prep.records import content_hash
from train.base_model import BaseModel, load_model, load_tokenizer, resolve
from train.bundle import (
    LEARNT_NOTHING,
    WEIGHTS,
    PersonaBundle,
    bundle_version,
    find_bundle,
    list_names,
    publish,
    read_bundle,
)
from train.config import TrainConfig
from train.encode import Encoded, Encoder
from train.jobs import Job, TrainingSet, job_hash, training_set


def train_all(
    corpus: Corpus, jobs: Sequence[Job], adapters: Path, config: TrainConfig
) -> dict[str, Path]:
    """Train what is not yet trained; returns the bundle folder of each job's name.

    Raises:
        ValueError: no consent, nothing to train on, training diverged.
        Checkpointed: a stop was asked for.
    """
    base = resolve(config.base_model)
    sets = {job.name: training_set(corpus, job, config) for job in jobs}
    hashes = {job.name: job_hash(job, sets[job.name], config, base.fingerprint) for job in jobs}
    done = {job.name: _published(adapters, job.name, hashes[job.name]) for job in jobs}
    for name in (name for name, folder in done.items() if folder):
        say(f"  {name}: already trained")
    waiting = [job for job in jobs if done[job.name] is None]
    if waiting:
        with stop_flag() as stop:
            trainer = AdapterTrainer(base, config, stop)
            for job in waiting:
                hashed = hashes[job.name]
                with only_writer(adapters / job.name), _naming_a_full_disk(adapters):
                    # looked up again: somebody may have trained it in the meantime
                    done[job.name] = _published(adapters, job.name, hashed) or trainer.train(
                        job, sets[job.name], adapters, hashed, corpus
                    )
    return {name: folder for name, folder in done.items() if folder}


class AdapterTrainer:
    """One base in memory, one adapter after the other."""

    def __init__(self, base: BaseModel, config: TrainConfig, stop: StopFlag) -> None:
        self.base = base
        self.config = config
        self.stop = stop
        self.tokenizer = load_tokenizer(base)
        self.model = load_model(base, _training_dtype(config))

    def train(
        self, job: Job, data: TrainingSet, adapters: Path, hashed: str, corpus: Corpus
    ) -> Path:
        from train.canary import make_canary
        from train.solo import train_adapter

        encoder = Encoder(self.tokenizer, data.prompt.template_args)
        train, num_too_long = self._encode(encoder, data, "train", job.name)
        validation, _ = self._encode(encoder, data, "validation", job.name)
        self._say_plan(job, train, validation, num_too_long)
        work = make_folder(adapters / job.name / ".training" / hashed)
        _drop_other_work(work)
        model, summary = train_adapter(
            self.model,
            self.tokenizer,
            train,
            validation,
            self.config,
            work=work,
            label=job.name,
            stop=self.stop,
        )
        name = corpus.persona(job.persona_ids[0]).name
        canary = make_canary(model, encoder, data.prompt, name)
        staged = work / "bundle"
        _order_target_modules(model)
        model.save_pretrained(str(staged))
        self.model = model.unload()
        (staged / "README.md").unlink(missing_ok=True)  # an empty template; persona.json says more
        bundle = PersonaBundle(
            name=job.name,
            version=bundle_version(staged / WEIGHTS, data.prompt, self.base.fingerprint),
            scope=job.scope,
            persona_ids=job.persona_ids,
            base_model=self.base.name,
            base_fingerprint=self.base.fingerprint,
            template_hash=content_hash(self.tokenizer.chat_template, digits=12),
            prompt=data.prompt,
            sampling=Sampling(),
            corpus_digest=corpus.digest(),
            config_hash=hashed,
            training={**asdict(summary), "num_pairs": len(train), "num_too_long": num_too_long},
            canary=canary,
        )
        folder = publish(adapters, staged, bundle)
        shutil.rmtree(work.parent, ignore_errors=True)
        if canary.distance() < LEARNT_NOTHING:
            say(
                f"  {job.name}: the adapter differs from the base by only "
                f"{canary.distance():.2f} nat a token; it has learnt next to nothing"
            )
        return folder

    def _encode(
        self, encoder: Encoder, data: TrainingSet, part: str, name: str
    ) -> tuple[list[Encoded], int]:
        """Encode a part; a pair too long for `max_length` is left out and counted.

        Raises:
            ValueError: all training pairs are too long.
        """
        encoded: list[Encoded] = []
        too_long = 0
        for example in getattr(data, part):
            try:
                encoded.append(
                    encoder.conversation(example.messages, max_length=self.config.max_length)
                )
            except ValueError:
                too_long += 1
        if part == "train" and not encoded:
            raise ValueError(
                f"{name!r}: all {too_long} training pairs are longer than "
                f"{self.config.max_length} tokens; raise train.max_length"
            )
        return encoded, too_long

    def _say_plan(
        self, job: Job, train: list[Encoded], validation: list[Encoded], num_too_long: int
    ) -> None:
        tokens = sum(len(example.input_ids) for example in train)
        left_out = f", {num_too_long} too long left out" if num_too_long else ""
        how = (
            f"best of {self.config.epochs} epochs on {len(validation)} validation pairs"
            if validation
            else f"{self.config.epochs} epochs fixed, no validation interview"
        )
        say(f"  {job.name}: {len(train)} pairs, {tokens} tokens an epoch{left_out}; {how}")


def _training_dtype(config: TrainConfig) -> Any:
    """float32 on a CPU: a bfloat16 backward pass is no faster there, even with AMX."""
    import torch

    if config.dtype == "auto":
        return None if torch.cuda.is_available() else torch.float32
    return getattr(torch, config.dtype)


@contextlib.contextmanager
def _naming_a_full_disk(folder: Path) -> Iterator[None]:
    """Torch and safetensors report a write that failed, but not that the disk is full."""
    try:
        yield
    except (RuntimeError, SafetensorError) as error:
        if shutil.disk_usage(folder).free < 2**20:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
        raise


def _order_target_modules(model: Any) -> None:
    """PEFT keeps these names in a set; its order, and the file, would change from run to run."""
    config = model.active_peft_config
    if not isinstance(config.target_modules, str):
        config.target_modules = sorted(config.target_modules)


def _published(adapters: Path, name: str, hashed: str) -> Path | None:
    if name not in list_names(adapters):
        return None
    folder = find_bundle(adapters, name)
    return folder if read_bundle(folder).config_hash == hashed else None


def _drop_other_work(work: Path) -> None:
    """Checkpoints of other settings cannot be continued."""
    for other in work.parent.iterdir():
        if other != work:
            shutil.rmtree(other)
