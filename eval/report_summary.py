"""The report in a few plain lines, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eval import report_wording as wording
from eval.report_wording import CONTROL_LABELS, method_label


def summary_lines(metrics: Mapping[str, Any]) -> list[str]:
    """The answer, the methods, and the judge with its badges, from `metrics.json`."""
    if not metrics["groups"]:
        return ["Nothing was scored."]
    first, *others = metrics["groups"]
    found = wording.answer(first, metrics["primary"])
    lines = [found.sentence, *found.remarks]
    if first["split"] == "within_interview":
        lines.insert(0, f"Weaker evidence: {first['label']}.")
    for group in others:
        apart = wording.answer(group, metrics["primary"]).sentence
        lines.append(f"Kept apart, {group['label']}: {apart}")
    table = first["likelihood"]["methods"]
    if table:
        width = max(len(_terminal_label(entry["method"])) for entry in table)
        lines.append("Bits per character, lower is better, and change to the baseline:")
        lines += [_terminal_line(entry, width) for entry in table]
    return lines + _terminal_judgements(first["content_similarity"], metrics["judge"])


def _terminal_label(method: str) -> str:
    return f"control: {method_label(method)}" if method in CONTROL_LABELS else method_label(method)


def _terminal_line(entry: Mapping[str, Any], width: int) -> str:
    line = f"  {_terminal_label(entry['method']):{width}}  {wording.number(entry['mean']['mean'])}"
    compared = entry.get("versus_baseline", {})
    if compared.get("num_personas"):
        line += f"  {wording.percent(compared['relative'], signed=True)}"
        if compared["difference"]["low"] is not None:
            line += f"  95 % {wording.span(compared['difference'], signed=True)}"
    return line


def _terminal_judgements(
    table: Mapping[str, Any] | None, judge: Mapping[str, Any] | None
) -> list[str]:
    if not table or judge is None:
        return []
    scores = ", ".join(
        f"{method_label(entry['method'])} "
        f"{wording.number(entry['mean']['mean'], digits=2) if entry['mean'] else wording.DASH}"
        for entry in table["methods"]
    )
    badges = "; ".join(wording.judge_badges(judge))
    return [f"Content similarity, {table['unit']}, judge {judge['name']} ({badges}): {scores}"]
