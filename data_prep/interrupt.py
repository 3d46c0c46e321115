"""Stop politely: SIGTERM and SIGUSR1 (a scheduler's warning) ask long work to checkpoint.

The work looks at the flag between steps, saves, and raises `Checkpointed`, which the command
line turns into exit code 75: run me again.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

GRACE_SECONDS = 15.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)


class Checkpointed(Exception):
    """All finished work is on disk; the same command continues it."""


class StopFlag:
    """Set once a stop was asked for."""

    def __init__(self) -> None:
        self.asked = False
        self.asked_at: float | None = None  # on the monotonic clock

    def set(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self.asked_at = self.asked_at or time.monotonic()

    def check(self, done: str) -> None:
        """Raise `Checkpointed` when a stop was asked for."""
        if self.asked:
            raise Checkpointed(f"stopped by a signal; {done}; run the same command again")


_listening: StopFlag | None = None


def heeding(items: Iterable[T], stop: StopFlag, done: str) -> Iterator[T]:
    """The items as they come, until a stop was asked for longer ago than GRACE_SECONDS.

    A scheduler's warning may come half a minute before the end, and a window of slow replies
    takes many: a window that is nearly done may still be finished and kept, others are dropped.
    """
    for item in items:
        yield item
        if stop.asked_at is not None and time.monotonic() - stop.asked_at >= GRACE_SECONDS:
            stop.check(done)


@contextlib.contextmanager
def stop_flag() -> Iterator[StopFlag]:
    """Listen for stop signals during the block (in the main thread; elsewhere none arrive).

    A block within another shares its flag: what is asked between two stages reaches the next.
    """
    global _listening
    if threading.current_thread() is not threading.main_thread():
        yield StopFlag()
        return
    if _listening is not None:
        yield _listening
        return
    flag = _listening = StopFlag()
    before = {number: signal.signal(number, flag.set) for number in STOP_SIGNALS}
    try:
        yield flag
    finally:
        _listening = None
        for number, handler in before.items():
            signal.signal(number, handler)
