"""Everything a run asks: items x answerers x orders x samples x attempts, planned at once.

A later attempt is asked only where the ones before it could not be read, but its key is fixed
here, so that a resumed run and a scored one find it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from data_prep.engine import Engine, Request, request_key
from eval.personaeval.asking import request_of, shown_order
from eval.personaeval.config import RoleConfig
from eval.personaeval.items import RoleItem

BASE = "BASE"


@dataclass(frozen=True)
class Use:
    """One answer that enters a number: its row is the first readable one of `keys`.

    `order` holds the item's candidate positions as they were shown.
    """

    item_id: str
    answerer: str
    rotation: int
    sample: int
    order: tuple[int, ...]
    keys: tuple[str, ...]  # by attempt


@dataclass
class Plan:
    """Uses of all rows, and the request behind every key, in the order they are asked."""

    uses: list[Use] = field(default_factory=list)
    requests: dict[str, Request] = field(default_factory=dict)

    def attempt(self, number: int, uses: Sequence[Use]) -> dict[str, Request]:
        return {use.keys[number]: self.requests[use.keys[number]] for use in uses}


def plan_run(
    items: Sequence[RoleItem],
    shots: Mapping[str, Sequence[RoleItem]],
    engine: Engine,
    config: RoleConfig,
) -> Plan:
    """All requests of a run, answerers apart so that an engine loads each adapter once.

    Raises:
        ValueError: an item cannot be asked as the settings want it.
    """
    plan = Plan()
    operation = operation_of(config)
    attempts = config.attempts if config.mode == "generate" else 1
    for answerer in (BASE, *config.adapters):
        adapter = None if answerer == BASE else answerer
        for item in items:
            for rotation in range(num_rotations(item, config)):
                for sample in range(config.samples):
                    keys = []
                    for attempt in range(attempts):
                        request = request_of(
                            item,
                            shots.get(item.track, ()),
                            config,
                            rotation=rotation,
                            sample=sample,
                            attempt=attempt,
                            adapter=adapter,
                        )
                        keys.append(request_key(operation, request, engine.identity))
                        plan.requests[keys[-1]] = request
                    order = shown_order(item, rotation)
                    plan.uses.append(Use(item.id, answerer, rotation, sample, order, tuple(keys)))
    return plan


def operation_of(config: RoleConfig) -> str:
    return "choose" if config.mode == "likelihood" else "generate"


def num_rotations(item: RoleItem, config: RoleConfig) -> int:
    count = len(item.candidates)
    return count if config.rotations == "all" else min(config.rotations, count)
