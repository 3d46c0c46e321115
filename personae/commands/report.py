"""`personae report RUN`"""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae report runs/first
  personae report runs/first --adapters adapters/
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("run_folder", type=Path, metavar="RUN")
    parser.add_argument("--adapters", type=Path, help="adds how the adapters were trained")


def run(options: argparse.Namespace) -> int:
    from personae.evaluating import report_lines

    if not (options.run_folder / "metrics.json").exists():
        raise ValueError(
            f"{options.run_folder} has no metrics.json; finish it with `personae eval CONFIG.yaml`"
        )
    for line in report_lines(options.run_folder, options.adapters):
        print(line)
    return 0
