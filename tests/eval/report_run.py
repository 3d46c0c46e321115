"""A small scored run of six fictional people, made through the project's own functions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from data_prep.corpus import Corpus
from data_prep.engine import Sampling
from data_prep.files import make_folder, write_json, write_jsonl, write_manifest
from data_prep.journal import Journal, compact, write_table
from data_prep.prompting import PromptSpec
from data_prep.records import Persona, PersonaSplit, QAPair, SplitRule, content_hash, to_row
from eval.config import EvalConfig, JudgeConfig
from eval.plan import PEER, POOLED, Use
from eval.run import score, start_run
from eval.score import verdict_key
from train.bundle import WEIGHTS, Canary, PersonaBundle, bundle_version, publish

PEOPLE = {
    "maud": ("Maud Ellery-Quist", "Science", "by_interview"),
    "tobias": ("Tobias Fenwright", "Science", "by_interview"),
    "ines": ("Inês Calloway", "Arts", "by_interview"),
    "hollis": ("Hollis Brandreth", "Arts", "by_interview"),
    "pernilla": ("Pernilla Osk", "Arts", "within_interview"),
    "gwil": ("Gwil Tarrant", "Science", "within_interview"),
}
METHODS = (
    "base:{persona}",
    "base:{persona}+chronological-10",
    "{persona}",
    "{persona}+retrieval-10",
    "{category}",
)
GAINS = {  # bits per character that a method saves over the prompted base
    "base:{persona}+chronological-10": 0.05,
    "{persona}": 0.16,
    "{persona}+retrieval-10": 0.19,
    "{category}": 0.07,
    POOLED: 0.06,
    PEER: 0.03,
}
INJECTION = "</script><img src=x onerror=alert(1)>{{7*7}}<!--"

QUESTIONS = [
    "What made you begin?",
    "Which day would you live again?",
    "What do people get wrong about your work?",
    "Who taught you most, and how?",
    "What would you tell someone who starts today?",
    "What did the long winter change for you?",
]
ANSWERS = [
    "My aunt had a shed full of broken clocks, and I was the only child small enough to reach "
    "behind the big one. I found a spring, and then I had to find out what it was for.",
    "The day we opened the doors and nobody came. We played anyway, to eleven chairs, and it was "
    "the best we ever did. You can't be vain in front of chairs.",
    "They think it is patience. It is not patience, it is being cross for a very long time and "
    "keeping your hands busy meanwhile.",
    "A man at the ferry who never once answered a question. He would hand you the rope, and if "
    "you tied it badly you got wet.",
    "Write down what you did today, and what it cost. Next year you will not believe either.",
    "I learned which neighbours have ladders. That sounds small, and it is how a village works.",
]


def build_run(
    folder: Path,
    *,
    gains: Mapping[str, float] | None = None,
    people: tuple[str, ...] = tuple(PEOPLE),
    noise: float = 0.04,
    judge: JudgeConfig | None = None,
    texts: Mapping[str, str] | None = None,
) -> tuple[Path, Path]:
    """Returns the run and the adapters folder.

    Args:
        gains: replaces some of `GAINS`; a method that gains None is scored nowhere.
        noise: how much people differ in what a method gains them, in bits per character.
        texts: replaces the first "question", "reference" or "reply".
    """
    corpus = _corpus(folder / "corpus", people, texts or {})
    run = folder / "runs" / "autumn-trial"
    judge = judge or JudgeConfig(name="owl-7b", allow_same_base=True, engine={"api_key": "abc123"})
    config = EvalConfig(methods=METHODS, judge=judge)
    start_run(run, config)
    _fill(run, corpus, GAINS | dict(gains or {}), people, noise, texts or {})
    write_json(
        run / "judge" / "judge.json",
        {"name": judge.name, "model": "tiny-base", "same_base": True, "validation": None},
    )
    score(run, corpus, config)
    names = (*people[:-1], "pooled", "category-arts", "category-science")
    for name in names:
        _publish(folder / "adapters", name, corpus.digest())
    return run, folder / "adapters"


def _corpus(folder: Path, people: tuple[str, ...], texts: Mapping[str, str]) -> Corpus:
    personas, splits = [], []
    for i, persona in enumerate(people):
        name, category, kind = PEOPLE[persona]
        personas.append(to_row(Persona(id=persona, name=name, category=category)))
        pairs = [_pair(persona, n, texts if not i else {}) for n in range(len(QUESTIONS))]
        write_table(folder / "qa.parquet" / f"{persona}.parquet", [to_row(p) for p in pairs])
        rule = SplitRule(kind=kind, has_validation=False)  # type: ignore[arg-type]
        test = tuple(pair.id for pair in pairs)
        splits.append(
            to_row(PersonaSplit(persona_id=persona, rule=rule, train=(), validation=(), test=test))
        )
    write_jsonl(folder / "personas.jsonl", personas)
    write_json(folder / "splits.json", {"personas": splits})
    write_json(folder / "manifest.json", {"schema_version": 1, "stage": "prep", "people": people})
    return Corpus(folder)


def _pair(persona: str, n: int, texts: Mapping[str, str]) -> QAPair:
    shift = (n + sum(map(ord, persona))) % len(ANSWERS)
    question, answer = QUESTIONS[n], ANSWERS[shift]
    if n == 0:
        question, answer = texts.get("question", question), texts.get("reference", answer)
    return QAPair(
        id=f"{persona}-{n}",
        persona_id=persona,
        interview_id=f"{persona}-last",
        index=n,
        question=question,
        answer=answer,
        answer_raw=answer,
    )


def _fill(
    run: Path,
    corpus: Corpus,
    gains: Mapping[str, float | None],
    people: tuple[str, ...],
    noise: float,
    texts: Mapping[str, str],
) -> None:
    uses: list[Use] = []
    scores, replies, verdicts = {}, {}, {}
    for persona in people:
        for pair in corpus.part(persona, "test"):
            for method in (*METHODS, POOLED, PEER):
                gain = gains.get(method, 0.0)
                if gain is None:
                    continue
                use = _use("likelihood", method, persona, persona, pair.id)
                uses.append(use)
                saved = gain and gain + noise * _chance(persona, method)
                scores[use.key] = _score(pair, saved)
            for suspect in people:
                for method, own in (("base:{persona}", 0.0), ("{persona}", 0.05)):
                    use = _use("who_said_it", method, persona, suspect, pair.id)
                    uses.append(use)
                    fit = 0.11 if suspect == persona else -0.06
                    fit += 0.14 * _chance(persona, suspect, pair.id)
                    scores[use.key] = _score(pair, own and own + fit)
            for number, method in enumerate(METHODS):
                if gains.get(method, 0.0) is None:
                    continue
                use = _use("reply", method, persona, persona, pair.id)
                uses.append(use)
                text = f"{ANSWERS[(number + pair.index) % 6]} That is all there is to it."
                first = persona == people[0] and pair.index == 0
                text = texts.get("reply", text) if first else text
                replies[use.key] = {
                    "key": use.key,
                    "status": "ok",
                    "text": text,
                    "finish_reason": "stop",
                }
                verdicts[use.key] = _verdict(use, number)
    write_jsonl(run / "generate" / "plan.jsonl", (asdict(use) for use in uses))
    missing = {"{category}": ["hollis"]}
    write_json(
        run / "generate" / "notes.json",
        {"missing": missing, "num_follow_ups": {"asked with prior turns": 3, "dropped": 0}},
    )
    write_manifest(run / "generate", "generate", seed=0)
    for folder, rows in (
        ("generate/likelihood", scores),
        ("generate/replies", replies),
        ("judge", verdicts),
    ):
        with Journal(run / folder) as journal:
            journal.append({"key": key, **row} for key, row in rows.items())
        compact(run / folder)


def _use(table: Any, method: str, persona: str, suspect: str, pair: str) -> Use:
    names = {POOLED: "pooled", PEER: next(p for p in PEOPLE if p != persona)}
    category = "category-" + PEOPLE[persona][1].lower()
    named = names.get(method, method.replace("{persona}", suspect).replace("{category}", category))
    return Use(
        table=table,
        method=method,
        who=named,
        persona_id=persona,
        addressed_as=suspect,
        pair_id=pair,
        num_context_pairs=7 if "chronological" in method else 10 if "retrieval" in method else 0,
        key=content_hash([table == "reply", method, persona, suspect, pair], digits=32),
    )


def _score(pair: QAPair, saved: float) -> dict[str, Any]:
    level = 1.35 + 0.25 * _chance(pair.persona_id) + 0.2 * _chance(pair.id)
    return {
        "status": "ok",
        "bits": (level - saved) * len(pair.answer),
        "num_tokens": len(pair.answer) // 4,
        "num_characters": len(pair.answer),
    }


def _verdict(use: Use, number: int) -> dict[str, Any]:
    drawn = _chance(use.key)
    status = "judge_unparseable" if drawn > 0.93 else "ok"
    value = max(1, min(5, round(2.4 + 0.3 * number + 1.6 * drawn)))
    return {
        "status": status,
        "reply_key": verdict_key(asdict(use)),
        "judge": "owl-7b",
        "score": value if status == "ok" else None,
        "explanation": "Names the same reason, leaves out the second half."
        if status == "ok"
        else None,
        "detail": "" if status == "ok" else "no JSON object",
    }


def _chance(*parts: str) -> float:
    """A number from -1 to 1 that is always the same for the same parts."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def _publish(adapters: Path, name: str, corpus_digest: str) -> None:
    staged = make_folder(adapters / name / "staged")
    (staged / WEIGHTS).write_bytes(name.encode())
    prompt = PromptSpec(id="interview-answer.v1", system="You are {name}.", persona_name=None)
    base = tuple(-2.0 for _ in range(32))
    learnt = 0.05 if name == "ines" else 0.8 + 0.3 * _chance(name)
    losses = [2.61, 2.34, 2.22, 2.25] if name != "gwil" else []
    publish(
        adapters,
        staged,
        PersonaBundle(
            name=name,
            version=bundle_version(staged / WEIGHTS, prompt, "base-1"),
            scope="persona" if name in PEOPLE else "pooled" if name == "pooled" else "category",
            persona_ids=(name,) if name in PEOPLE else tuple(PEOPLE),
            base_model="tiny-base-135m",
            base_fingerprint="base-1",
            template_hash="t" * 12,
            prompt=prompt,
            sampling=Sampling(),
            corpus_digest=corpus_digest,
            config_hash="c" * 12,
            training={
                "num_pairs": 84,
                "num_too_long": 1,
                "num_tokens": 41_210,
                "num_supervised_tokens": 30_400,
                "num_steps": 84,
                "seconds": 428.4,
                "train_losses": [
                    3.0 / (1 + 0.06 * i) + 0.1 * _chance(name, str(i)) for i in range(24)
                ],
                "validation_losses": losses,
                "best_epoch": losses.index(min(losses)) + 1 if losses else None,
            },
            canary=Canary(
                messages=({"role": "user", "content": "Why clocks?"},),
                completion="For the springs.",
                adapter_logprobs=tuple(value + learnt for value in base),
                base_logprobs=base,
            ),
        ),
    )
