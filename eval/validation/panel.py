"""Several judges on the same replies: how far they agree, and what they say together.

Judges stay apart: majority and mean stand beside each one's own verdicts and replace none.
A reply that a judge left unscored drops out of that judge's pairs, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from data_prep.files import read_json
from data_prep.journal import Row, read_rows
from eval.validation.agreement import majority, mean, pair_entry, rounded

METRIC = "content_similarity"


def read_tables(folders: Iterable[Path]) -> list[Row]:
    """Verdict rows of runs (their `judge/`) or of judge folders, each judge from one of them.

    Raises:
        ValueError: no verdicts there, or a judge's name stands for two models.
    """
    rows: list[Row] = []
    models: dict[str, tuple[str, Path]] = {}
    for given in folders:
        folder = given / "judge" if (given / "judge").is_dir() else given
        found = [row for row in read_rows(folder).by_key.values() if row.get("metric") == METRIC]
        if not found:
            raise ValueError(f"{given} holds no verdicts; run `personae eval --stage judge` there")
        for row in found:
            model, where = models.setdefault(row["judge"], (row["judge_model"], given))
            if model != row["judge_model"]:
                raise ValueError(
                    f"judge {row['judge']!r} is {model!r} in {where} and {row['judge_model']!r} "
                    f"in {given}; give judges different names (eval.judge.name)"
                )
        rows += found
    return rows


def panel(rows: Sequence[Mapping[str, Any]], *, num_shown: int = 10) -> dict[str, Any]:
    """Agreement of every two judges, and the replies on which they differ most.

    Args:
        rows: verdicts with `reply_key, judge, score, status`.

    Raises:
        ValueError: fewer than two judges, or none rated what another did.
    """
    scores, statuses = _by_judge(rows)
    judges = sorted(statuses)
    if len(judges) < 2:
        raise ValueError(f"the verdicts are of {', '.join(judges) or 'nobody'}; a panel needs two")
    table = side_by_side(rows)
    if not any(len(line["scores"]) > 1 for line in table):
        raise ValueError("no reply was rated by two judges; name runs of the same questions")
    matrix = []
    for a, b in combinations(judges, 2):
        entry = pair_entry(scores[a], scores[b])
        num_shared = len(statuses[a].keys() & statuses[b].keys())
        entry["num_dropped"] = num_shared - entry["num_pairs"]
        matrix.append({"judges": [a, b], **entry})
    disagreeing = sorted(table, key=lambda line: (-line["spread"], line["reply_key"]))
    return {
        "judges": [_summary(name, scores[name], statuses[name], table) for name in judges],
        "agreement": matrix,
        "num_replies": len(table),
        "num_without_majority": sum(line["majority"] is None for line in table),
        "biggest_disagreements": [line for line in disagreeing if line["spread"]][:num_shown],
    }


def side_by_side(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """A line per reply: each judge's score, the majority's and the mean."""
    scores, statuses = _by_judge(rows)
    judges = sorted(statuses)
    lines = []
    for key in sorted({key for own in statuses.values() for key in own}):
        own = {name: scores[name][key] for name in judges if key in scores[name]}
        values = list(own.values())
        lines.append(
            {
                "reply_key": key,
                "scores": own,
                "unscored": {
                    name: statuses[name][key]
                    for name in judges
                    if key in statuses[name] and name not in own
                },
                "majority": majority(values) if len(values) > 1 else None,
                "mean": rounded(mean(values)),
                "spread": max(values) - min(values) if values else 0,
            }
        )
    return lines


def texts_of(runs: Iterable[Path]) -> dict[str, dict[str, str]]:
    """Question and answers by reply key, from the first run that was scored."""
    from data_prep.journal import read_table
    from eval.score import verdict_key

    for run in runs:
        if (run / "score" / "answers.parquet").exists():
            names = ("question", "reference", "reply", "method", "persona_id")
            return {
                verdict_key(row): {name: row[name] for name in names}
                for row in read_table(run / "score" / "answers.parquet")
            }
    return {}


def judges_of(runs: Iterable[Path]) -> list[dict[str, Any]]:
    """Each run's judge with its validation, where it wrote them down."""
    paths = [run / "judge" / "judge.json" for run in runs]
    return [read_json(path) for path in paths if path.exists()]


def _by_judge(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, str]]]:
    """Scores and statuses by judge and reply; of several rows the first scored one counts."""
    scores: dict[str, dict[str, int]] = {}
    statuses: dict[str, dict[str, str]] = {}
    for row in rows:
        judge, key = row["judge"], row["reply_key"]
        own, known = scores.setdefault(judge, {}), statuses.setdefault(judge, {})
        if key in own:
            continue
        known[key] = row["status"]
        if row["status"] == "ok":
            own[key] = int(row["score"])
    return scores, statuses


def _summary(
    name: str,
    scores: Mapping[str, int],
    statuses: Mapping[str, str],
    table: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """A judge beside the others: does it follow the majority, is it kinder than the mean?"""
    own = [line for line in table if name in line["scores"] and len(line["scores"]) > 1]
    voted = [line for line in own if line["majority"] is not None]
    leads = [line["scores"][name] - line["mean"] for line in own]
    return {
        "judge": name,
        "num_scored": len(scores),
        "num_unscored": len(statuses) - len(scores),
        "mean": rounded(mean(list(scores.values()))),
        "lead_on_mean": rounded(mean(leads)),
        "with_majority": rounded(mean([float(x["scores"][name] == x["majority"]) for x in voted])),
    }
