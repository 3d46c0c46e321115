"""Read a prepared corpus folder: people, interviews, Q&A pairs and their split."""

from __future__ import annotations

import difflib
from functools import cached_property
from pathlib import Path
from typing import Literal

from data_prep.files import check_manifest, read_json, read_jsonl
from data_prep.journal import read_table
from data_prep.records import Interview, Persona, PersonaSplit, QAPair, content_hash, from_row

Part = Literal["train", "validation", "test"]


class Corpus:
    """A corpus on disk; pairs are read one person at a time.

    Raises:
        ValueError: not a corpus folder, or written by a newer tool.
    """

    def __init__(self, folder: Path) -> None:
        if not (folder / "manifest.json").exists():
            raise ValueError(
                f"{folder} is not a corpus (no manifest.json); make one with `personae prep`, "
                "or run it again if it was stopped"
            )
        self.folder = folder
        self.manifest = check_manifest(folder, "prep")

    @cached_property
    def personas(self) -> dict[str, Persona]:
        rows = read_jsonl(self.folder / "personas.jsonl")
        people = [from_row(Persona, row, where="personas.jsonl") for row in rows]
        return {persona.id: persona for persona in people}

    @cached_property
    def interviews(self) -> list[Interview]:
        return [from_row(Interview, row) for row in read_jsonl(self.folder / "interviews.jsonl")]

    @cached_property
    def splits(self) -> dict[str, PersonaSplit]:
        rows = read_json(self.folder / "splits.json")["personas"]
        return {row["persona_id"]: from_row(PersonaSplit, row) for row in rows}

    def persona(self, persona_id: str) -> Persona:
        """Raises ValueError, with the nearest id, when there is no such person."""
        if persona_id not in self.personas:
            close = difflib.get_close_matches(persona_id, self.personas, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(
                f"no persona {persona_id!r} in {self.folder}; {hint}"
                f"known: {', '.join(sorted(self.personas))}"
            )
        return self.personas[persona_id]

    def pairs(self, persona_id: str) -> list[QAPair]:
        """All Q&A pairs of a person, oldest first."""
        self.persona(persona_id)
        path = self.folder / "qa.parquet" / f"{persona_id}.parquet"
        return [from_row(QAPair, row, where=str(path)) for row in read_table(path)]

    def part(self, persona_id: str, part: Part) -> list[QAPair]:
        """A person's pairs of one part of the split, oldest first.

        Raises:
            ValueError: the person could not be split.
        """
        pairs = {pair.id: pair for pair in self.pairs(persona_id)}
        if persona_id not in self.splits:
            raise ValueError(
                f"persona {persona_id!r} has no split (too few exchanges); add transcripts, "
                f"stats.json says how many there are"
            )
        return [pairs[pair_id] for pair_id in getattr(self.splits[persona_id], part)]

    def digest(self) -> str:
        """Identity of the corpus: a hash over its inputs, settings and counts."""
        parts = [self.manifest.get(name) for name in ("inputs", "config", "counts")]
        return content_hash(parts, digits=12)
