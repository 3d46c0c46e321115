"""Put a plan's requests to an engine and journal the replies: the resumable middle of a stage.

Windows are cut from the full ordered list, never from what is left, and journalled whole; so a
killed run asks the same batches again as an undisturbed one, and a finished window never again.
A window that a kill or a full disk cut short is asked whole, but what is on disk stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_prep.engine import Reply, Request
from data_prep.files import only_writer
from data_prep.interrupt import heeding, stop_flag
from data_prep.journal import Journal, Rows, compact, read_rows
from data_prep.progress import Progress, say

WINDOW = 64


def ask(
    folder: Path,
    requests: Mapping[str, Request],
    operation: Callable[[Sequence[Request]], Iterator[Reply]],
    to_row: Callable[[str, Request, Reply], dict[str, Any]],
    *,
    label: str,
    window: int = WINDOW,
) -> None:
    """Answer every request once and leave one table of rows in `folder`.

    Args:
        requests: by row key; order matters, it decides the batches.
        to_row: makes the row of a reply, without `key` and `status`.

    Raises:
        Checkpointed: a stop was asked for.
        ValueError: another process writes this folder.
    """
    with only_writer(folder), stop_flag() as stop:
        rows = read_rows(folder)
        say_torn(rows, label)
        done = rows.settled_keys()
        keys = list(requests)
        progress = Progress(f"  {label}", len(keys))
        with Journal(folder) as journal:
            for start in range(0, len(keys), window):
                inside = keys[start : start + window]
                waiting = [key for key in inside if key not in done]
                asked = inside if is_torn(inside, rows) else waiting
                here = f"{progress.done} of {len(keys)} of {label} are on disk"
                coming = operation([requests[key] for key in asked]) if asked else iter(())
                replies = list(heeding(coming, stop, here))
                journal.append(
                    {"key": key, "status": reply.status, **to_row(key, requests[key], reply)}
                    for key, reply in zip(asked, replies, strict=True)
                    if key not in done
                )
                progress.step(count=len(inside))
                stop.check(f"{progress.done} of {len(keys)} of {label} are on disk")
        compact(folder)


def is_torn(window: Sequence[str], rows: Rows) -> bool:
    """Whether only a part of a window reached the disk.

    Replies of a batch depend on each other in their last bits, so half a window is no batch.
    """
    here = sum(key in rows.by_key for key in window)
    return rows.num_torn > 0 and 0 < here < len(window)


def say_torn(rows: Rows, label: str) -> None:
    if rows.num_torn:
        say(f"  {label}: {rows.num_torn} torn line dropped, its row is made again")


def score_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    """A likelihood row: bits over the answer's tokens and its end-of-turn token."""
    bits = -sum(reply.token_logprobs) / LOG_2
    return {
        "bits": bits if reply.status == "ok" else None,
        "num_tokens": len(reply.token_logprobs),
        "num_characters": len((request.completion or "").strip()),
        "num_prompt_tokens": reply.num_prompt_tokens,
        "detail": reply.detail,
    }


def reply_row(key: str, request: Request, reply: Reply) -> dict[str, Any]:
    """A reply in words; an empty one is kept, the judge stage calls it invalid."""
    return {
        "text": reply.text,
        "finish_reason": reply.finish_reason,
        "num_prompt_tokens": reply.num_prompt_tokens,
        "num_output_tokens": reply.num_output_tokens,
        "detail": reply.detail,
    }


LOG_2 = 0.6931471805599453
