"""Separate two speakers whom a transcript runs together in one paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterator

from data_prep.readers.label_forms import label_key
from data_prep.readers.labels import LabelSet
from data_prep.readers.misprints import RARE

AFTER_SENTENCE = r"(?:^|(?<=[.?!…\])”\"])|(?<=--)|(?<=—)|(?<=\w),(?=[A-Z]))"
HEADING_BETWEEN = r"(?:[A-Z\d][A-Z\d ,.'’&;:()/-]{3,80}\s)?(?:\[\d{1,3}\.?\]\s*)?"
SPEECH_STARTS = r"(?:\s+(?=[A-Z\"“'‘\[(—–-])|(?=[—–-]))"
HONORED = r"(?:MR|MRS|MS|MISS|DR)\.? [A-Z][A-Z'’-]{2,}"  # a guest who speaks once
ROLES = "Reporter|Interviewer|Moderator|Journalist|Interpreter|Translator|Correspondent"


class InnerLabels:
    """Splits paragraphs where a frequent label follows the end of a sentence."""

    def __init__(self, labels: LabelSet) -> None:
        self.names = {key: name for (_, key), name in labels.names.items()}
        frequent = {
            (style, name)
            for (style, key), name in labels.names.items()
            if labels.counts[key] > RARE and name in labels.frequent
        }
        periods = sorted(name for style, name in frequent if style == "period")
        colons = sorted(
            name for style, name in frequent if style == "colon" and (name.isupper() or " " in name)
        )
        forms = [rf"(?P<r>{ROLES}):"] + [
            rf"(?<![\w.])(?P<{group}>{'|'.join([*map(loosely, names), HONORED])}){closing}"
            for group, names, closing in (("p", periods, r"\.{1,2}"), ("c", colons, "[:：]"))
            if names
        ]
        self.pattern = re.compile(
            rf"{AFTER_SENTENCE}\s*{HEADING_BETWEEN}(?:{'|'.join(forms)}){SPEECH_STARTS}"
        )

    def split(self, text: str, speaker: str) -> Iterator[tuple[str, str]]:
        """(speaker, text) parts; the first belongs to `speaker`."""
        start = 0
        for match in self.pattern.finditer(text) if self.names else ():
            if before := text[start : match.start()].strip():
                yield speaker, before
            label = next(value for value in match.groupdict().values() if value)
            speaker, start = self.names.get(label_key(label), label), match.end()
        if rest := text[start:].strip():
            yield speaker, rest


def loosely(name: str) -> str:
    """A label with stray punctuation between its words."""
    return r"[.,]? ".join(re.escape(word) for word in name.split(" "))
