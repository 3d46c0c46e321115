"""New items from dialogues of our own: who gave this answer, among people like them?

After PersonaEval's pipeline (section 3; spec section 1): a length filter, wrong candidates with
the profiles nearest to the true one by several embedders, tags. Works (interviews) are divided
between items and examples, so that no example gives away what is asked. Every record that
becomes no item is kept with its reason.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass as config_dataclass

from data_prep.corpus import Corpus
from data_prep.records import STRICT, consent_problem
from eval.personaeval.hard_cases import Dropped
from eval.personaeval.items import Candidate, RoleItem, tags_of

Embedder = Callable[[Sequence[str]], Any]  # texts -> (num_texts, size), rows of length 1


@config_dataclass(frozen=True, kw_only=True, config=STRICT)
class CurateConfig:
    """`within_category` takes wrong candidates from the person's own category, which is harder;
    `hard_models` of the models with results must find an item hard (default: all of them)."""

    track: str = "interviews"
    min_words: int = Field(default=25, ge=1)
    num_candidates: int = Field(default=4, ge=2)
    shots_share: float = Field(default=0.1, ge=0, lt=1)
    max_items_per_person: int | None = Field(default=None, ge=1)
    within_category: bool = False
    hard_models: int | None = Field(default=None, ge=1)
    hard_limit: float = Field(default=0.5, gt=0, lt=1)
    seed: int = 0


@dataclass(frozen=True)
class Person:
    """Somebody who may have spoken; only people of one `group` are candidates together."""

    name: str
    profile: str
    group: str | None = None


@dataclass(frozen=True)
class Dialogue:
    """A turn and its reply. `speaker` is a key of the people, `work` a play or interview.

    `problem`: a reason found by the source why this can be no item.
    """

    id: str
    work: str
    known_speaker: str
    known_text: str
    speaker: str
    target_text: str
    problem: str = ""


@dataclass
class Curated:
    """What came of the dialogues."""

    items: list[RoleItem] = field(default_factory=list)
    shots: list[RoleItem] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)


def curate(
    dialogues: Sequence[Dialogue],
    people: Mapping[str, Person],
    embedders: Sequence[Embedder],
    config: CurateConfig,
) -> Curated:
    """Make items of dialogues.

    Raises:
        ValueError: too few people for one list of candidates.
    """
    people = _distinct(people)
    groups = {p.group for p in people.values()}
    largest = max((sum(p.group == g for p in people.values()) for g in groups), default=0)
    if largest < config.num_candidates:
        raise ValueError(
            f"{largest} people with a profile, {config.num_candidates} candidates are needed; "
            "write profiles into personas.jsonl, or lower curate.num_candidates"
        )
    found = Curated()
    kept = _few_per_person(list(_fit(dialogues, people, config, found.dropped)), config, found)
    near = nearest_people(people, embedders)
    works = sorted({dialogue.work for dialogue in kept})
    random.Random(f"{config.seed}/works").shuffle(works)
    for_shots = set(works[: int(len(works) * config.shots_share)])
    for dialogue in kept:
        item = _item(dialogue, people, near[dialogue.speaker], config)
        if item is None:
            found.dropped.append(
                Dropped(dialogue.id, "few_candidates", f"group {people[dialogue.speaker].group}")
            )
        else:
            (found.shots if dialogue.work in for_shots else found.items).append(item)
    return found


def dialogues_of(corpus: Corpus, *, within_category: bool = False) -> tuple[
    list[Dialogue], dict[str, Person]
]:  # fmt: skip
    """Questions and answers of all interviews, and the people who have a profile.

    Whoever's consent does not cover evaluation is neither asked about nor a candidate.
    """
    import datetime

    today = datetime.date.today()
    people, dialogues = {}, []
    for name, persona in sorted(corpus.personas.items()):
        problem = "no_consent" if consent_problem(persona, "evaluate", today) else ""
        if not problem and not (persona.profile or "").strip():
            problem = "no_profile"
        if not problem:
            group = persona.category if within_category else None
            people[name] = Person(persona.name, (persona.profile or "").strip(), group)
        if not (corpus.folder / "qa.parquet" / f"{name}.parquet").exists():
            continue
        for pair in corpus.pairs(name):
            unclear = "" if pair.self_contained else "not_self_contained"
            dialogues.append(
                Dialogue(
                    id=pair.id,
                    work=pair.interview_id,
                    known_speaker="Interviewer",
                    known_text=pair.question,
                    speaker=name,
                    target_text=pair.answer,
                    problem=problem or unclear,
                )
            )
    return dialogues, people


def nearest_people(
    people: Mapping[str, Person], embedders: Sequence[Embedder]
) -> dict[str, list[list[str]]]:
    """For each person and embedder the others of their group, nearest profile first."""
    import numpy as np

    names = sorted(people)
    rankings: dict[str, list[list[str]]] = {name: [] for name in names}
    for embed in embedders:
        vectors = np.asarray(embed([people[name].profile for name in names]))
        likeness = vectors @ vectors.T
        for row, name in enumerate(names):
            others = [
                (-float(likeness[row, column]), other)
                for column, other in enumerate(names)
                if other != name and people[other].group == people[name].group
            ]
            rankings[name].append([other for _, other in sorted(others)])
    return rankings


def choose_distractors(rankings: Sequence[Sequence[str]], count: int) -> list[str]:
    """The embedders choose in turn; one whose choice is taken gives its next best."""
    chosen: list[str] = []
    while len(chosen) < count:
        before = len(chosen)
        for ranking in rankings:
            free = next((name for name in ranking if name not in chosen), None)
            if free is not None and len(chosen) < count:
                chosen.append(free)
        if len(chosen) == before:
            break
    return chosen


def tf_idf(texts: Sequence[str]) -> Any:
    """Bag-of-words vectors: (1 + log count) x smoothed inverse document frequency, length 1.

    The embedder that needs no model; a sentence embedder is passed beside it where there is one.
    """
    import numpy as np

    words = [re.findall(r"\w+", text.casefold()) for text in texts]
    vocabulary = {word: n for n, word in enumerate(sorted({w for own in words for w in own}))}
    counts = np.zeros((len(texts), max(len(vocabulary), 1)))
    for row, own in enumerate(words):
        for word in own:
            counts[row, vocabulary[word]] += 1
    frequency = np.log((1 + len(texts)) / (1 + (counts > 0).sum(axis=0))) + 1
    weights = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0.0) * frequency
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return weights / np.maximum(lengths, 1e-12)


def _fit(
    dialogues: Sequence[Dialogue],
    people: Mapping[str, Person],
    config: CurateConfig,
    dropped: list[Dropped],
) -> Iterator[Dialogue]:
    seen: set[str] = set()
    for dialogue in dialogues:
        words = dialogue.target_text.split()
        text = " ".join(words).casefold()
        reason, detail = dialogue.problem, f"{dialogue.speaker} in {dialogue.work}"
        if not reason and dialogue.speaker not in people:
            reason, detail = "same_name", f"another person is also called {dialogue.speaker}"
        elif not reason and len(words) < config.min_words:
            reason, detail = "too_short", f"{len(words)} words, at least {config.min_words}"
        elif not reason and (name := _named(dialogue, people[dialogue.speaker].name)):
            reason, detail = "names_the_speaker", f"{name!r} stands in the text"
        elif not reason and text in seen:
            reason = "repeated"
        seen.add(text)
        if reason:
            dropped.append(Dropped(dialogue.id, reason, detail))
        else:
            yield dialogue


def _named(dialogue: Dialogue, name: str) -> str | None:
    """A word of the speaker's name that either turn gives away."""
    said = set(re.findall(r"\w+", f"{dialogue.known_text} {dialogue.target_text}".casefold()))
    parts = re.findall(r"\w{3,}", name.casefold())
    return next((part for part in parts if part in said), None)


def _distinct(people: Mapping[str, Person]) -> dict[str, Person]:
    """Without those who share a name: no judge could tell them apart."""
    names = Counter(" ".join(person.name.split()).casefold() for person in people.values())
    return {
        key: person
        for key, person in people.items()
        if names[" ".join(person.name.split()).casefold()] == 1
    }


def _few_per_person(
    dialogues: Sequence[Dialogue], config: CurateConfig, found: Curated
) -> list[Dialogue]:
    if config.max_items_per_person is None:
        return list(dialogues)
    order = sorted(dialogues, key=lambda d: random.Random(f"{config.seed}/{d.id}").random())
    counts: dict[str, int] = {}
    taken = set()
    for dialogue in order:
        counts[dialogue.speaker] = counts.get(dialogue.speaker, 0) + 1
        if counts[dialogue.speaker] <= config.max_items_per_person:
            taken.add(dialogue.id)
        else:
            found.dropped.append(Dropped(dialogue.id, "enough_of_person", dialogue.speaker))
    return [dialogue for dialogue in dialogues if dialogue.id in taken]


def _item(
    dialogue: Dialogue,
    people: Mapping[str, Person],
    rankings: Sequence[Sequence[str]],
    config: CurateConfig,
) -> RoleItem | None:
    wrong = choose_distractors(rankings, config.num_candidates - 1)
    if len(wrong) < config.num_candidates - 1:
        return None
    names = [dialogue.speaker, *wrong]
    random.Random(f"{config.seed}/{dialogue.id}").shuffle(names)
    shown = [people[name] for name in names]
    return RoleItem(
        id=dialogue.id,
        track=config.track,
        work=dialogue.work,
        known_speaker=dialogue.known_speaker,
        known_text=dialogue.known_text,
        target_text=dialogue.target_text,
        candidates=tuple(Candidate(name=p.name, profile=p.profile) for p in shown),
        truth=people[dialogue.speaker].name,
        tags=tags_of(dialogue.known_speaker, [person.name for person in shown]),
    )
