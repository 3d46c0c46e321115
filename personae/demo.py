"""The demo: the commands a user would type, on bundled data, with the time of each stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from pathlib import Path

from data_prep.corpus import Corpus
from data_prep.prepare import prepare
from personae.evaluating import evaluate
from personae.settings import EvalCommand, TrainCommand, load_config
from train.base_model import resolve
from train.jobs import Job, category_jobs, persona_jobs
from train.run import train_all

STUDY = "Study participants"  # the category of the small study's people


def demo(out: Path) -> None:
    """Prepare, train, evaluate and report; prints stage times and where the report is."""
    started = time.monotonic()
    home = files("personae")
    with as_file(home / "demo_data") as data, as_file(home / "configs") as configs:
        with stage("prepare the interviews"):
            tally = prepare([data / "interviews", data / "study"], out / "corpus")
            for reject in tally.rejects:
                print(f"  refused {reject.source}: {reject.reason}: {reject.detail}")
            print(
                f"  {len(tally.interviews)} interviews, {tally.num_pairs.total()} pairs, "
                f"{len(tally.splits)} people"
            )
        corpus = Corpus(out / "corpus")
        with stage("get the base model"):
            config = load_config(TrainCommand, configs / "train" / "smoke.yaml").train
            base = resolve(config.base_model)
            print(f"  {base.name} ({base.fingerprint}) in {base.folder}")
        with stage("train an adapter per person, and one for the study"):
            people, study = _jobs(corpus)
            category = load_config(TrainCommand, configs / "train" / "smoke-category.yaml").train
            train_all(corpus, people, out / "adapters", config)
            train_all(corpus, study, out / "adapters", category)
        with stage("evaluate on held-out answers"):
            command = load_config(
                EvalCommand,
                configs / "eval" / "smoke.yaml",
                [
                    f"corpus={out / 'corpus'}",
                    f"adapters={out / 'adapters'}",
                    f"out={out / 'eval'}",
                ],
            )
            lines = evaluate(command, ("generate", "judge", "score", "report"))
    print(f"\nall of it: {time.monotonic() - started:.0f} s\n")
    print("\n".join(lines))


@contextmanager
def stage(label: str) -> Iterator[None]:
    """Print a stage's name before, and its time after."""
    print(f"{label} ...", flush=True)
    started = time.monotonic()
    yield
    print(f"  ({time.monotonic() - started:.0f} s)", flush=True)


def _jobs(corpus: Corpus) -> tuple[list[Job], list[Job]]:
    """An adapter for each person with dated interviews; one for the study as a whole."""
    people = [n for n, split in sorted(corpus.splits.items()) if split.rule.kind == "by_interview"]
    study = [job for job in category_jobs(corpus) if STUDY in _categories(corpus, job)]
    return persona_jobs(corpus, people), study


def _categories(corpus: Corpus, job: Job) -> set[str | None]:
    return {corpus.persona(name).category for name in job.persona_ids}
