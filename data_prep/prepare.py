"""Raw transcripts -> corpus folder: the whole preparation, one person and one document at a time.

    personas.jsonl, interviews.jsonl, rejects.jsonl, splits.json, stats.json, card.md
    turns/NAME.parquet, qa.parquet/NAME.parquet      a row group per interview
    sft/NAME/                                         training chats and their prompt
    ingest/NAME/                                      outcomes by document, for the next run

A bad file is refused with its reason and the rest goes on. Memory holds one document's text at
a time; ids and dates are all that is kept of the others.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic.dataclasses import dataclass as config_dataclass

from data_prep.card import write_card
from data_prep.config import resolved
from data_prep.files import (
    make_folder,
    only_writer,
    write_json,
    write_jsonl,
    write_manifest,
)
from data_prep.ingest import Outcome, content_of, ingest
from data_prep.interrupt import StopFlag, stop_flag
from data_prep.pairs import PairConfig
from data_prep.progress import Progress
from data_prep.prompting import DEFAULT_PROMPT, persona_prompt
from data_prep.records import (
    SCHEMA_VERSION,
    STRICT,
    Interview,
    PersonaSplit,
    QAPair,
    Reject,
    consent_problem,
    from_row,
    to_row,
)
from data_prep.roster import Entry, read_roster
from data_prep.sft import write_sft
from data_prep.splits import SplitConfig, split_persona
from data_prep.tables import PAIR_COLUMNS, TURN_COLUMNS, write_row_groups
from data_prep.verify import VerifyConfig


@config_dataclass(frozen=True, kw_only=True, config=STRICT)
class PrepConfig:
    """How transcripts become a corpus."""

    verify: VerifyConfig = VerifyConfig()
    pairs: PairConfig = PairConfig()
    split: SplitConfig = SplitConfig()
    prompt: str = DEFAULT_PROMPT
    system_role: str = "native"
    template_args: dict[str, Any] = field(default_factory=dict)


@dataclass
class Tally:
    """What came of everything, for the summary and the card."""

    entries: list[Entry]
    interviews: list[Interview] = field(default_factory=list)
    rejects: list[Reject] = field(default_factory=list)
    splits: list[PersonaSplit] = field(default_factory=list)
    not_split: dict[str, str] = field(default_factory=dict)
    num_pairs: Counter[str] = field(default_factory=Counter)
    num_words: Counter[str] = field(default_factory=Counter)
    undated: list[str] = field(default_factory=list)


def prepare(raw: Sequence[Path], out: Path, config: PrepConfig | None = None) -> Tally:
    """Prepare a corpus; run again, it does only what is new.

    Raises:
        ValueError: RAW is missing, empty or around `out`, or another process writes `out`.
        Checkpointed: a stop was asked for; finished documents are kept.
    """
    config = config or PrepConfig()
    entries = read_roster(raw)
    _refuse_out_inside(raw, out)
    tally = Tally(entries)
    with only_writer(out), stop_flag() as stop:
        progress = Progress("  read", sum(len(entry.documents) for entry in entries))
        for entry in entries:
            _prepare_person(entry, out, config, tally, progress, stop)
        _no_corpus_until_written(out)
        _drop_leftovers(out, tally)
        _write_corpus(out, config, tally)
    return tally


def _prepare_person(
    entry: Entry,
    out: Path,
    config: PrepConfig,
    tally: Tally,
    progress: Progress,
    stop: StopFlag,
) -> None:
    persona = entry.persona
    problem = consent_problem(persona, "prepare", datetime.date.today())
    if problem is not None:
        tally.rejects += [
            Reject(
                source=document.source,
                persona_id=persona.id,
                stage="consent",
                reason="no_consent",
                detail=problem,
            )
            for document in entry.documents
        ]
        progress.step(count=len(entry.documents))
        return
    folder = make_folder(out / "ingest" / persona.id)
    outcomes = []
    for document in entry.documents:
        outcomes.append(ingest(document, persona, folder, config.verify, config.pairs))
        progress.step()
        stop.check(f"{progress.done} of {progress.total} documents are read")
    kept = _accept(outcomes, tally)
    current = {outcome.key for outcome in outcomes}
    for path in folder.glob("*.json"):  # outcomes of older settings or removed documents
        if path.stem not in current:
            path.unlink()
    if kept:
        _write_person(entry, kept, folder, out, config, tally)


def _accept(outcomes: Sequence[Outcome], tally: Tally) -> list[tuple[str, Interview]]:
    """Accepted interviews, oldest first and numbered; a repeated one is refused."""
    tally.rejects += [outcome.reject for outcome in outcomes if outcome.reject]
    accepted: list[tuple[str, Interview]] = []
    seen: dict[str, str] = {}
    for outcome in sorted(
        (o for o in outcomes if o.content), key=lambda o: (o.date or "", o.source)
    ):
        assert outcome.content is not None
        interview = from_row(Interview, outcome.content["interview"])
        repeats = {
            f"text {outcome.content['text_digest']}": "duplicate",
            f"name {interview.id}": "same_name",
        }
        first = next((key for key in repeats if key in seen), None)
        if first is not None:
            tally.rejects.append(_repeat(interview, repeats[first], seen[first]))
            continue
        seen |= dict.fromkeys(repeats, interview.source)
        tally.num_pairs[interview.persona_id] += outcome.content["num_pairs"]
        tally.num_words[interview.persona_id] += outcome.content["num_words"]
        if interview.date is None:
            tally.undated.append(interview.source)
        accepted.append((outcome.key, replace(interview, sequence=len(accepted))))
    tally.interviews += [interview for _, interview in accepted]
    return accepted


def _repeat(interview: Interview, reason: str, first: str) -> Reject:
    detail = {
        "duplicate": f"has the same words as {first}; one of them is enough",
        "same_name": f"would have the same id as {first}; rename one of them",
    }[reason]
    return Reject(
        source=interview.source,
        persona_id=interview.persona_id,
        stage="deduplicate",
        reason=reason,
        detail=detail,
    )


def _write_person(
    entry: Entry,
    kept: Sequence[tuple[str, Interview]],
    ingested: Path,
    out: Path,
    config: PrepConfig,
    tally: Tally,
) -> None:
    """Tables, split and SFT set of one person, streamed interview by interview."""
    _no_corpus_until_written(out)
    name = entry.persona.id

    def groups(what: str) -> Iterator[list[dict[str, Any]]]:
        for key, interview in kept:
            rows = content_of(ingested, key)[what]
            if what == "turns":
                rows = [
                    {"interview_id": interview.id, "index": index, **row}
                    for index, row in enumerate(rows)
                ]
            yield rows

    write_row_groups(out / "turns" / f"{name}.parquet", TURN_COLUMNS, groups("turns"))
    write_row_groups(out / "qa.parquet" / f"{name}.parquet", PAIR_COLUMNS, groups("pairs"))
    ids = {rows[0]["interview_id"]: [row["id"] for row in rows] for rows in groups("pairs")}
    try:
        split = split_persona(name, [i for _, i in kept], ids, config.split)
    except ValueError as error:
        tally.not_split[name] = str(error)
        return
    tally.splits.append(split)

    def chosen(part: tuple[str, ...]) -> Iterator[QAPair]:
        wanted = set(part)
        for rows in groups("pairs"):
            yield from (from_row(QAPair, row) for row in rows if row["id"] in wanted)

    prompt = persona_prompt(
        entry.persona.name,
        prompt_id=config.prompt,
        system_role=config.system_role,
        template_args=config.template_args,
    )
    write_sft(
        out / "sft" / name, prompt, train=chosen(split.train), validation=chosen(split.validation)
    )


def _no_corpus_until_written(out: Path) -> None:
    """A run killed among its writes must not leave old and new files that pass for a corpus."""
    (out / "manifest.json").unlink(missing_ok=True)


def _refuse_out_inside(raw: Sequence[Path], out: Path) -> None:
    """The next run would read the corpus as the transcripts of a person."""
    for root in (path.resolve() for path in raw):
        if out.resolve().is_relative_to(root):
            raise ValueError(
                f"the corpus folder {out} lies in {root}, which is read; choose --out beside it"
            )


def _drop_leftovers(out: Path, tally: Tally) -> None:
    """Remove what an earlier run kept of people, interviews or consents that are gone."""
    import shutil

    here = {entry.persona.id for entry in tally.entries}
    refused = {reject.persona_id for reject in tally.rejects if reject.stage == "consent"}
    accepted = {interview.persona_id for interview in tally.interviews}
    split = {split.persona_id for split in tally.splits}
    for path in (*out.glob("turns/*.parquet"), *out.glob("qa.parquet/*.parquet")):
        if path.stem not in accepted:
            path.unlink()
    for folder in out.glob("sft/*"):
        if folder.name not in split:
            shutil.rmtree(folder)
    for folder in out.glob("ingest/*"):
        if folder.name not in here - refused:
            shutil.rmtree(folder)


def _write_corpus(out: Path, config: PrepConfig, tally: Tally) -> None:
    people = [e.persona for e in tally.entries if tally.num_pairs[e.persona.id]]
    write_jsonl(out / "personas.jsonl", map(to_row, people))
    write_jsonl(out / "interviews.jsonl", map(to_row, tally.interviews))
    rejects = sorted(tally.rejects, key=lambda reject: reject.source)
    write_jsonl(out / "rejects.jsonl", map(to_row, rejects))
    write_json(
        out / "splits.json",
        {"schema_version": SCHEMA_VERSION, "personas": [to_row(split) for split in tally.splits]},
    )
    stats = statistics(tally)
    write_json(out / "stats.json", stats)
    write_card(out / "card.md", stats, people)
    counts = {key: stats[key] for key in ("personas", "interviews", "pairs", "rejected")}
    write_manifest(
        out,
        "prep",
        config=resolved(config),
        inputs={interview.source: interview.sha256 for interview in tally.interviews},
        counts=counts,
    )


def statistics(tally: Tally) -> Mapping[str, Any]:
    """Counts of the corpus as JSON-ready values."""
    interviews = Counter(interview.persona_id for interview in tally.interviews)
    kinds = {split.persona_id: split.rule for split in tally.splits}
    return {
        "personas": sum(1 for entry in tally.entries if tally.num_pairs[entry.persona.id]),
        "interviews": len(tally.interviews),
        "pairs": tally.num_pairs.total(),
        "rejected": len(tally.rejects),
        "reject_reasons": dict(sorted(Counter(r.reason for r in tally.rejects).items())),
        "undated_interviews": sorted(tally.undated),
        "not_split": tally.not_split,
        "by_persona": {
            entry.persona.id: {
                "interviews": interviews[entry.persona.id],
                "pairs": tally.num_pairs[entry.persona.id],
                "answer_words": tally.num_words[entry.persona.id],
                "split": kinds[entry.persona.id].kind if entry.persona.id in kinds else None,
                "has_validation": (
                    kinds[entry.persona.id].has_validation if entry.persona.id in kinds else None
                ),
            }
            for entry in tally.entries
        },
    }
