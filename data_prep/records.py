"""The records that stages hand to each other: one typed JSON line each.

Nothing here imports torch, reads files or knows a stage; every package may import it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

SCHEMA_VERSION = 1  # of every folder this version of the tool writes

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)

Scope = Literal["prepare", "train", "evaluate", "profile", "serve", "excerpts", "external_api"]
DatePrecision = Literal["day", "month", "year", "unknown"]
PERSONA_ID = r"[a-z0-9][a-z0-9-]{0,62}"

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Consent:
    """What a person agreed to, and until when (`expires` is the last valid day)."""

    scopes: tuple[Scope, ...]
    expires: datetime.date | None = None
    note: str = ""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Persona:
    """A person who is simulated. `consent=None` means that none was recorded."""

    id: str = Field(pattern=f"^{PERSONA_ID}$")
    name: str = Field(min_length=1)
    aliases: tuple[str, ...] = ()
    category: str | None = None
    language: str | None = None
    profile: str | None = None
    profile_source: str | None = None
    long_profile: str | None = None
    attributes: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    consent: Consent | None = None
    licence: str | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Interview:
    """One accepted transcript. `sequence` orders a persona's interviews in time, from 0."""

    id: str
    persona_id: str
    sequence: int = Field(ge=0)
    date: str | None  # YYYY, YYYY-MM or YYYY-MM-DD, as far as it is known
    date_precision: DatePrecision
    title: str
    source: str  # path relative to RAW
    language: str | None = None
    licence: str | None = None
    duration_seconds: float | None = None
    sha256: str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Turn:
    """What one speaker said without interruption."""

    speaker: str
    text: str
    start_seconds: float | None = None


@dataclass(frozen=True, kw_only=True, config=STRICT)
class QAPair:
    """One question put to the persona and the answer given.

    `prior_turns` are the exchanges just before, oldest first; a question that is not
    `self_contained` cannot be understood without them. `turn_ids` are positions in the
    interview's turns. `answer_raw` keeps the words as transcribed.
    """

    id: str
    persona_id: str
    interview_id: str
    index: int = Field(ge=0)
    question: str
    answer: str
    answer_raw: str
    prior_turns: tuple[Turn, ...] = ()
    self_contained: bool = True
    theme: str | None = None
    tags: tuple[str, ...] = ()
    turn_ids: tuple[int, ...] = ()


RejectStage = Literal["read", "consent", "identify", "verify", "structure", "deduplicate"]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reject:
    """A document that was refused: `reason` is a short code, `detail` one readable line."""

    source: str  # path relative to RAW
    persona_id: str | None
    stage: RejectStage
    reason: str
    detail: str


@dataclass(frozen=True, kw_only=True, config=STRICT)
class SplitRule:
    """How a persona's interviews were divided; `within_interview` is the weaker kind."""

    kind: Literal["by_interview", "within_interview"]
    has_validation: bool


@dataclass(frozen=True, kw_only=True, config=STRICT)
class PersonaSplit:
    """Ids of one persona's Q&A pairs by part, oldest first."""

    persona_id: str
    rule: SplitRule
    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def adapter_for(record_type: Any) -> TypeAdapter[Any]:
    """The validator of a record type, built once."""
    if record_type not in _ADAPTERS:
        _ADAPTERS[record_type] = TypeAdapter(record_type)
    return _ADAPTERS[record_type]


def to_row(record: object) -> dict[str, Any]:
    """The record as JSON-ready values."""
    row: dict[str, Any] = adapter_for(type(record)).dump_python(record, mode="json")
    return row


def from_row(record_type: type[R], row: Mapping[str, Any], *, where: str = "") -> R:
    """Build a record from a parsed JSON line.

    Raises:
        ValueError: unknown, missing or ill-typed fields; the message names the first one.
    """
    try:
        record: R = adapter_for(record_type).validate_python(row)
    except ValidationError as error:
        raise ValueError(describe(error, record_type.__name__, where)) from None
    return record


def describe(error: ValidationError, what: str, where: str = "") -> str:
    """A pydantic error as one line: place, field, what was found."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"] if part != "__init__") or what
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    prefix = where + ": " if where else ""
    if first["type"] == "value_error":  # a check of ours, whose words need nothing added
        return f"{prefix}{first['ctx']['error']}{more}"
    found = repr(first.get("input"))
    found = found if len(found) <= 80 else found[:77] + "..."
    return f"{prefix}{what}.{field}: {first['msg']}, found {found}{more}"


def canonical_json(value: object) -> str:
    """One spelling per value, so that equal values have equal hashes."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def content_hash(value: object, *, digits: int = 64) -> str:
    """SHA-256 of the canonical JSON of `value`, in hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:digits]


def refuse_without_consent(
    personas: Iterable[Persona], scope: Scope, today: datetime.date | None = None
) -> None:
    """Stop when a recorded consent does not cover `scope` today.

    Raises:
        ValueError: names the first such persona.
    """
    today = today or datetime.date.today()
    for persona in personas:
        if (problem := consent_problem(persona, scope, today)) is not None:
            raise ValueError(problem)


def consent_problem(persona: Persona, scope: Scope, today: datetime.date) -> str | None:
    """Why `scope` is not allowed for this persona, or None when it is."""
    consent = persona.consent
    if consent is None:
        return None
    if consent.expires is not None and today > consent.expires:
        return f"consent of {persona.id!r} expired on {consent.expires}; renew it or leave them out"
    if scope not in consent.scopes:
        return (
            f"consent of {persona.id!r} covers {', '.join(consent.scopes) or 'nothing'}, "
            f"not {scope!r}; ask them, or leave them out"
        )
    return None
