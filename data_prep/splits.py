"""Split a person's Q&A pairs into train, validation and test, oldest first.

Whole interviews are held out, the latest ones, because pairs of one interview repeat each
other and a persona model must answer tomorrow's questions. A person with one interview can
only be split inside it: weaker evidence, so it has a label of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.records import STRICT, Interview, PersonaSplit, SplitRule


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SplitConfig:
    """`single: skip` leaves people with one interview out instead of splitting inside it."""

    test_fraction: float = Field(default=0.2, gt=0, lt=1)
    single: Literal["within_interview", "skip"] = "within_interview"
    gap: int = Field(default=2, ge=0)  # exchanges left out between train and test


def split_persona(
    persona_id: str,
    interviews: Sequence[Interview],
    pair_ids: Mapping[str, Sequence[str]],
    config: SplitConfig | None = None,
) -> PersonaSplit:
    """Hold out the latest `ceil(test_fraction * n)` interviews; validate on the latest of the rest.

    Without a second remaining interview there is no validation part.

    Args:
        pair_ids: ids of Q&A pairs by interview id, in order; interviews without pairs do not count.

    Raises:
        ValueError: nothing would be left to train or to test on.
    """
    config = config or SplitConfig()
    ordered = sorted(
        (interview for interview in interviews if pair_ids.get(interview.id)),
        key=lambda interview: (interview.sequence, interview.id),
    )
    if len(ordered) < 2:
        return _split_within(persona_id, ordered, pair_ids, config)
    num_test = math.ceil(config.test_fraction * len(ordered))
    rest, test = ordered[:-num_test], ordered[-num_test:]
    if not rest:
        raise ValueError(
            f"persona {persona_id!r}: test_fraction {config.test_fraction} of {len(ordered)} "
            "interviews leaves none to train on; lower it"
        )
    has_validation = len(rest) >= 2
    train, validation = (rest[:-1], rest[-1:]) if has_validation else (rest, [])
    return PersonaSplit(
        persona_id=persona_id,
        rule=SplitRule(kind="by_interview", has_validation=has_validation),
        train=_ids(train, pair_ids),
        validation=_ids(validation, pair_ids),
        test=_ids(test, pair_ids),
    )


def _split_within(
    persona_id: str,
    interviews: Sequence[Interview],
    pair_ids: Mapping[str, Sequence[str]],
    config: SplitConfig,
) -> PersonaSplit:
    """Test on the last contiguous share of exchanges, after a gap: follow-ups would leak."""
    own = tuple(pair_ids[interviews[0].id]) if interviews else ()
    num_test = math.ceil(config.test_fraction * len(own))
    num_train = len(own) - num_test - config.gap
    if config.single == "skip" or num_train < 1:
        raise ValueError(
            f"persona {persona_id!r} has {len(interviews)} interview with {len(own)} Q&A pairs, "
            "too few to split; add transcripts"
        )
    return PersonaSplit(
        persona_id=persona_id,
        rule=SplitRule(kind="within_interview", has_validation=False),
        train=own[:num_train],
        validation=(),
        test=own[-num_test:],
    )


def _ids(interviews: Sequence[Interview], pair_ids: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(name for interview in interviews for name in pair_ids[interview.id])
