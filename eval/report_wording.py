"""Words and numbers of the report: names of methods, the answer, and what stands for no number.

The page and the terminal say the same because both take their words from here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from data_prep.who import ContextSpec, parse_who
from eval.plan import PEER, POOLED
from eval.stats import macro_mean

DASH = "–"
NBSP = "\u00a0"
INTERVAL = f"95{NBSP}% interval"
SIGNIFICANT = 0.05

STATUSES = {
    "ok": "ok",
    "candidate_invalid": "without a usable reply",
    "judge_unparseable": "unreadable",
    "judge_refused": "refused by the judge",
    "judge_truncated": "cut off",
    "transport_error": "lost in transport",
    "not_judged": "not judged",
    "not_run": "not run",
}


@dataclass(frozen=True)
class Answer:
    """What a group of people says about the question: a word, its sentence, what limits it."""

    verdict: str
    sentence: str
    remarks: list[str]


def method_label(method: str) -> str:
    """A method's spec in human words; what is not of the grammar is returned as it is."""
    if method in CONTROL_LABELS:
        return CONTROL_LABELS[method]
    own, category = "x-own", "x-category"  # names that the grammar takes for the placeholders
    try:
        who = parse_who(method.replace("{persona}", own).replace("{category}", category))
    except ValueError:
        return method
    if who.name is None:
        return "base model, no persona"
    context = _context_label(who.context)
    if not who.is_adapter:
        named = "" if who.name == own else f" as {who.name}"
        return f"base model{named} + {context}" if context else f"base model, prompted{named}"
    known = {own: "own adapter", category: "category adapter", "pooled": "pooled adapter"}
    label = known.get(who.name, f"adapter {who.name}")
    label += f", version {who.version}" if who.version else ""
    return f"{label} + {context}" if context else label


CONTROL_LABELS = {
    POOLED: "pooled adapter",
    PEER: "another person’s adapter, same category",
}


def _context_label(spec: ContextSpec) -> str:
    match spec.kind:
        case "none":
            return ""
        case "chronological":
            return f"last {_answers(spec.num_recent)}"
        case "random":
            return f"{spec.num_ranked} random {_answers(spec.num_ranked, number=False)}"
        case "retrieval":
            return f"{spec.num_ranked} retrieved {_answers(spec.num_ranked, number=False)}"
        case "hybrid":
            return f"{spec.num_ranked} retrieved and last {_answers(spec.num_recent)}"
        case _:
            return spec.kind.replace("_", " ")


def _answers(count: int, *, number: bool = True) -> str:
    noun = "training answer" if count == 1 else "training answers"
    return f"{count} {noun}" if number else noun


def answer(group: Mapping[str, Any], primary: Mapping[str, str]) -> Answer:
    """The answer that one group of people gives, no surer than its numbers.

    Args:
        group: one of `metrics["groups"]`.
        primary: `metrics["primary"]`.
    """
    methods = {entry["method"]: entry for entry in group["likelihood"]["methods"]}
    ours, base = in_sentence(primary["method"]), in_sentence(primary["baseline"])
    compared = methods.get(primary["method"], {}).get("versus_baseline", {})
    who = _who_said_it(group["who_said_it"])
    if not compared.get("num_personas"):
        sentence = f"No answer yet: {ours} and {base} have no scored answers in common."
        return Answer("No answer yet", sentence, [who] if who else [])
    verdict, limit = _verdict(compared)
    gains = compared["difference"]["mean"] < 0
    controls = [methods[name] for name in CONTROL_LABELS if name in methods] if gains else []
    found = [control for entry in controls if (control := _control(entry, compared))]
    if verdict in ("Yes", "Points to yes"):
        verdict = next((c.verdict for c in sorted(found, key=_severity) if c.verdict), verdict)
    body = f"{ours} needs {_change(compared['relative'])} than {base} ({_evidence(compared)})"
    sentence = f"{verdict}: on held-out answers, {body}{limit}."
    remarks = [who] if who else []
    if found:
        remarks.append(_controls_remark(found))
    elif gains:
        remarks.append(
            "No control was scored, so how much of this is the person, "
            "and how much a common register, is open."
        )
    return Answer(verdict, sentence, remarks)


def in_sentence(method: str) -> str:
    known = {
        "{persona}": "a person’s own adapter",
        "base:{persona}": "the prompted base model",
        "{category}": "the category adapter",
        "pooled": "the pooled adapter",
        POOLED: "the pooled adapter",
        PEER: "another person’s adapter",
    }
    return known.get(method, f"“{method_label(method)}”")


def _verdict(compared: Mapping[str, Any]) -> tuple[str, str]:
    """The word for a comparison without regard to controls, and the clause that limits it."""
    interval, count = compared["difference"], compared["num_personas"]
    if count == 1:
        return "One person only", "; one person allows no interval and speaks for nobody else"
    if count == 2:
        return "Two people only", "; two people are too few to speak for others"
    if interval["low"] <= 0 <= interval["high"]:
        return "Not shown", "; the interval includes no difference at all"
    if interval["mean"] > 0:
        return "No", ""
    if compared["p"] > SIGNIFICANT:
        return "Points to yes", f"; permutation over people: p = {p_value(compared['p'])}"
    return "Yes", ""


@dataclass(frozen=True)
class _Control:
    verdict: str | None  # what the answer becomes when the control shares the gain
    remark: str


NOT_THE_PERSON, OPEN = "Register, not person", "Open"


def _severity(control: _Control) -> bool:
    return control.verdict != NOT_THE_PERSON


def _control(entry: Mapping[str, Any], primary: Mapping[str, Any]) -> _Control | None:
    """Compare relative changes person by person; both are paired with the same baseline."""
    control = entry.get("versus_baseline", {}).get("relative_by_persona", {})
    ours = primary["relative_by_persona"]
    shared = sorted(set(ours) & set(control))
    if not shared:
        return None
    other = sum(control[name] for name in shared) / len(shared)
    lead = macro_mean({name: [control[name] - ours[name]] for name in shared})
    remark = f"{in_sentence(entry['method'])} {percent(other, signed=True)}"
    if lead.mean <= 0:
        return _Control(NOT_THE_PERSON, f"{remark} (as much)")
    points = f"lead {number(100 * lead.mean, digits=1)} points"
    if lead.low is None or lead.high is None or lead.low <= 0:
        return _Control(OPEN, f"{remark} ({points}, not told apart)")
    ends = f"{number(100 * lead.low, digits=1)} to {number(100 * lead.high, digits=1)}"
    return _Control(None, f"{remark} ({points}, {INTERVAL} {ends})")


def _controls_remark(controls: Sequence[_Control]) -> str:
    text = "Controls: " + "; ".join(control.remark for control in controls)
    if any(control.verdict for control in controls):
        return f"{text}. A gain the controls share is register, not person."
    return f"{text}."


def _who_said_it(who: Mapping[str, Any] | None) -> str:
    if not who or not who["over_all"]:
        return ""
    found = who["over_all"]
    return (
        f"Asked who said it, the adapters name the right person for "
        f"{percent(found['accuracy']['mean'], digits=0)} of answers"
        f"{_accuracy_range(found['accuracy'])}; chance is {percent(found['chance'], digits=0)}."
    )


def _accuracy_range(accuracy: Mapping[str, Any]) -> str:
    if not has_width(accuracy):
        return ""
    inside = clipped(accuracy, 0.0, 1.0)
    return (
        f" ({INTERVAL} {percent(inside['low'], digits=0)} to {percent(inside['high'], digits=0)})"
    )


def _change(relative: float) -> str:
    if f"{abs(relative):.3f}" == "0.000":
        return "as many bits per character"
    return f"{percent(abs(relative))} {'fewer' if relative < 0 else 'more'} bits per character"


def _evidence(compared: Mapping[str, Any]) -> str:
    interval = compared["difference"]
    parts = [f"difference {number(interval['mean'], signed=True)}"]
    if interval["low"] is not None:
        parts[0] += f", {INTERVAL} {span(interval, signed=True)}"
    return f"{parts[0]}; {people(compared['num_personas'])}, {interval['num_items']} answers"


def judge_badges(judge: Mapping[str, Any] | None) -> list[str]:
    """What must stand beside every number this judge gave."""
    if judge is None:
        return []
    badges = [_validation(judge.get("validation"))]
    return [*badges, "same base: mechanics only"] if judge.get("same_base") else badges


def _validation(found: Mapping[str, Any] | None) -> str:
    """The badge, with what it lacks, and whether it was had on easier or harder terms."""
    if not found:
        return "unvalidated"
    changed = found.get("changed_rules")
    terms = f" with changed {_names(changed)}" if changed else ""
    match found["badge"]:
        case "validated":
            return f"validated{terms}"
        case "failed":
            return f"validation failed{terms}: {_names(found['failed'])}"
        case _:
            return f"validation incomplete{terms}: {_names(found['incomplete'])}"


def _names(names: Iterable[str]) -> str:
    return ", ".join(name.replace("_", " ") for name in names)


def number(value: float | None, *, digits: int = 3, signed: bool = False) -> str:
    """With a true minus sign; a rounded zero has no sign."""
    if value is None:
        return DASH
    text = f"{abs(value):.{digits}f}"
    if float(text) == 0:
        return text
    return f"{'−' if value < 0 else '+' if signed else ''}{text}"


def percent(value: float | None, *, digits: int = 1, signed: bool = False) -> str:
    if value is None:
        return DASH
    return f"{number(100 * value, digits=digits, signed=signed)}{NBSP}%"


def span(interval: Mapping[str, Any], *, digits: int = 3, signed: bool = False) -> str:
    if interval["low"] is None:
        return DASH
    ends = (interval["low"], interval["high"])
    return " to ".join(number(end, digits=digits, signed=signed) for end in ends)


def clipped(interval: Mapping[str, Any], lowest: float, highest: float) -> dict[str, Any]:
    """The interval without what Student's t drew past the ends of the scale."""
    if interval["low"] is None:
        return dict(interval)
    return {**interval, "low": max(interval["low"], lowest), "high": min(interval["high"], highest)}


def no_interval(interval: Mapping[str, Any]) -> str:
    """Why there is none to show."""
    return "one person allows no interval" if interval["low"] is None else "the same for everybody"


def has_width(interval: Mapping[str, Any]) -> bool:
    """Whether people differ at all; an interval over equal people is a point and says nothing."""
    return interval["low"] is not None and interval["low"] < interval["high"]


def p_value(p: float | None) -> str:
    if p is None:
        return DASH
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def people(count: int) -> str:
    return f"{count:,} {'person' if count == 1 else 'people'}"


def status_label(status: str) -> str:
    return STATUSES.get(status, status.replace("_", " "))


def status_counts(counts: Mapping[str, int]) -> str:
    """All of them, `ok` first: "40 ok, 2 verdict not readable"."""
    ordered = sorted(counts, key=lambda status: (status != "ok", status))
    return ", ".join(f"{counts[status]:,} {status_label(status)}" for status in ordered) or "none"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


SECRETS = re.compile(r"(?i)^(api_?key|token|password|secret|authorization|headers)$")


def without_secrets(settings: Any) -> Any:
    """Settings fit to be shown: a report travels further than a config file."""
    if isinstance(settings, Mapping):
        return {
            key: "(left out)" if SECRETS.match(str(key)) and value else without_secrets(value)
            for key, value in settings.items()
        }
    if isinstance(settings, Sequence) and not isinstance(settings, str):
        return [without_secrets(value) for value in settings]
    return settings
