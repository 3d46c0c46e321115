"""`personae prep RAW... --out corpus/`"""

from __future__ import annotations

import argparse
from pathlib import Path

from personae.cli import PARTS_FAILED

EXAMPLES = """
examples:
  personae prep interviews/ --out corpus/
  personae prep interviews/ada talks/2021-03-04.vtt --out corpus/
  personae prep study/ --out corpus/ prep.split.single=skip --strict

RAW holds a folder per person. Names and dates come from manifest.jsonl or personas.jsonl in
RAW or beside it, else from folder and file names. Run it again after adding transcripts: only
what is new is read.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("raw", nargs="+", metavar="RAW", help="folders or files of transcripts")
    parser.add_argument("--out", type=Path, default=Path("corpus"), help="corpus folder to write")
    parser.add_argument("--config", type=Path, help="YAML file with settings")
    parser.add_argument("--dry-run", action="store_true", help="say what would be read, and stop")
    parser.add_argument(
        "--strict", action="store_true", help="exit with 3 when a document was refused"
    )


def run(options: argparse.Namespace) -> int:
    from data_prep.prepare import prepare
    from data_prep.roster import read_roster
    from personae.settings import PrepCommand, paths_and_overrides
    from personae.settings import load_config as load

    raw, overrides = paths_and_overrides(options.raw)
    config = load(PrepCommand, options.config, overrides)
    if not raw:
        raise ValueError("no RAW was named, only settings; name a folder of transcripts")
    if options.dry_run:
        entries = read_roster(raw)
        for entry in entries:
            print(f"{entry.persona.id}: {len(entry.documents)} documents of {entry.persona.name}")
        print(f"would write {options.out}")
        return 0
    tally = prepare(raw, options.out, config.prep)
    for reject in sorted(tally.rejects, key=lambda r: r.source):
        print(f"refused  {reject.source}: {reject.reason}: {reject.detail}")
    for problem in tally.not_split.values():
        print(f"not split  {problem}")
    if tally.undated:
        print(f"{len(tally.undated)} interviews have no date and count as the oldest")
    people = sum(1 for entry in tally.entries if tally.num_pairs[entry.persona.id])
    print(
        f"people {people}, interviews {len(tally.interviews)}, pairs {tally.num_pairs.total()}, "
        f"documents refused {len(tally.rejects)} -> {options.out}"
    )
    if not tally.num_pairs.total():
        raise ValueError(
            "no interview was accepted; the reasons are above and in "
            f"{options.out / 'rejects.jsonl'}"
        )
    return PARTS_FAILED if options.strict and tally.rejects else 0
