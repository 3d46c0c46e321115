"""Validations, panels and studies in plain lines, for a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from eval.report_wording import DASH, number
from eval.validation.asks import Ask

EXPLAINED = {
    "passed": "passed",
    "failed": "FAILED",
    "incomplete": "incomplete",
    "not_run": "not run",
    "not_applicable": "not applicable",
    "measured": "measured, nothing to reach",
}


def validation_lines(found: Mapping[str, Any]) -> list[str]:
    """A line per probe, one per condition, and the badge."""
    lines = [f"judge {found['judge']['name']} ({found['judge']['model']}, {found['hash']})"]
    width = max(map(len, found["probes"]))
    for name, probe in found["probes"].items():
        unread = probe["num_items"] and _unread(probe["outcomes"])
        counts = f"  {probe['num_items']} items" if probe["num_items"] else ""
        lines.append(
            f"  {name.replace('_', ' '):{width}}  {EXPLAINED[probe['status']]}{counts}"
            + (f", {unread} unread" if unread else "")
            + (f"  {probe['note']}" if probe["note"] else "")
        )
        lines += [_condition(entry, probe["figures"], width) for entry in probe["conditions"]]
    lines.append(f"badge: {found['badge']}{_reasons(found)}")
    if found["changed_rules"]:
        lines.append(f"changed rules: {', '.join(found['changed_rules'])}")
    return lines


def plan_lines(asks: Sequence[Ask]) -> list[str]:
    """What a validation would ask; tokens are estimated at four for three words."""
    unique: dict[tuple[str, str], Ask] = {}  # as in asking: a request that two share is made once
    for own in asks:
        unique.setdefault((own.operation, str(own.request)), own)
    counts = Counter((own.probe, own.operation) for own in unique.values())
    words = sum(len(m["content"].split()) for o in unique.values() for m in o.request.messages)
    lines = [f"{count} requests to {op} for {probe}" for (probe, op), count in counts.items()]
    written = sum(o.request.sampling.max_tokens for o in unique.values() if o.operation != "choose")
    return [
        *lines,
        f"{len(unique)} requests, about {words * 4 // 3:,} prompt tokens and at most "
        f"{written:,} written ones; unread verdicts are asked for again",
    ]


def panel_lines(found: Mapping[str, Any]) -> list[str]:
    """The judges, their agreement two by two, and where they differ most."""
    width = max(len(entry["judge"]) for entry in found["judges"])
    lines = [f"{'judge':{width}}  scored  unscored  mean  lead  with majority"]
    lines += [
        f"{e['judge']:{width}}  {e['num_scored']:6}  {e['num_unscored']:8}  "
        f"{number(e['mean'], digits=2):>4}  {number(e['lead_on_mean'], digits=2, signed=True):>5}  "
        f"{number(e['with_majority'], digits=2)}"
        for e in found["judges"]
    ]
    lines.append("agreement        pairs  dropped  exact  within one  kappa (quadratic)  Spearman")
    lines += [
        f"{' / '.join(e['judges'])}: {e['num_pairs']}  {e['num_dropped']}  "
        + "  ".join(
            number(e[name], digits=2)
            for name in ("exact", "within_one", "quadratic_kappa", "spearman")
        )
        for e in found["agreement"]
    ]
    shared = found["num_replies"]
    lines.append(f"{shared} replies, {found['num_without_majority']} without a majority")
    for line in found["biggest_disagreements"]:
        scores = ", ".join(f"{name} {score}" for name, score in line["scores"].items())
        lines.append(f"  {scores}: {_short(line.get('reply') or line['reply_key'])}")
    return lines


def study_lines(found: Mapping[str, Any]) -> list[str]:
    """Completion, agreement between people, and the judge or model beside them."""
    lines = [
        f"{name}: {share:.0%} of {found['num_items']} items"
        for name, share in found["completion"].items()
    ]
    people = found["between_people"]
    lines.append(
        f"between people: Cohen kappa {number(people['mean_cohen_kappa'])}, "
        f"Fleiss kappa {number(people['fleiss_kappa'])} on {found['num_complete']} complete items"
    )
    if found["kind"] == "choice":
        accuracy = found["accuracy"]
        return [
            *lines,
            f"accuracy: mean of people {number(accuracy['mean_of_raters'])}, "
            f"majority {number(accuracy['majority'])}",
        ]
    judge = found["judge"]
    return [
        *lines,
        f"ceiling: quadratic kappa {number(people['mean_quadratic_kappa'])}, "
        f"Spearman {number(people['mean_spearman'])}",
        f"judge {', '.join(judge['names']) or DASH}: "
        f"quadratic kappa {number(judge['mean_quadratic_kappa'])}, "
        f"Spearman {number(judge['mean_spearman'])}, with majority "
        f"{number(judge['with_majority']['quadratic_kappa'])}",
    ]


def _condition(entry: Mapping[str, Any], figures: Mapping[str, Any], width: int) -> str:
    met = {True: "met", False: "not met", None: "not decided"}[entry["met"]]
    own = figures.get(entry["figure"].partition(",")[0], {})
    interval = ""
    if own.get("low") is not None:
        interval = f" [{number(own['low'])}, {number(own['high'])}]"
    value = number(own.get("mean", entry["worst_case"]))
    worst = ""
    if own.get("num_unread") or own.get("num_lost"):
        worst = f", worst case {number(entry['worst_case'])}"
    return (
        f"  {'':{width}}  {entry['figure'].replace('_', ' ')} {value}{interval}{worst} "
        f"{entry['relation']} {entry['threshold']:g}: {met}"
    )


def _reasons(found: Mapping[str, Any]) -> str:
    names = found["failed"] or found["incomplete"]
    return f" ({', '.join(name.replace('_', ' ') for name in names)})" if names else ""


def _unread(outcomes: Mapping[str, int]) -> int:
    return sum(count for status, count in outcomes.items() if status != "ok")


def _short(text: str, limit: int = 70) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
