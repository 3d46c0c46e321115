"""Injure a running `personae` command, run it again, and compare with an undisturbed run.

    CHAOS_INJURIES=200 pytest tests/chaos    that many random moments in each case, not a few
    CHAOS_SEED=7                             other moments; a failure prints the seed it had

The commands run from a copy of the code, so an edit in the middle of a run changes nothing.
Only processes started here are ever signalled, by their pid.
"""

from __future__ import annotations

import compileall
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Self

HOME = Path(__file__).resolve().parents[2]
PACKAGES = ("data_prep", "train", "serve", "eval", "personae")
PATIENCE_SECONDS = 120.0  # for one command; all of them take seconds
POLL_SECONDS = 0.002

KILLED = -signal.SIGKILL
DONE, MISTAKE, CHECKPOINTED = 0, 2, 75


def num_injuries(default: int) -> int:
    """How many random moments a case tries."""
    return int(os.environ.get("CHAOS_INJURIES") or default)


@dataclass(frozen=True)
class Ended:
    """How a command ended; `code` is minus the signal that killed it."""

    code: int
    out: str
    err: str
    seconds: float

    @property
    def complaint(self) -> str:
        """The one line that says why it stopped.

        Raises:
            AssertionError: there are several, or a traceback.
        """
        lines = [line for line in self.err.splitlines() if line.startswith("personae: ")]
        assert len(lines) == 1 and "Traceback" not in self.err, self.err
        assert self.err.endswith(lines[0] + "\n"), self.err
        return lines[0]


@dataclass(frozen=True)
class Injury:
    """A signal, sent so many seconds after a condition has come true."""

    signal: signal.Signals = signal.SIGKILL
    when: Callable[[], bool] = lambda: True
    delay_seconds: float = 0.0


@dataclass(frozen=True)
class Personae:
    """The `personae` command as a user types it, in `folder`; `code` is a copy of the packages."""

    code: Path
    cache: Path
    folder: Path

    def start(self, *arguments: object) -> Running:
        return self.start_python("-m", "personae", *arguments)

    def start_python(self, *arguments: object) -> Running:
        """Start other Python code of ours in the same way."""
        self.folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",  # threads that spin against each other cost more than they do
            "PERSONAE_CACHE": str(self.cache),
            "PYTHONPATH": str(self.code),
        }
        return Running(list(map(str, arguments)), self.folder, environment)

    def run(self, *arguments: object) -> Ended:
        with self.start(*arguments) as running:
            return running.wait()

    def injured(self, injury: Injury, *arguments: object) -> Ended:
        """Run with an injury; the command may have ended before it (see its code)."""
        with self.start(*arguments) as running:
            return running.injured(injury)


class Running:
    """A process in a session of its own; leaving the block ends it."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: dict[str, str]) -> None:
        # files, because a pipe that nobody empties would stop the command
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._started = time.monotonic()
        self._process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def until(self, condition: Callable[[], bool]) -> bool:
        """Wait until the condition is true; False when the process ended before."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not condition():
            if not self.is_running:
                return condition()
            assert time.monotonic() < deadline, f"nothing happened; it said:\n{self.said()}"
            time.sleep(POLL_SECONDS)
        return True

    def injured(self, injury: Injury) -> Ended:
        if self.until(injury.when):
            moment = time.monotonic() + injury.delay_seconds
            self.until(lambda: time.monotonic() >= moment)
        self.send(injury.signal)
        return self.wait()

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)  # does nothing once the process was seen to end

    def wait(self) -> Ended:
        try:
            code = self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end; it said:\n{self.said()}") from None
        seconds = time.monotonic() - self._started
        return Ended(code, _text(self._out), _text(self._err), seconds)

    def said(self) -> str:
        return _text(self._err)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        self._out.close()
        self._err.close()


def _text(file: IO[bytes]) -> str:
    # read at a place of its own: the process goes on writing at the shared one
    descriptor = file.fileno()
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def copy_code(target: Path) -> Path:
    """The packages as they are now; links become folders, as in an installed wheel."""
    for name in PACKAGES:
        shutil.copytree(HOME / name, target / name)
    compileall.compile_dir(target, quiet=1)
    return target


def files_in(folder: Path) -> dict[str, Path]:
    """All files by their path in the folder, hidden ones too; locks mean nothing afterwards."""
    found = {str(path.relative_to(folder)): path for path in _walk(folder)}
    return {name: path for name, path in found.items() if Path(name).name != ".lock"}


def _walk(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root) / name for name in names)


def differences(found: Path, expected: Path, *, apart_from: Sequence[str] = ()) -> list[str]:
    """What is missing, left over or not the same byte for byte; nothing for equal folders."""
    left, right = files_in(found), files_in(expected)
    names = [name for name in sorted({*left, *right}) if not name.startswith(tuple(apart_from))]
    problems = {name: _problem(left.get(name), right.get(name)) for name in names}
    return [f"{name}: {problem}" for name, problem in problems.items() if problem]


def _problem(found: Path | None, expected: Path | None) -> str | None:
    if found is None or expected is None:
        return "missing" if found is None else "left over"
    return None if found.read_bytes() == expected.read_bytes() else "not the same"
