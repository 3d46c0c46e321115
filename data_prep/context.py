"""Context methods: which of a person's own words the model may read before it answers.

All draw from training pairs only, as adapters do (InterviewSim, section 3 of its released
rules): `chronological-M` the last M, oldest first; `random-K`; `retrieval-K` nearest by
question; `hybrid-K-M` K retrieved, then the M most recent, newest first, without repeats.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import Protocol

from data_prep.prompting import NO_CONTEXT, Context
from data_prep.records import Persona, QAPair
from data_prep.who import ContextSpec


class Ranker(Protocol):
    """Orders training pairs by how near their question is to this one, nearest first."""

    def __call__(self, question: str, num_pairs: int) -> Sequence[QAPair]: ...


def select_context(
    spec: ContextSpec,
    *,
    persona: Persona,
    train_pairs: Sequence[QAPair],
    question: str,
    seed: int = 0,
    ranker: Ranker | None = None,
) -> Context:
    """Choose what the model reads.

    Args:
        train_pairs: the persona's training pairs, oldest first.
        ranker: needed by `retrieval` and `hybrid`.

    Raises:
        ValueError: the persona lacks the profile asked for, or no ranker is given.
    """
    match spec.kind:
        case "none":
            return NO_CONTEXT
        case "profile" | "long_profile" | "interview_profile":
            return Context(profile=_profile(persona, spec.kind))
        case "chronological":
            return Context(pairs=tuple(train_pairs[-spec.num_recent :]))
        case "random":
            return Context(pairs=draw(train_pairs, spec.num_ranked, persona.id, question, seed))
        case "retrieval" | "hybrid":
            if ranker is None:
                raise ValueError(f"context {spec} needs a retrieval index, none was built")
            nearest = tuple(ranker(question, spec.num_ranked))
            return Context(pairs=nearest + _recent_without(nearest, train_pairs, spec.num_recent))


def draw(
    pairs: Sequence[QAPair], num_pairs: int, persona_id: str, question: str, seed: int
) -> tuple[QAPair, ...]:
    """Pairs without replacement, in time order; the seed depends on person and question."""
    material = f"{seed}\0{persona_id}\0{question}".encode()
    chosen = random.Random(int.from_bytes(hashlib.sha256(material).digest(), "big")).sample(
        range(len(pairs)), min(num_pairs, len(pairs))
    )
    return tuple(pairs[position] for position in sorted(chosen))


def _recent_without(
    taken: Sequence[QAPair], pairs: Sequence[QAPair], num_recent: int
) -> tuple[QAPair, ...]:
    ids = {pair.id for pair in taken}
    newest_first = reversed(pairs[-num_recent:]) if num_recent else ()
    return tuple(pair for pair in newest_first if pair.id not in ids)


def _profile(persona: Persona, kind: str) -> str:
    found = {"profile": persona.profile, "long_profile": persona.long_profile}.get(kind)
    if not found:
        raise ValueError(
            f"persona {persona.id!r} has no {kind}; add one to personas.jsonl or drop this method"
        )
    return found
