"""WebVTT and SubRip: cues with times; speakers in voice tags, in the text, or nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from data_prep.readers.dates import find_date
from data_prep.readers.document import Document, Source, UnreadableError
from data_prep.readers.json_turns import join_segments
from data_prep.readers.labelled import read_labelled, seconds
from data_prep.readers.lines import Line, unescape
from data_prep.readers.misprints import merge_speakers
from data_prep.records import Turn

TIMING = re.compile(
    r"\s*(?P<start>(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)\s*-->"
    r"\s*(?P<end>(?:\d{1,3}:)?\d{1,2}:\d{2}(?:[.,]\d{1,3})?)"
)
VOICE = re.compile(r"<v(?:\.[^\s.>]*)*\s+(?P<name>[^<>]{1,100})>")
TAG = re.compile(r"</?[A-Za-z][^<>]{0,80}>|<\d[\d:.]*>|\{\\[^{}]*\}")


@dataclass(frozen=True)
class Cue:
    start_seconds: float
    end_seconds: float
    lines: tuple[str, ...]


def read(source: Source) -> Document:
    """Read `.vtt` and `.srt`.

    Raises:
        UnreadableError: no cue with a time and text.
    """
    cues = list(read_cues(source.text))
    if not cues:
        raise UnreadableError(
            "found subtitles without a single timed text; expected cues such as "
            "00:00:01.000 --> 00:00:04.000 followed by words"
        )
    is_vtt = source.text.lstrip().startswith("WEBVTT")
    head = source.text.split("-->", 1)[0]
    date, precision = find_date(head if is_vtt else "")
    voiced = any(VOICE.search(line) for cue in cues for line in cue.lines)
    turns, spellings = by_voice(cues) if voiced else by_label(cues)
    return Document(
        turns=turns,
        format="vtt" if is_vtt else "srt",
        title=vtt_title(head) if is_vtt else None,
        date=date,
        date_precision=precision,
        duration_seconds=max(cue.end_seconds for cue in cues),
        spellings=spellings,
        notes=source.notes,
    )


def read_cues(text: str) -> Iterator[Cue]:
    """Cues are what follows a line of times, up to an empty line or the next times."""
    times: re.Match[str] | None = None
    lines: list[str] = []
    for line in [*text.split("\n"), ""]:
        found = TIMING.match(line)
        if found or not line.strip():
            if times and lines:
                yield Cue(seconds(times["start"]), seconds(times["end"]), tuple(lines))
            times, lines = found, []
        elif times:
            lines.append(line.strip())


def vtt_title(head: str) -> str | None:
    """Text on the first line after WEBVTT, or a `Title:` line in a note."""
    first, _, notes = head.lstrip().partition("\n")
    stated = re.search(r"^title:\s*(\S.*)$", notes, re.I | re.M)
    return first.removeprefix("WEBVTT").strip(" -:\t") or (stated[1].strip() if stated else None)


def by_voice(cues: list[Cue]) -> tuple[tuple[Turn, ...], dict[str, tuple[str, ...]]]:
    """Turns by voice tags; a cue without one continues the speaker before it."""
    turns: list[Turn] = []
    speaker = ""
    for cue in cues:
        text = " ".join(cue.lines)
        starts = [
            (match.start(), match.end(), match["name"].strip()) for match in VOICE.finditer(text)
        ]
        before = text[: starts[0][0]] if starts else text
        parts = [(speaker, before)]
        for position, (_, end, name) in enumerate(starts):
            until = starts[position + 1][0] if position + 1 < len(starts) else len(text)
            parts.append((name, text[end:until]))
        for speaker, words in parts:
            if plain := plain_text(words):
                turns.append(Turn(speaker=speaker, text=plain, start_seconds=cue.start_seconds))
    merged, spellings = merge_speakers(turns)
    return tuple(join_segments(merged)), spellings


def by_label(cues: list[Cue]) -> tuple[tuple[Turn, ...], dict[str, tuple[str, ...]]]:
    """Turns by labels in the text, as in a plain transcript."""
    lines = [
        Line(plain, cue.start_seconds)
        for cue in cues
        for line in cue.lines
        if (plain := plain_text(line))
    ]
    labelled = read_labelled(lines)
    return tuple(join_segments(labelled.turns)), labelled.spellings


def plain_text(text: str) -> str:
    return " ".join(unescape(TAG.sub("", text)).split())
