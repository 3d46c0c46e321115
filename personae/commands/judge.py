"""`personae judge WHAT`: can this model judge? Each WHAT is a module of its own beside this one.

A chosen one adds its options and is imported only when it is asked for, as commands are.
"""

from __future__ import annotations

import argparse
import pkgutil
from collections.abc import Sequence
from typing import Any

SUBCOMMANDS = {
    "roleid": "role identification: who is speaking? (PersonaEval)",
    "curate": "make role-identification items from a corpus",
    "validate": "earn a judge its badge",
    "panel": "several judges on one run: agreement, majority and mean verdicts",
    "sheet": "blinded sheets for human raters, and what they answered",
}
EXAMPLES = """
examples:
  personae judge roleid items.jsonl --out runs/roleid
  personae judge curate corpus/ --out items/

Each has its own help: personae judge roleid --help
"""


class LazyParser(argparse.ArgumentParser):
    """Asks its module for options when it is about to parse, not before."""

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        name = self.prog.rsplit(" ", 1)[-1]
        pkgutil.resolve_name(f"personae.commands.judge_{name}:add_options")(self)
        return super().parse_known_args(args, namespace)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    commands = parser.add_subparsers(
        dest="what", metavar="WHAT", required=True, parser_class=LazyParser
    )
    for name, summary in SUBCOMMANDS.items():
        commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )


def run(options: argparse.Namespace) -> int:
    return int(pkgutil.resolve_name(f"personae.commands.judge_{options.what}:run")(options) or 0)
