"""The probes that need nothing but a corpus: figures from what the judge replied.

Each takes the answers and returns its entry of the file. What is asked is in `plan.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Any

from eval.validation.asks import Answers, Item
from eval.validation.config import ValidateConfig
from eval.validation.figures import Measure, condition, figure, measure, result
from eval.validation.plan import LADDER, ORDERS, RATED, SWAPS, TEMPERATURES

EQUAL_CONTENT = ({"truth", "paraphrase"}, {"other", "shuffled"})  # may get the same score


def corpus_probes(answers: Answers, config: ValidateConfig) -> dict[str, dict[str, Any]]:
    """All of them by name."""
    return {
        "order_swap": order_swap(answers, config),
        "self_agreement": self_agreement(answers, config),
        "scale_use": scale_use(answers, config),
        "monotonicity": monotonicity(answers, config),
        "length_bias": length_bias(answers, config),
        "master_keys": master_keys(answers, config),
        "readability": readability(answers, config),
    }


def order_swap(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Is the same answer chosen whichever stands first?"""
    items = answers.items("order_swap")
    consistent = [measure(item, ORDERS, lambda ab, ba: ab != ba) for item in items]
    first = [
        measure(item, (order,), lambda chosen: chosen == 0) for item in items for order in ORDERS
    ]
    figures = {
        "consistent": figure(consistent, against=0, in_favour=1),
        "first_chosen": figure(first, against=0, in_favour=1),
    }
    for kind in SWAPS:
        own = [item for item in items if item.id.endswith(f"/{kind}")]
        measures = [measure(item, ORDERS, lambda ab, ba: ab != ba) for item in own]
        figures[f"consistent_{kind}"] = figure(measures, against=0, in_favour=1)
    easy = [item for item in items if item.id.endswith("/easy")]
    right = [measure(item, ORDERS, lambda ab, ba: (ab, ba) == (0, 1)) for item in easy]
    figures["right_in_both_orders_easy"] = figure(right, against=0, in_favour=1)
    least = config.thresholds.min_order_consistency
    conditions = [condition("consistent", figures["consistent"], ">=", least)]
    return result(figures, conditions, items, min_items=config.min_items)


def self_agreement(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Does the judge say the same of the same answer, asked again?"""
    items = answers.items("self_agreement")
    figures = {}
    for name in TEMPERATURES:
        for kind, allowed in (("exact", 0), ("within_one", 1)):
            pairs = [
                measure(item, pair, lambda a, b, allowed=allowed: abs(a - b) <= allowed)
                for item in items
                for pair in combinations([f"{name}/{r}" for r in range(config.num_repeats)], 2)
            ]
            figures[f"{name}_{kind}"] = figure(pairs, against=0, in_favour=1)
    limits = config.thresholds
    conditions = [
        condition("greedy_exact", figures["greedy_exact"], ">=", limits.min_exact_agreement_greedy),
        condition(
            "sampled_within_one",
            figures["sampled_within_one"],
            ">=",
            limits.min_close_agreement_sampled,
        ),
    ]
    return result(figures, conditions, items, min_items=config.min_items)


def scale_use(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Do answers of every worth get different scores, or nearly all the same one?"""
    items = answers.items("ladder")
    outcomes = [item.outcomes[variant] for item in items for variant in RATED]
    counts = Counter(outcome.value for outcome in outcomes if outcome.value is not None)
    num_read, num_lost = counts.total(), sum(outcome.is_lost for outcome in outcomes)
    modal = max(counts.values(), default=0)
    worst = (modal + len(outcomes) - num_read) / len(outcomes) if outcomes else None
    without_lost = (modal + len(outcomes) - num_read - num_lost) / max(len(outcomes), 1)
    figures: dict[str, Any] = {
        "distribution": {str(score): counts[score] for score in range(1, 6)},
        "entropy_bits": _entropy(counts),
        "modal_share": {
            "mean": modal / num_read if num_read else None,
            "worst_case": worst,
            "if_lost_were_good": without_lost,
            "num_items": len(outcomes),
            "num_unread": len(outcomes) - num_read - num_lost,
            "num_lost": num_lost,
        },
        "levels_used": {
            "worst_case": len(counts) if outcomes else None,
            "if_lost_were_good": min(5, len(counts) + num_lost),
        },
    }
    limits = config.thresholds
    conditions = [
        condition("levels_used", figures["levels_used"], ">=", limits.min_levels),
        condition("modal_share", figures["modal_share"], "<=", limits.max_modal_share),
    ]
    return result(figures, conditions, items, min_items=config.min_items)


def monotonicity(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Is what says more of the truth scored higher? Every triple of the four-step ladder."""
    items = answers.items("ladder")
    triples = list(combinations(LADDER, 3))
    ordered = [
        measure(item, triple, lambda *scores, triple=triple: in_order(triple, scores))
        for item in items
        for triple in triples
    ]
    figures = {"ordered_triples": figure(ordered, against=0, in_favour=1)}
    for variant in RATED:
        scores = [measure(item, (variant,), float) for item in items]
        figures[f"score_{variant}"] = figure(scores, against=1, in_favour=5)
    least = config.thresholds.min_ordered_triples
    conditions = [condition("ordered_triples", figures["ordered_triples"], ">=", least)]
    return result(figures, conditions, items, min_items=config.min_items)


def length_bias(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Is an answer scored higher because empty sentences stand around it?"""
    items = answers.items("length_bias")
    variants = ("plain", "padded")
    raised = [measure(item, variants, lambda plain, padded: padded > plain) for item in items]
    change = [measure(item, variants, lambda plain, padded: padded - plain) for item in items]
    figures = {
        "raised": figure(raised, against=1, in_favour=0),
        "change_in_points": figure(change, against=4, in_favour=-4),
    }
    most = config.thresholds.max_raised_by_padding
    conditions = [condition("raised", figures["raised"], "<=", most)]
    return result(figures, conditions, items, min_items=config.min_items)


def master_keys(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """Does a reply that says nothing get more than a 2?"""
    items = answers.items("master_keys")
    fooled = [measure(item, ("verdict",), lambda score: score > 2) for item in items]
    figures = {"fooled": figure(fooled, against=1, in_favour=0)}
    most = config.thresholds.max_fooled_by_master_keys
    conditions = [condition("fooled", figures["fooled"], "<=", most)]
    return result(figures, conditions, items, min_items=config.min_items)


def readability(answers: Answers, config: ValidateConfig) -> dict[str, Any]:
    """How many verdicts could not be read, over all probes, retries included?"""
    items = answers.verdicts()
    unread = [_unread(item) for item in items]
    figures = {"unread": figure(unread, against=1, in_favour=0)}
    conditions = [condition("unread", figures["unread"], "<=", config.thresholds.max_unread)]
    return result(figures, conditions, items, min_items=config.min_items)


def _unread(item: Item) -> Measure:
    outcome = item.outcomes["verdict"]
    value = None if outcome.is_lost else float(outcome.status != "ok")
    return Measure(item.unit, value, is_lost=outcome.is_lost)


def in_order(triple: tuple[str, ...], scores: tuple[float, ...]) -> bool:
    """Higher before lower; equal is allowed only where the content is the same."""
    return all(
        better > worse or (better == worse and any({a, b} <= same for same in EQUAL_CONTENT))
        for (a, better), (b, worse) in combinations(zip(triple, scores, strict=True), 2)
    )


def _entropy(counts: Mapping[int, int]) -> float:
    """In bits; at most log2(5) = 2.32."""
    total = sum(counts.values())
    shares = [count / total for count in counts.values() if count]
    return round(-sum(share * math.log2(share) for share in shares) + 0.0, 6)
