"""`personae judge panel RUN...`: several judges side by side."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae judge panel runs/strict runs/kind
  personae judge panel runs/strict runs/kind --out panel/ --num 20

Runs must have judged the same replies: same questions, methods and models, other eval.judge.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="or a judge folder")
    parser.add_argument("--out", type=Path, help="folder of the result (default: the first RUN)")
    parser.add_argument("--num", type=int, default=10, help="disagreements to show")


def run(options: argparse.Namespace) -> int:
    from data_prep.files import make_folder, write_json
    from data_prep.journal import write_table
    from eval.validation.panel import judges_of, panel, read_tables, side_by_side, texts_of
    from eval.validation.wording import panel_lines

    rows = read_tables(options.runs)
    found = panel(rows, num_shown=options.num)
    texts = texts_of(options.runs)
    for line in found["biggest_disagreements"]:
        line |= texts.get(line["reply_key"], {})
    found["badges"] = judges_of(options.runs)
    out = make_folder(options.out or options.runs[0])
    write_table(out / "panel.parquet", side_by_side(rows))
    write_json(out / "panel.json", found)
    print("\n".join([*panel_lines(found), f"written to {out / 'panel.json'}"]))
    return 0
