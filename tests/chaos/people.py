"""Fictional people and their interviews, in the formats that people bring."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path

NAMES = ("Ada Quill", "Bo Fenn", "Cleo Marsh", "Dov Hale", "Eda Lind", "Finn Roe")
SUBJECTS = "harbour kiln orchard telescope bakery choir lighthouse bicycle archive ferry".split()
VERBS = "mended painted sold carried lost borrowed measured hid found photographed".split()
THINGS = "a bell, two ladders, the old map, my coat, a clock, the last boat, some bread".split(", ")
PLACES = "by the river, at home, in the cellar, on the hill, after the war, in March".split(", ")

Exchange = tuple[str, str]


def write_people(raw: Path, names: Sequence[str], num_interviews: int, num_exchanges: int) -> Path:
    """A folder per person, an interview a year, each person's files in all formats in turn."""
    for number, name in enumerate(names):
        folder = raw / name.lower().replace(" ", "-")
        folder.mkdir(parents=True)
        for year in range(2000 + number, 2000 + number + num_interviews):
            write = FORMATS[year % len(FORMATS)]
            write(folder / f"{year}-05-01_talk", name, exchanges(name, year, num_exchanges))
    rows = [
        {"id": name.lower().replace(" ", "-"), "name": name, "category": f"Guild {index % 2}"}
        for index, name in enumerate(names)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (raw / "personas.jsonl").write_text(lines, encoding="utf-8")
    return raw


def exchanges(name: str, year: int, count: int) -> list[Exchange]:
    """No two answers are alike; the same arguments give the same words."""
    chance = random.Random(f"{name} {year}")
    told = []
    for number in range(1, count + 1):
        subject = chance.choice(SUBJECTS)
        did = [
            f"I {chance.choice(VERBS)} {chance.choice(THINGS)} {chance.choice(PLACES)}"
            for _ in range(3)
        ]
        question = f"What happened at the {subject} in {year}, part {number} of the story?"
        told.append((question, f"In {year}, on day {number}, " + ", then ".join(did) + "."))
    return told


def _labelled(path: Path, name: str, told: Sequence[Exchange]) -> None:
    text = "".join(f"INTERVIEWER: {q}\n\n{name.upper()}: {a}\n\n" for q, a in told)
    path.with_suffix(".txt").write_text(text, encoding="utf-8")


def _markdown(path: Path, name: str, told: Sequence[Exchange]) -> None:
    text = "# A talk\n\n" + "".join(f"**Host:** {q}\n\n**{name}:** {a}\n\n" for q, a in told)
    path.with_suffix(".md").write_text(text, encoding="utf-8")


def _subtitles(path: Path, name: str, told: Sequence[Exchange]) -> None:
    cues = ["WEBVTT"]
    said = [(who, text) for q, a in told for who, text in (("Host", q), (name, a))]
    for number, (who, text) in enumerate(said):
        minute = f"00:{number:02d}"
        cues.append(f"{minute}:00.000 --> {minute}:50.000\n<v {who}>{text}</v>")
    path.with_suffix(".vtt").write_text("\n\n".join(cues) + "\n", encoding="utf-8")


def _json(path: Path, name: str, told: Sequence[Exchange]) -> None:
    said = [(who, text) for q, a in told for who, text in (("Host", q), (name, a))]
    turns = [{"speaker": who, "text": text} for who, text in said]
    path.with_suffix(".json").write_text(json.dumps({"turns": turns}), encoding="utf-8")


def _word(path: Path, name: str, told: Sequence[Exchange]) -> None:
    import docx

    document = docx.Document()
    for question, answer in told:
        document.add_paragraph(f"Host: {question}")
        document.add_paragraph(f"{name}: {answer}")
    document.save(str(path.with_suffix(".docx")))


FORMATS: tuple[Callable[[Path, str, Sequence[Exchange]], None], ...] = (
    _labelled,
    _markdown,
    _subtitles,
    _json,
    _word,
)
