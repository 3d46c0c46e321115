"""A judge with and without thinking aloud, where its chat template has that switch.

The template is not read: an engine may be anywhere. The same question is asked with the switch
on and off; a template that knows it makes two different prompts, or the model thinks in one.
Thinking and a constraint to the verdict's schema exclude each other, so both sides are asked
without one.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

from eval.validation.asks import Answers, Ask
from eval.validation.config import ValidateConfig
from eval.validation.figures import figure, measure, result
from eval.validation.plan import LADDER, Planner
from eval.validation.probes import in_order

PROBE = "reasoning"
SWITCH = "reasoning_switch"
SIDES = {"on": True, "off": False}
SWITCH_TOKENS = 16


def switch_asks(planner: Planner) -> list[Ask]:
    """One question with the switch on and off; a few tokens show whether the model thinks."""
    first = planner.subjects[0]
    return [
        _with_switch(side, planner.verdict(SWITCH, first, side, first.truth), SWITCH_TOKENS)
        for side in SIDES
    ]


def has_switch(answers: Answers) -> bool | None:
    """Whether on and off differ; None where a reply was lost."""
    [item] = answers.items(SWITCH)
    on, off = (item.outcomes[side] for side in SIDES)
    if on.is_lost or off.is_lost:
        return None
    return on.num_prompt_tokens != off.num_prompt_tokens or on.has_reasoning != off.has_reasoning


def reasoning_asks(planner: Planner, count: int) -> list[Ask]:
    """The ladder on both sides; thinking gets room of its own."""
    room = {"on": planner.config.max_reasoning_tokens, "off": 0}
    return [
        _with_switch(
            side,
            planner.verdict(PROBE, subject, f"{side}/{step}", getattr(subject, step)),
            planner.judge.max_tokens + room[side],
        )
        for subject in planner.subjects[:count]
        for side in SIDES
        for step in LADDER
    ]


def reasoning(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Ordered triples with thinking and without; a comparison, so nothing is to be reached."""
    items = answers.items(PROBE)
    figures = {}
    for side in SIDES:
        ordered = [
            measure(
                item,
                [f"{side}/{step}" for step in triple],
                lambda *scores, triple=triple: in_order(triple, scores),
            )
            for item in items
            for triple in combinations(LADDER, 3)
        ]
        figures[f"ordered_triples_{side}"] = figure(ordered, against=0, in_favour=1)
    found = result(figures, [], items, min_items=1)
    return found | {"status": "measured"}


def _with_switch(side: str, own: Ask, max_tokens: int) -> Ask:
    request = replace(
        own.request,
        sampling=replace(own.request.sampling, max_tokens=max_tokens),
        constraint=None,
        template_args={"enable_thinking": SIDES[side]},
    )
    return replace(own, request=request)
