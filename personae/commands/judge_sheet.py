"""`personae judge sheet export|import`: blinded sheets for people, and what they answered."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae judge sheet export runs/first --out sheet.csv
  personae judge sheet export --confident-errors runs/roleid --out sheet.csv
  personae judge sheet import alice.csv bob.csv --key sheet.key.jsonl --out study.json
  personae judge sheet import alice.csv bob.csv --key sheet.key.jsonl --labels labels.csv

Give each rater a copy of sheet.csv under their own name, and keep sheet.key.jsonl to yourself.
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    steps = parser.add_subparsers(
        dest="step",
        metavar="export|import",
        required=True,
        parser_class=argparse.ArgumentParser,  # plain ones: these are no modules of their own
    )
    export = steps.add_parser("export", help="draw items and write a sheet and its key")
    export.add_argument("run_folder", type=Path, nargs="?", metavar="RUN")
    export.add_argument("--out", type=Path, required=True, metavar="SHEET.csv")
    export.add_argument("--num", type=int, default=50, help="items at most")
    export.add_argument("--seed", type=int, default=0, help="decides draw and order")
    export.add_argument(
        "--confident-errors",
        type=Path,
        metavar="RUN",
        help="a run of `personae judge roleid`: what its model got wrong and was surest of",
    )
    filled = steps.add_parser("import", help="read filled-in sheets, one per rater")
    filled.add_argument("sheets", type=Path, nargs="+", metavar="SHEET.csv")
    filled.add_argument("--key", type=Path, required=True, metavar="KEY.jsonl")
    filled.add_argument("--out", type=Path, metavar="STUDY.json")
    filled.add_argument("--labels", type=Path, metavar="LABELS.csv", help="for judge validate")


def run(options: argparse.Namespace) -> int:
    return _export(options) if options.step == "export" else _import(options)


def _export(options: argparse.Namespace) -> int:
    from eval.validation.sheets import sheet_of_errors, sheet_of_run, write_sheet

    if (options.run_folder is None) == (options.confident_errors is None):
        raise ValueError("name a RUN or --confident-errors RUN, one of them")
    if options.num < 1:
        raise ValueError(f"--num is {options.num}, expected at least 1")
    if options.run_folder is not None:
        sheet = sheet_of_run(options.run_folder, num=options.num, seed=options.seed)
    else:
        sheet = sheet_of_errors(options.confident_errors, num=options.num, seed=options.seed)
    key = write_sheet(sheet, options.out)
    print(f"{len(sheet.rows)} items in {options.out}; keep {key} from the raters")
    return 0


def _import(options: argparse.Namespace) -> int:
    from data_prep.files import write_json
    from eval.validation.human import write_labels
    from eval.validation.study import labels_of, read_filled, read_key, study
    from eval.validation.wording import study_lines

    key = read_key(options.key)
    names = [sheet.stem for sheet in options.sheets]
    if len(set(names)) < len(names):
        raise ValueError("two sheets have the same file name; name each after its rater")
    raters = {sheet.stem: read_filled(sheet, key) for sheet in options.sheets}
    found = study(key, raters)
    if options.labels:
        write_labels(options.labels, labels_of(key, raters))
    if options.out:
        write_json(options.out, found)
    print("\n".join(study_lines(found)))
    return 0
