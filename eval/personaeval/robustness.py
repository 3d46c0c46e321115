"""Does the answer depend on where a candidate stands in the list?

A judge that follows the place and not the person is right 1/K of the time whatever is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from eval.personaeval.answers import Answer
from eval.personaeval.items import RoleItem
from eval.personaeval.metrics import predicted


def order_effects(answers: Sequence[Answer], items: Sequence[RoleItem]) -> dict[str, Any]:
    """Accuracy by the truth's place, how often each place is chosen, and what rotating changes.

    Places count from 1 as shown; an invalid answer is wrong at its place. `same_place_share`
    and `same_name_share` are over items with two or more orders, all of them valid: always the
    same place is chosen, or always the same person.
    """
    by_id = {item.id: item for item in items}
    right: dict[int, list[bool]] = {}
    chosen: dict[int, int] = {}
    orders: dict[tuple[str, int], list[tuple[int, int] | None]] = {}
    for answer in answers:
        item, vector = by_id[answer["item_id"]], answer["probabilities"]
        places = {position: place for place, position in enumerate(answer["order"], 1)}
        name = None if vector is None else predicted(vector)
        right.setdefault(places[item.truth_index], []).append(name == item.truth_index)
        if name is not None:
            chosen[places[name]] = chosen.get(places[name], 0) + 1
        orders.setdefault((item.id, answer["sample"]), []).append(
            None if name is None else (places[name], name)
        )
    whole = [own for own in orders.values() if len(own) > 1 and None not in own]
    num_chosen = sum(chosen.values())
    return {
        "accuracy_by_place": {
            str(place): {"top1": sum(own) / len(own), "num_answers": len(own)}
            for place, own in sorted(right.items())
        },
        "chosen_share_by_place": {
            str(place): count / num_chosen for place, count in sorted(chosen.items())
        },
        "num_rotated": sum(len(own) > 1 for own in orders.values()),
        "num_rotated_valid": len(whole),
        "same_place_share": _share(whole, 0),
        "same_name_share": _share(whole, 1),
        "top1_over_orders": sum(map(sum, right.values())) / max(sum(map(len, right.values())), 1),
    }


def _share(groups: Sequence[Sequence[Any]], part: int) -> float | None:
    if not groups:
        return None
    return sum(len({answer[part] for answer in own}) == 1 for own in groups) / len(groups)
