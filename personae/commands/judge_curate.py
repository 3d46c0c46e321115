"""`personae judge curate SOURCE`: role-identification items from a corpus, or the hard ones."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eval.personaeval.curate import CurateConfig, Curated

EXAMPLES = """
examples:
  personae judge curate corpus/ --out items/
  personae judge curate corpus/ --out items/ curate.min_words=40 curate.within_category=true
  personae judge curate items/items.jsonl --out hard/ --results runs/a --results runs/b \\
      curate.hard_models=2

The first form writes items.jsonl, shots.jsonl (from other interviews) and dropped.jsonl. The
second keeps the items that enough models found hard; they must have been run on these items.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument(
        "source", type=Path, metavar="SOURCE", help="a corpus folder, or an items file"
    )
    parser.add_argument("overrides", nargs="*", metavar="curate.FIELD=VALUE", help="settings")
    parser.add_argument("--out", type=Path, required=True, help="folder for the items")
    parser.add_argument(
        "--results",
        type=Path,
        action="append",
        default=[],
        metavar="RUN",
        help="folder of a `judge roleid` run on these items; give several",
    )
    parser.add_argument("--config", type=Path, help="YAML file with settings")


def run(options: argparse.Namespace) -> int:
    from collections import Counter

    from eval.personaeval.curate import Curated, curate, dialogues_of, tf_idf
    from eval.personaeval.hard_cases import keep_hard, read_results
    from eval.personaeval.items import load_items
    from personae.settings import CurateCommand, load_config

    config = load_config(CurateCommand, options.config, options.overrides).curate
    if options.source.is_dir():
        from data_prep.corpus import Corpus

        if options.results:
            raise ValueError("--results chooses among items; name items.jsonl, not a corpus")
        corpus = Corpus(options.source)
        dialogues, people = dialogues_of(corpus, within_category=config.within_category)
        found = curate(dialogues, people, [tf_idf], config)
    else:
        if not options.results:
            raise ValueError(f"{options.source} holds items already; name models with --results")
        results = dict(map(read_results, options.results))
        if len(results) < len(options.results):
            raise ValueError("two of the --results are of one model; name each model once")
        at_least = config.hard_models or len(results)
        items = load_items([options.source])
        kept, dropped = keep_hard(items, results, at_least=at_least, limit=config.hard_limit)
        found = Curated(items=kept, dropped=dropped)
    write_items(options.out, found, config)
    for name in ("items", "shots", "dropped"):
        print(f"{name}: {len(getattr(found, name))}")
    for reason, count in Counter(drop.reason for drop in found.dropped).most_common():
        print(f"  {reason.replace('_', ' ')}: {count}")
    return 0


def write_items(folder: Path, found: Curated, config: CurateConfig) -> None:
    """The items, the examples, and what was dropped with its reason."""
    from dataclasses import asdict

    from data_prep.config import resolved
    from data_prep.files import only_writer, write_jsonl, write_manifest
    from eval.personaeval.items import item_row

    with only_writer(folder):
        counts = {
            "items": write_jsonl(folder / "items.jsonl", map(item_row, found.items)),
            "shots": write_jsonl(folder / "shots.jsonl", map(item_row, found.shots)),
            "dropped": write_jsonl(folder / "dropped.jsonl", map(asdict, found.dropped)),
        }
        write_manifest(folder, "curate", config=resolved(config), counts=counts, seed=config.seed)
