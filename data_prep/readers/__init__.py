"""Read transcripts of any supported format: `read_document(path)`.

The format is told from the content first and from the file's extension second, because
transcripts are renamed more often than they are converted.
"""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from data_prep.readers.dates import find_date
from data_prep.readers.decoding import decode
from data_prep.readers.document import Document, Source, UnreadableError
from data_prep.readers.language import guess_language

__all__ = ["READERS", "SUFFIXES", "Document", "UnreadableError", "read_bytes", "read_document"]

READERS = {  # resolved on use: reading text never imports lxml or python-docx
    "docx": "data_prep.readers.word:read",
    "json": "data_prep.readers.json_turns:read",
    "xml": "data_prep.readers.speech_xml:read",
    "subtitles": "data_prep.readers.subtitles:read",
    "text": "data_prep.readers.labelled:read",
}
SUFFIXES = {
    ".docx": "docx", ".json": "json", ".jsonl": "json", ".xml": "xml", ".akn": "xml",
    ".vtt": "subtitles", ".srt": "subtitles", ".txt": "text", ".md": "text", ".markdown": "text",
}  # fmt: skip
MAX_BYTES = 64 * 2**20  # a day of speech is about one MiB
JSON_START = re.compile(r"(?:\{\s*[\"}]|\[\s*[{\]])")
XML_START = re.compile(r"(?:<\?xml|<!DOCTYPE\s+(?!html)|<(?:\w+:)?akomaNtoso)", re.I)
SRT_START = re.compile(r"(?:\d+\s*\n)?\s*\d{1,2}:\d{2}:\d{2}[,.]\d{1,3}\s*-->")


def read_document(path: Path) -> Document:
    """Read one transcript.

    Raises:
        UnreadableError: no transcript can be had from it; says why in one line, without the path.
        OSError: the file cannot be opened.
    """
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise UnreadableError(
            f"has {size / 2**20:.0f} MiB, at most {MAX_BYTES // 2**20} are read; "
            "split it by interview, or remove what is not text"
        )
    return read_bytes(path.read_bytes(), name=path.name)


def read_bytes(raw: bytes, *, name: str = "") -> Document:
    """Read a transcript from its bytes; `name` is the file's name, for its extension and date."""
    suffix = Path(name).suffix.lower()
    if is_word(raw, suffix):
        kind, source = "docx", Source(raw=raw, text="")
    else:
        text, notes = decode(raw)
        kind, source = recognise(text, suffix), Source(raw=raw, text=text, notes=notes)
    reader: Callable[[Source], Document] = pkgutil.resolve_name(READERS[kind])
    return complete(reader(source), name)


def is_word(raw: bytes, suffix: str) -> bool:
    """Whether these bytes are a Word file.

    Raises:
        UnreadableError: another archive, or something else that is named `.docx`.
    """
    if raw.startswith(b"PK\x03\x04"):
        if suffix != ".docx" and b"word/" not in raw:
            raise UnreadableError("found a zip archive, expected a transcript; unpack it first")
        return True
    if suffix == ".docx" and raw.strip():
        raise UnreadableError(
            "is named .docx but is no Word file; open and save it again, or name it .txt"
        )
    return False


def recognise(text: str, suffix: str = "") -> str:
    """The name of the reader for this text."""
    head = text.lstrip()[:1_000]
    if head.startswith("WEBVTT") or SRT_START.match(head):
        return "subtitles"
    if JSON_START.match(head):
        return "json"
    if XML_START.match(head):
        return "xml"
    return SUFFIXES.get(suffix, "text")


def complete(document: Document, name: str) -> Document:
    """Fill in what the file's name and the words themselves tell.

    Raises:
        UnreadableError: there is no speech at all.
    """
    if not document.turns:
        raise UnreadableError(
            "found no speech, only headings or labels; expected turns such as 'Jane Doe: text'"
        )
    if document.date is None:
        date, precision = find_date(Path(name).stem.replace("_", " "))
        if date is not None:
            document = replace(
                document,
                date=date,
                date_precision=precision,
                notes=(*document.notes, "date taken from the file name"),
            )
    if document.language is None:
        document = replace(document, language=guess_language(document.turns))
    return document
