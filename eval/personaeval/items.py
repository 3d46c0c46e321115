"""Items of role identification, and the JSONL files they are kept in.

What is wrong with an item is found while loading, with file and line, because a repeated name
or a lost truth would otherwise become a wrong number much later (PersonaEval, section 3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic.dataclasses import dataclass

from data_prep.files import read_jsonl
from data_prep.records import STRICT, content_hash, from_row, to_row

KNOWN_SPEAKER = "known_speaker_among_candidates"
ALIASES = "aliases_among_candidates"
NUM_CANDIDATES = {"literary": 4, "drama": 4, "expertise": 5}  # of the official tracks


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Candidate:
    """Who may have spoken. Without a `profile` only the pre-rendered prompt describes them."""

    name: str
    profile: str = ""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class RoleItem:
    """One question: who of the candidates said `target_text` after `known_text`?

    `work` is the play, book or interview; items of one work resemble each other. `prompt` is
    the complete message of an official item. `filtered_by` names models that decided which
    items were kept, as their relatives are at a disadvantage.
    """

    id: str = Field(min_length=1)
    track: str = Field(min_length=1)
    work: str | None
    known_speaker: str
    known_text: str
    target_text: str
    candidates: tuple[Candidate, ...]
    truth: str
    tags: tuple[str, ...] = ()
    filtered_by: tuple[str, ...] = ()
    prompt: str | None = None

    def __post_init__(self) -> None:
        check_names(self.names, self.truth)
        if self.prompt is None and not self.can_render:
            raise ValueError(
                f"item {self.id!r} lacks a text or a profile; give known_text, target_text and "
                "a profile for every candidate"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(candidate.name for candidate in self.candidates)

    @property
    def truth_index(self) -> int:
        return self.names.index(self.truth)

    @property
    def can_render(self) -> bool:
        """Whether texts and profiles are known apart, so that a prompt can be made of them."""
        texts = (self.known_speaker, self.known_text, self.target_text)
        return all(text.strip() for text in (*texts, *(c.profile for c in self.candidates)))


def load_items(paths: Sequence[Path]) -> list[RoleItem]:
    """Read item files, `.csv` as official tracks and the rest as JSONL.

    Raises:
        ValueError: the first thing that is wrong, with file, line and what to do.
    """
    from eval.personaeval.official import read_track

    items: list[RoleItem] = []
    for path in paths:
        if not path.is_file():
            raise ValueError(
                f"no file {str(path)!r}; name item files, settings as part.field=value"
            )
        items += read_track(path) if path.suffix.lower() == ".csv" else read_items(path)
    if not items:
        raise ValueError(f"no items in {', '.join(map(str, paths)) or 'no files'}; name item files")
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise ValueError(f"item id {item.id!r} stands twice; rename one of them")
        seen.add(item.id)
    return items


def read_items(path: Path) -> Iterator[RoleItem]:
    """Items of a JSONL file: `id, track, work, context, target_text, candidates, answer`.

    `context` is one turn, `{speaker, text}`. Fields beyond these, such as sources, are passed
    over; `tags` and `filtered_by` are read where they are.

    Raises:
        ValueError: names file and line.
    """
    for number, row in enumerate(read_jsonl(path), 1):
        where = f"{path} item {number}"
        yield from_row(RoleItem, _fields(row, where), where=where)


def _fields(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    needed = ("id", "track", "work", "context", "target_text", "candidates", "answer")
    if missing := [name for name in needed if name not in row]:
        raise ValueError(f"{where} has no {', '.join(missing)}; add it")
    turns, candidates = row["context"], row["candidates"]
    if not isinstance(turns, list) or len(turns) != 1 or not isinstance(turns[0], dict):
        raise ValueError(f"{where}: context is not one turn; give [{{speaker, text}}]")
    if not isinstance(candidates, list) or not all(isinstance(c, dict) for c in candidates):
        raise ValueError(f"{where}: candidates is not a list of {{name, profile}}")
    refuse_wrong_number(str(row["track"]), len(candidates), where)
    speaker, names = str(turns[0].get("speaker", "")), [str(c.get("name")) for c in candidates]
    return {
        "id": row["id"],
        "track": row["track"],
        "work": row["work"],
        "known_speaker": turns[0].get("speaker", ""),
        "known_text": turns[0].get("text", ""),
        "target_text": row["target_text"],
        "candidates": candidates,
        "truth": row["answer"],
        "tags": tuple(dict.fromkeys([*row.get("tags", ()), *tags_of(speaker, names)])),
        "filtered_by": row.get("filtered_by", ()),
        "prompt": row.get("prompt"),
    }


def item_row(item: RoleItem) -> dict[str, Any]:
    """The JSONL line that `read_items` reads back."""
    row = to_row(item)
    context = [{"speaker": row.pop("known_speaker"), "text": row.pop("known_text")}]
    row["answer"] = row.pop("truth")
    return {"id": row.pop("id"), "context": context, **row}


def check_names(names: Sequence[str], truth: str) -> None:
    """Raises ValueError for names that repeat or are blank, and a truth that is none of them."""
    if len(names) < 2:
        raise ValueError(f"{len(names)} candidates, at least 2 are needed; add candidates")
    folded = [" ".join(name.split()).casefold() for name in names]
    for position, name in enumerate(folded):
        if not name:
            raise ValueError(f"candidate {position + 1} has no name; name it or drop the item")
        if name in folded[:position]:
            raise ValueError(
                f"candidate {names[position]!r} stands twice; a judge could not tell them apart, "
                "rename one or drop the item"
            )
    if truth not in names:
        raise ValueError(
            f"the truth {truth!r} is not among the candidates {', '.join(map(repr, names))}; "
            "spell it as the candidate, or drop the item"
        )


def refuse_wrong_number(track: str, number: int, where: str) -> None:
    """Raises ValueError when an official track has another number of candidates."""
    wanted = NUM_CANDIDATES.get(track.lower(), number)
    if number != wanted:
        raise ValueError(
            f"{where} has {number} candidates, track {track!r} has {wanted}; mend that item"
        )


def tags_of(known_speaker: str, names: Sequence[str]) -> tuple[str, ...]:
    """Conditions that make an item easier or ill-posed; kept for analysis, never repaired."""
    tags = []
    if known_speaker and any(same_person(known_speaker, name) for name in names):
        tags.append(KNOWN_SPEAKER)
    if any(same_person(a, b) for i, a in enumerate(names) for b in names[:i]):
        tags.append(ALIASES)
    return tuple(tags)


def same_person(a: str, b: str) -> bool:
    """Whether one name's words are contained in the other's: Huck Finn, Huckleberry Finn.

    A word of three letters or more also matches a longer one that begins with it.
    """
    short, long = sorted((_words(a), _words(b)), key=len)
    if not short:
        return False
    left = list(long)
    for word in short:
        found = next((w for w in left if w == word or _begins(w, word)), None)
        if found is None:
            return False
        left.remove(found)
    return True


def _words(name: str) -> list[str]:
    return re.findall(r"\w+", name.casefold())


def _begins(a: str, b: str) -> bool:
    short, long = sorted((a, b), key=len)
    return len(short) >= 3 and long.startswith(short)


def digest(items: Iterable[RoleItem]) -> str:
    """Identity of a list of items, in this order."""
    return content_hash([to_row(item) for item in items], digits=12)
