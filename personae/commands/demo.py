"""`personae demo`: the whole way on the bundled fictional interviews."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae demo
  personae demo --out /tmp/personae-demo

Four fictional people and a small study of four participants: prepare, train five adapters,
compare them with the prompted base model, judge, report. Run again, it does only what is left.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--out", type=Path, default=Path("runs/demo"), help="folder to write")


def run(options: argparse.Namespace) -> int:
    from personae.demo import demo

    demo(options.out)
    return 0
