"""`personae judge validate`: probe a judge, and write down whether it passed."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae judge validate --corpus corpus/ --name smollm2 --roleid items.jsonl --dry-run
  personae judge validate --corpus corpus/ --name smollm2 --roleid items.jsonl
  personae judge validate --corpus corpus/ --eval configs/eval/smoke.yaml --labels labels.csv
  personae judge validate --corpus corpus/ --name big engine.base_model=/models/big \\
      judge.max_tokens=300 validate.num_pairs=100 --signed-by "R. Hale" --date 2025-03-01

The judge is found again by what it is: its weights, its prompt and its settings (judge.*). So
take these from the evaluation's config (--eval), or set them as there. Stopped, it goes on where
it was: run the same command again. What the probes ask is in docs/judge-validation.md.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("overrides", nargs="*", metavar="PART.FIELD=VALUE", help="settings")
    parser.add_argument("--corpus", type=Path, default=Path("corpus"))
    parser.add_argument("--name", help="what reports call this judge")
    parser.add_argument("--roleid", type=Path, metavar="ITEMS.jsonl", help="who is speaking?")
    parser.add_argument("--labels", type=Path, metavar="FILE.csv", help="what people rated")
    parser.add_argument("--judges", type=Path, default=Path("judges"), help="where results go")
    parser.add_argument("--config", type=Path, help="YAML file with settings")
    parser.add_argument("--eval", type=Path, metavar="CONFIG.yaml", help="validate its judge")
    parser.add_argument("--signed-by", metavar="NAME", help="who answers for the result")
    parser.add_argument("--date", help="when they do, YYYY-MM-DD")
    parser.add_argument("--dry-run", action="store_true", help="count the work, and stop")
    parser.add_argument(
        "--allow-scripted", action="store_true", help="permit made-up replies (process tests)"
    )


def run(options: argparse.Namespace) -> int:
    import datetime
    from dataclasses import replace

    from eval.validation.run import Signature
    from personae.judging import run_validation, validation_settings

    if bool(options.signed_by) != bool(options.date):
        raise ValueError("--signed-by and --date go together; give both or neither")
    signature = None
    if options.signed_by:
        try:
            datetime.date.fromisoformat(options.date)
        except ValueError:
            raise ValueError(f"--date is {options.date!r}, expected YYYY-MM-DD") from None
        signature = Signature(by=options.signed_by, date=options.date)
    command = validation_settings(options.name, options.config, options.eval, options.overrides)
    if options.allow_scripted:
        command = replace(command, engine=replace(command.engine, allow_scripted=True))
    lines = run_validation(
        command,
        options.corpus,
        options.judges,
        roleid=options.roleid,
        labels=options.labels,
        signature=signature,
        dry_run=options.dry_run,
    )
    print("\n".join(lines))
    return 0
