"""Keep the items that several models find hard, and remember who decided.

PersonaEval drops an item where one model gives the truth more than 0.5, which depresses that
model's whole family (spec section 7.4). Several models share the decision here, and each item
keeps their names, so that a run with a relative says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from data_prep.files import read_json, read_jsonl
from eval.personaeval.items import RoleItem
from eval.personaeval.metrics import Vector
from eval.personaeval.plan import BASE

Results = Mapping[str, Mapping[str, Vector]]  # model -> item id -> probabilities


@dataclass(frozen=True)
class Dropped:
    """A record that became no item, and why."""

    id: str
    reason: str
    detail: str


def keep_hard(
    items: Sequence[RoleItem], results: Results, *, at_least: int, limit: float = 0.5
) -> tuple[list[RoleItem], list[Dropped]]:
    """Items to whose truth at least `at_least` models give no more than `limit`.

    A model without a readable answer says nothing about an item.

    Raises:
        ValueError: more models are asked to agree than there are.
    """
    if not 1 <= at_least <= len(results):
        raise ValueError(
            f"{at_least} models must find an item hard, but {len(results)} answered; "
            "lower curate.hard_models or add results"
        )
    kept, dropped = [], []
    for item in items:
        vectors = [own[item.id] for own in results.values() if own.get(item.id) is not None]
        given = [vector[item.truth_index] for vector in vectors]
        num_hard = sum(value <= limit for value in given)
        if num_hard >= at_least:
            models = tuple(dict.fromkeys([*item.filtered_by, *results]))
            kept.append(replace(item, filtered_by=models))
        else:
            detail = f"hard for {num_hard} of the {len(given)} models that answered"
            reason = "too_easy" if len(given) >= at_least else "too_few_answers"
            dropped.append(Dropped(item.id, reason, detail))
    return kept, dropped


def read_results(run: Path) -> tuple[str, dict[str, Vector]]:
    """A finished run's model, and the base's vectors in the items' own order.

    Raises:
        ValueError: not a finished run.
    """
    model = str(read_json(run / "metrics.json")["model"])
    found = {
        row["item_id"]: row["probabilities"]
        for row in read_jsonl(run / "answers.jsonl")
        if row["answerer"] == BASE and row["rotation"] == 0 and row["sample"] == 0
    }
    return model, {item_id: vector for item_id, vector in found.items() if vector is not None}


def family(model: str) -> str:
    """The letters a model's name begins with: Qwen/Qwen2.5-7B-Instruct is of qwen."""
    name = model.strip().rstrip("/").split("/")[-1].removeprefix("packaged:").partition(":")[0]
    letters = re.match(r"[^\W\d_]+", name.casefold())
    return letters[0] if letters else name.casefold()
