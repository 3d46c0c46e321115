"""Scores from rows: never calls a model, and the same rows give the same bytes.

Reads `generate/` and `judge/` of a run, writes `score/likelihood.parquet` and
`score/answers.parquet` (one line per number that enters a mean) and returns the metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data_prep.corpus import Corpus
from data_prep.files import read_jsonl
from data_prep.journal import Row, read_rows, write_table
from eval.config import EvalConfig
from eval.plan import PEER, POOLED
from eval.stats import (
    Interval,
    by_persona,
    holm,
    macro_mean,
    minimum_detectable_difference,
    paired_differences,
    persona_means,
    sign_flip_p,
)

SPLIT_LABELS = {
    "by_interview": "later interviews held out",
    "within_interview": "end of the only interview held out (weaker evidence)",
}


def score_run(run: Path, corpus: Corpus, config: EvalConfig) -> dict[str, Any]:
    """Metrics of a run, people split by interview and inside an interview kept apart."""
    uses = list(read_jsonl(run / "generate" / "plan.jsonl"))
    likelihood = _likelihood_rows(uses, read_rows(run / "generate" / "likelihood").by_key)
    answers = _answer_rows(
        uses,
        read_rows(run / "generate" / "replies").by_key,
        read_rows(run / "judge").by_key,
        corpus,
    )
    write_table(run / "score" / "likelihood.parquet", likelihood)
    write_table(run / "score" / "answers.parquet", answers)
    groups = []
    for kind, label in SPLIT_LABELS.items():
        people = {n for n, split in corpus.splits.items() if split.rule.kind == kind}
        own = [row for row in likelihood if row["persona_id"] in people]
        judged = [row for row in answers if row["persona_id"] in people]
        if own or judged:
            groups.append(
                {
                    "split": kind,
                    "label": label,
                    "likelihood": _likelihood_table(own, config),
                    "who_said_it": _who_said_it(own, corpus),
                    "content_similarity": _content_table(judged, config),
                }
            )
    _correct_for_many_tests(groups)
    return {"groups": groups, "statuses": _statuses(likelihood, answers)}


def _likelihood_rows(uses: Iterable[Row], rows: Mapping[str, Row]) -> list[Row]:
    joined = []
    for use in uses:
        if use["table"] == "reply":
            continue
        row = rows.get(use["key"], {"status": "not_run", "bits": None, "num_characters": 0})
        ok = row["status"] == "ok" and row["num_characters"] > 0
        joined.append(
            {
                **use,
                "status": row["status"],
                "bits": row["bits"],
                "num_characters": row["num_characters"],
                "num_tokens": row.get("num_tokens", 0),
                "bits_per_character": row["bits"] / row["num_characters"] if ok else None,
            }
        )
    return joined


def _answer_rows(
    uses: Iterable[Row], replies: Mapping[str, Row], judged: Mapping[str, Row], corpus: Corpus
) -> list[Row]:
    """Each reply with its verdict; `status` is the judge's, or why there is no verdict."""
    # a reply that first never arrived has two: the one that fits what is there now counts
    verdicts = {
        (row["reply_key"], row["status"] == "candidate_invalid"): row for row in judged.values()
    }
    pairs: dict[str, Any] = {}
    joined = []
    for use in (use for use in uses if use["table"] == "reply"):
        if use["pair_id"] not in pairs:
            pairs |= {pair.id: pair for pair in corpus.part(use["persona_id"], "test")}
        pair = pairs[use["pair_id"]]
        reply = replies.get(use["key"], {"status": "not_run", "text": "", "finish_reason": ""})
        is_invalid = reply["status"] != "ok" or not reply["text"].strip()
        verdict = verdicts.get((verdict_key(use), is_invalid), {"status": "not_judged"})
        joined.append(
            {
                **use,
                "question": pair.question,
                "reference": pair.answer,
                "reply": reply["text"],
                "reply_status": reply["status"],
                "finish_reason": reply["finish_reason"],
                "status": verdict["status"],
                "score": verdict.get("score"),
                "explanation": verdict.get("explanation"),
                "judge": verdict.get("judge"),
                "detail": verdict.get("detail") or "",
            }
        )
    return joined


def verdict_key(use: Mapping[str, Any]) -> str:
    """Names a reply as an answer to one question; equal texts of two questions stay apart."""
    return f"{use['key']}/{use['pair_id']}"


def _likelihood_table(rows: Sequence[Row], config: EvalConfig) -> dict[str, Any]:
    """Bits per character by method, each compared with the baseline on the same answers."""
    values = {
        method: by_persona(
            (row["persona_id"], row["pair_id"], row["bits_per_character"])
            for row in rows
            if row["table"] == "likelihood"
            and row["method"] == method
            and row["bits_per_character"] is not None
        )
        for method in (*config.methods, POOLED, PEER)
    }
    baseline = values[config.baseline]
    table = []
    for method, own in values.items():
        if own:
            entry = _summary(method, own, lower_is_better=True)
            if method != config.baseline and baseline:
                entry["versus_baseline"] = _comparison(own, baseline)
                entry["is_primary"] = method == config.primary
            table.append(entry)
    return {
        "unit": "bits per character",
        "lower_is_better": True,
        "baseline": config.baseline,
        "methods": table,
    }


def _summary(
    method: str, values: Mapping[str, Mapping[Any, float]], *, lower_is_better: bool
) -> dict[str, Any]:
    lists = {persona: list(own.values()) for persona, own in values.items()}
    return {
        "method": method,
        "mean": _rounded(macro_mean(lists)),
        "lower_is_better": lower_is_better,
        "personas": {name: round(value, 6) for name, value in persona_means(lists).items()},
    }


def _comparison(
    own: Mapping[str, Mapping[Any, float]], baseline: Mapping[str, Mapping[Any, float]]
) -> dict[str, Any]:
    """Paired difference to the baseline on shared items; negative is fewer bits."""
    paired = {name: values for name, values in paired_differences(own, baseline).items() if values}
    if not paired:
        return {"num_personas": 0}
    means = persona_means(paired)
    # the relative change compares sums over the same items, person by person
    relative = {
        name: sum(paired[name]) / sum(baseline[name][i] for i in own[name] if i in baseline[name])
        for name in paired
    }
    return {
        "difference": _rounded(macro_mean(paired)),
        "relative": round(sum(relative.values()) / len(relative), 6),
        "relative_by_persona": {name: round(value, 6) for name, value in relative.items()},
        "num_personas": len(paired),
        "p": sign_flip_p([means[name] for name in sorted(means)]),
        "minimum_detectable_difference": _detectable(list(means.values())),
    }


def _detectable(means: Sequence[float]) -> float | None:
    if len(means) < 2:
        return None
    centre = sum(means) / len(means)
    spread = (sum((m - centre) ** 2 for m in means) / (len(means) - 1)) ** 0.5
    found = minimum_detectable_difference(len(means), spread)
    return None if found is None else round(found, 6)


def _who_said_it(rows: Sequence[Row], corpus: Corpus) -> dict[str, Any] | None:
    """Whose adapter gains most over the base, under identical messages, on each answer?

    A cell of the matrix is the mean gain in bits per character of one person's adapter
    (column) on another's answers (row).
    """
    gains: dict[tuple[str, str], dict[str, float]] = {}  # (persona, pair) -> suspect -> gain
    scored: dict[tuple[str, str, str], dict[str, Row]] = {}
    for row in (row for row in rows if row["table"] == "who_said_it"):
        cell = scored.setdefault((row["persona_id"], row["pair_id"], row["addressed_as"]), {})
        cell[row["method"]] = row
    for (persona, pair, suspect), cell in scored.items():
        adapter, base = cell.get("{persona}"), cell.get("base:{persona}")
        if adapter and base and adapter["bits"] is not None and base["bits"] is not None:
            gain = (base["bits"] - adapter["bits"]) / max(adapter["num_characters"], 1)
            gains.setdefault((persona, pair), {})[suspect] = gain
    # a suspect who failed on an answer leaves that answer unscored, never out of the line-up
    suspects = sorted({suspect for _, _, suspect in scored})
    whole = {item: own for item, own in gains.items() if len(own) == len(suspects)}
    if len(suspects) < 2 or not whole:
        return None
    matrix = [
        [_mean([own[s] for (persona, _), own in whole.items() if persona == p]) for s in suspects]
        for p in suspects
    ]
    return {
        "people": suspects,
        "matrix": matrix,
        "unit": "bits per character gained over the base",
        "num_unscored": len({(persona, pair) for persona, pair, _ in scored}) - len(whole),
        "over_all": _identification(whole, dict.fromkeys(suspects, suspects)),
        "within_category": _identification(whole, _by_category(suspects, corpus)),
    }


def _by_category(suspects: Sequence[str], corpus: Corpus) -> dict[str, list[str]]:
    category = {s: corpus.persona(s).category for s in suspects}
    return {
        s: [other for other in suspects if category[other] == category[s]]
        for s in suspects
        if category[s]
    }


def _identification(
    gains: Mapping[tuple[str, str], Mapping[str, float]], rivals: Mapping[str, Sequence[str]]
) -> dict[str, Any] | None:
    """Share of answers whose author's adapter gains most; an exact tie counts as wrong."""
    hits: dict[str, list[float]] = {}
    chances: dict[str, float] = {}
    for (persona, _), own in gains.items():
        others = [own[name] for name in rivals.get(persona, ()) if name != persona]
        if others:
            hits.setdefault(persona, []).append(float(own[persona] > max(others)))
            chances[persona] = 1 / (len(others) + 1)
    if not hits:
        return None
    return {
        "accuracy": _rounded(macro_mean(hits)),
        "chance": round(sum(chances.values()) / len(chances), 6),
        "personas": {name: round(value, 6) for name, value in persona_means(hits).items()},
    }


def _content_table(rows: Sequence[Row], config: EvalConfig) -> dict[str, Any] | None:
    """Mean judged similarity by method, with the bounds that unread verdicts leave open."""
    if not any(row["status"] != "not_judged" for row in rows):
        return None
    scored = {
        method: by_persona(
            (row["persona_id"], row["pair_id"], float(row["score"]))
            for row in rows
            if row["method"] == method and row["status"] == "ok"
        )
        for method in config.methods
    }
    table = []
    for method in config.methods:
        own_rows = [row for row in rows if row["method"] == method]
        if not own_rows:
            continue
        statuses = Counter(row["status"] for row in own_rows)
        entry: dict[str, Any] = {"method": method, "mean": None, "personas": {}}
        if scored[method]:
            entry = _summary(method, scored[method], lower_is_better=False)
            if method != config.baseline and scored[config.baseline]:
                entry["versus_baseline"] = _comparison(scored[method], scored[config.baseline])
        entry |= {
            "lower_is_better": False,
            "statuses": dict(sorted(statuses.items())),
            "worst_case": _bound(own_rows, 1.0),
            "best_case": _bound(own_rows, 5.0),
        }
        table.append(entry)
    judges = sorted({row["judge"] for row in rows if row["judge"]})
    return {
        "unit": "1 to 5",
        "lower_is_better": False,
        "baseline": config.baseline,
        "judges": judges,
        "methods": table,
    }


def _bound(rows: Sequence[Row], unread: float) -> float:
    """The mean if every unscored answer had got this score."""
    values: dict[str, list[float]] = {}
    for row in rows:
        score = row["score"] if row["status"] == "ok" else unread
        values.setdefault(row["persona_id"], []).append(float(score))
    return round(macro_mean(values).mean, 6)


def _correct_for_many_tests(groups: Sequence[dict[str, Any]]) -> None:
    """Holm over all comparisons of the report."""
    compared = [
        entry["versus_baseline"]
        for group in groups
        for table in (group["likelihood"], group["content_similarity"])
        if table
        for entry in table["methods"]
        if entry.get("versus_baseline", {}).get("p") is not None
    ]
    for comparison, corrected in zip(compared, holm([c["p"] for c in compared]), strict=True):
        comparison["p_holm"] = corrected


def _statuses(likelihood: Sequence[Row], answers: Sequence[Row]) -> dict[str, dict[str, int]]:
    return {
        "likelihood": dict(sorted(Counter(row["status"] for row in likelihood).items())),
        "replies": dict(sorted(Counter(row["reply_status"] for row in answers).items())),
        "judgements": dict(sorted(Counter(row["status"] for row in answers).items())),
    }


def _rounded(interval: Interval) -> dict[str, Any]:
    return {
        name: round(value, 6) if isinstance(value, float) else value
        for name, value in asdict(interval).items()
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 6) if values else None
