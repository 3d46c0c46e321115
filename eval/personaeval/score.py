"""From answers to every number of a run; no model is asked here.

Headline (spec section 5): an invalid output is wrong and ranks last; ECE and Brier are over
valid outputs, with the valid share beside them. What was never answered is not scored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from eval.personaeval.answers import Answer
from eval.personaeval.baselines import chance, word_overlap
from eval.personaeval.clustered import clustered_mean
from eval.personaeval.config import RoleConfig
from eval.personaeval.consistency import average, vote
from eval.personaeval.hard_cases import family
from eval.personaeval.items import RoleItem
from eval.personaeval.metrics import (
    Tie,
    Vector,
    expected_calibration_error,
    rank,
    squared_errors,
    top_k,
    top_one,
)
from eval.personaeval.plan import BASE
from eval.personaeval.robustness import order_effects
from eval.stats import holm, sign_flip_p

POOLED = "pooled"


@dataclass(frozen=True)
class Case:
    """An item and what was answered; `vector=None` is an invalid output."""

    item: RoleItem
    vector: Vector | None

    @property
    def cluster(self) -> str:
        """The work; where it is unknown each item stands alone."""
        return self.item.work if self.item.work is not None else f"item {self.item.id}"

    def top_one(self) -> float:
        return 0.0 if self.vector is None else top_one(self.vector, self.item.truth_index)

    def top_two(self, tie: Tie) -> float:
        return 0.0 if self.vector is None else top_k(self.vector, self.item.truth_index, 2, tie)

    def rank(self, tie: Tie) -> float:
        if self.vector is None:
            return float(len(self.item.candidates))
        return rank(self.vector, self.item.truth_index, tie)


class Guess(Case):
    """A baseline's vector: of equals at the top each is predicted with the same chance."""

    def top_one(self) -> float:
        assert self.vector is not None
        return top_k(self.vector, self.item.truth_index, 1)


def score_answers(
    answers: Sequence[Answer], items: Sequence[RoleItem], config: RoleConfig, *, model: str
) -> dict[str, Any]:
    """All tables of `metrics.json`.

    Raises:
        ValueError: an answerer gave not one answer.
    """
    by_answerer: dict[str, list[Answer]] = {name: [] for name in (BASE, *config.adapters)}
    for answer in answers:
        by_answerer[answer["answerer"]].append(answer)
    headline = {
        name: headline_cases(own, items, "probabilities") for name, own in by_answerer.items()
    }
    for name, cases in headline.items():
        if not cases:
            raise ValueError(f"no item was answered by {name}; run the same command again")
    return {
        "settings": {"tie": config.tie, "parse": config.parse, "likelihood": config.likelihood},
        "num_items": len(items),
        "num_unanswered": sum(answer["status"] == "transport_error" for answer in answers),
        "clustered_by": "work" if all(item.work is not None for item in items) else "work or item",
        "answerers": {
            name: _tables(own, headline[name], items, config) for name, own in by_answerer.items()
        },
        "baselines": {
            name: by_track([Guess(item, guess(item)) for item in items], config.tie)
            for name, guess in (("chance", chance), ("word_overlap", word_overlap))
        },
        "comparisons": compare(headline, config.tie),
        "warnings": warnings_of(items, model),
    }


def headline_cases(
    answers: Sequence[Answer], items: Sequence[RoleItem], reading: str
) -> list[Case]:
    """Each item in its own order; several samples become their average."""
    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        if answer["rotation"] == 0 and answer["status"] != "transport_error":
            groups.setdefault(answer["item_id"], []).append(answer)
    cases = []
    for item in items:
        vectors = [a[reading] for a in groups.get(item.id, ()) if a[reading] is not None]
        if item.id in groups:
            cases.append(Case(item, average(vectors) if vectors else None))
    return cases


def by_track(cases: Sequence[Case], tie: Tie) -> dict[str, Any]:
    """A summary for each track, and for all of them item by item."""
    tracks = dict.fromkeys(case.item.track for case in cases)
    tables = {t: summary([c for c in cases if c.item.track == t], tie) for t in tracks}
    return tables | {POOLED: summary(cases, tie)}


def summary(cases: Sequence[Case], tie: Tie) -> dict[str, Any]:
    """Top-1, Top-2, mean rank over all cases; ECE and Brier over the valid ones.

    Raises:
        ValueError: no cases.
    """
    clusters = [case.cluster for case in cases]
    valid = [(c.item, c.vector, c.cluster) for c in cases if c.vector is not None]
    errors = [squared_errors(vector, item.truth_index) for item, vector, _ in valid]
    table: dict[str, Any] = {
        "num_items": len(cases),
        "num_valid": len(valid),
        "valid_share": len(valid) / len(cases) if cases else 0.0,
        "top1": asdict(clustered_mean([case.top_one() for case in cases], clusters)),
        "top2": asdict(clustered_mean([case.top_two(tie) for case in cases], clusters)),
        "mean_rank": asdict(clustered_mean([case.rank(tie) for case in cases], clusters)),
        "brier": None,
        "ece": None,
    }
    if valid:
        sums, sizes = [sum(e) for e in errors], [float(len(e)) for e in errors]
        table["brier"] = asdict(clustered_mean(sums, [w for *_, w in valid], sizes))
        table["ece"] = expected_calibration_error(
            [vector for _, vector, _ in valid], [item.truth_index for item, *_ in valid]
        )
    return table


def compare(headline: Mapping[str, Sequence[Case]], tie: Tie) -> list[dict[str, Any]]:
    """Each adapter minus the base on the same items: does role fine-tuning hurt?

    The test flips the signs of works' mean differences; Holm over the adapters.
    """
    base = {case.item.id: case for case in headline[BASE]}
    rows: list[dict[str, Any]] = []
    for name, cases in headline.items():
        both = [(case, base[case.item.id]) for case in cases if case.item.id in base]
        if name == BASE or not both:
            continue
        clusters = [case.cluster for case, _ in both]
        top1 = [case.top_one() - other.top_one() for case, other in both]
        ranks = [case.rank(tie) - other.rank(tie) for case, other in both]
        rows.append(
            {
                "answerer": name,
                "baseline": BASE,
                "top1": asdict(clustered_mean(top1, clusters)),
                "mean_rank": asdict(clustered_mean(ranks, clusters)),
                "p": sign_flip_p(_cluster_means(top1, clusters)),
            }
        )
    for row, corrected in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = corrected
    return rows


def warnings_of(items: Sequence[RoleItem], model: str) -> list[str]:
    """What makes this model's numbers no fair comparison (spec section 7.4)."""
    filters = {name for item in items for name in item.filtered_by}
    relatives = sorted(name for name in filters if family(name) == family(model))
    if not relatives:
        return []
    return [
        f"{', '.join(relatives)} chose the hard items and is of the family of {model}: that "
        "depresses its accuracy by construction, so do not rank it against other families"
    ]


def _tables(
    answers: Sequence[Answer],
    headline: Sequence[Case],
    items: Sequence[RoleItem],
    config: RoleConfig,
) -> dict[str, Any]:
    scored = [answer for answer in answers if answer["status"] != "transport_error"]
    second = "strict" if config.mode == "generate" else "other_likelihood"
    return {
        "tracks": by_track(headline, config.tie),
        second: by_track(headline_cases(answers, items, "second"), config.tie),
        "num_rescaled": sum(
            answer["probabilities"] is not None and answer["second"] is None for answer in scored
        ),
        "num_second_attempts": sum(answer["attempt"] > 0 for answer in scored),
        "self_consistency": _samples(scored, items) if config.samples > 1 else None,
        "order": order_effects(scored, items),
        "tags": _tags(headline),
    }


def _samples(answers: Sequence[Answer], items: Sequence[RoleItem]) -> dict[str, Any]:
    """Accuracy of single samples, of their vote and of their average."""
    by_id = {item.id: item for item in items}
    groups: dict[str, list[Vector]] = {}
    single = []
    for answer in answers:
        if answer["rotation"] == 0:
            own = groups.setdefault(answer["item_id"], [])
            case = Case(by_id[answer["item_id"]], answer["probabilities"])
            single.append((case.top_one(), case.cluster))
            if case.vector is not None:
                own.append(case.vector)
    cases = [Case(by_id[name], average(own) if own else None) for name, own in groups.items()]
    votes = [
        float(bool(own) and vote(own) == by_id[name].truth_index) for name, own in groups.items()
    ]
    clusters = [case.cluster for case in cases]
    return {
        "single": asdict(clustered_mean([one for one, _ in single], [work for _, work in single])),
        "vote": asdict(clustered_mean(votes, clusters)),
        "average": asdict(clustered_mean([case.top_one() for case in cases], clusters)),
    }


def _tags(cases: Sequence[Case]) -> dict[str, Any]:
    tags = sorted({tag for case in cases for tag in case.item.tags})
    groups = {tag: [case for case in cases if tag in case.item.tags] for tag in tags}
    groups["no tag"] = [case for case in cases if not case.item.tags]
    return {
        tag: asdict(clustered_mean([c.top_one() for c in own], [c.cluster for c in own]))
        for tag, own in groups.items()
        if own
    }


def _cluster_means(values: Sequence[float], clusters: Sequence[str]) -> list[float]:
    groups: dict[str, list[float]] = {}
    for value, cluster in zip(values, clusters, strict=True):
        groups.setdefault(cluster, []).append(value)
    return [sum(own) / len(own) for own in groups.values()]
