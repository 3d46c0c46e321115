"""`personae train corpus/ [--persona X | --by category | --all | --pooled]`"""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae train corpus/ --persona ada
  personae train corpus/ --all train.lora.rank=32 train.epochs=2
  personae train corpus/ --by category --adapters adapters/
  personae train corpus/ --pooled --dry-run

An adapter that is already trained on the same data with the same settings is kept; one that
was interrupted goes on from its last checkpoint.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("corpus", type=Path, help="folder that `personae prep` wrote")
    parser.add_argument("overrides", nargs="*", metavar="train.FIELD=VALUE", help="settings")
    who = parser.add_mutually_exclusive_group(required=True)
    who.add_argument("--persona", action="append", metavar="ID", help="this person (repeatable)")
    who.add_argument("--by", choices=["category"], help="one adapter per category")
    who.add_argument("--all", action="store_true", help="one adapter per person")
    who.add_argument("--pooled", action="store_true", help="one adapter for everybody")
    parser.add_argument("--adapters", type=Path, default=Path("adapters"), help="where to publish")
    parser.add_argument("--config", type=Path, help="YAML file with settings")
    parser.add_argument("--dry-run", action="store_true", help="say what would be trained")


def run(options: argparse.Namespace) -> int:
    from data_prep.corpus import Corpus
    from personae.settings import TrainCommand, load_config
    from train.jobs import category_jobs, persona_jobs, pooled_job, training_set
    from train.run import train_all

    config = load_config(TrainCommand, options.config, options.overrides).train
    corpus = Corpus(options.corpus)
    if options.persona:
        jobs = persona_jobs(corpus, options.persona)
    elif options.by:
        jobs = category_jobs(corpus)
    elif options.pooled:
        jobs = [pooled_job(corpus)]
    else:
        jobs = persona_jobs(corpus, sorted(corpus.splits))
    if not jobs:
        raise ValueError(f"{options.corpus} holds nobody to train; see its stats.json")
    if options.dry_run:
        for job in jobs:
            data = training_set(corpus, job, config)
            characters = sum(len(m.content) for e in data.train for m in e.messages)
            print(
                f"{job.name}: {len(data.train)} pairs, {len(data.validation)} for validation, "
                f"about {characters // 4 * config.epochs} tokens over {config.epochs} epochs"
            )
        return 0
    for name, folder in train_all(corpus, jobs, options.adapters, config).items():
        print(f"{name}@{folder.name} -> {folder}")
    return 0
