"""`personae judge roleid ITEMS...`: can this model tell who is speaking?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from data_prep.engine import Engine
    from eval.personaeval.config import RoleConfig
    from eval.personaeval.plan import Plan

EXAMPLES = """
examples:
  personae judge roleid items.jsonl --out runs/roleid
  personae judge roleid Literary.csv Drama.csv --out runs/literary role.shots=3
  personae judge roleid items.jsonl --out runs/small role.mode=likelihood role.rotations=all
  personae judge roleid items.jsonl --out runs/tuned role.mode=likelihood role.adapters=[ada,bo]
  personae judge roleid items.jsonl --out runs/voted role.samples=5
  personae judge roleid items.jsonl --out runs/roleid --dry-run

role.mode=generate asks for a distribution in writing; role.mode=likelihood compares the
probabilities of the names, for models too small to write one. Run again to go on after a stop.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument(
        "overrides",
        nargs="+",
        metavar="ITEMS",
        help="files of items (.jsonl, official .csv) and settings: engine.FIELD=, role.FIELD=",
    )
    parser.add_argument("--out", type=Path, required=True, help="run folder")
    parser.add_argument("--shots", type=Path, help="items of other works to take examples from")
    parser.add_argument("--adapters", type=Path, default=Path("adapters"))
    parser.add_argument("--config", type=Path, help="YAML file with settings")
    parser.add_argument("--dry-run", action="store_true", help="count the work, and stop")
    parser.add_argument(
        "--allow-scripted", action="store_true", help="permit made-up replies (process tests)"
    )


def run(options: argparse.Namespace) -> int:
    from dataclasses import replace

    from data_prep.files import only_writer
    from eval.personaeval.items import load_items
    from eval.personaeval.run import choose_items, prepare, run_role_identification
    from eval.personaeval.table import table_lines
    from personae.cli import PARTS_FAILED
    from personae.settings import RoleidCommand, load_config, paths_and_overrides
    from serve.engines import load_engine

    paths, overrides = paths_and_overrides(options.overrides)
    config = load_config(RoleidCommand, options.config, overrides)
    items = load_items(paths)
    pool = load_items([options.shots]) if options.shots else []
    adapters = adapter_folders(options.adapters, config.role.adapters)
    role = replace(config.role, adapters=tuple(adapters))
    allowed = config.engine.allow_scripted or options.allow_scripted
    engine = load_engine(replace(config.engine, allow_scripted=allowed), adapters)
    if options.dry_run:
        shots, scored = choose_items(items, role, pool)
        for line in plan_lines(prepare(scored, shots, engine, role), engine, role, len(scored)):
            print(line)
        return 0
    with only_writer(options.out):
        metrics = run_role_identification(options.out, items, engine, role, shot_pool=pool)
    for line in [*table_lines(metrics), f"numbers: {(options.out / 'metrics.json').resolve()}"]:
        print(line)
    return PARTS_FAILED if metrics["num_unanswered"] else 0


def adapter_folders(adapters: Path, names: tuple[str, ...]) -> dict[str, Path]:
    """Bundle folders by NAME@VERSION; without a version it is the promoted one.

    Raises:
        ValueError: no such adapter or version.
    """
    from train.bundle import find_bundle

    found = {}
    for given in names:
        name, _, version = given.partition("@")
        folder = find_bundle(adapters, name, version or None)
        found[f"{name}@{folder.name}"] = folder
    return found


def plan_lines(plan: Plan, engine: Engine, role: RoleConfig, num_items: int) -> list[str]:
    """What a run would ask."""
    from eval.personaeval.run import prompt_tokens

    tokens = prompt_tokens(plan, engine)
    lines = [
        f"{num_items} items, {role.shots} examples before each",
        f"{len(plan.uses)} answers from {len(tokens)} requests, {sum(tokens.values())} prompt "
        "tokens (examples that are shared counted each time)",
    ]
    if role.mode == "generate":
        lines.append(
            f"at most {len(tokens) * role.max_tokens} tokens to write, and up to "
            f"{role.attempts} attempts where a reply cannot be read"
        )
    return lines
