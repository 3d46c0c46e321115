"""What a model is asked about an item: messages, examples before them, and the options' order.

One user message, no system message (PersonaEval, spec section 2). What all items share comes
first: instructions, then the examples. A pre-rendered official prompt is sent as it is.
"""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from data_prep.engine import Request, Sampling
from data_prep.prompting import read_prompt
from eval.personaeval.config import RoleConfig
from eval.personaeval.items import RoleItem

PROMPTS = Path(__file__).parent / "prompts"
GENERATE_PROMPT = "role-identification.v1"
LIKELIHOOD_PROMPT = "who-speaks.v1"
SHOT_CONFIDENCE = 0.85  # in an example's answer; certainty would be learnt as a habit

_FIELD = re.compile(r"\{(\w+)\}")


def request_of(
    item: RoleItem,
    shots: Sequence[RoleItem],
    config: RoleConfig,
    *,
    rotation: int = 0,
    sample: int = 0,
    attempt: int = 0,
    adapter: str | None = None,
) -> Request:
    """The request of one item, in one order of its candidates.

    Raises:
        ValueError: another order than the pre-rendered one is asked for and cannot be made.
    """
    order = shown_order(item, rotation)
    if config.mode == "likelihood":
        return Request(
            messages=({"role": "user", "content": likelihood_text(item, shots, order)},),
            adapter=adapter,
            options=tuple(item.names[k] for k in order),
            template_args=config.template_args,
        )
    drawn = config.samples > 1 or attempt > 0
    return Request(
        messages=({"role": "user", "content": generate_text(item, shots, order)},),
        adapter=adapter,
        sampling=Sampling(
            max_tokens=config.max_tokens,
            temperature=config.temperature if drawn else 0.0,
            seed=config.seed + sample + 1000 * attempt if drawn else 0,
        ),
        template_args=config.template_args,
    )


def shown_order(item: RoleItem, rotation: int) -> tuple[int, ...]:
    """Positions of the candidates as they are shown: the list begins `rotation` places later."""
    count = len(item.candidates)
    return tuple((place + rotation) % count for place in range(count))


def generate_text(item: RoleItem, shots: Sequence[RoleItem], order: Sequence[int]) -> str:
    """The message that asks for a distribution."""
    unchanged = list(order) == sorted(order)
    if item.prompt is not None and unchanged:
        return _official_examples(shots) + item.prompt
    _refuse_unrenderable(item, "another order of the candidates")
    return _fill(
        read_prompt(PROMPTS, GENERATE_PROMPT),
        {
            "examples": "".join(_example(n, shot) for n, shot in enumerate(shots, 1)),
            "known_speaker": item.known_speaker,
            "known_text": item.known_text,
            "target_text": item.target_text,
            "num_candidates": str(len(order)),
            "candidates": _numbered(item, order),
            "skeleton": _json({item.names[k]: f"<probability of {item.names[k]}>" for k in order}),
        },
    )


def likelihood_text(item: RoleItem, shots: Sequence[RoleItem], order: Sequence[int]) -> str:
    """The message behind which the candidates' names are compared."""
    _refuse_unrenderable(item, "the likelihood form")
    return _fill(read_prompt(PROMPTS, LIKELIHOOD_PROMPT), _short(item, order) | {
        "examples": "".join(_short_example(shot) for shot in shots),
    })  # fmt: skip


def pick_shots(
    items: Sequence[RoleItem], num_shots: int, seed: int
) -> tuple[dict[str, list[RoleItem]], list[RoleItem]]:
    """Examples by track, and the items that remain to be scored.

    All examples of a track come from one work, drawn by the seed, and no item of that work is
    scored; so 1, 3 and 5 examples are scored on the same items. Where works are unknown, only
    five items are set aside. The truth of successive examples stands at different places.

    Raises:
        ValueError: a track has too few works or items.
    """
    if not num_shots:
        return {}, list(items)
    shots: dict[str, list[RoleItem]] = {}
    aside: set[str] = set()
    for track in dict.fromkeys(item.track for item in items):
        own = [item for item in items if item.track == track]
        pool = _pool(own, track, seed)
        shots[track] = draw_shots(pool, num_shots, seed)
        aside.update(item.id for item in pool)
    return shots, [item for item in items if item.id not in aside]


def _pool(own: Sequence[RoleItem], track: str, seed: int) -> list[RoleItem]:
    chance = random.Random(f"{seed}/{track}")
    sizes = Counter(item.work for item in own if item.work is not None)
    large = sorted(work for work, size in sizes.items() if size >= 5)
    if sizes and (len(sizes) < 2 or not large):
        raise ValueError(
            f"track {track!r} has {len(sizes)} works and {len(large)} with five items or more; "
            "examples need a work of their own, so add items, name --shots, or set role.shots=0"
        )
    if large:
        chosen = chance.choice(large)
        return [item for item in own if item.work == chosen]
    if len(own) <= 5:
        raise ValueError(f"track {track!r} has {len(own)} items, examples need more than 5")
    return chance.sample(list(own), 5)


def draw_shots(pool: Sequence[RoleItem], num_shots: int, seed: int) -> list[RoleItem]:
    """The first of one fixed order, so that 1 example is among the 3 and these among the 5.

    Raises:
        ValueError: the pool is too small.
    """
    if len(pool) < num_shots:
        raise ValueError(f"{len(pool)} items to take {num_shots} examples from; add some")
    left = sorted(pool, key=lambda item: item.id)
    random.Random(f"{seed}/shots").shuffle(left)
    chosen: list[RoleItem] = []
    while len(chosen) < num_shots:
        used = [item.truth_index for item in chosen]
        best = min(left, key=lambda item: used.count(item.truth_index))
        chosen.append(best)
        left.remove(best)
    return chosen


def _example(number: int, shot: RoleItem) -> str:
    return (
        f"\n# Example {number}\n\n[Character1: {shot.known_speaker}]\n[Begin]\n{shot.known_text}\n"
        f"[End]\n\n[Character2]\n[Begin]\n{shot.target_text}\n[End]\n\n"
        f"{_numbered(shot, range(len(shot.candidates)))}\n\nAnswer:\n{_answer(shot)}\n"
    )


def _official_examples(shots: Sequence[RoleItem]) -> str:
    return "".join(
        f"Example {n}\n\n{shot.prompt or generate_text(shot, (), range(len(shot.candidates)))}\n\n"
        f"Answer:\n{_answer(shot)}\n\n"
        for n, shot in enumerate(shots, 1)
    )


def _answer(shot: RoleItem) -> str:
    rest = round((1 - SHOT_CONFIDENCE) / (len(shot.names) - 1), 6)
    given = {name: SHOT_CONFIDENCE if name == shot.truth else rest for name in shot.names}
    return f"```json\n{_json(given)}\n```"


def _short_example(shot: RoleItem) -> str:
    order = range(len(shot.candidates))
    body = read_prompt(PROMPTS, LIKELIHOOD_PROMPT).partition("{examples}")[2]
    return f"{_fill(body, _short(shot, order))}\n{shot.truth}\n"


def _short(item: RoleItem, order: Sequence[int]) -> dict[str, str]:
    return {
        "known_speaker": item.known_speaker,
        "known_text": item.known_text,
        "target_text": item.target_text,
        "candidates": "\n".join(
            f"- {item.candidates[k].name}: {item.candidates[k].profile}" for k in order
        ),
    }


def _numbered(item: RoleItem, order: Sequence[int]) -> str:
    return "\n\n".join(
        f"{place}. {item.candidates[k].name}\n{item.candidates[k].profile}"
        for place, k in enumerate(order, 1)
    )


def _refuse_unrenderable(item: RoleItem, purpose: str) -> None:
    if not item.can_render:
        raise ValueError(
            f"item {item.id!r} has only a pre-rendered prompt whose texts could not be told apart, "
            f"which {purpose} needs; set role.mode=generate and role.rotations=1"
        )


def _json(value: Mapping[str, object]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _fill(template: str, fields: dict[str, str]) -> str:
    """Put texts into a template once; braces inside a text stay as they are."""
    return _FIELD.sub(lambda match: fields.get(match[1], match[0]), template)
