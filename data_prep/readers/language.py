"""Tell the languages whose questions the rules know from the others.

Function words make up 30 to 50 % of any prose and differ between languages, so counting a few
of them is enough; a transcript in a language not listed has none (`None`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from data_prep.records import Turn

FUNCTION_WORDS = {
    "en": "the and of to is that it was for with you this have are not what but they be we",
    "de": "der die und das nicht ist ich ein zu mit auf sie wir auch es dass eine von haben war",
    "fr": "le la les et des est que une pas dans vous pour qui nous avec ce sont mais je du",
    "es": "el los las que y una por con para es del como pero más lo se su muy está esto",
    "it": "il che di è non una per sono con della gli ma anche questo come più nel si ho lo",
    "nl": "de het een en van niet dat ik zijn met voor op ook maar wij er te hebben naar was",
    "pt": "o que não uma os com para é em mas como mais dos eu isso por muito está ele foi",
}
MIN_SHARE = 0.15
MAX_WORDS = 5_000


def guess_language(turns: Iterable[Turn]) -> str | None:
    """The language code, or None where no listed language is likely."""
    words: Counter[str] = Counter()
    for turn in turns:
        words.update(re.findall(r"\w+", turn.text.lower()))
        if words.total() >= MAX_WORDS:
            break
    shares = {
        language: sum(words[word] for word in listed.split()) / max(1, words.total())
        for language, listed in FUNCTION_WORDS.items()
    }
    best = max(shares, key=lambda language: shares[language])
    return best if shares[best] >= MIN_SHARE else None
