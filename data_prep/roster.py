"""Who is in RAW, and which documents are theirs.

RAW is a folder of person folders, a person folder, or a single file. Names and dates come
from `manifest.jsonl` (a row per document) or `personas.jsonl` (a row per person) in RAW or
its parent, else from the folder's name. Only what a user would know is read from a manifest:
who, when, title, licence.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from data_prep.files import read_jsonl
from data_prep.records import DatePrecision, Persona, from_row

MANIFESTS = ("personas.jsonl", "manifest.jsonl")  # what the first says of a person decides
DATE = re.compile(r"\d{4}(-\d\d){0,2}")
NOT_TRANSCRIPTS = re.compile(r"(readme|licen[cs]e|notice|copying)\b.*|\..*|.*~", re.IGNORECASE)


@dataclass(frozen=True)
class RawDocument:
    """One file to read; `source` is its path relative to RAW."""

    path: Path
    source: str
    date: str | None = None
    date_precision: str | None = None
    title: str | None = None
    licence: str | None = None
    language: str | None = None


@dataclass(frozen=True)
class Entry:
    """A person and the documents filed under them."""

    persona: Persona
    documents: list[RawDocument]


@dataclass
class _Known:
    """What manifests say: people by folder name, documents by path."""

    personas: dict[str, Persona] = field(default_factory=dict)
    documents: dict[Path, dict[str, Any]] = field(default_factory=dict)


def read_roster(raw: Sequence[Path]) -> list[Entry]:
    """All people with their documents, in the order of ids.

    Raises:
        ValueError: a path does not exist, holds no document, or two folders claim one person.
    """
    by_persona: dict[str, Entry] = {}
    homes: dict[str, Path] = {}  # the folder whose name made the id
    seen: set[Path] = set()
    for root in raw:
        if not root.exists():
            raise ValueError(f"{root} does not exist; name a folder of transcripts or a file")
        count = 0
        for folder, files, base in _person_folders(root):
            known = _read_manifests([base, base.parent])
            for persona, documents, from_name in _entries(folder, files, base, known):
                count += len(documents)
                own = folder.resolve()
                if from_name and homes.setdefault(persona.id, own) != own:
                    raise ValueError(
                        f"{homes[persona.id]} and {own} are both {persona.id!r}; rename one of "
                        "them, or say in manifest.jsonl whose documents they hold"
                    )
                entry = by_persona.setdefault(persona.id, Entry(persona, []))
                entry.documents.extend(d for d in documents if d.path.resolve() not in seen)
                seen.update(d.path.resolve() for d in documents)
        if not count:
            raise ValueError(
                f"{root} holds no documents; expected a folder per person with transcripts in it"
            )
    for entry in by_persona.values():
        entry.documents.sort(key=lambda document: document.source)
    return [by_persona[name] for name in sorted(by_persona)]


def slug(text: str, *, limit: int = 63) -> str:
    """Lower-case ASCII words joined by hyphens; letters outside ASCII keep a hexadecimal trace."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    found = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    if not found:
        found = "x" + text.strip().encode().hex()
    return found[:limit].strip("-")


def _person_folders(root: Path) -> Iterator[tuple[Path, list[Path], Path]]:
    """(person folder, its files, the folder that paths are relative to)."""
    if root.is_file():
        yield root.parent, [root], root.parent.parent
        return
    own = _documents(root)
    children = sorted(p for p in root.iterdir() if p.is_dir() and not p.name.startswith("."))
    with_files = [(child, _documents(child, deep=True)) for child in children]
    if own:
        yield root, own, root if any(files for _, files in with_files) else root.parent
    for child, files in with_files:
        if files:
            yield child, files, root


def _documents(folder: Path, *, deep: bool = False) -> list[Path]:
    found = folder.rglob("*") if deep else folder.iterdir()
    return sorted(
        path
        for path in found
        if path.is_file()
        and path.name not in MANIFESTS
        and not NOT_TRANSCRIPTS.fullmatch(path.name)
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )


def _read_manifests(folders: Iterable[Path]) -> _Known:
    """What the files say, the nearer folder first; later ones only add."""
    known = _Known()
    for folder in folders:
        for path in (folder / name for name in MANIFESTS):
            if path.is_file():
                for row in read_jsonl(path):
                    _learn(known, row, folder, str(path))
    return known


def _learn(known: _Known, row: Mapping[str, Any], folder: Path, where: str) -> None:
    """A row about a person (it has `id`) or about a document (it has `file`)."""
    if "file" not in row:
        persona = from_row(Persona, row, where=where)
        known.personas.setdefault(persona.id, persona)
        return
    known.documents.setdefault((folder / str(row["file"])).resolve(), _checked(row, where))
    if row.get("person_id") and row.get("person_name"):
        name = slug(str(row["person_id"]))
        persona = Persona(id=name, name=str(row["person_name"]), category=row.get("category"))
        known.personas.setdefault(name, persona)


def _checked(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    """A document's row with texts where texts are due; a year may be written as a number.

    Raises:
        ValueError: names file, document and field.
    """
    texts = {}
    for key in ("date", "date_precision", "title", "language", "licence", "licence_note"):
        value = row.get(key)
        if type(value) is int and key == "date":
            value = str(value)
        problem = value is not None and not isinstance(value, str)
        if value is not None and not problem:
            problem = (key == "date" and not is_date(value)) or (
                key == "date_precision" and value not in get_args(DatePrecision)
            )
        if problem:
            expected = {
                "date": "YYYY, YYYY-MM or YYYY-MM-DD",
                "date_precision": ", ".join(get_args(DatePrecision)),
            }.get(key, "a text")
            raise ValueError(f"{where}: {key} of {row['file']!r} is {value!r}, expected {expected}")
        texts[key] = value
    return {**row, **texts}


def is_date(text: str) -> bool:
    """Whether this is a day, month or year of the calendar, written the way records do."""
    if not DATE.fullmatch(text):
        return False
    year, month, day = (*map(int, text.split("-")), 1, 1)[:3]
    try:
        datetime.date(year, month, day)
    except ValueError:
        return False
    return True


def _entries(
    folder: Path, files: Sequence[Path], base: Path, known: _Known
) -> Iterator[tuple[Persona, list[RawDocument], bool]]:
    """Files that a manifest gives to a person go there, the rest to the folder's person.

    The last value says whether the folder's name alone decided who it is.
    """
    by_person: dict[tuple[str, bool], list[RawDocument]] = {}
    for path in files:
        row = known.documents.get(path.resolve(), {})
        person = str(row.get("person_id") or folder.name)
        from_name = not row.get("person_id")
        by_person.setdefault((person, from_name), []).append(_document(path, base, row))
    for (person, from_name), documents in by_person.items():
        yield known.personas.get(slug(person)) or _unnamed(person), documents, from_name


def _unnamed(folder_name: str) -> Persona:
    words = re.split(r"[-_ ]+", folder_name.strip())
    name = " ".join(word.capitalize() if word.islower() else word for word in words if word)
    return Persona(id=slug(folder_name), name=name or folder_name)


def _document(path: Path, base: Path, row: Mapping[str, Any]) -> RawDocument:
    return RawDocument(
        path=path,
        source=path.relative_to(base).as_posix(),
        date=row.get("date"),
        date_precision=row.get("date_precision"),
        title=row.get("title"),
        licence=row.get("licence") or row.get("licence_note"),
        language=row.get("language"),
    )
