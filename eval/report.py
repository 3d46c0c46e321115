"""A run as one HTML file that opens from disk: the answer first, then all it rests on.

Nothing is computed here that `metrics.json` could hold, and nothing is loaded from outside:
the page forbids itself any request, and runs only the one script whose hash it names. The
same run gives the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from data_prep.config import load_yaml
from data_prep.files import read_json, write_text
from data_prep.journal import Row, read_table
from data_prep.who import parse_context
from eval import report_figures as figures
from eval import report_wording as wording
from eval.plan import PEER, POOLED
from eval.report_samples import RULE, choose_samples, embedded_json
from eval.report_summary import summary_lines
from eval.report_training import training_table
from eval.report_wording import method_label

__all__ = ["method_label", "summary_lines", "write_report"]

TEMPLATES = Path(__file__).parent / "templates"
WEAKER = "within_interview"
CONTROLS = (POOLED, PEER)
LIKELIHOOD_ENDS, JUDGED_ENDS = (0.0, math.inf), (1.0, 5.0)
PLOT_WIDTH = 190  # pixels


def write_report(run: Path, *, adapters: Path | None = None, with_texts: bool = True) -> Path:
    """Write `report.html` into the run folder.

    Args:
        adapters: where the bundles are, for the table of their training.
        with_texts: False leaves out the sample browser, and with it all that people said.

    Raises:
        ValueError: the run has not been scored, or its files are damaged.
    """
    metrics = read_json(run / "metrics.json")
    settings = load_yaml(run / "config.yaml")
    likelihood = read_table(run / "score" / "likelihood.parquet")
    answers = read_table(run / "score" / "answers.parquet")
    bundles = training_table([*likelihood, *answers], adapters, metrics)
    configured = list(settings.get("methods", ()))
    view = {
        "run_name": run.resolve().name,
        "metrics": metrics,
        "people": {name: row["name"] for name, row in metrics["corpus"]["people"].items()},
        "answers": [wording.answer(group, metrics["primary"]) for group in metrics["groups"]],
        "groups": [_group(group, metrics, configured, likelihood) for group in metrics["groups"]],
        "badges": wording.judge_badges(metrics["judge"]),
        "facts": _facts(metrics, settings, bundles),
        "training": bundles,
        "samples": _samples(answers, likelihood, metrics, configured) if with_texts else None,
        "sample_rule": RULE,
        "config": yaml.safe_dump(
            wording.without_secrets(settings), sort_keys=True, allow_unicode=True
        ),
        "versions": _versions(run),
    }
    path = run / "report.html"
    write_text(path, _render(view))
    return path


def _render(view: Mapping[str, Any]) -> str:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    names = ("number", "percent", "span", "p_value", "people", "status_label", "status_counts")
    filters = {
        name: getattr(wording, name)
        for name in (*names, "duration", "clipped", "has_width", "no_interval")
    }
    environment.filters.update(filters, method_label=method_label)
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return environment.get_template("report.html.j2").render(
        view,
        style=Markup(style),
        script=Markup(script),
        policy=_policy(style, script),
        samples_json=Markup(embedded_json(view["samples"])),
    )


def _policy(style: str, script: str) -> str:
    """No request to anywhere; of styles and scripts only these two."""
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        for text in (style, script)
    ]
    return (
        f"default-src 'none'; style-src 'sha256-{hashes[0]}'; script-src 'sha256-{hashes[1]}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _group(
    group: Mapping[str, Any],
    metrics: Mapping[str, Any],
    configured: Sequence[str],
    rows: Sequence[Row],
) -> dict[str, Any]:
    """A group's tables with what the template needs to draw them."""
    names = {name: row["name"] for name, row in metrics["corpus"]["people"].items()}
    own = {n for n, row in metrics["corpus"]["people"].items() if row["split"] == group["split"]}
    who, content = group["who_said_it"], group["content_similarity"]
    scored = [row for row in rows if row["persona_id"] in own and row["table"] == "likelihood"]
    judged = _method_table(content, metrics["primary"]["method"], configured) if content else None
    return {
        **group,
        "is_weaker": group["split"] == WEAKER,
        "heat_map": who and figures.heat_map([names[n] for n in who["people"]], who["matrix"]),
        "methods": _method_table(group["likelihood"], metrics["primary"]["method"], configured),
        "judged": judged,
        "context_notes": _context_notes(scored),
        "shown_people": sorted({row["persona_id"] for row in scored})[: figures.MAX_PEOPLE],
        "num_people": len({row["persona_id"] for row in scored}),
        "smallest_p": _smallest_p(group["likelihood"]["methods"]),
    }


def _method_table(
    table: Mapping[str, Any], primary: str, configured: Sequence[str]
) -> dict[str, Any]:
    """Rows in the order of the config, controls last; a method without numbers has a row too."""
    known = {entry["method"]: entry for entry in table["methods"]}
    order = [*configured, *(name for name in known if name not in configured)]
    rows = [
        {"mean": None, "personas": {}, "versus_baseline": None, "p_holm": None}
        | known.get(name, {})
        | {"method": name, "role": _role(name, table["baseline"], primary)}
        for name in order
    ]
    lowest, highest = LIKELIHOOD_ENDS if table["lower_is_better"] else JUDGED_ENDS
    for row in rows:
        row["mean"] = row["mean"] and wording.clipped(row["mean"], lowest, highest)
        compared = row["versus_baseline"]
        row["difference"] = None
        if compared and compared["num_personas"]:
            reach = highest - lowest
            row["difference"] = wording.clipped(compared["difference"], -reach, reach)
    ends = [end for row in rows if row["difference"] for end in figures.ends(row["difference"])]
    dots = [value for row in rows for value in row["personas"].values()]
    counts = {row["mean"]["num_items"] for row in rows if row["mean"]}
    return {
        "rows": rows,
        "judges": table.get("judges", ()),
        "scale": figures.scale_over(ends, width=PLOT_WIDTH, zero=True),
        "dots": figures.scale_over(dots, width=PLOT_WIDTH),
        "is_uneven": len(counts) > 1,
    }


def _role(method: str, baseline: str, primary: str) -> str:
    if method in CONTROLS:
        return "control"
    return {baseline: "baseline", primary: "primary"}.get(method, "exploratory")


def _context_notes(rows: Sequence[Row]) -> dict[str, str]:
    """How many pairs a context really held, where that is fewer than its name says."""
    used: dict[str, list[int]] = {}
    for row in rows:
        used.setdefault(row["method"], []).append(row["num_context_pairs"])
    notes = {}
    for method, counts in used.items():
        _, plus, context = method.partition("+")
        spec = parse_context(context) if plus else None
        wanted = spec.num_ranked + spec.num_recent if spec else 0
        mean = sum(counts) / len(counts)
        if mean < wanted:
            notes[method] = f"{wording.number(mean, digits=1)} of {wanted} available or fitting"
    return notes


def _smallest_p(methods: Sequence[Mapping[str, Any]]) -> tuple[int, float] | None:
    """People compared and the smallest p that so few can reach, where it matters."""
    counts = [
        entry["versus_baseline"]["num_personas"] for entry in methods if "versus_baseline" in entry
    ]
    if not counts or 2 / 2 ** max(counts) <= wording.SIGNIFICANT:
        return None
    return max(counts), min(1.0, 2 / 2 ** max(counts))


def _facts(
    metrics: Mapping[str, Any], settings: Mapping[str, Any], adapters: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """What was run, as pairs of term and description."""
    statuses = metrics["statuses"]
    bases = sorted({entry["bundle"].base_model for entry in adapters if entry["bundle"]})
    base = metrics["notes"].get("base_model") or ", ".join(bases)
    people = {name for group in metrics["groups"] for name in _evaluated(group)}
    follow_ups = metrics["notes"].get("num_follow_ups", {})
    facts = [
        ("Base model", base or f"{wording.DASH} not recorded, and no adapters folder was given"),
        ("Adapters", _adapter_names(adapters)),
        ("People", f"{len(people)} of {len(metrics['corpus']['people'])} in the corpus"),
        ("Corpus", metrics["corpus"]["digest"]),
        ("Likelihoods", wording.status_counts(statuses["likelihood"])),
        ("Replies", wording.status_counts(statuses["replies"])),
        ("Verdicts", wording.status_counts(statuses["judgements"])),
    ]
    if any(follow_ups.values()):
        counts = ", ".join(
            f"{count:,} {what}" for what, count in sorted(follow_ups.items()) if count
        )
        facts.append(("Follow-up questions", counts))
    return [*facts, ("Seed", str(settings.get("seed", wording.DASH)))]


def _evaluated(group: Mapping[str, Any]) -> set[str]:
    tables = [group["likelihood"], group["content_similarity"] or {"methods": []}]
    return {name for table in tables for entry in table["methods"] for name in entry["personas"]}


def _adapter_names(adapters: Sequence[Mapping[str, Any]]) -> str:
    """Few are named with their versions; many are counted, the table of training has them."""
    if not adapters:
        return "none"
    if len(adapters) > 6:
        return f"{len(adapters)}, listed under Training"
    return ", ".join(f"{e['name']}@{e['version'] or 'version not recorded'}" for e in adapters)


def _samples(
    answers: Sequence[Row],
    likelihood: Sequence[Row],
    metrics: Mapping[str, Any],
    configured: Sequence[str],
) -> dict[str, Any]:
    asked = {row["method"] for row in answers}
    methods = [name for name in configured if name in asked] or sorted(asked)
    items = choose_samples(answers, likelihood, methods)
    shown = {item["person"] for item in items}
    people = metrics["corpus"]["people"]
    return {
        "methods": [{"spec": name, "label": method_label(name)} for name in methods],
        "people": [{"id": name, "name": people[name]["name"]} for name in people if name in shown],
        "items": items,
        "num_questions": len({(row["persona_id"], row["pair_id"]) for row in answers}),
        "judge": metrics["judge"] and metrics["judge"]["name"],
        "badges": wording.judge_badges(metrics["judge"]),
        "statuses": wording.STATUSES,
    }


def _versions(run: Path) -> dict[str, Any]:
    """Of the tool that scored; a run folder without a manifest is shown without versions."""
    manifest = run / "score" / "manifest.json"
    return read_json(manifest) if manifest.exists() else {}
