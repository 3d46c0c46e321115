"""The official tracks: CSV files with a complete prompt, the options' names and the truth.

Columns `prompt, option1..option4[,option5], gt` (spec section 1). Texts and profiles stand in
the prompt only; where it is laid out as in the paper's appendix A they are taken out again,
because other candidate orders and the likelihood form need them apart.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from data_prep.records import from_row
from eval.personaeval.items import (
    NUM_CANDIDATES,
    Candidate,
    RoleItem,
    refuse_wrong_number,
    tags_of,
)

FILTER = "Qwen-max"  # an official item is kept where this model gives the truth at most 0.5
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
WORK_COLUMNS = ("work", "book", "title")  # not in the released files; used where added

_TURN = r"\[Begin\]\s*(?P<{0}>.*?)\s*\[End\]"
_CONVERSATION = re.compile(
    r"\[Character1\s*[:：]\s*(?P<speaker>[^\]]+?)\s*\]\s*"
    + _TURN.format("known")
    + r"\s*\[Character2[^\]]*\]\s*"
    + _TURN.format("target"),
    re.DOTALL,
)
_NUMBERED = r"^[ \t#*]*{number}[.)、][ \t]*[*]*{name}[*]*[ \t]*:?[ \t]*$"
_SECTION = re.compile(r"^[ \t#*]*(?:Response|Output|Answer) Format\b.*$", re.M | re.I)


def read_track(path: Path) -> Iterator[RoleItem]:
    """Items of a CSV file; the track is what the file's name says.

    Raises:
        ValueError: encoding, columns or a row is wrong; names file and line.
    """
    track = next((name for name in NUM_CANDIDATES if name in path.stem.lower()), path.stem)
    reader = csv.reader(io.StringIO(_decoded(path), newline=""), strict=True)
    try:
        header = [name.strip() for name in next(reader, [])]
        options = _option_columns(header, path)
        for number, cells in enumerate(reader, 1):
            if any(cell.strip() for cell in cells):
                where = f"{path} line {reader.line_num}"
                yield _item(header, options, cells, f"{path.stem}-{number:05d}", track, where)
    except csv.Error as error:
        raise ValueError(
            f"{path} line {reader.line_num} is not CSV ({error}); mend the quotes of that row"
        ) from None


def _decoded(path: Path) -> str:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist; check the path") from None
    encoding = "utf-16" if data.startswith(UTF_16_MARKS) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{path} line {line} is not {encoding.removesuffix('-sig').upper()}; "
            "save the file as UTF-8"
        ) from None


def _option_columns(header: Sequence[str], path: Path) -> list[str]:
    options = [f"option{n}" for n in range(1, 6) if f"option{n}" in header]
    needed = ["prompt", *(f"option{n}" for n in range(1, max(4, len(options)) + 1)), "gt"]
    if missing := [name for name in needed if name not in header]:
        raise ValueError(
            f"{path} line 1 lacks the columns {', '.join(missing)}; expected prompt, "
            "option1 to option4 (Expertise: option5), gt"
        )
    if repeated := sorted({name for name in needed if header.count(name) > 1}):
        raise ValueError(f"{path} line 1 has {', '.join(repeated)} twice; remove one column")
    return options


def _item(
    header: Sequence[str],
    options: Sequence[str],
    cells: Sequence[str],
    item_id: str,
    track: str,
    where: str,
) -> RoleItem:
    if len(cells) != len(header):
        raise ValueError(
            f"{where} has {len(cells)} cells, the header has {len(header)}; quote the commas "
            "inside its texts"
        )
    row = dict(zip(header, cells, strict=True))
    names = [row[name] for name in options]
    if len(names) == 5 and not names[-1].strip() and NUM_CANDIDATES.get(track) != 5:
        names.pop()  # tracks of four and five in one file
    refuse_wrong_number(track, len(names), where)
    prompt = row["prompt"]
    if not prompt.strip():
        raise ValueError(f"{where} has an empty prompt; restore it or drop the row")
    conversation = _CONVERSATION.search(prompt)
    profiles = _profiles(prompt, names, where)
    speaker = conversation["speaker"] if conversation else ""
    found = {
        "id": item_id,
        "track": track,
        "work": next((row[name] for name in WORK_COLUMNS if row.get(name)), None),
        "known_speaker": speaker,
        "known_text": conversation["known"] if conversation else "",
        "target_text": conversation["target"] if conversation else "",
        "candidates": tuple(
            Candidate(name=name, profile=profile)
            for name, profile in zip(names, profiles, strict=True)
        ),
        "truth": row["gt"],
        "tags": tags_of(speaker, names),
        "filtered_by": (FILTER,) if track in NUM_CANDIDATES else (),
        "prompt": prompt,
    }
    return from_row(RoleItem, found, where=where)


def _profiles(prompt: str, names: Sequence[str], where: str) -> list[str]:
    """Profiles from the numbered list of candidates, blank where it is laid out otherwise."""
    heads = []
    start = 0
    for number, name in enumerate(names, 1):
        line = _NUMBERED.format(number=number, name=re.escape(name.strip()))
        match = re.compile(line, re.M).search(prompt, start) if name.strip() else None
        if match is None:
            return [""] * len(names)
        heads.append(match)
        start = match.end()
    end = section.start() if (section := _SECTION.search(prompt, start)) else len(prompt)
    one_more = _NUMBERED.format(number=len(names) + 1, name=r"\S[^\n]{0,60}?")
    if section and re.compile(one_more, re.M).search(prompt, start, end):
        raise ValueError(
            f"{where}: the prompt lists more than its {len(names)} options; add the missing option "
            "column, or mend the prompt"
        )
    ends = [*(head.start() for head in heads[1:]), end]
    return [prompt[head.end() : stop].strip() for head, stop in zip(heads, ends, strict=True)]
