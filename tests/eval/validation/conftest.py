"""A corpus whose people have no words in common, and a validation on it."""

from __future__ import annotations

import json

import pytest

from data_prep.corpus import Corpus
from data_prep.files import write_json, write_jsonl
from data_prep.journal import write_table
from data_prep.records import Persona, PersonaSplit, QAPair, SplitRule, to_row
from eval.validation.run import gather, validate
from tests.eval.validation.judges import CONFIG, JUDGE

NUM_PEOPLE, NUM_PAIRS = 4, 6


@pytest.fixture(scope="session")
def people(tmp_path_factory) -> Corpus:
    """Four people with six held-out answers each; every answer has words of its own."""
    folder = tmp_path_factory.mktemp("people")
    names = [f"person-{letter}" for letter in "abcd"[:NUM_PEOPLE]]
    for name in names:
        rows = [to_row(_pair(name, number)) for number in range(NUM_PAIRS)]
        write_table(folder / "qa.parquet" / f"{name}.parquet", rows)
    write_jsonl(folder / "personas.jsonl", [to_row(Persona(id=n, name=n.title())) for n in names])
    rule = SplitRule(kind="by_interview", has_validation=False)
    splits = [
        PersonaSplit(
            persona_id=name,
            rule=rule,
            train=(),
            validation=(),
            test=tuple(f"{name}-{n}" for n in range(NUM_PAIRS)),
        )
        for name in names
    ]
    write_json(folder / "splits.json", {"personas": [to_row(split) for split in splits]})
    write_json(folder / "manifest.json", {"schema_version": 1, "stage": "prep", "counts": {}})
    return Corpus(folder)


def _pair(name: str, number: int) -> QAPair:
    own = [f"{name[-1]}{number}word{n}" for n in range(24)]
    answer = f"{' '.join(own[:12])}. {' '.join(own[12:])}."
    return QAPair(
        id=f"{name}-{number}",
        persona_id=name,
        interview_id=name,
        index=number,
        question=f"What of {name}, number {number}?",
        answer=answer,
        answer_raw=answer,
    )


@pytest.fixture(scope="session")
def roleid_items(tmp_path_factory):
    """Twenty items of four works, whose reply tells nothing but names its speaker's number."""
    rows = [
        {
            "id": f"item-{n}",
            "track": "interviews",
            "work": f"work-{n % 4}",
            "context": [{"speaker": "Ann", "text": f"Who is it, friend {n}?"}],
            "target_text": f"It is I, of all people, number {n % 3}.",
            "candidates": [{"name": f"Bob {k}", "profile": "Says little."} for k in range(3)],
            "answer": f"Bob {n % 3}",
        }
        for n in range(20)
    ]
    path = tmp_path_factory.mktemp("items") / "items.jsonl"
    write_jsonl(path, rows)
    return path


@pytest.fixture
def probe(people, roleid_items, tmp_path):
    """Validate a judge; returns what was found."""

    def run(engine, *, config=CONFIG, judge=JUDGE, roleid=roleid_items, labels=None, folder=None):
        material = gather(people, config, roleid, labels)
        path = validate(folder or tmp_path / "judges", material, engine, config, judge)
        return json.loads(path.read_text())

    return run
