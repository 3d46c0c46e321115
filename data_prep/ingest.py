"""One raw document -> an accepted interview with its turns and Q&A pairs, or a reject.

The outcome is kept in `corpus/ingest/PERSONA/KEY.json`; KEY is a hash of the document, the
person, the settings and the reading code, so a second run does only what changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from data_prep.files import read_json, write_json
from data_prep.interviewee import find_interviewee
from data_prep.pairs import PairConfig, build_pairs
from data_prep.readers import Document, UnreadableError, read_bytes
from data_prep.records import (
    Interview,
    Persona,
    QAPair,
    Reject,
    RejectStage,
    content_hash,
    from_row,
    to_row,
)
from data_prep.roster import RawDocument, slug
from data_prep.verify import VerifyConfig, verify

MAX_BYTES = 64 * 2**20  # a day of speech is about one MiB
CODE = Path(__file__).parent
READING_CODE = (
    "readers", "exchanges.py", "interviewee.py", "verify.py", "pairs.py", "self_contained.py",
    "ingest.py",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What became of a document; `key` names its file. Exactly one of the two is set."""

    key: str
    source: str
    date: str | None
    sha256: str
    reject: Reject | None
    content: Mapping[str, Any] | None  # interview, turns, pairs as JSON rows


def ingest(
    document: RawDocument,
    persona: Persona,
    folder: Path,
    verify_config: VerifyConfig,
    pair_config: PairConfig,
) -> Outcome:
    """Read one document, or take the outcome of an earlier run."""
    try:
        raw = document.path.read_bytes() if document.path.stat().st_size <= MAX_BYTES else None
    except OSError as error:
        return _unread(document, persona, f"cannot be opened: {error.strerror}; check its rights")
    if raw is None:
        return _unread(document, persona, f"is over {MAX_BYTES >> 20} MiB; split it by interview")
    sha256 = hashlib.sha256(raw).hexdigest()
    settings = [to_row(verify_config), to_row(pair_config), code_digest()]
    facts = {k: v for k, v in vars(document).items() if k != "path"}
    key = content_hash([sha256, facts, to_row(persona), settings], digits=24)
    path = folder / f"{key}.json"
    if path.exists():
        try:
            return _from_json(key, read_json(path))
        except (ValueError, KeyError, TypeError):
            path.unlink()  # damaged: made again
    row = _read(raw, sha256, document, persona, verify_config, pair_config)
    write_json(path, row)
    return _from_json(key, row)


def content_of(folder: Path, key: str) -> dict[str, Any]:
    """The kept content of an accepted document."""
    content: dict[str, Any] = read_json(folder / f"{key}.json")["content"]
    return content


@cache
def code_digest() -> str:
    """Hash of the code that reads, so that mended rules read again."""
    files = [
        p
        for name in READING_CODE
        for p in ([CODE / name] if name.endswith(".py") else sorted((CODE / name).glob("*.py")))
    ]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]


def _read(
    raw: bytes,
    sha256: str,
    document: RawDocument,
    persona: Persona,
    verify_config: VerifyConfig,
    pair_config: PairConfig,
) -> dict[str, Any]:
    def refused(stage: RejectStage, reason: str, detail: str) -> dict[str, Any]:
        reject = Reject(
            source=document.source, persona_id=persona.id, stage=stage, reason=reason, detail=detail
        )
        return {
            "source": document.source,
            "date": document.date,
            "sha256": sha256,
            "reject": to_row(reject),
            "content": None,
        }

    try:
        read = read_bytes(raw, name=document.path.name)
    except UnreadableError as error:
        return refused("read", "unreadable", str(error))
    finding = find_interviewee(read, persona)
    verdict = verify(read, finding, persona, verify_config)
    if not verdict.accepted:
        return refused(verdict.stage, verdict.reason or "refused", verdict.detail)
    interview = _interview(read, sha256, document, persona)
    pairs = build_pairs(
        read.turns,
        finding,
        persona_id=persona.id,
        interview_id=interview.id,
        language=interview.language,
        config=pair_config,
    )
    if not pairs:
        return refused("structure", "no_pairs", "no question with an answer was found in it")
    return {
        "source": document.source,
        "date": interview.date,
        "sha256": sha256,
        "reject": None,
        "content": {
            "interview": to_row(interview),
            "turns": [to_row(turn) for turn in read.turns],
            "pairs": [to_row(pair) for pair in pairs],
            "features": verdict.features,
            "format": read.format,
            "notes": list(read.notes),
        },
    }


def _interview(read: Document, sha256: str, document: RawDocument, persona: Persona) -> Interview:
    """Its sequence is set when all of the person's interviews are known."""
    from_manifest = document.date is not None
    # without the person's folder; `2020/interview.txt` and `2021/interview.txt` stay apart
    path = Path(document.source).with_suffix("")
    name = "-".join(path.parts[1:] or path.parts)
    return Interview(
        id=f"{persona.id}-{slug(name, limit=80)}",
        persona_id=persona.id,
        sequence=0,
        date=document.date if from_manifest else read.date,
        date_precision=_precision(document) if from_manifest else read.date_precision,
        title=document.title or read.title or Path(document.source).stem,
        source=document.source,
        language=document.language or read.language,
        licence=document.licence,
        duration_seconds=read.duration_seconds,
        sha256=sha256,
    )


def _precision(document: RawDocument) -> Any:
    if document.date_precision:
        return document.date_precision
    return {4: "year", 7: "month"}.get(len(document.date or ""), "day")


def _unread(document: RawDocument, persona: Persona, detail: str) -> Outcome:
    reject = Reject(
        source=document.source,
        persona_id=persona.id,
        stage="read",
        reason="unreadable",
        detail=detail,
    )
    return Outcome("", document.source, document.date, "", reject, None)


def _from_json(key: str, row: Mapping[str, Any]) -> Outcome:
    """The content is checked, then dropped: only its file keeps it."""
    reject = from_row(Reject, row["reject"]) if row["reject"] else None
    content = None
    if reject is None:
        content = {
            "interview": row["content"]["interview"],
            "num_pairs": len(row["content"]["pairs"]),
            "num_words": sum(len(pair["answer"].split()) for pair in row["content"]["pairs"]),
            "text_digest": content_hash([turn["text"] for turn in row["content"]["turns"]]),
        }
        from_row(Interview, content["interview"])
        for pair in row["content"]["pairs"]:
            from_row(QAPair, pair)
    return Outcome(key, row["source"], row["date"], row["sha256"], reject, content)
