"""Progress for people: a moving line on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

PLAIN_INTERVAL_SECONDS = 10.0


class Progress:
    """Counts steps of one piece of work and says how long the rest will take."""

    def __init__(self, label: str, total: int, *, stream: TextIO | None = None) -> None:
        self.label = label
        self.total = total
        self.stream = stream or sys.stderr
        self.done = 0
        self._start = self._last = time.monotonic()
        self._terminal = self.stream.isatty()

    def step(self, note: str = "", *, count: int = 1) -> None:
        self.done += count
        now = time.monotonic()
        finished = self.done >= self.total
        if not finished and now - self._last < (0.1 if self._terminal else PLAIN_INTERVAL_SECONDS):
            return
        self._last = now
        elapsed = now - self._start
        left = elapsed / self.done * (self.total - self.done) if self.done else 0.0
        timing = f"{elapsed:.0f} s" if finished else f"{left:.0f} s left"
        line = f"{self.label}: {self.done}/{self.total} ({timing}) {note}".rstrip()
        if self._terminal:
            print(f"\r\033[K{line}", end="\n" if finished else "", file=self.stream, flush=True)
        else:
            print(line, file=self.stream, flush=True)


def say(text: str) -> None:
    """One plain line for the person who waits."""
    print(text, file=sys.stderr, flush=True)
