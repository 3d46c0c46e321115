"""Parquet tables of turns and Q&A pairs, written one interview at a time.

A row group is an interview, so writing needs the memory of one interview, not of a person.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from data_prep.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

TURN_COLUMNS = {
    "interview_id": "string",
    "index": "int64",
    "speaker": "string",
    "text": "string",
    "start_seconds": "double",
}
PAIR_COLUMNS = {
    "id": "string",
    "persona_id": "string",
    "interview_id": "string",
    "index": "int64",
    "question": "string",
    "answer": "string",
    "answer_raw": "string",
    "prior_turns": "json",
    "self_contained": "bool",
    "theme": "string",
    "tags": "json",
    "turn_ids": "json",
}


def write_row_groups(
    path: Path, columns: Mapping[str, str], groups: Iterable[Sequence[Mapping[str, Any]]]
) -> int:
    """Write groups of rows as they come; returns how many rows. `json` columns hold JSON text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _schema(columns)
    count = 0
    # statistics would keep the longest texts of every group in memory until the file is closed
    with (
        replacing(path, "wb") as file,
        pq.ParquetWriter(file, schema, write_statistics=False) as writer,
    ):
        for rows in groups:
            arrays = {
                name: [_cell(row[name], kind) for row in rows] for name, kind in columns.items()
            }
            writer.write_table(pa.table(arrays, schema=schema))
            count += len(rows)
    return count


def _cell(value: Any, kind: str) -> Any:
    return json.dumps(value, ensure_ascii=False) if kind == "json" else value


def _schema(columns: Mapping[str, str]) -> pa.Schema:
    import pyarrow as pa

    fields = [
        (name, pa.type_for_alias("string" if k == "json" else k)) for name, k in columns.items()
    ]
    nested = sorted(name for name, kind in columns.items() if kind == "json")
    return pa.schema(fields, metadata={"json_columns": json.dumps(nested)})
