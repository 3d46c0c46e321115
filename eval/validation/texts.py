"""Texts made from real answers by rule, so that what a judge should say of them is known.

Each rule is fixed and needs no model. A rule that cannot be applied to a text says so with
None, and that text is left out of the probe.
"""

from __future__ import annotations

import random
import re

MASTER_KEYS = (":", "Solution", "Yes.", " ", "I agree.")  # replies that say nothing
FILLER = (
    "That is what I would say about that. It is a good question, and one could speak about it "
    "for a long time. There are many sides to it, as there are to most things. In the end, one "
    "says what one can, and that is how it is. I hope this goes some way towards an answer."
)

_CONTRACTIONS = {
    "can't": "cannot",
    "won't": "will not",
    "n't": " not",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
    "i'm": "I am",
    "let's": "let us",
}
_JOINTS = ("; ", ", but ", ", and ", ", so ", ", because ")
_SENTENCE_END = re.compile(r"(?<=[.!?…])(?=\s)|(?<=[.!?…][\"”’)])(?=\s)")
_SMALL = "a an he in it my our she so that the then there they this we when you".split()


def paraphrased(text: str) -> str | None:
    """The same content in light edits: contractions are spelled out, the last sentence comes
    first; a single sentence has its two clauses swapped. None where neither changes anything."""
    sentences = sentences_of(_spelled_out(text))
    if len(sentences) > 1:
        return " ".join([sentences[-1], *sentences[:-1]])
    swapped = _swapped(sentences[0]) if sentences else None
    if swapped is not None:
        return swapped
    spelled = " ".join(sentences)
    return spelled if spelled != " ".join(text.split()) else None


def part_of(text: str, share: float) -> str:
    """The first `share` of the words, at least three; an answer that stops early."""
    said = text.split()
    return " ".join(said[: max(3, round(share * len(said)))]).rstrip(",;:-–") + " ..."


def padded(text: str) -> str:
    """The text between sentences that add no content; at least twice as long."""
    times = 1 + len(text.split()) // (2 * len(FILLER.split()))
    return " ".join([FILLER] * times + [text] + [FILLER] * times)


def shuffled(text: str, seed: str) -> str:
    """The words in random order, without the marks that group them."""
    said = [word.strip('.,;:!?…"“”()') for word in text.split()]
    random.Random(seed).shuffle(said)
    return " ".join(word for word in said if word)


def sentences_of(text: str) -> list[str]:
    return [part.strip() for part in _SENTENCE_END.split(" ".join(text.split())) if part.strip()]


def _spelled_out(text: str) -> str:
    for short, long in _CONTRACTIONS.items():
        pattern = re.escape(short).replace("'", "['’]")
        start = "" if short.startswith(("n'", "'")) else r"\b"
        text = re.sub(rf"{start}{pattern}\b", _like(long), text, flags=re.IGNORECASE)
    return text


def _like(long: str):  # type: ignore[no-untyped-def]
    """Keep a capital letter where the short form had one."""
    return lambda match: long[0].upper() + long[1:] if match[0][0].isupper() else long


def _swapped(sentence: str) -> str | None:
    end = sentence[-1] if sentence[-1] in ".!?…" else ""
    body = sentence.removesuffix(end)
    for joint in _JOINTS:
        first, found, second = body.partition(joint)
        if found and len(first.split()) > 2 and len(second.split()) > 2:
            return f"{second[0].upper()}{second[1:]}; {_inside(first)}{end}"
    return None


def _inside(clause: str) -> str:
    """As it is written inside a sentence; what may be a name keeps its capital."""
    is_small = clause.split()[0].lower() in _SMALL
    return clause[0].lower() + clause[1:] if is_small else clause
