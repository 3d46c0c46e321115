"""JSON transcripts: lists of turns, and the segments that speech recognisers write.

The list is found by what its items hold (a text, a speaker), so WhisperX, cloud recognisers
and hand-made files are read alike; keys that name the two are listed below.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from data_prep.readers.dates import find_date
from data_prep.readers.document import Document, Source, UnreadableError
from data_prep.readers.labelled import text_of
from data_prep.readers.lines import drop_inline_page_numbers, unescape
from data_prep.readers.misprints import merge_speakers
from data_prep.records import Turn

TEXT_KEYS = ("text", "content", "utterance", "transcript", "value", "message")
SPEAKER_KEYS = ("speaker", "speaker_label", "speaker_name", "speaker_id", "name", "role", "from")
QUESTION_KEYS = (("question", "answer"), ("question", "response"), ("q", "a"))
START_KEYS = ("start", "start_time", "start_seconds", "begin")
END_KEYS = ("end", "end_time", "end_seconds")
MAX_DEPTH = 6


def read(source: Source) -> Document:
    """Read the first list of turns in the file.

    Raises:
        UnreadableError: broken JSON, or no list of turns in it.
    """
    data = parse(source.text)
    items = find_turns(data)
    if items is None:
        raise UnreadableError(
            f"found JSON with {describe(data)} but no list of turns; expected "
            '{"turns": [{"speaker": "...", "text": "..."}]} or "segments" of the same kind'
        )
    turns, spellings = merge_speakers(list(read_items(items)))
    texts = drop_inline_page_numbers([turn.text for turn in turns])
    turns = [
        Turn(speaker=turn.speaker, text=text, start_seconds=turn.start_seconds)
        for turn, text in zip(turns, texts, strict=True)
        if text
    ]
    timed = any(turn.start_seconds is not None for turn in turns)
    facts = data if isinstance(data, dict) else {}
    title = text_of(facts.get("title"))
    date, precision = find_date(" ".join(filter(None, (text_of(facts.get("date")), title))))
    ends = [number for item in items if (number := number_of(item, END_KEYS)) is not None]
    duration = number_of(facts, ("duration", "duration_seconds"))
    return Document(
        turns=tuple(join_segments(turns) if timed else turns),
        format="json_segments" if timed else "json_turns",
        title=title,
        date=date,
        date_precision=precision,
        language=text_of(facts.get("language")),
        duration_seconds=duration if duration is not None else max(ends, default=None),
        spellings=spellings,
        notes=source.notes,
    )


def parse(text: str) -> Any:
    """A JSON value, or the list of values of a file with one on each line."""
    try:
        return json.loads(text)
    except RecursionError:
        raise UnreadableError("found JSON nested too deeply to be a transcript") from None
    except ValueError as error:
        lines = [line for line in text.splitlines() if line.strip()]
        try:
            if len(lines) > 1 and all(line.lstrip().startswith("{") for line in lines):
                return [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            pass
        raise UnreadableError(
            f"found broken JSON ({error}); the file may be cut off, export it again"
        ) from None


def describe(data: Any) -> str:
    if isinstance(data, dict):
        return f"the keys {sorted(map(str, data))[:8]}"
    return f"a {type(data).__name__} at the top"


def find_turns(data: Any, depth: int = 0) -> list[dict[str, Any]] | None:
    """The first list in `data` most items of which hold a text or a question."""
    if depth > MAX_DEPTH:
        return None
    if isinstance(data, list):
        items = [item for item in data if isinstance(item, dict) and list(texts_of(item))]
        if items and len(items) >= 0.5 * len(data):
            return items
    children = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for child in children:
        if isinstance(child, dict | list) and (found := find_turns(child, depth + 1)):
            return found
    return None


def texts_of(item: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    """(speaker or None, text) of an item: one text, or a question and its answer."""
    for question, answer in QUESTION_KEYS:
        if isinstance(item.get(question), str) and isinstance(item.get(answer), str):
            yield "Question", item[question]
            yield "Answer", item[answer]
            return
    for key in TEXT_KEYS:
        if isinstance(item.get(key), str):
            yield speaker_of(item), item[key]
            return


def speaker_of(item: dict[str, Any]) -> str | None:
    """The item's own label, else the one most of its words carry."""
    for key in SPEAKER_KEYS:
        value = item.get(key)
        value = value.get("name") if isinstance(value, dict) else value
        if (name := text_of(value)) is not None:
            return name.rstrip(":").strip()
    words = item.get("words")
    labels = [
        label
        for word in (words if isinstance(words, list) else ())
        if isinstance(word, dict) and (label := text_of(word.get("speaker"))) is not None
    ]
    return Counter(labels).most_common(1)[0][0] if labels else None


def read_items(items: Sequence[dict[str, Any]]) -> Iterator[Turn]:
    """A turn per text. A segment without a speaker continues the one before it."""
    speaker = next((name for item in items for name, _ in texts_of(item) if name), "")
    for item in items:
        start = number_of(item, START_KEYS)
        for name, text in texts_of(item):
            speaker = name or speaker
            text = " ".join(unescape(text).split())
            if text:
                yield Turn(speaker=speaker, text=text, start_seconds=start)


def number_of(item: dict[str, Any], keys: Sequence[str]) -> float | None:
    for key in keys:
        value = item.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
            return float(value)
    return None


def join_segments(turns: Sequence[Turn]) -> Iterator[Turn]:
    """Recognisers cut speech by pauses: consecutive segments of a speaker are one turn."""
    for speaker, group in groupby(turns, key=lambda turn: turn.speaker):
        parts = list(group)
        text = " ".join(part.text for part in parts)
        yield Turn(speaker=speaker, text=text, start_seconds=parts[0].start_seconds)
