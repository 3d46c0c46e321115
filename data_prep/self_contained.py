"""Whether a question can be understood without what was said before it.

Rules for English only: they look for words that point backwards. Elsewhere, and where in doubt,
a question counts as self-contained, and a model may judge it later.
"""

from __future__ import annotations

import re

LEADING = re.compile(
    r"^(?:(?:thank you|thanks|yes|yeah|well|okay|ok|sorry|hi|hello|good (?:morning|afternoon"
    r"|evening)"
    r"|(?:mr|madam|ms|mrs|dr)\.? [A-Z][\w-]*(?: [A-Z][\w-]*)?|sir|ma'?am|very much"
    r"|so much)\b[\s,.—-]*)++",
    re.I,
)
CONNECTIVE = re.compile(
    r"(?:and|but|so|or|then|also|because|which|though|like what|such as)\b", re.I
)
POINTS_BACK = re.compile(
    r"\b(?:follow(?:ing)?[ -]?up|(?:you|we|he|she|they) (?:just )?(?:said|mentioned|described"
    r"|referred)"
    r"|as you (?:say|said|mention)|my (?:other|second|next|third) question|same question"
    r"|just (?:now|said)"
    r"|(?:other|second) (?:part|half)|what else|anything else|any others?|on that|to that"
    r"|about that|of that"
    r"|of those|of them|in that (?:case|sense|regard|context)|if so|if not|your answer|earlier"
    r"|(?:think|say|do|believe) so|why not)\b",
    re.I,
)
PRONOUN = re.compile(
    r"\b(?:he|she|they|him|her|them|his|hers|their|theirs|those|these|it|its|this|that"
    r"|there)\b",
    re.I,
)
# "that" as a conjunction, "it is" before its clause, "there is", and "this year" point nowhere back
HARMLESS = re.compile(
    r"\b(?:(?:think|believe|say|says|said|feel|hope|fear|suppose|know|mean|sure|clear|agree|claim"
    r"|suggest|expect|see|so|fact|idea|view|possible|likely) that|that (?=(?:the|you|i|we|a|an"
    r"|there|it|he|she|they|is|are|was|were|has|have|would|will|can"
    r"|your|our|my|some|people|every)\b)|it (?:is|was|'s|would be|will be|takes?|seems?)\b"
    r"|it (?=(?:possible|important|true|fair|necessary|safe|right|difficult|hard|easy|likely)\b)"
    r"|there (?:is|are|was|were|will|'s|has|have|been|any|be)\b|(?:is|are|was|were|will"
    r"|can) there\b"
    r"|(?:this|these|that|those) (?:day|days|week|month|year|morning|afternoon|evening|country"
    r"|interview|city|time)s?\b)",
    re.I,
)  # fmt: skip
EMPTY = frozenset(
    "why how so when where what who whom whose which really like such as yes no you mean more and"
    " or then that it this in way ways what's else do does did is was are the a an i to of for not"
    " exactly come please say about example for instance on off right sure oh".split()
)
MAX_WORDS_BEFORE = 9  # a pronoun further on points at something in the question
MAX_POINTING_WORDS = 30  # a longer question explains what it points at


def is_self_contained(question: str, language: str | None = "en") -> bool:
    """False for "Why?", "And after that?", "What did he do with them?"; True when in doubt."""
    if language is not None and not language.lower().startswith("en"):
        return True
    text = LEADING.sub("", question).strip() or question.strip()
    words = re.findall(r"[\w'’-]+", text.lower())
    if all(word in EMPTY for word in words):
        return False
    if len(words) > MAX_POINTING_WORDS:
        return True
    if CONNECTIVE.match(text) or POINTS_BACK.search(text):
        return False
    plain = HARMLESS.sub(" ", text)
    pointing = PRONOUN.search(plain)
    if pointing is None or len(plain[: pointing.start()].split()) > MAX_WORDS_BEFORE:
        return True
    named_before = re.search(r"(?<=\s)[A-Z]\w+", plain[: pointing.start()])
    return named_before is not None
