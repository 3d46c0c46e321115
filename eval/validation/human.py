"""Agreement of a judge with people who rated the same answers.

The label file has a line per item and rater. What people agree on among themselves is the
ceiling: the judge's mean kappa with each rater is compared with the raters' mean kappa with
each other, which are alike in kind, as a majority's would not be.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.config import JudgeConfig
from eval.judging import Case
from eval.validation.agreement import (
    Ratings,
    cluster_interval,
    majority,
    mean_against,
    mean_pairwise,
    pair_entry,
    quadratic_kappa,
    rounded,
    spearman,
)
from eval.validation.asks import Answers, Ask, Item, verdict_ask
from eval.validation.config import ValidateConfig
from eval.validation.figures import condition, result
from eval.validation.tables import read_csv, write_csv

PROBE = "human_agreement"
COLUMNS = (
    "item", "persona_id", "persona_name", "question", "real_answer", "second_answer", "rater",
    "label",
)  # fmt: skip


@dataclass(frozen=True)
class Labels:
    """Answers that people rated, and each rater's labels by item."""

    cases: dict[str, Case]
    units: dict[str, str]
    raters: dict[str, dict[Hashable, int]]


def read_labels(path: Path) -> Labels:
    """Read what `personae judge sheet import --labels` wrote, or a table of the same columns.

    Raises:
        ValueError: names file and row: unknown labels, a rater's second label of an item,
            items whose texts differ.
    """
    labels = Labels(cases={}, units={}, raters={})
    for number, row in read_csv(path, COLUMNS):
        where = f"{path} row {number}"
        item = row["item"]
        case = Case(
            reply_key=item,
            persona_name=row["persona_name"],
            question=row["question"],
            reference=row["real_answer"],
            candidate=row["second_answer"],
            candidate_status="ok",
        )
        if labels.cases.setdefault(item, case) != case:
            raise ValueError(f"{where}: the texts of item {item!r} differ from an earlier row")
        labels.units[item] = row["persona_id"] or item
        rated = labels.raters.setdefault(row["rater"], {})
        if item in rated:
            raise ValueError(f"{where}: {row['rater']!r} rated item {item!r} twice; keep one row")
        rated[item] = read_score(row["label"], where)
    if not labels.cases:
        raise ValueError(f"{path} holds no labels; have sheets filled in first")
    return labels


def read_score(text: str, where: str) -> int:
    """A whole number from 1 to 5, else ValueError."""
    if text.strip() not in ("1", "2", "3", "4", "5"):
        raise ValueError(f"{where}: label is {text!r}, expected a whole number from 1 to 5")
    return int(text)


def label_asks(labels: Labels, judge: JudgeConfig, *, constrained: bool, seed: int) -> list[Ask]:
    return [
        verdict_ask(PROBE, case, labels.units[item], "verdict", judge, constrained, seed)
        for item, case in labels.cases.items()
    ]


def human_agreement(answers: Answers, labels: Labels, config: ValidateConfig) -> dict[str, Any]:
    """Kappa and rank correlation with people, beside what people reach among themselves.

    Bounds: an unread verdict had the score furthest from, or nearest to, what people said.
    """
    items = answers.items(PROBE)
    raters = list(labels.raters.values())
    read = {i.id: o.value for i in items if (o := i.outcomes["verdict"]).value is not None}
    kappa = _kappa_figure(items, labels, read)
    votes = _votes(raters)
    ceiling = mean_pairwise(raters, quadratic_kappa)
    figures = {
        "kappa": kappa,
        "spearman": rounded(mean_against(read, raters, spearman)),
        "with_majority": pair_entry(read, votes),
        "ceiling_kappa": rounded(ceiling),
        "ceiling_spearman": rounded(mean_pairwise(raters, spearman)),
        "raters": {name: pair_entry(read, own) for name, own in sorted(labels.raters.items())},
        "num_raters": len(raters),
    }
    limits = config.thresholds
    conditions = [condition("kappa", kappa, ">=", limits.min_human_kappa)]
    note = ""
    if ceiling is None:
        note = "One rater, or none who share items: no ceiling."
    else:
        least = round(limits.min_share_of_ceiling * ceiling, 6)
        conditions.append(condition("kappa", kappa, ">=", least))
    return result(figures, conditions, items, min_items=config.min_items, note=note)


def _kappa_figure(items: Sequence[Item], labels: Labels, read: Ratings) -> dict[str, Any]:
    raters = list(labels.raters.values())

    def kappa(chosen: Sequence[Hashable], judged: Ratings) -> float | None:
        # drawn again, an item is another one with the same ratings
        numbered = list(enumerate(chosen))
        own = {n: judged[item] for n, item in numbered if item in judged}
        others = [{n: r[item] for n, item in numbered if item in r} for r in raters]
        return mean_against(own, others, quadratic_kappa)

    everything: list[Hashable] = [item.id for item in items]
    filled = {name: _filled(items, raters, read, name) for name in ("worst", "best", "only_lost")}
    low, high = cluster_interval(
        {item.id: item.unit for item in items if item.id in read}, lambda drawn: kappa(drawn, read)
    )
    lost = sum(item.outcomes["verdict"].is_lost for item in items)
    return {
        "mean": rounded(kappa(everything, read)),
        "low": low,
        "high": high,
        "num_items": len(items),
        "num_unread": len(items) - len(read) - lost,
        "num_lost": lost,
        "worst_case": rounded(kappa(everything, filled["worst"])),
        "best_case": rounded(kappa(everything, filled["best"])),
        "if_lost_were_good": rounded(kappa(everything, filled["only_lost"])),
    }


def _filled(
    items: Sequence[Item],
    raters: Sequence[Ratings],
    read: Ratings,
    how: str,
) -> dict[Hashable, int]:
    filled = dict(read)
    for item in items:
        own = [rater[item.id] for rater in raters if item.id in rater]
        if item.id in filled or not own:
            continue
        is_good = how == "best" or (how == "only_lost" and item.outcomes["verdict"].is_lost)
        distances = {score: sum(abs(score - label) for label in own) for score in range(1, 6)}
        pick = min if is_good else max
        filled[item.id] = pick(distances, key=lambda score, d=distances: d[score])  # type: ignore[misc]
    return filled


def _votes(raters: Sequence[Ratings]) -> dict[Hashable, int]:
    """The label that more than half of an item's raters gave, where there is one."""
    items = list(dict.fromkeys(item for rater in raters for item in rater))
    votes = {item: majority([r[item] for r in raters if item in r]) for item in items}
    return {item: vote for item, vote in votes.items() if vote is not None}


def write_labels(path: Path, labels: Labels) -> None:
    """The label file of these ratings; `read_labels` reads it back."""
    rows = []
    for rater, rated in sorted(labels.raters.items()):
        for item, label in rated.items():
            case = labels.cases[str(item)]
            texts = (case.persona_name, case.question, case.reference, case.candidate)
            cells = (item, labels.units[str(item)], *texts, rater, label)
            rows.append(dict(zip(COLUMNS, cells, strict=True)))
    write_csv(path, COLUMNS, rows)
