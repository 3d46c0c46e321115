"""Word files: labelled paragraphs, or a table with speakers in one column."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from data_prep.readers.document import Document, Source, UnreadableError
from data_prep.readers.labelled import date_around, first_title, read_labelled, text_of
from data_prep.readers.lines import Line

MAX_UNPACKED_BYTES = 512 * 2**20  # a transcript of a day has about one MiB
MAX_LABEL_CHARS = 60


def read(source: Source) -> Document:
    """Read `.docx`.

    Raises:
        UnreadableError: damaged, not a Word file, or without text.
    """
    word = open_word(source.raw)
    lines = list(read_lines(word))
    if not any(line.text.strip() for line in lines):
        raise UnreadableError("found a Word file without text, expected a transcript")
    labelled = read_labelled(lines)
    title = first_title(labelled.preamble) or text_of(word.core_properties.title)
    date, precision = date_around(labelled)
    return Document(
        turns=labelled.turns,
        format="docx",
        title=title,
        date=date,
        date_precision=precision,
        language=text_of(word.core_properties.language),
        spellings=labelled.spellings,
        preamble=labelled.preamble,
        notes=source.notes,
    )


def open_word(raw: bytes) -> Any:
    """The parsed file; whatever a damaged one makes the libraries raise is one error here."""
    import docx

    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            unpacked = sum(entry.file_size for entry in archive.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise UnreadableError(
                f"unpacks to {unpacked / 2**20:.0f} MiB, at most "
                f"{MAX_UNPACKED_BYTES // 2**20} are read; remove pictures or save as text"
            )
        word = docx.Document(io.BytesIO(raw))
        word.core_properties.title  # noqa: B018  parsed lazily: damage shows here
        return word
    except UnreadableError:
        raise
    except Exception as error:  # zipfile, lxml and python-docx raise some twenty kinds
        raise UnreadableError(
            f"found a damaged Word file ({type(error).__name__}); open and save it again"
        ) from None


def read_lines(word: Any) -> Iterator[Line]:
    """Paragraphs and table rows in their order, an empty line after each."""
    from docx.table import Table

    for block in word.iter_inner_content():
        texts = table_rows(block) if isinstance(block, Table) else [paragraph_text(block)]
        for text in texts:
            for line in text.split("\n"):
                yield Line(line.rstrip())
            yield Line("")


def table_rows(table: Any) -> Iterator[str]:
    """Rows as `speaker: text`; columns before the last two (times, numbers) go in front."""
    for row in table.rows:
        cells: list[str] = []
        for cell in row.cells:  # a merged cell is listed once for every column it spans
            text = " ".join(cell.text.split())
            if text and (not cells or cells[-1] != text):
                cells.append(text)
        if len(cells) >= 2 and len(cells[-2]) <= MAX_LABEL_CHARS:
            *front, label, text = cells
            yield " ".join([*front, f"{label.rstrip(':')}: {text}"])
        else:
            yield " ".join(cells)


def paragraph_text(paragraph: Any) -> str:
    """The paragraph, with a short bold beginning marked as Markdown would mark it."""
    bold = ""
    for run in paragraph.runs:
        if not run.bold:
            break
        bold += run.text
    text = paragraph.text
    label = bold.strip()
    if not label or len(label) > MAX_LABEL_CHARS or not text.startswith(bold) or text == bold:
        return text
    return f"**{label}** {text[len(bold) :].lstrip()}"
