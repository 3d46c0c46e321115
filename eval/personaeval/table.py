"""A run's numbers as lines for people; percentages with one decimal, ranks with two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eval.personaeval.score import POOLED

HEAD = ("", "n", "valid", "top-1 (95 %)", "top-2", "rank", "Brier", "ECE")


def table_lines(metrics: Mapping[str, Any]) -> list[str]:
    """The tables of `metrics.json`: answerers and baselines, then what was found beside."""
    rows: list[tuple[str, ...]] = [HEAD]
    for name, tables in metrics["answerers"].items():
        rows += _rows(name, tables["tracks"])
        second = "strict" if "strict" in tables else "other_likelihood"
        rows += _rows(f"{name}, {second.replace('_', ' ')}", tables[second], pooled_only=True)
    for name, tracks in metrics["baselines"].items():
        rows += _rows(name.replace("_", " "), tracks, pooled_only=True)
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return [*lines, *_notes(metrics)]


def _rows(
    name: str, tracks: Mapping[str, Any], *, pooled_only: bool = False
) -> list[tuple[str, ...]]:
    shown = [POOLED] if pooled_only or len(tracks) == 2 else list(tracks)
    return [
        (
            name if track == POOLED else f"{name}, {track}",
            str(table["num_items"]),
            _percent(table["valid_share"]),
            _interval(table["top1"]),
            _percent(table["top2"]["mean"]),
            f"{table['mean_rank']['mean']:.2f}",
            _percent(table["brier"]["mean"]) if table["brier"] else "-",
            _percent(table["ece"]) if table["ece"] is not None else "-",
        )
        for track, table in tracks.items()
        if track in shown
    ]


def _notes(metrics: Mapping[str, Any]) -> list[str]:
    notes = []
    for name, tables in metrics["answerers"].items():
        order = tables["order"]
        if tables["num_rescaled"]:
            notes.append(f"{name}: {tables['num_rescaled']} answers were rescaled to sum to 1")
        if order["same_place_share"] is not None:
            notes.append(
                f"{name}: over the orders of {order['num_rotated_valid']} items the same person "
                f"is chosen in {_percent(order['same_name_share'])} %, the same place in "
                f"{_percent(order['same_place_share'])} %"
            )
        if tables["self_consistency"]:
            parts = [f"{key} {_interval(v)}" for key, v in tables["self_consistency"].items()]
            notes.append(f"{name}: top-1 by {', '.join(parts)}")
    for row in metrics["comparisons"]:
        notes.append(
            f"{row['answerer']} - {row['baseline']}: top-1 {_interval(row['top1'], sign=True)} "
            f"points, p {row['p_holm']:.3f} (Holm)"
        )
    if metrics["num_unanswered"]:
        notes.append(
            f"{metrics['num_unanswered']} answers never arrived and are not scored; "
            "run the same command again"
        )
    return [*notes, *(f"warning: {text}" for text in metrics["warnings"])]


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"


def _interval(estimate: Mapping[str, Any], *, sign: bool = False) -> str:
    mean = f"{100 * estimate['mean']:{'+' if sign else ''}.1f}"
    if estimate["low"] is None:
        return f"{mean} (one work)"
    low, high = estimate["low"], estimate["high"]
    if not sign:  # a share; in metrics.json the interval is as it was computed
        low, high = max(low, 0.0), min(high, 1.0)
    return f"{mean} ({100 * low:.1f} to {100 * high:.1f})"
