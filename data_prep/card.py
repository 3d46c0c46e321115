"""`card.md`: what a corpus holds, for the person who is handed the folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from data_prep.files import write_text
from data_prep.records import Persona

SPLITS = {
    "by_interview": "latest interviews held out",
    "within_interview": "end of the only interview held out (weaker)",
    None: "none: too few exchanges",
}


def write_card(path: Path, stats: Mapping[str, Any], people: Sequence[Persona]) -> None:
    lines = [
        "# Corpus card",
        "",
        f"{stats['personas']} people, {stats['interviews']} interviews, {stats['pairs']} question "
        f"and answer pairs; {stats['rejected']} documents refused (see `rejects.jsonl`).",
        "",
        "| person | category | interviews | pairs | words a reply | test set | licence | consent |",
        "|---|---|---|---|---|---|---|---|",
        *[_line(persona, stats["by_persona"][persona.id]) for persona in people],
        "",
    ]
    if stats["reject_reasons"]:
        reasons = ", ".join(f"{reason} {n}" for reason, n in stats["reject_reasons"].items())
        lines += [f"Refused, by reason: {reasons}.", ""]
    if stats["undated_interviews"]:
        lines += [
            f"Undated, taken as the oldest: {', '.join(stats['undated_interviews'])}.",
            "",
        ]
    lines += [f"Not split: {problem}." for problem in stats["not_split"].values()]
    write_text(path, "\n".join(lines).rstrip() + "\n")


def _line(persona: Persona, own: Mapping[str, Any]) -> str:
    words = own["answer_words"] / own["pairs"] if own["pairs"] else 0
    cells = [
        f"{persona.name} (`{persona.id}`)",
        persona.category or "-",
        str(own["interviews"]),
        str(own["pairs"]),
        f"{words:.0f}",
        SPLITS[own["split"]],
        persona.licence or "not stated",
        ", ".join(persona.consent.scopes) if persona.consent else "not recorded",
    ]
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
