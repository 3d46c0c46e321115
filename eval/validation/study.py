"""Filled-in sheets: who rated what, how far people agree, and the judge among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from data_prep.files import read_jsonl
from eval.judging import Case
from eval.validation.agreement import (
    Ratings,
    cohen_kappa,
    fleiss_kappa,
    majority,
    mean,
    mean_against,
    mean_pairwise,
    pair_entry,
    quadratic_kappa,
    rounded,
    spearman,
)
from eval.validation.human import Labels
from eval.validation.sheets import ANSWERS
from eval.validation.tables import read_csv

SCORES = range(1, 6)


def read_key(path: Path) -> dict[str, dict[str, Any]]:
    """The key of a sheet, by item.

    Raises:
        ValueError: not a key.
    """
    rows = list(read_jsonl(path))
    if not rows or any(row.get("kind") not in ANSWERS or "item" not in row for row in rows):
        raise ValueError(f"{path} is not the key of a sheet; name the file ending in .key.jsonl")
    return {row["item"]: row for row in rows}


def read_filled(path: Path, key: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """One rater's labels by item; cells left empty are not labels.

    Raises:
        ValueError: names file and row: unknown or repeated items, labels out of range.
    """
    kind = next(iter(key.values()))["kind"]
    labels: dict[str, int] = {}
    seen: set[str] = set()
    for number, row in read_csv(path, ("item", ANSWERS[kind])):
        where, item = f"{path} row {number}", row["item"].strip()
        if item not in key:
            raise ValueError(f"{where}: item {item!r} is not in the key; is it another sheet?")
        if item in seen:
            raise ValueError(f"{where}: item {item!r} stands twice; keep one row")
        seen.add(item)
        if text := row[ANSWERS[kind]].strip():
            allowed = (
                range(1, key[item].get("num_candidates", 0) + 1) if kind == "choice" else SCORES
            )
            labels[item] = _label(text, allowed, where)
    return labels


def study(key: Mapping[str, Mapping[str, Any]], raters: Mapping[str, Ratings]) -> dict[str, Any]:
    """Completion, agreement of people, majority votes, and the judge or model beside them.

    Raises:
        ValueError: nobody filled anything in.
    """
    if not any(raters.values()):
        raise ValueError("the sheets are empty; fill in the last columns first")
    own = list(raters.values())
    complete = [item for item in key if all(item in labels for labels in own)]
    votes = _votes(key, own)
    kind = next(iter(key.values()))["kind"]
    found: dict[str, Any] = {
        "kind": kind,
        "num_items": len(key),
        "num_complete": len(complete),
        "completion": {name: round(len(r) / len(key), 6) for name, r in sorted(raters.items())},
        "between_people": {
            "pairs": [
                {"raters": [a, b], **pair_entry(raters[a], raters[b])}
                for a, b in combinations(sorted(raters), 2)
            ],
            "mean_cohen_kappa": rounded(mean_pairwise(own, cohen_kappa)),
            "fleiss_kappa": rounded(fleiss_kappa([[r[i] for r in own] for i in complete])),
        },
        "num_without_majority": sum(
            any(item in labels for labels in own) and item not in votes for item in key
        ),
        "majority": votes,
    }
    if kind == "choice":
        return found | {"accuracy": _accuracy(key, raters, votes)}
    found["between_people"] |= {
        "mean_quadratic_kappa": rounded(mean_pairwise(own, quadratic_kappa)),
        "mean_spearman": rounded(mean_pairwise(own, spearman)),
    }
    return found | {"judge": _judge(key, raters, votes)}


def labels_of(key: Mapping[str, Mapping[str, Any]], raters: Mapping[str, Ratings]) -> Labels:
    """What `personae judge validate --labels` needs; texts come from the key, not from sheets."""
    if any(row["kind"] != "score" for row in key.values()):
        raise ValueError("only sheets with scores make labels for a judge's validation")
    rated = {item for labels in raters.values() for item in labels}
    return Labels(
        cases={
            item: Case(
                reply_key=item,
                persona_name=row["persona_name"],
                question=row["question"],
                reference=row["real_answer"],
                candidate=row["second_answer"],
                candidate_status="ok",
            )
            for item, row in key.items()
            if item in rated
        },
        units={item: row["persona_id"] for item, row in key.items() if item in rated},
        raters={name: dict(labels) for name, labels in raters.items()},
    )


def _votes(key: Mapping[str, Any], raters: Sequence[Ratings]) -> dict[str, int]:
    votes = {item: majority([r[item] for r in raters if item in r]) for item in key}
    return {item: vote for item, vote in votes.items() if vote is not None}


def _judge(
    key: Mapping[str, Mapping[str, Any]], raters: Mapping[str, Ratings], votes: Ratings
) -> dict[str, Any]:
    """The judge's own scores of the same replies; unscored ones drop out and are counted."""
    scores = {i: row["judge_score"] for i, row in key.items() if row["judge_score"] is not None}
    own = list(raters.values())
    return {
        "names": sorted({row["judge"] for row in key.values() if row["judge"]}),
        "num_unscored": len(key) - len(scores),
        "mean_quadratic_kappa": rounded(mean_against(scores, own, quadratic_kappa)),
        "mean_spearman": rounded(mean_against(scores, own, spearman)),
        "with_majority": pair_entry(scores, votes),
        "raters": {name: pair_entry(scores, r) for name, r in sorted(raters.items())},
    }


def _accuracy(
    key: Mapping[str, Mapping[str, Any]], raters: Mapping[str, Ratings], votes: Ratings
) -> dict[str, Any]:
    """Of each rater on what they did, and of the majority; an item without one is wrong."""

    def share(labels: Ratings, items: Sequence[str]) -> float | None:
        return rounded(mean([float(labels.get(item) == key[item]["answer"]) for item in items]))

    each = {name: share(r, [i for i in key if i in r]) for name, r in sorted(raters.items())}
    voted = [item for item in key if any(item in labels for labels in raters.values())]
    return {
        "raters": each,
        "mean_of_raters": rounded(mean([value for value in each.values() if value is not None])),
        "majority": share(votes, voted),
    }


def _label(text: str, allowed: range, where: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) not in allowed:
        raise ValueError(
            f"{where}: found {text!r}, expected a whole number from 1 to {allowed[-1]}"
        )
    return int(text)
