"""Blinded sheets for people: what is drawn, what they see, and the key that stays behind.

A sheet shows no method, no judge and no score, in an order that tells nothing. What an item is
stands in a key file that raters do not get.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from data_prep.files import read_jsonl, write_jsonl
from data_prep.journal import Row, read_rows, read_table
from eval.personaeval.items import RoleItem, item_row, load_items
from eval.personaeval.plan import BASE
from eval.score import verdict_key
from eval.validation.tables import write_csv

Kind = Literal["score", "choice"]
ANSWERS = {"score": "score", "choice": "choice"}  # the column that people fill in
SHOWN: dict[Kind, tuple[str, ...]] = {
    "score": ("question", "real_answer", "second_answer"),
    "choice": ("conversation", "reply", "candidates"),
}


@dataclass(frozen=True)
class Sheet:
    """Rows for people, and the key to them, in the same order."""

    kind: Kind
    rows: list[dict[str, str]]
    key: list[dict[str, Any]]


def sheet_of_run(run: Path, *, num: int, seed: int) -> Sheet:
    """Replies of a scored run, stratified by person and method.

    Raises:
        ValueError: the run was not scored, or has no replies in words.
    """
    answers = run / "score" / "answers.parquet"
    if not answers.exists():
        raise ValueError(f"{run} was not scored; run `personae eval --stage score` first")
    rows = [row for row in read_table(answers) if row["reply_status"] == "ok"]
    rows = [row for row in rows if row["reply"].strip()]
    if not rows:
        raise ValueError(f"{run} has no replies in words; set eval.generate.questions_per_persona")
    names = {row["persona_id"]: row["persona_id"] for row in rows}
    names |= _names(run)
    drawn = stratified(rows, num, seed)
    shown, key = [], []
    for number, row in enumerate(drawn, 1):
        texts = {
            "question": row["question"],
            "real_answer": row["reference"],
            "second_answer": row["reply"],
        }
        shown.append({"item": _item(number), **texts})
        key.append(
            {
                "item": _item(number),
                "kind": "score",
                "reply_key": verdict_key(row),
                "persona_id": row["persona_id"],
                "persona_name": names[row["persona_id"]],
                "method": row["method"],
                "judge": row["judge"],
                "judge_score": row["score"] if row["status"] == "ok" else None,
                "judge_status": row["status"],
                **texts,
            }
        )
    return Sheet("score", shown, key)


def sheet_of_errors(run: Path, *, num: int, seed: int) -> Sheet:
    """Items that a model got wrong and was surest of, in an order that tells nothing.

    Args:
        run: a role-identification run, or its `answers.jsonl`.

    Raises:
        ValueError: not such a run, or the model made no error.
    """
    folder = run if run.is_dir() else run.parent
    items = {item.id: item for item in load_items([folder / "items.jsonl"])}
    wrong = [
        answer for row in read_jsonl(folder / "answers.jsonl") if (answer := _error(row, items))
    ]
    if not wrong:
        raise ValueError(f"{folder} holds no errors of the base model; name another run")
    wrong.sort(key=lambda row: (-row["confidence"], row["item_id"]))
    chosen = wrong[:num]
    random.Random(f"sheet/{seed}").shuffle(chosen)
    replies = read_rows(folder / "rows").by_key
    key = [
        {
            "item": _item(number),
            "kind": "choice",
            "num_candidates": len(item.candidates),
            "answer": item.truth_index + 1,
            "prediction": row["prediction"],
            "confidence": row["confidence"],
            "reasoning": replies.get(row["key"], {}).get("text"),
            "source": item_row(item),
        }
        for number, row in enumerate(chosen, 1)
        for item in [items[row["item_id"]]]
    ]
    shown = [_choice_row(n, items[row["item_id"]]) for n, row in enumerate(chosen, 1)]
    return Sheet("choice", shown, key)


def _error(row: Mapping[str, Any], items: Mapping[str, RoleItem]) -> dict[str, Any] | None:
    """The base model's first answer to an item, if it prefers somebody who did not speak."""
    is_first = (row["answerer"], row["rotation"], row["sample"]) == (BASE, 0, 0)
    if not is_first or row["status"] != "ok" or not items[row["item_id"]].can_render:
        return None
    shares = row["probabilities"]
    confidence = max(shares)
    position = shares.index(confidence)
    if position == items[row["item_id"]].truth_index:
        return None
    return {**row, "confidence": confidence, "prediction": position + 1}


def write_sheet(sheet: Sheet, path: Path) -> Path:
    """Write the sheet, and its key beside it; returns where the key is.

    Raises:
        ValueError: there are files already: someone may have filled them in.
    """
    key = path.with_suffix(".key.jsonl")
    for there in (path, key):
        if there.exists():
            raise ValueError(f"{there} exists; name another file with --out, or delete it")
    columns = ("item", *SHOWN[sheet.kind], ANSWERS[sheet.kind], "comment")
    empty = {ANSWERS[sheet.kind]: "", "comment": ""}
    write_csv(path, columns, [row | empty for row in sheet.rows])
    write_jsonl(key, sheet.key)
    return key


def stratified(rows: Sequence[Row], num: int, seed: int) -> list[Row]:
    """At most `num` different replies, from each person and method in turn, then shuffled."""
    chance = random.Random(f"sheet/{seed}")
    strata: dict[tuple[str, str], list[Row]] = {}
    for row in sorted(rows, key=lambda row: (row["persona_id"], row["method"], row["pair_id"])):
        strata.setdefault((row["persona_id"], row["method"]), []).append(row)
    order = list(strata.values())
    chance.shuffle(order)
    for own in order:
        chance.shuffle(own)
    drawn: dict[str, Row] = {}  # two methods may share a reply
    while len(drawn) < num and any(order):
        for own in order:
            if own and len(drawn) < num:
                row = own.pop()
                drawn.setdefault(verdict_key(row), row)
    chosen = list(drawn.values())
    chance.shuffle(chosen)
    return chosen


def _choice_row(number: int, item: RoleItem) -> dict[str, str]:
    candidates = "\n".join(f"{n}. {c.name}: {c.profile}" for n, c in enumerate(item.candidates, 1))
    return {
        "item": _item(number),
        "conversation": f"{item.known_speaker}: {item.known_text}",
        "reply": item.target_text,
        "candidates": candidates,
    }


def _item(number: int) -> str:
    return f"i{number:04d}"


def _names(run: Path) -> Mapping[str, str]:
    from data_prep.files import read_json

    metrics = run / "metrics.json"
    people = read_json(metrics)["corpus"]["people"] if metrics.exists() else {}
    return {name: entry["name"] for name, entry in people.items()}
