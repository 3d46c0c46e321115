"""Command line: which commands there are, and what an error looks like.

Exit codes: 0 done, 1 our bug (with a traceback), 2 the user's mistake (one line), 3 finished
but parts failed, 75 checkpointed after a signal: run the same command again. Only argparse is
imported here; a command's module is imported when that command is chosen.
"""

from __future__ import annotations

import argparse
import errno
import os
import pkgutil
import sys
from collections.abc import Sequence
from pathlib import Path

COMMANDS = {
    "prep": "read transcripts, refuse what is no interview, build Q&A pairs and training sets",
    "train": "train adapters: per persona, per category, or one for all",
    "ask": "put one question to an adapter or to the prompted base model",
    "eval": "compare methods on held-out questions: generate, judge, score, report",
    "judge": "measure whether a model can judge: role identification, validation, human sheets",
    "report": "write a run's report again and print its summary",
    "demo": "all of it, small, on fictional people, in minutes, on a CPU",
}
PACKAGES = ("data_prep", "train", "serve", "eval")

MISTAKE = 2
PARTS_FAILED = 3
CHECKPOINTED = 75


def main(arguments: Sequence[str] | None = None) -> int:
    _calm_libraries()
    parser, options = _parse(list(sys.argv[1:] if arguments is None else arguments))
    if options.command is None:
        parser.print_help()
        return 0
    try:
        _refuse_strangers()
        run = pkgutil.resolve_name(f"personae.commands.{options.command}:run")
        return int(run(options) or 0)
    except KeyboardInterrupt:
        return _fail("interrupted; run the same command again to go on", code=130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # the one place that decides whose mistake it was
        return _explain(error)


def _parse(arguments: list[str]) -> tuple[argparse.ArgumentParser, argparse.Namespace]:
    parser = argparse.ArgumentParser(
        prog="personae",
        description="From interviews to persona models: prepare, fine-tune, serve, judge.",
        epilog="first steps:  personae demo",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # only the chosen command's module is imported, for its options
        if name in arguments[:1]:
            pkgutil.resolve_name(f"personae.commands.{name}:add_options")(sub)
    # settings may stand behind options; argparse would call them unrecognised
    options, later = parser.parse_known_args(arguments)
    words = getattr(options, "overrides", getattr(options, "raw", None))
    if later and (words is None or any(word.startswith("-") for word in later)):
        parser.error(f"unrecognized arguments: {' '.join(later)}")
    if words is not None:
        words += later
    if options.version:
        from data_prep.files import tool_version

        print(f"personae {tool_version()}")
        raise SystemExit(0)
    return parser, options


def _explain(error: Exception) -> int:
    from data_prep.interrupt import Checkpointed

    if os.environ.get("PERSONAE_DEBUG"):
        raise error
    if isinstance(error, Checkpointed):
        return _fail(str(error), code=CHECKPOINTED)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        place = f" writing {error.filename}" if error.filename else ""
        return _fail(
            f"no space is left on the disk{place}; what was finished is kept: "
            "free some space and run the same command again"
        )
    if isinstance(error, OSError) and error.filename:
        return _fail(f"{error.filename}: {error.strerror}; check the path and its rights")
    if isinstance(error, ValueError):
        return _fail(str(error))
    raise error


def _fail(message: str, *, code: int = MISTAKE) -> int:
    print(f"personae: {' '.join(message.split())}", file=sys.stderr)
    return code


def _refuse_strangers() -> None:
    """Our packages have common names; another `eval` on the path would be a riddle later."""
    import importlib.util

    home = Path(__file__).resolve().parent.parent
    for name in PACKAGES:
        found = importlib.util.find_spec(name)
        origin = Path(found.origin).resolve() if found and found.origin else None
        if origin is None or origin.parent.parent != home:
            raise ValueError(
                f"the package {name!r} comes from {origin or 'nowhere'}, expected {home / name}; "
                "start personae from another folder, or mend PYTHONPATH"
            )


def _calm_libraries() -> None:
    """No bars of libraries between our lines, no telemetry, no threads that spin."""
    os.environ.setdefault("TQDM_DISABLE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    # OpenMP threads that wait keep a core busy; beside other work that made training 25 times
    # slower, while a short wait costs a quiet machine about a twentieth
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
