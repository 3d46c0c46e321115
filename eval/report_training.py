"""The adapters that answered, and how each was trained, as far as their bundles tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from data_prep.files import read_json
from data_prep.journal import Row
from data_prep.records import from_row
from data_prep.who import parse_who
from eval import report_figures as figures
from train.bundle import LEARNT_NOTHING, RECORD, PersonaBundle, find_bundle


def training_table(
    rows: Iterable[Row], adapters: Path | None, metrics: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Each adapter that answered, with its bundle or the reason why there is none to show.

    The version is the one the run noted; older runs noted none, then it is the promoted one.
    """
    noted = dict(full.split("@") for full in metrics["notes"].get("adapters", ()) if "@" in full)
    answerers = {parse_who(row["who"]) for row in rows}
    names = {str(who.name) for who in answerers if who.is_adapter} | set(noted)
    table = []
    for name in sorted(names):
        entry: dict[str, Any] = {"name": name, "version": noted.get(name), "bundle": None}
        entry["is_noted"] = name in noted
        try:
            if adapters is None:
                raise ValueError("no adapters folder was given")
            record = find_bundle(adapters, name, noted.get(name)) / RECORD
            entry["bundle"] = from_row(PersonaBundle, read_json(record), where=str(record))
        except (ValueError, OSError) as error:
            table.append({**entry, "problem": _reason(error, adapters)})
        else:
            table.append(entry | _training(entry["bundle"], metrics))
    return table


def _reason(error: Exception, adapters: Path | None) -> str:
    """The first clause of an error, without the path: reports travel."""
    text = str(error).split(";")[0]
    return text.replace(str(adapters), "the adapters folder") if adapters else text


def _training(bundle: PersonaBundle, metrics: Mapping[str, Any]) -> dict[str, Any]:
    distance = bundle.canary.distance()
    warnings = []
    if distance < LEARNT_NOTHING:
        warnings.append("learnt next to nothing")
    if bundle.corpus_digest != metrics["corpus"]["digest"]:
        warnings.append("trained on another state of the corpus; it may know held-out answers")
    return {
        "problem": None,
        "version": bundle.version,
        "summary": bundle.training,
        "distance": distance,
        "warnings": warnings,
        "curves": {
            name: figures.sparkline(losses)
            for name in ("validation_losses", "train_losses")
            if (losses := bundle.training.get(name))
        },
    }
