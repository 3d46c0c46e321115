"""Journals: rows that are safe once written, and the compact table they end as.

While a stage runs, each attempt appends to its own `part-SHARD-ATTEMPT.jsonl`; when it
ends, the parts become one `rows.parquet` sorted by key (written aside, renamed, and only
then are the parts deleted). A reader sees the same rows at any moment of this.

A row has a `key` (hash of all that determines it) and a `status`; the first `ok` row of a
key wins, else the last other one. A torn last line is what a kill leaves: dropped, counted.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from data_prep.files import make_folder, replacing

TABLE = "rows.parquet"
Row = dict[str, Any]


@dataclass(frozen=True)
class Rows:
    """All rows of a folder by key, and how many torn lines were dropped."""

    by_key: dict[str, Row]
    num_torn: int

    def settled_keys(self) -> set[str]:
        """Keys that need no second try: all but those whose request never got an answer."""
        return {key for key, row in self.by_key.items() if row["status"] != "transport_error"}


class Journal:
    """Append-only writer of one attempt; every `append` is on disk when it returns."""

    def __init__(self, folder: Path, *, shard: int = 0) -> None:
        make_folder(folder)
        self._file = None
        attempt = 0
        while self._file is None:
            path = folder / f"part-{shard:05d}-{attempt:03d}.jsonl"
            try:
                self._file = os.open(
                    path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600
                )
            except FileExistsError:
                attempt += 1

    def append(self, rows: Iterable[Mapping[str, Any]]) -> None:
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        data = memoryview(lines.encode())
        assert self._file is not None
        while data:  # a short write is followed by the error that caused it, such as a full disk
            data = data[os.write(self._file, data) :]
        os.fsync(self._file)

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def read_rows(folder: Path) -> Rows:
    """Merge the compact table and all parts of a stage's folder (none is no rows).

    Raises:
        ValueError: a line other than a part's last is damaged.
    """
    by_key: dict[str, Row] = {}
    num_torn = 0
    if (folder / TABLE).exists():
        _merge(by_key, read_table(folder / TABLE))
    for part in _parts(folder):
        rows, torn = _read_part(part)
        _merge(by_key, rows)
        num_torn += torn
    return Rows(by_key=by_key, num_torn=num_torn)


def compact(folder: Path) -> Path:
    """Turn the folder's parts into one table sorted by key."""
    parts = _parts(folder)
    table = folder / TABLE
    if parts or not table.exists():
        rows = read_rows(folder).by_key
        write_table(table, [rows[key] for key in sorted(rows)])
    for part in parts:
        part.unlink()
    return table


def write_table(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as Parquet; nested values are stored as JSON text and come back equal."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = list(dict.fromkeys(name for row in rows for name in row))
    nested = {n for n in names if any(isinstance(r.get(n), dict | list | tuple) for r in rows)}
    columns = {
        name: [
            json.dumps(row.get(name), ensure_ascii=False) if name in nested else row.get(name)
            for row in rows
        ]
        for name in names
    }
    table = pa.table(columns).replace_schema_metadata({"json_columns": json.dumps(sorted(nested))})
    with replacing(path, "wb") as file:
        pq.write_table(table, file)


def read_table(path: Path) -> list[Row]:
    """Read what `write_table` wrote.

    Raises:
        ValueError: the file is damaged.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # the file, not its path: a folder called qa.parquet would be taken for a data set
        with open(path, "rb") as file:
            table = pq.read_table(file)
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise ValueError(f"{path} does not exist; run the step that writes it") from None
        raise ValueError(
            f"{path} is damaged ({error}); delete it and run that step again"
        ) from None
    nested = json.loads((table.schema.metadata or {}).get(b"json_columns", b"[]"))
    rows: list[Row] = table.to_pylist()
    for row in rows:
        for name in nested:
            row[name] = json.loads(row[name])
    return rows


def _parts(folder: Path) -> list[Path]:
    return sorted(folder.glob("part-*.jsonl"))


def _merge(by_key: dict[str, Row], rows: Iterable[Row]) -> None:
    for row in rows:
        known = by_key.get(row["key"])
        if known is None or known["status"] != "ok":
            by_key[row["key"]] = row


def _read_part(path: Path) -> tuple[list[Row], int]:
    lines = path.read_bytes().split(b"\n")
    torn = lines.pop()  # empty when the last line was ended properly
    rows = []
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
            row["key"], row["status"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(
                f"{path} line {number} is damaged; delete that line, its row will be made again"
            ) from None
        rows.append(row)
    return rows, int(bool(torn))
