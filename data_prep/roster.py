"""Who is in RAW, and which documents are theirs.

RAW is a folder of person folders, a person folder, or a single file. Names and dates come
from `manifest.jsonl` (a row per document) or `personas.jsonl` (a row per person) in RAW or
its parent, else from the folder's name. Only what a user would know is read from a manifest:
who, when, title, licence.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data_prep.files import read_jsonl
from data_prep.records import Persona, from_row

MANIFESTS = ("manifest.jsonl", "personas.jsonl")
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
    folders: dict[str, Path] = {}
    for root in raw:
        if not root.exists():
            raise ValueError(f"{root} does not exist; name a folder of transcripts or a file")
        count = 0
        for folder, files, base in _person_folders(root):
            known = _read_manifests([base, base.parent])
            for persona, documents in _entries(folder, files, base, known):
                count += len(documents)
                if persona.id in by_persona and folders[persona.id].parent != folder.parent:
                    raise ValueError(
                        f"{folders[persona.id]} and {folder} are both {persona.id!r}; "
                        "rename one of them, or give it another id in personas.jsonl"
                    )
                folders[persona.id] = folder
                known_entry = by_persona.setdefault(persona.id, Entry(persona, []))
                known_entry.documents.extend(documents)
        if not count:
            raise ValueError(
                f"{root} holds no documents; expected a folder per person with transcripts in it"
            )
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
    known = _Known()
    for folder in folders:
        for name in MANIFESTS:
            path = folder / name
            if path.is_file() and not known.personas:
                for row in read_jsonl(path):
                    _learn(known, row, folder, f"{path}")
    return known


def _learn(known: _Known, row: Mapping[str, Any], folder: Path, where: str) -> None:
    """A row about a person (it has `id`) or about a document (it has `file`)."""
    if "file" in row:
        known.documents[(folder / str(row["file"])).resolve()] = dict(row)
        if row.get("person_id") and row.get("person_name"):
            persona = Persona(
                id=slug(str(row["person_id"])),
                name=str(row["person_name"]),
                category=row.get("category"),
            )
            known.personas.setdefault(str(row["person_id"]), persona)
        return
    persona = from_row(Persona, row, where=where)
    known.personas[persona.id] = persona


def _entries(
    folder: Path, files: Sequence[Path], base: Path, known: _Known
) -> Iterator[tuple[Persona, list[RawDocument]]]:
    """Files that a manifest gives to a person go there, the rest to the folder's person."""
    by_person: dict[str, list[RawDocument]] = {}
    for path in files:
        row = known.documents.get(path.resolve(), {})
        person = str(row.get("person_id") or folder.name)
        by_person.setdefault(person, []).append(_document(path, base, row))
    for person, documents in by_person.items():
        yield known.personas.get(person) or known.personas.get(slug(person)) or _unnamed(
            person
        ), documents


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
