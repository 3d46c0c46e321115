"""Pairs of a corpus that a judge is probed with, each with answers of known worth.

Held-out pairs are taken, because those are what the judge will rate. What another person
said comes from another question and is as near in length as the corpus allows, so that
length gives nothing away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from data_prep.corpus import Corpus
from data_prep.records import QAPair, content_hash, refuse_without_consent
from eval.plan import spread
from eval.validation.config import ValidateConfig
from eval.validation.texts import paraphrased, part_of, shuffled

SHARES = (0.25, 0.5, 0.75)  # of an answer that stops early, in turn


@dataclass(frozen=True)
class Subject:
    """A real question and answer, and what else could have been said."""

    pair_id: str
    persona_id: str
    persona_name: str
    question: str
    truth: str
    paraphrase: str
    part: str
    other: str  # another person's answer to another question
    own_other: str | None  # this person's answer to another question
    shuffled: str  # the words of `other`


def choose_subjects(corpus: Corpus, config: ValidateConfig) -> list[Subject]:
    """At most `num_pairs` of them, evenly over people.

    Raises:
        ValueError: fewer than two people have usable pairs, or lacking consent.
    """
    refuse_without_consent((corpus.persona(name) for name in corpus.splits), "evaluate")
    usable = {name: _usable(corpus, name, config) for name in sorted(corpus.splits)}
    usable = {name: pairs for name, pairs in usable.items() if pairs}
    if len(usable) < 2:
        raise ValueError(
            f"{corpus.folder} has held-out answers of {config.min_words} to {config.max_words} "
            f"words from {len(usable)} people, judge validation needs 2; add people, or widen "
            "validate.min_words and max_words"
        )
    chosen = _round_robin(list(usable.values()), config.num_pairs)
    return [_subject(pair, number, usable, corpus, config) for number, pair in enumerate(chosen)]


def _usable(corpus: Corpus, persona_id: str, config: ValidateConfig) -> list[QAPair]:
    return [
        pair
        for pair in corpus.part(persona_id, "test")
        if pair.self_contained
        and config.min_words <= len(pair.answer.split()) <= config.max_words
        and paraphrased(pair.answer) is not None
    ]


def _round_robin(by_person: Sequence[Sequence[QAPair]], limit: int) -> list[QAPair]:
    """Everybody gets a share of the limit; what one person lacks goes to the others."""
    shares = [0] * len(by_person)
    while sum(shares) < limit and any(s < len(p) for s, p in zip(shares, by_person, strict=True)):
        for i, pairs in enumerate(by_person):
            if shares[i] < len(pairs) and sum(shares) < limit:
                shares[i] += 1
    return [
        pair
        for pairs, share in zip(by_person, shares, strict=True)
        if share
        for pair in spread(pairs, share)
    ]


def _subject(
    pair: QAPair,
    number: int,
    usable: dict[str, list[QAPair]],
    corpus: Corpus,
    config: ValidateConfig,
) -> Subject:
    strangers = [p for name, pairs in usable.items() if name != pair.persona_id for p in pairs]
    strangers = [p for p in strangers if p.question != pair.question]
    if not strangers:
        raise ValueError(
            f"{corpus.folder} has one question for everybody; judge validation needs others' "
            "answers to other questions"
        )
    own = [p for p in usable[pair.persona_id] if p.question != pair.question]
    other = _nearest_in_length(pair, strangers, config.seed).answer
    paraphrase = paraphrased(pair.answer)
    assert paraphrase is not None
    return Subject(
        pair_id=pair.id,
        persona_id=pair.persona_id,
        persona_name=corpus.persona(pair.persona_id).name,
        question=pair.question,
        truth=pair.answer,
        paraphrase=paraphrase,
        part=part_of(pair.answer, SHARES[number % len(SHARES)]),
        other=other,
        own_other=_nearest_in_length(pair, own, config.seed).answer if own else None,
        shuffled=shuffled(other, f"{config.seed}/{pair.id}"),
    )


def _nearest_in_length(pair: QAPair, others: Sequence[QAPair], seed: int) -> QAPair:
    length = len(pair.answer.split())

    def distance(other: QAPair) -> tuple[int, str]:
        away = abs(len(other.answer.split()) - length)
        return away, content_hash([seed, pair.id, other.id], digits=12)

    return min(others, key=distance)
