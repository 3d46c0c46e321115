"""The forms in which a speaker label can open a line.

Everything that could be a label is proposed here, far too much of it; `labels.py` decides by
what recurs in the document.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TIME = r"\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d{1,3})?"
STAMP = rf"[\[(<]?{TIME}(?:\s*(?:-->|-|–|to)\s*{TIME})?[\])>]?"
ASIDE = r"(?:\s*[\[(][^\[\]()\n]{1,60}[\])])?"  # (Associated Press), [in Spanish], (00:12)
NOT_IN_LABEL = r"\s:：\[\](){}<>\"“”?!;|*_#=\n"
SHORT = rf"[^{NOT_IN_LABEL}](?:[^{NOT_IN_LABEL}]|[ _](?=\S)){{0,59}}?"

LINE_START = re.compile(
    rf"\s*(?:>+\s*)?(?:[-•]\s+)?(?:(?P<stamp>{STAMP})\s*[-–]?\s*)?(?:\[\d{{1,3}}\.?[\]\[]\s*)?"
)
HEADED_ITEM = re.compile(r"\s*[A-Z\d][A-Z\d ,.'’&;:()/-]{2,150}?\s\[\d{1,3}\.?\]\s+(?=[A-Z])")
CAPS_WORD = r"[A-Z][A-Z0-9'’\-]*"
CAPS_RUN = re.compile(rf"{CAPS_WORD}(?:[.,]{{0,2}} {{1,2}}{CAPS_WORD}){{0,7}}")
ABBREVIATIONS = frozenset(
    "mr mrs ms dr gen sen rep gov col lt capt maj prof st rev hon jr sr".split()
)
ROLE_WORDS = frozenset(
    "interviewer interviewee moderator host guest question answer reporter participant respondent"
    " speaker narrator audience aide journalist subject facilitator operator translator"
    " interpreter press correspondent researcher student unknown".split()
)
JOINING_WORDS = frozenset(
    "of the and de la le da di du del den der van von bin ibn al el y e & for".split()
)

PATTERNS: dict[str, re.Pattern[str]] = {
    "heading": re.compile(rf"#{{1,6}}\s+(?P<label>{SHORT})\s*[:：]?\s*#*$"),
    "marked": re.compile(
        rf"(?P<mark>\*\*\*|\*\*|\*|__"
        rf"|_)(?P<label>{SHORT}){ASIDE}\s*[.:：]?(?P=mark)(?P<aside>{ASIDE})"
        r"\s?[.:：]?(?:\s+|$)(?=\S|$)"
    ),
    "colon": re.compile(rf"(?P<label>{SHORT})(?P<aside>{ASIDE})\s{{0,2}}[:：](?![/\d])(?:\s*)"),
    "tab": re.compile(rf"(?P<label>{SHORT})\t+(?=\S)"),
    "bare": re.compile(r"(?P<label>Q|[A-Z]{1,2}\d{0,3})(?:\s{2,}|(?<=Q) |$)(?=\S|$)"),
    "bracket": re.compile(rf"\[(?P<label>{SHORT})\]\s*:?\s+(?=\S)"),
    "timed": re.compile(rf"(?P<label>{SHORT})\s+(?P<aside>{STAMP})\s*$"),
    "dash": re.compile(rf"(?P<label>{SHORT})\s(?:--?|[–—|])\s(?=\S)"),
    "alone": re.compile(rf"(?P<label>{SHORT})\s*$"),
}
WHOLE_LINE = frozenset({"heading", "timed", "alone"})
MAX_WORDS = 8
MAX_LABEL_CHARS = 200  # a label with its affiliation and time


@dataclass(frozen=True, slots=True)
class Label:
    """A label found at a line start; `end` is where the speech begins."""

    text: str
    style: str
    end: int
    stamp: str | None = None

    @property
    def key(self) -> str:
        return label_key(self.text)


def candidates(line: str) -> Iterator[Label]:
    """Everything at the start of `line` that could be a label, in any style."""
    headed = HEADED_ITEM.match(line)
    for begin in (0, headed.end()) if headed else (0,):
        start = LINE_START.match(line, begin)
        assert start is not None
        rest = line[start.end() : start.end() + MAX_LABEL_CHARS]
        for label in labels_at(rest, len(line) > start.end() + MAX_LABEL_CHARS):
            stamp = re.search(TIME, f"{label.stamp or ''} {start['stamp'] or ''}")
            yield Label(
                label.text, label.style, start.end() + label.end, stamp[0] if stamp else None
            )


def labels_at(rest: str, cut: bool) -> Iterator[Label]:
    """Labels at the start of `rest`; `cut` says that the line goes on behind it."""
    for style, pattern in PATTERNS.items():
        if cut and style in WHOLE_LINE:
            continue
        match = pattern.match(rest)
        if match is not None and could_be_label(match["label"]):
            yield Label(
                match["label"].strip(" .,"), style, match.end(), match.groupdict().get("aside")
            )
    for text, style, end in caps_labels(rest):
        yield Label(text, style, end)


def caps_labels(rest: str) -> Iterator[tuple[str, str, int]]:
    """(label, style, end) in capitals closed by a period: every word of the run could be the last.

    A comma instead is a misprint; it makes a label only where the same label is used with periods.
    """
    if (run := CAPS_RUN.match(rest)) is None:
        return
    for end in re.finditer(CAPS_WORD, run[0]):
        closing = re.compile(
            rf"{ASIDE}(?:[.:]{{1,2}}|,(?=\s[A-Z]))(?: [.,])?(?:\s+|$|(?=[—–-]))"
        ).match(rest, end.end())
        label = rest[: end.end()]
        if closing and could_be_label(label) and label_key(label) not in ABBREVIATIONS:
            yield label, "comma" if "," in closing[0][:1] else "period", closing.end()


def could_be_label(text: str) -> bool:
    words = text.split()
    return (
        0 < len(words) <= MAX_WORDS
        and any(character.isalpha() for character in text)
        and not re.search(r"[^\W\d_]{5,}\. ", text)  # a sentence ends inside
        and not (len(words) == 1 and re.fullmatch(r"(?:[^\W\d_]\.){2,}|https?", text))
    )


def looks_like_name(text: str, min_words: int) -> bool:
    """Capitalised throughout, apart from joining words; scripts without case pass."""
    words = [word for word in re.split(r"[ ,]+", text) if word]
    return len(words) >= min_words and all(
        not word[0].islower() or (word.lower() in JOINING_WORDS and position > 0)
        for position, word in enumerate(words)
    )


def label_key(text: str) -> str:
    """What two spellings of a label have in common: letters and digits."""
    return " ".join(re.sub(r"[^\w]+|_", " ", text.casefold()).split())
