"""Read a JSON object as judges really write it: prose before it, a comma too many, single quotes.

Only the spelling is forgiven. What the object must hold is decided in `parsing`.
"""

from __future__ import annotations

import json
import re
from typing import Any

MAX_OBJECTS = 2000  # braces that are tried as an object's beginning

_GAP = re.compile(r"(?:[\s,;]|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_KEY = re.compile(  # a quoted one ends where a colon follows, so that quotes may stand in it
    r"""(?P<quote>["'“‘])(?P<quoted>(?:\\.|[^\n\\]){0,300}?)["'”’]\s*:"""
    r"""|(?P<bare>[^\s"'{}\[\],:][^"'{}\[\],:\n]*):"""
)
_VALUE = re.compile(
    r"""\s*(?:(?P<quote>["'“‘])(?P<quoted>(?:\\.|[^\n\\]){0,300}?)["'”’](?=\s*(?:[,;}/]|$|\n))"""
    r"""|(?P<bare>[^\s"'{}\[\],;/][^"'{}\[\],;/\n]*))"""
)
_REMARK = re.compile(r"\s*\([^()]*\)$")  # 0.4 (likely)
_CONSTANTS = {"true": True, "false": False, "null": None, "None": None}

Found = tuple[dict[str, Any], int]  # an object and where it ends


def read_lenient_object(text: str, *, must_close: bool = False) -> dict[str, Any]:
    """The JSON object in a text; of several with the same keys the last, a corrected one.

    Trailing or missing commas, single or curly quotes, bare keys, comments and, unless
    `must_close`, a missing last brace are accepted. Of a key that stands twice the last value
    counts, as in Python's json.

    Raises:
        ValueError: there is none, it is part of a list, or there are several with other keys.
    """
    objects: list[dict[str, Any]] = []
    position = 0
    for _ in range(MAX_OBJECTS):
        start = text.find("{", position)
        if start < 0:
            break
        found = _strict(text, start) or _lenient(text, start + 1, must_close)
        position = start + 1
        if found is not None:
            if text[:start].rstrip().endswith("["):
                raise ValueError("the reply's JSON is a list, expected an object")
            objects.append(found[0])
            position = found[1]
    if not objects:
        raise ValueError("the reply holds no JSON object")
    if any(other.keys() != objects[0].keys() for other in objects):
        raise ValueError(f"the reply holds {len(objects)} JSON objects with different keys")
    return objects[-1]


def _strict(text: str, start: int) -> Found | None:
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):  # also a whole number of thousands of digits
        return None
    return value, end


def _lenient(text: str, position: int, must_close: bool) -> Found | None:
    """A flat object whose first brace stands just before `position`."""
    found: dict[str, Any] = {}
    while True:
        position = _GAP.match(text, position).end()  # type: ignore[union-attr]
        end = text[position : position + 1]
        if end in ("", "}", "`"):
            return (found, position) if found and (end == "}" or not must_close) else None
        key = _KEY.match(text, position)
        value = _VALUE.match(text, key.end()) if key else None
        if key is None or value is None:
            return None
        name = _unescaped(key["quoted"]) if key["quote"] else key["bare"].strip()
        found[name] = _unescaped(value["quoted"]) if value["quote"] else _bare(value["bare"])
        position = value.end()


def _bare(text: str) -> Any:
    """A number stays text here: `float` reads it later, as it reads a quoted one."""
    text = _REMARK.sub("", text.strip())
    return _CONSTANTS.get(text, text)


def _unescaped(text: str) -> str:
    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return re.sub(r"\\(.)", r"\1", text)
