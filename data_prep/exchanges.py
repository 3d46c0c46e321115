"""Who asks and who answers: what identification, verification and pairing count alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from data_prep.records import Turn

QUESTION_MARK = re.compile(r"[?？؟]")
REST = r"\b[^\])>]{0,60}"  # of a note, up to its bracket
STAGE_NOTE_WORDS = (
    r"laugh\w*|applause|inaudible|unintelligible|indiscernible|cross-?talk|pause\w*|silence"
    r"|sighs?|cough\w*|chuckl\w*|gigg?l\w*|smil\w*|nods?\w*|music|noise|sic|break"
    r"|interrupt\w*|phone rings?|off[ -]mic\w*|through interpreter|as interpreted|speaking .{0,30}"
    rf"|(?:overlapping|background|technical|video|audio|recording|end of){REST}"
)
LOUD_NOTE = r"\b(?:inaudible|unintelligible|laughter|crosstalk|applause)\b"
STAGE_NOTE = re.compile(
    rf"[\[(<]\s*(?:general |more )?(?:{STAGE_NOTE_WORDS})"
    r"(?:\s+(?:and|in|by|from)\s[^\])>]{1,40})?[.!]?\s*[\])>]"
    rf"|\[[^\[\]]{{0,60}}{LOUD_NOTE}[^\[\]]{{0,60}}\]|\([^()]{{0,60}}{LOUD_NOTE}[^()]{{0,60}}\)",
    re.I,
)
ASKING_WORDS = frozenset(
    "what why how who when where which whose do does did is are was were can could would will"
    " should have has had may might tell describe explain please talk walk give share".split()
)
REQUEST = re.compile(
    r"(?:^|[.!—]\s+)(?:(?:so|and|please|now|maybe),? )?(?:tell|describe|explain|walk|talk|take"
    r"|give) (?:me|us|to)\b"
    r"|\b(?:i wonder|i'?m wondering|i want(?:ed)? to (?:ask|know)|i'?d (?:like|love) to (?:ask"
    r"|know|hear))\b",
    re.I,
)
VOCATIVE = re.compile(
    r"^(?:(?:and|so|but|now|well|okay|ok|yes|thank you|thanks|sir|madam)\b[\s,.]*)++", re.I
)


@dataclass(frozen=True, slots=True)
class Speech:
    """Consecutive turns of one speaker; `turn_ids` are their positions."""

    speaker: str
    text: str
    turn_ids: tuple[int, ...]

    @property
    def num_words(self) -> int:
        return len(self.text.split())


@dataclass(frozen=True)
class Roles:
    """Per speaker: words and turns spoken, questions put to somebody, words of answers given."""

    words: Counter[str]
    turns: Counter[str]
    questions: Counter[str]
    answers: Counter[str]
    answer_words: Counter[str]


def merge_turns(turns: Iterable[Turn]) -> list[Speech]:
    """Consecutive turns of a speaker as one speech; a turn of stage notes belongs to nobody."""
    spoken = [(i, turn) for i, turn in enumerate(turns) if without_notes(turn.text)]
    speeches = []
    for speaker, group in groupby(spoken, key=lambda item: item[1].speaker):
        parts = list(group)
        text = "\n\n".join(turn.text for _, turn in parts)
        speeches.append(Speech(speaker, text, tuple(i for i, _ in parts)))
    return speeches


def without_notes(text: str) -> str:
    """The text without stage notes: `[Laughter]`, `(inaudible)`."""
    return STAGE_NOTE.sub(" ", text).strip() if re.search(r"[\[(<]", text) else text.strip()


def asks(text: str) -> bool:
    """Whether the text puts a question: by its mark, or by how it begins."""
    if QUESTION_MARK.search(text):
        return True
    if REQUEST.search(text):
        return True
    words = VOCATIVE.sub("", text).split(None, 1)
    return bool(words) and words[0].strip(".,").lower() in ASKING_WORDS


def asking_flags(speeches: Sequence[Speech]) -> list[bool]:
    """For each speech whether it asks.

    Where nobody seems to (recognisers drop question marks), every speech may be a question.
    """
    flags = [asks(speech.text) for speech in speeches]
    return flags if any(flags) else [True] * len(flags)


def count_roles(speeches: Sequence[Speech]) -> Roles:
    """Count who asks and who answers; speech after another's question is an answer."""
    roles = Roles(Counter(), Counter(), Counter(), Counter(), Counter())
    asking = asking_flags(speeches)
    for position, speech in enumerate(speeches):
        roles.words[speech.speaker] += speech.num_words
        roles.turns[speech.speaker] += 1
        if position and asking[position - 1]:
            roles.questions[speeches[position - 1].speaker] += 1
            roles.answers[speech.speaker] += 1
            roles.answer_words[speech.speaker] += speech.num_words
    return roles
