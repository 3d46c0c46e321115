"""CSV files that people open in a spreadsheet: safe to open, strict to read."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from data_prep.files import replacing

# a spreadsheet takes a cell that begins so for a formula, some also after spaces
FORMULA_MARKS = tuple("=+-@＝＋－＠\t\r")


def safe_cell(text: str) -> str:
    """The text, with an apostrophe before it where a spreadsheet would compute it."""
    return f"'{text}" if _is_formula(text) else text


def original_cell(text: str) -> str:
    """What `safe_cell` was given."""
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    """Also behind apostrophes, so that one more can be told from those of the text."""
    return text.lstrip("' \n\u00a0").startswith(FORMULA_MARKS)


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Write cells that no spreadsheet computes; a byte order mark tells it that this is UTF-8."""
    with replacing(path, "wb") as file:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([safe_cell(str(row[name])) for name in columns])
        file.write(text.getvalue().encode("utf-8-sig"))


def read_csv(path: Path, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Rows with their numbers as a spreadsheet counts them; the header is row 1.

    Commas or semicolons part the cells, because spreadsheets of some countries write the latter.

    Raises:
        ValueError: missing, not UTF-8, lacking columns, or a row with more or fewer cells.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; check the path") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path} is not UTF-8; save it as CSV UTF-8") from None
    first = text.split("\n", 1)[0]
    separator = ";" if first.count(";") > first.count(",") else ","
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except csv.Error as error:
        raise ValueError(f"{path} is not CSV ({error}); save it as CSV UTF-8") from None
    header = rows[0] if rows else []
    lacking = [name for name in columns if name not in header]
    if lacking:
        raise ValueError(
            f"{path} lacks columns {', '.join(lacking)}; it has {', '.join(header) or 'none'}"
        )
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) != len(header):
            raise ValueError(f"{path} row {number} has {len(row)} cells, expected {len(header)}")
        yield number, dict(zip(header, map(original_cell, row), strict=True))
