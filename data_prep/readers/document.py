"""What every reader returns, whatever the file looked like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from data_prep.records import DatePrecision, Turn


class UnreadableError(ValueError):
    """No transcript can be had from the file; the message does not name it, the caller does."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file as read from disk; `text` is empty where the format is not text."""

    raw: bytes
    text: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Document:
    """A transcript: who said what, and what the file says about itself.

    `speaker` of a turn is the label without its punctuation; misprints of a label are merged,
    and `spellings` keeps what was printed. `preamble` is the text before the first label.
    Paragraphs of a turn are separated by an empty line.
    """

    turns: tuple[Turn, ...]
    format: str
    title: str | None = None
    date: str | None = None
    date_precision: DatePrecision = "unknown"
    language: str | None = None
    duration_seconds: float | None = None
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    preamble: str = ""
    notes: tuple[str, ...] = ()
