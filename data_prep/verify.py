"""Refuse what is not an interview of the persona, and say why.

Every threshold is a setting and every number it is compared with is kept, so that a study can
show why a transcript was left out, and a reader can disagree.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass as plain_dataclass
from dataclasses import field
from itertools import pairwise
from typing import Any, Literal

from pydantic.dataclasses import dataclass

from data_prep.exchanges import QUESTION_MARK, Speech, asking_flags, asks, merge_turns
from data_prep.interviewee import Finding
from data_prep.readers.document import Document
from data_prep.records import STRICT, Persona

Reason = Literal["monologue", "answers_only", "no_questions", "wrong_person", "panel", "too_short"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class VerifyConfig:
    min_persona_words: int = 60  # shorter ones hold no answer worth learning from
    min_exchanges: int = 2  # questions of others that the persona answers
    min_words_after_question: float = 0.2  # of the persona's; before that it is a statement
    max_other_answers: float = 0.25  # share of answer words by others; two equal guests: 0.5
    max_other_words: float = 0.65  # of all words by one other speaker; a talkative host has 0.5

    def __post_init__(self) -> None:
        for name in ("min_words_after_question", "max_other_answers", "max_other_words"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"verify.{name} must be from 0 to 1, got {getattr(self, name)}")


@plain_dataclass(frozen=True, kw_only=True)
class Verdict:
    """`features` are the numbers behind the decision, for a log."""

    accepted: bool
    stage: Literal["identify", "verify"] = "verify"
    reason: Reason | None = None
    detail: str = ""
    features: dict[str, Any] = field(default_factory=dict)


def verify(
    document: Document,
    finding: Finding,
    persona: Persona,
    config: VerifyConfig = VerifyConfig(),  # noqa: B008  frozen
) -> Verdict:
    """Accept an interview in which the persona answers somebody's questions."""
    speeches = merge_turns(document.turns)
    features = {"num_turns": len(document.turns), **measure(speeches, finding)}
    for check in (check_speakers, check_person, check_exchanges):
        if (problem := check(features, finding, persona, config)) is not None:
            reason, detail = problem
            stage: Literal["identify", "verify"] = (
                "identify" if reason == "wrong_person" else "verify"
            )
            return Verdict(
                accepted=False, stage=stage, reason=reason, detail=detail, features=features
            )
    return Verdict(accepted=True, features=features)


def measure(speeches: list[Speech], finding: Finding) -> dict[str, Any]:
    """Numbers of a transcript, by speaker and for the persona."""
    own = set(finding.labels)
    words: Counter[str] = Counter()
    for speech in speeches:
        words[speech.speaker] += speech.num_words
    total = max(1, words.total())
    persona_words = sum(words[label] for label in own)
    loudest = max(
        (label for label in words if label not in own), key=lambda label: words[label], default=None
    )
    given, received = answered_words(speeches, own)
    return {
        "num_words": words.total(),
        "num_speakers": len(words),
        "num_speeches": len(speeches),
        "persona_words": persona_words,
        "persona_word_share": round(persona_words / total, 3),
        "loudest_other": loudest,
        "loudest_other_share": round(words[loudest] / total, 3) if loudest else 0.0,
        "num_exchanges": len(given),
        "answer_words": sum(given),
        "received_answer_words": received,
        "words_after_first_question": round(after_first_question(speeches, own), 3),
        "answer_shares": answer_shares(speeches, own),
        "alternation": alternation(speeches, own),
        "match": finding.match,
    }


def answered_words(speeches: list[Speech], own: set[str]) -> tuple[list[int], int]:
    """Words of each answer by the persona, and words that others say to the persona's questions."""
    given, received = [], 0
    asking = asking_flags(speeches)
    for asked, (before, after) in zip(asking, pairwise(speeches), strict=False):
        if (before.speaker in own) == (after.speaker in own) or not asked:
            continue
        if after.speaker in own:
            given.append(after.num_words)
        else:
            received += after.num_words
    return given, received


def after_first_question(speeches: list[Speech], own: set[str]) -> float:
    """Share of the persona's words that come after somebody's first question."""
    before = after = 0
    asked = False
    for asking, speech in zip(asking_flags(speeches), speeches, strict=True):
        if speech.speaker not in own:
            asked = asked or asking
        elif asked:
            after += speech.num_words
        else:
            before += speech.num_words
    return after / max(1, before + after)


def answer_shares(speeches: list[Speech], own: set[str]) -> dict[str, float]:
    """Share of the words of all answers by speaker, largest first.

    Whoever speaks after a question, and asks less than answers, gives answers until the next
    question; rhetoric and questions handed on do not make an interviewer.
    """
    askers = {label for label in asking_labels(speeches) if label not in own}
    words: Counter[str] = Counter()
    asked = False
    for speech in speeches:
        if speech.speaker in askers:
            asked = asked or asks(speech.text)
        elif asked:
            words[speech.speaker] += speech.num_words
    total = max(1, words.total())
    return {label: round(count / total, 3) for label, count in words.most_common(8) if count}


def asking_labels(speeches: list[Speech]) -> set[str]:
    """Speakers who put more questions than they answer."""
    balance: Counter[str] = Counter()
    before_asks = False
    for speech in speeches:
        ends_asking = QUESTION_MARK.search(speech.text[-80:]) is not None
        balance[speech.speaker] += ends_asking - (before_asks and not ends_asking)
        before_asks = asks(speech.text)
    return {label for label, questions in balance.items() if questions > 0}


def alternation(speeches: list[Speech], own: set[str]) -> float:
    """Share of speaker changes in which the persona takes or yields the word."""
    changes = [
        (before.speaker in own) != (after.speaker in own) for before, after in pairwise(speeches)
    ]
    return round(sum(changes) / max(1, len(changes)), 3)


Problem = tuple[Reason, str] | None


def check_speakers(
    features: dict[str, Any], finding: Finding, persona: Persona, config: VerifyConfig
) -> Problem:
    """At least two people speak."""
    if finding.problem == "no_labels":
        return "monologue", "no speaker label was found, the text reads as one person's prose"
    if features["num_speakers"] > 1:
        return None
    if features["num_turns"] > config.min_exchanges:
        return (
            "answers_only",
            f"one speaker has all {features['num_turns']} turns; the questions are missing",
        )
    return "monologue", "one person speaks throughout and nobody asks"


def check_person(
    features: dict[str, Any], finding: Finding, persona: Persona, config: VerifyConfig
) -> Problem:
    """The persona is the one interviewed, alone."""
    if finding.problem is not None:
        return "wrong_person", finding.detail
    loudest, share = features["loudest_other"], features["loudest_other_share"]
    if share > config.max_other_words:
        return (
            "wrong_person",
            f"{loudest!r} speaks {share:.0%} of the words, {persona.name!r} only "
            f"{features['persona_word_share']:.0%}",
        )
    others = {
        label: share
        for label, share in features["answer_shares"].items()
        if label not in finding.labels
    }
    if sum(others.values()) > config.max_other_answers:
        listed = ", ".join(f"{label!r} {share:.0%}" for label, share in others.items())
        return "panel", f"others give part of the answers: {listed}"
    if features["received_answer_words"] > features["answer_words"]:
        return (
            "wrong_person",
            f"{persona.name!r} is told {features['received_answer_words']} words in answer to "
            f"questions and gives {features['answer_words']}: the person is the one who asks",
        )
    return None


def check_exchanges(
    features: dict[str, Any], finding: Finding, persona: Persona, config: VerifyConfig
) -> Problem:
    """Enough questions are answered at enough length."""
    num = features["num_exchanges"]
    if num == 0:
        return "no_questions", f"nobody puts a question that {persona.name!r} answers"
    share = features["words_after_first_question"]
    if share < config.min_words_after_question:
        return (
            "monologue",
            f"{share:.0%} of the words of {persona.name!r} come after the first question, "
            f"at least {config.min_words_after_question:.0%} are expected",
        )
    if num < config.min_exchanges or features["persona_words"] < config.min_persona_words:
        return (
            "too_short",
            f"{num} answered questions and {features['persona_words']} words by {persona.name!r}, "
            f"expected {config.min_exchanges} and {config.min_persona_words}",
        )
    return None
