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
from dataclasses import dataclass, field

from data_prep.readers.label_forms import (
    CAPS_RUN,
    PATTERNS,
    ROLE_WORDS,
    Label,
    candidates,
    looks_like_name,
)
from data_prep.readers.lines import SENTENCE_END, Line
from data_prep.readers.misprints import MAX_MODELS, RARE, merged_names

INSIDE_SENTENCE = re.compile(r"(?<=[a-z,] )[A-Z]\w+")  # "Thanks, Sarah", not "First"
NEEDS_MAJORITY = frozenset({"bracket", "dash", "tab", "alone"})  # too common in prose otherwise
MAJORITY = 0.3  # of paragraphs
NEARLY_ALL = 0.8  # of paragraphs
FEW = 12  # labels in a document so short that rare ones cannot be told by their rarity


@dataclass(frozen=True)
class LabelSet:
    """The labels accepted for one document: how each (style, key) is to be called."""

    names: Mapping[tuple[str, str], str]
    counts: Mapping[str, int]  # by key
    spellings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    frequent: tuple[str, ...] = ()  # the names used most

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
        for name in self.frequent:
            if " " in name and line.startswith(f"{name} ") and line[len(name) + 1 :][:1].isupper():
                return Label(name, "period", len(name) + 1)
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
        accepted = choose(seen, counts, main, lines, num_paragraphs)
    if sum(counts[entry] for entry in accepted) < 2:
        return LabelSet({}, {})
    return name_labels(accepted, seen)


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
        wordy = style == "colon" and len(key.split()) > 5
        if count >= 2 and style != "comma" and not wordy:
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
    seen: Sequence[Label],
    counts: Counter[tuple[str, str]],
    main: str,
    lines: Sequence[Line],
    num_paragraphs: int,
) -> set[tuple[str, str]]:
    """The (style, key) of labels: the recurring ones of the main style, and their like."""
    total = sum(count for (style, _), count in counts.items() if style == main)
    known = set(INSIDE_SENTENCE.findall("\n".join(line.text for line in lines)))
    if NEARLY_ALL * num_paragraphs <= total <= FEW:  # a short talk: names need not recur
        known.update(label.text for label in seen if label.style == main)
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
    if looks_like_name(label.text, 2) or (label.text.isupper() and len(label.text) > 2):
        return True
    share = 0.04 if looks_like_name(label.text, 1) else 0.1
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
        frequent=tuple(
            names[key]
            for key in sorted(counts, key=lambda key: (-counts[key], key))[:MAX_MODELS]
            if counts[key] > RARE
        ),
    )
