"""Plain text and Markdown in which labels say who speaks.

Also the last step of subtitles and Word files, whose text is labelled in the same ways.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from data_prep.readers.dates import find_date
from data_prep.readers.document import Document, Source
from data_prep.readers.inner_labels import InnerLabels
from data_prep.readers.labels import LabelSet, find_labels, starts_turn
from data_prep.readers.lines import (
    Joiner,
    Line,
    clean_lines,
    continues,
    drop_inline_page_numbers,
    split_lines,
)
from data_prep.records import DatePrecision, Turn

FRONT_MATTER = re.compile(r"---[ \t]*\n(?P<yaml>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|$)", re.S)
MARKDOWN_ESCAPE = re.compile(r"\\([\\`*_{}\[\]()#+.!>~|-])")
MARKDOWN_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\(([^()\s]*)\)")
HEADING = re.compile(r"#{1,6}\s+(?P<text>.+?)\s*#*$")
QUOTE = re.compile(r"(?:>\s?)+(?=\S)")
RULE = re.compile(r"\W{0,3}(?:[-=_*#~.]\s?){3,}\W*|\W*(?:the )?end\W*", re.I)
CLOCK = re.compile(
    r"\W*\d{1,2}[:.]\d\d(?::\d\d)?\s*(?:[ap]\.?\s?m\.?)?\s*(?:\(?[A-Z]{2,5}\)?)?\W*", re.I
)
ATTRIBUTION = re.compile(r"(?:--+|[—–])\s*\S.{3,200}")
FOOTNOTE = re.compile(r"(?P<number>\d{1,2})\s?(?=[A-Z][a-z]|See\b)")
CAPITALS = re.compile(r"[A-Z]{3}")
MAX_FURNITURE_CHARS = 300
MAX_FRONT_MATTER_CHARS = 100_000
FACT = re.compile(r"(?P<key>[A-Z][A-Za-z ]{2,20}):\s+(?P<value>\S.*)")
MAX_HEADING_WORDS = 14
MAX_PREAMBLE_SHARE = 0.7


@dataclass
class Speech:
    """A turn while it is being read: paragraphs of lines."""

    speaker: str
    start_seconds: float | None = None
    paragraphs: list[list[str]] = field(default_factory=lambda: [[]])

    def add(self, text: str) -> None:
        if text.strip():
            self.paragraphs[-1].append(text)
        elif self.paragraphs[-1]:
            self.paragraphs.append([])


@dataclass(frozen=True)
class Labelled:
    """Turns with what came before them and how their labels were spelled."""

    turns: tuple[Turn, ...]
    preamble: str = ""
    spellings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    closing: str = ""  # the source line at the end: "--The Express, 1878"


def read(source: Source) -> Document:
    """Read `.txt` and `.md`: front matter, a title, labelled turns."""
    facts, body = split_front_matter(source.text)
    labelled = read_labelled(split_lines(plain_markdown(body)))
    title = text_of(facts.get("title")) or first_title(labelled.preamble)
    stated = find_date(text_of(facts.get("date")) or "")
    date, precision = stated if stated[0] else date_around(labelled)
    return Document(
        turns=labelled.turns,
        format="markdown" if facts or "\n#" in "\n" + body[:200] else "text",
        title=title,
        date=date,
        date_precision=precision,
        language=text_of(facts.get("language") or facts.get("lang")),
        spellings=labelled.spellings,
        preamble=labelled.preamble,
        notes=source.notes,
    )


def split_front_matter(text: str) -> tuple[dict[str, Any], str]:
    """YAML facts at the top, and the rest; text that merely begins with a rule is left alone."""
    match = FRONT_MATTER.match(text.lstrip())
    if match is None or len(match[0]) > MAX_FRONT_MATTER_CHARS:
        return {}, text
    try:
        facts = yaml.load(match["yaml"], Loader=yaml.BaseLoader)  # strings only, no objects
    except (yaml.YAMLError, RecursionError):
        return {}, text
    if not isinstance(facts, dict):
        return {}, text
    return {str(key).lower(): value for key, value in facts.items()}, text.lstrip()[match.end() :]


def text_of(value: object) -> str | None:
    """A fact as one line of text, None when it is empty or no text."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return None
    return " ".join(str(value)[:2_000].split()) or None


def plain_markdown(text: str) -> str:
    """Escapes and links as plain text; emphasis and headings stay, they may mark labels."""
    text = MARKDOWN_LINK.sub(r"\1", text) if "](" in text else text
    return MARKDOWN_ESCAPE.sub(r"\1", text) if "\\" in text else text


def first_title(preamble: str) -> str | None:
    """A `Title:` line, else the first line that is no date and no other `Key: value`."""
    lines = [line.strip(" \t#*_") for line in preamble.splitlines()]
    facts = [fact for line in lines if (fact := FACT.fullmatch(line))]
    for fact in facts:
        if fact["key"].lower() == "title":
            return fact["value"][:300]
    for line in lines:
        is_date = len(line.split()) <= 4 and find_date(line)[0] is not None
        if line and not FACT.fullmatch(line) and not is_date and not CLOCK.fullmatch(line):
            return line[:300]
    return None


def date_around(labelled: Labelled) -> tuple[str | None, DatePrecision]:
    """A date in the short lines above the first turn, or in the source line at the end."""
    short = [
        line for line in labelled.preamble.splitlines() if len(line.split()) <= MAX_HEADING_WORDS
    ]
    return find_date("\n".join([*short, labelled.closing]))


def read_labelled(lines: Sequence[Line]) -> Labelled:
    """Turns of labelled lines; one turn of speaker "" where no label can be found."""
    lines = clean_lines(lines)
    labels = find_labels(lines)
    head, speeches = collect(lines, labels)
    preamble = "\n".join(text for text in head if text.strip())
    if not speeches or too_much_before(preamble, speeches):
        body = Speech("", next((line.start_seconds for line in lines), None))
        for line in lines:
            body.add(line.text)
        head, speeches, labels = [], [body], LabelSet({}, {})
        preamble = lines_before_prose(body)
    closing = drop_closing(speeches[-1])
    inner, joiner = InnerLabels(labels), Joiner(lines)
    turns = [turn for speech in speeches for turn in to_turns(speech, inner, joiner)]
    texts = drop_inline_page_numbers([turn.text for turn in turns])
    return Labelled(
        turns=tuple(
            replace(turn, text=text) for turn, text in zip(turns, texts, strict=True) if text
        ),
        preamble=preamble,
        spellings=dict(labels.spellings),
        closing=closing,
    )


def collect(lines: Sequence[Line], labels: LabelSet) -> tuple[list[str], list[Speech]]:
    """The lines before the first label, and the speeches."""
    head: list[str] = []
    speeches: list[Speech] = []
    before = ""
    for line in lines:
        text = line.text
        label = labels.match(text) if text.strip() else None
        if label is not None and starts_turn(label, before):
            start = seconds(label.stamp) if label.stamp else line.start_seconds
            speeches.append(Speech(label.text, start))
            speeches[-1].add(text[label.end :])
        elif speeches:
            speeches[-1].add(text)
        else:
            head.append(text)
        before = text
    return head, speeches


def too_much_before(preamble: str, speeches: Sequence[Speech]) -> bool:
    """Prose with a few accidental labels near its end is prose."""
    num_after = sum(len(line) for speech in speeches for part in speech.paragraphs for line in part)
    return len(preamble) > MAX_PREAMBLE_SHARE * (len(preamble) + num_after) and len(speeches) < 6


def lines_before_prose(body: Speech) -> str:
    """A title line above unlabelled prose."""
    first = body.paragraphs[0]
    if len(body.paragraphs) > 1 and len(first) == 1 and len(first[0].split()) <= MAX_HEADING_WORDS:
        return first[0]
    return ""


def drop_closing(speech: Speech) -> str:
    """Take off the line that names the source at the very end, as books and clippings do."""
    while speech.paragraphs and not speech.paragraphs[-1]:
        speech.paragraphs.pop()
    last = speech.paragraphs[-1] if speech.paragraphs else []
    if len(speech.paragraphs) > 1 and len(last) <= 3 and ATTRIBUTION.fullmatch(" ".join(last)):
        return " ".join(speech.paragraphs.pop())
    return ""


def to_turns(speech: Speech, inner: InnerLabels, joiner: Joiner) -> Iterator[Turn]:
    """The speech as turns: normally one, several where labels stand inside a paragraph."""
    paragraphs: list[str] = []
    speaker = speech.speaker
    for lines in speech.paragraphs:
        text = joiner.join([QUOTE.sub("", line) for line in lines])
        if not is_furniture(text):
            for owner, part in inner.split(text, speaker):
                if owner != speaker:
                    yield Turn(speaker=speaker, text="\n\n".join(merge_open(paragraphs)))
                    paragraphs, speaker = [], owner
                paragraphs.append(part)
    yield Turn(
        speaker=speaker,
        text="\n\n".join(merge_open(paragraphs)),
        start_seconds=speech.start_seconds if speaker == speech.speaker else None,
    )


def is_furniture(text: str) -> bool:
    """Rules, clock times, headings in capitals and footnotes: nobody said them."""
    if not text or FOOTNOTE.match(text):
        return True
    if len(text) > MAX_FURNITURE_CHARS:
        return False
    in_capitals = text.upper() == text and CAPITALS.search(text) is not None
    heading = in_capitals and (" " in text or text[-1].isalpha()) and text[-1] not in "?!"
    return (
        RULE.fullmatch(text) is not None
        or CLOCK.fullmatch(text) is not None
        or HEADING.fullmatch(text) is not None
        or (heading and len(text.split()) <= MAX_HEADING_WORDS)
    )


def merge_open(paragraphs: Sequence[str]) -> list[str]:
    """Join paragraphs that a page break or a dropped line cut inside a sentence."""
    merged: list[list[str]] = []
    for text in paragraphs:
        if merged and continues(merged[-1][-1], text):
            merged[-1].append(text)
        else:
            merged.append([text])
    return [" ".join(parts) for parts in merged]


def seconds(stamp: str) -> float:
    """`1:02:03.5` or `02:03` as seconds."""
    total = 0.0
    for part in stamp.replace(",", ".").split(":"):
        total = total * 60 + float(part)
    return total
