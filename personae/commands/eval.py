"""`personae eval CONFIG.yaml`: generate -> judge -> score -> report."""

from __future__ import annotations

import argparse
from pathlib import Path

STAGES = ("generate", "judge", "score", "report")
EXAMPLES = """
examples:
  personae eval configs/eval/smoke.yaml
  personae eval configs/eval/smoke.yaml corpus=corpus/ out=runs/first eval.generate.max_tokens=80
  personae eval configs/eval/smoke.yaml --dry-run
  personae eval configs/eval/smoke.yaml --stage score

Every stage goes on where it stopped: run the same command again. Scoring never calls a model.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("config", type=Path, metavar="CONFIG.yaml")
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE", help="settings")
    parser.add_argument("--stage", choices=STAGES, help="run this stage alone")
    parser.add_argument("--dry-run", action="store_true", help="count the work, and stop")
    parser.add_argument(
        "--allow-scripted", action="store_true", help="permit made-up replies (process tests)"
    )


def run(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from personae.evaluating import evaluate, say_plan
    from personae.settings import EvalCommand, load_config

    config = load_config(EvalCommand, options.config, options.overrides)
    if options.allow_scripted:
        config = replace(config, engine=replace(config.engine, allow_scripted=True))
    if options.dry_run:
        say_plan(config)
        return 0
    for line in evaluate(config, [options.stage] if options.stage else STAGES):
        print(line)
    return 0
