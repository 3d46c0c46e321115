"""Find the speaker labels of a transcript by how the document uses them.

No list of labels could be complete, so every line start that could be a label is counted, in
each style it could be written in (`NAME:`, `NAME.`, `Q    `, `**Name**`, `### Name`, ...). The
style that recurs most is the document's; in it, labels that recur and rare ones that look like
names are accepted, and misprints are merged with the label they resemble.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from data_prep.readers.lines import SENTENCE_END, Line
from data_prep.records import Turn

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
INSIDE_SENTENCE = re.compile(r"(?<=[a-z,] )[A-Z]\w+")  # "Thanks, Sarah", not "First"
ABBREVIATIONS = frozenset("mr mrs ms dr gen sen rep gov col lt capt maj prof st rev hon jr sr".split())
ROLE_WORDS = frozenset(
    "interviewer interviewee moderator host guest question answer reporter participant respondent"
    " speaker narrator audience aide journalist subject facilitator operator translator"
    " interpreter press correspondent researcher student unknown".split()
)
JOINING_WORDS = frozenset("of the and de la le da di du del den der van von bin ibn al el y e & for".split())

PATTERNS: dict[str, re.Pattern[str]] = {
    "heading": re.compile(rf"#{{1,6}}\s+(?P<label>{SHORT})\s*[:：]?\s*#*$"),
    "marked": re.compile(
        rf"(?P<mark>\*\*\*|\*\*|\*|__|_)(?P<label>{SHORT}){ASIDE}\s*[.:：]?(?P=mark)(?P<aside>{ASIDE})"
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
NEEDS_MAJORITY = frozenset({"bracket", "dash", "tab", "alone"})  # too common in prose otherwise
MAJORITY = 0.3  # of paragraphs
WHOLE_LINE = frozenset({"heading", "timed", "alone"})
MAX_WORDS = 8
MAX_LABEL_CHARS = 200  # a label with its affiliation and time
RARE, FREQUENT_FACTOR = 2, 5  # a misprint is this rare, its model this many times more frequent


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


@dataclass(frozen=True)
class LabelSet:
    """The labels accepted for one document: how each (style, key) is to be called."""

    names: Mapping[tuple[str, str], str]
    counts: Mapping[str, int]  # by key
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def match(self, line: str) -> Label | None:
        """The accepted label this line begins with, named as the document mostly does."""
        found = [label for label in candidates(line) if (label.style, label.key) in self.names]
        if not found:
            return self.match_unpunctuated(line)
        best = max(found, key=lambda label: (self.counts[label.key], len(label.text)))
        return Label(self.names[best.style, best.key], best.style, best.end, best.stamp)

    def match_unpunctuated(self, line: str) -> Label | None:
        """A frequent label in capitals whose punctuation was forgotten: `THE PRESIDENT Well,`."""
        run = CAPS_RUN.match(line)
        if run is None:
            return None
        for (style, key), name in self.names.items():
            if self.counts[key] > RARE and " " in key and line.startswith(f"{name} "):
                if line[len(name) + 1].isupper():
                    return Label(name, style, len(name) + 1)
        return None


def find_labels(lines: Sequence[Line]) -> LabelSet:
    """Choose the document's labels; the set is empty for prose."""
    seen = list(scan(lines))
    counts = Counter((label.style, label.key) for label in seen)
    num_paragraphs = count_paragraphs(lines)
    main = main_style(counts, num_paragraphs)
    if main is None:
        main = style_of_short_document(seen, num_paragraphs)
        accepted = {(label.style, label.key) for label in seen if label.style == main}
    else:
        accepted = choose(seen, counts, main, lines)
    if sum(counts[entry] for entry in accepted) < 2:
        return LabelSet({}, {})
    return name_labels(accepted, seen)


def candidates(line: str) -> Iterator[Label]:
    """Everything at the start of `line` that could be a label, in any style."""
    headed = HEADED_ITEM.match(line)
    for begin in (0, headed.end()) if headed else (0,):
        start = LINE_START.match(line, begin)
        assert start is not None
        rest = line[start.end() : start.end() + MAX_LABEL_CHARS]
        for label in labels_at(rest, len(line) > start.end() + MAX_LABEL_CHARS):
            yield Label(label.text, label.style, start.end() + label.end, label.stamp or start["stamp"])


def labels_at(rest: str, cut: bool) -> Iterator[Label]:
    """Labels at the start of `rest`; `cut` says that the line goes on behind it."""
    for style, pattern in PATTERNS.items():
        if cut and style in WHOLE_LINE:
            continue
        match = pattern.match(rest)
        if match is not None and could_be_label(match["label"]):
            stamp = re.search(TIME, match.groupdict().get("aside") or "")
            yield Label(match["label"].strip(" .,"), style, match.end(), stamp[0] if stamp else None)
    for text, end in caps_labels(rest):
        yield Label(text, "period", end)


def caps_labels(rest: str) -> Iterator[tuple[str, int]]:
    """Labels in capitals closed by a period: every word of the run could be the last."""
    if (run := CAPS_RUN.match(rest)) is None:
        return
    for end in re.finditer(CAPS_WORD, run[0]):
        closing = re.compile(rf"{ASIDE}(?:[.:]{{1,2}}|,(?=\s[A-Z]))(?: [.,])?(?:\s+|$|(?=[—–-]))").match(
            rest, end.end()
        )
        label = rest[: end.end()]
        if closing and could_be_label(label) and label_key(label) not in ABBREVIATIONS:
            yield label, closing.end()


def could_be_label(text: str) -> bool:
    words = text.split()
    return (
        0 < len(words) <= MAX_WORDS
        and any(character.isalpha() for character in text)
        and not re.search(r"[^\W\d_]{5,}\. ", text)  # a sentence ends inside
        and not (len(words) == 1 and re.fullmatch(r"(?:[^\W\d_]\.){2,}|https?", text))
    )


def scan(lines: Sequence[Line]) -> Iterator[Label]:
    """Candidates of all lines that may begin a turn."""
    before = ""
    for line in lines:
        text = line.text
        if text.strip():
            for label in candidates(text):
                if starts_turn(label, before):
                    yield label
        before = text


def starts_turn(label: Label, before: str) -> bool:
    """A capital label may interrupt a sentence, any other needs a paragraph or sentence end."""
    return label.text.isupper() or not before.strip() or bool(SENTENCE_END.search(before.rstrip()))


def count_paragraphs(lines: Sequence[Line]) -> int:
    """Paragraphs by empty lines, or lines where the document uses no empty ones."""
    texts = [bool(line.text.strip()) for line in lines]
    starts = sum(text and not before for before, text in zip([False, *texts], texts, strict=False))
    return starts if starts > 0.1 * sum(texts) else sum(texts)


def main_style(counts: Counter[tuple[str, str]], num_paragraphs: int) -> str | None:
    """The style in which labels recur most, if any."""
    totals: Counter[str] = Counter()
    for (style, key), count in counts.items():
        if count >= 2 and not (style == "colon" and len(key.split()) > 5):
            totals[style] += count
    for style in NEEDS_MAJORITY:
        num_labels = sum(1 for (other, _), count in counts.items() if other == style and count >= 2)
        if totals[style] < MAJORITY * num_paragraphs or num_labels < 2:
            del totals[style]
    order = list(PATTERNS)
    rank = {style: len(order) - order.index(style) if style in order else 0 for style in totals}
    return max(totals, key=lambda style: (totals[style], rank[style]), default=None)


def style_of_short_document(seen: Sequence[Label], num_paragraphs: int) -> str | None:
    """In a document of a few turns nothing recurs: labels must begin nearly every paragraph."""
    totals = Counter(label.style for label in seen if looks_like_name(label.text, 1))
    for style, count in totals.most_common():
        if count >= 2 and count >= 0.5 * num_paragraphs and style not in NEEDS_MAJORITY:
            return style
    return None


def choose(
    seen: Sequence[Label], counts: Counter[tuple[str, str]], main: str, lines: Sequence[Line]
) -> set[tuple[str, str]]:
    """The (style, key) of labels: the recurring ones of the main style, and their like."""
    total = sum(count for (style, _), count in counts.items() if style == main)
    known = set(INSIDE_SENTENCE.findall("\n".join(line.text for line in lines)))
    accepted = {
        (label.style, label.key)
        for label in seen
        if label.style == main and recurs(label, counts[main, label.key], total)
    }
    keys = {key for _, key in accepted}
    capitals = mostly_capitals(accepted, seen)
    for label in seen:
        count = counts[label.style, label.key]
        if (
            label.key in keys
            or (label.style == main and is_rare_label(label, known, capitals))
            or (label.style != main and is_companion(label, count, main, total))
        ):
            accepted.add((label.style, label.key))
    return accepted


def recurs(label: Label, count: int, total: int) -> bool:
    if count < 2:
        return False
    if label.style in ("heading", "marked", "timed"):
        return True
    if looks_like_name(label.text, 2) or label.text.isupper():
        return True
    share = 0.02 if looks_like_name(label.text, 1) else 0.1
    return count >= share * total


def mostly_capitals(accepted: set[tuple[str, str]], seen: Sequence[Label]) -> bool:
    """Whether the document writes its labels in capitals."""
    found = [label.text.isupper() for label in seen if (label.style, label.key) in accepted]
    return sum(found) >= 0.9 * len(found)


def is_rare_label(label: Label, known: Set[str], capitals: bool) -> bool:
    """A label used once: a full name or a role, or a name that the text knows."""
    if capitals and not label.text.isupper():
        return "," in label.text and looks_like_name(label.text, 3)
    if label.style in NEEDS_MAJORITY:
        return looks_like_name(label.text, 2)
    if looks_like_name(label.text, 2):
        return True
    words = label.text.split()
    if len(words) != 1 or len(label.text) < 3:
        return False
    if label.key in ROLE_WORDS:
        return True
    is_known = label.text in known or label.text.title() in known
    return looks_like_name(label.text, 1) and is_known and label.style != "period"


def is_companion(label: Label, count: int, main: str, total: int) -> bool:
    """Labels of a second style that go with the main one: `Q   `, or `NAME:` beside `NAME.`"""
    if label.style == "bare":
        return label.text == "Q" or count >= 0.1 * total
    if label.style == "colon" and main in ("period", "bare"):
        affiliated = "," in label.text and looks_like_name(label.text, 3)
        capitals = label.text.isupper() and (count >= 2 or looks_like_name(label.text, 2))
        return capitals or affiliated or label.key in ROLE_WORDS
    if label.style == "period" and main in ("colon", "bare"):
        return label.text.isupper() and count >= 3 and len(label.text) > 3
    return False


def looks_like_name(text: str, min_words: int) -> bool:
    """Capitalised throughout, apart from joining words; scripts without case pass."""
    words = [word for word in re.split(r"[ ,]+", text) if word]
    return len(words) >= min_words and all(
        not word[0].islower() or (word.lower() in JOINING_WORDS and position > 0)
        for position, word in enumerate(words)
    )


def name_labels(accepted: set[tuple[str, str]], seen: Sequence[Label]) -> LabelSet:
    """Call each label by its most frequent spelling, misprints by the label they resemble."""
    written: dict[str, Counter[str]] = {}
    for label in seen:
        if (label.style, label.key) in accepted:
            written.setdefault(label.key, Counter())[label.text] += 1
    counts = {key: sum(spellings.values()) for key, spellings in written.items()}
    names = merged_names(written)
    spellings: dict[str, list[str]] = {}
    for key, texts in written.items():
        spellings.setdefault(names[key], []).extend(texts)
    return LabelSet(
        names={(style, key): names[key] for style, key in accepted},
        counts=counts,
        spellings={name: tuple(sorted(set(texts))) for name, texts in spellings.items()},
    )


def merged_names(written: Mapping[str, Counter[str]]) -> dict[str, str]:
    """For each key the most frequent spelling of the label it stands for."""
    counts = {key: sum(spellings.values()) for key, spellings in written.items()}
    return {
        key: written[resembled(key, counts)].most_common(1)[0][0] for key in counts
    }


def merge_speakers(turns: Sequence[Turn]) -> tuple[list[Turn], dict[str, tuple[str, ...]]]:
    """Turns whose speakers' misprints are merged, and the spellings of each speaker.

    For formats that name the speaker outside the text.
    """
    written: dict[str, Counter[str]] = {}
    for turn in turns:
        written.setdefault(label_key(turn.speaker), Counter())[turn.speaker] += 1
    names = merged_names(written)
    spellings: dict[str, set[str]] = {}
    for key, texts in written.items():
        spellings.setdefault(names[key], set()).update(texts)
    merged = [replace(turn, speaker=names[label_key(turn.speaker)]) for turn in turns]
    return merged, {name: tuple(sorted(texts)) for name, texts in spellings.items()}


def resembled(key: str, counts: Mapping[str, int]) -> str:
    """The frequent label that a rare one misprints, or the label itself."""
    if counts[key] > RARE:
        return key
    models = [
        other
        for other, count in counts.items()
        if count >= FREQUENT_FACTOR * counts[key] and is_misprint(key, other)
    ]
    return max(models, key=lambda other: counts[other], default=key)


def is_misprint(key: str, model: str) -> bool:
    """One word differs by a slip. Short words and numbers name somebody else when they differ."""
    if key.replace(" ", "") == model.replace(" ", ""):
        return True
    words, others = key.split(), model.split()
    if len(words) != len(others):
        return key.endswith(model) and len(key) - len(model) == 1  # "qms psaki"
    different = [(a, b) for a, b in zip(words, others, strict=True) if a != b]
    if len(different) != 1:
        return False
    (word, other) = different[0]
    shared = max((len(same) for same in set(words) & set(others)), default=0)
    shortest = 4 if shared >= 5 and len(word) != len(other) else 6
    if min(len(word), len(other)) < shortest or word[0] != other[0] or not (word + other).isalpha():
        return False
    return edit_distance(word, other) <= (1 if len(other) < 8 else 2)


def edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, left in enumerate(a, start=1):
        previous, row[0] = row[0], i
        for j, right in enumerate(b, start=1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (left != right))
    return row[-1]


def label_key(text: str) -> str:
    """What two spellings of a label have in common: letters and digits."""
    return " ".join(re.sub(r"[^\w]+|_", " ", text.casefold()).split())
