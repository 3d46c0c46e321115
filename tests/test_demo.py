"""The whole path on the packaged model: what `make demo` runs, and what must come out of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from data_prep.corpus import Corpus
from data_prep.journal import read_rows, read_table
from train.bundle import LEARNT_NOTHING, find_bundle, list_names, read_bundle

pytestmark = pytest.mark.slow

STAGES = [
    "prepare the interviews",
    "get the base model",
    "train an adapter",
    "evaluate on held-out",
]


def run_demo(out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "personae", "demo", "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=1200,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The folder of a finished demo, and what it printed."""
    out = tmp_path_factory.mktemp("demo")
    done = run_demo(out)
    assert done.returncode == 0, done.stderr[-3000:]
    return out, done.stdout


@pytest.fixture(scope="module")
def metrics(demo):
    return json.loads((demo[0] / "eval" / "metrics.json").read_text())


def group_of(metrics, split):
    return next(group for group in metrics["groups"] if group["split"] == split)


def test_the_demo_names_its_stages_and_its_report(demo):
    out, printed = demo
    for stage in STAGES:
        assert stage in printed
    assert f"report: {out / 'eval' / 'report.html'}" in printed
    assert (out / "eval" / "report.html").stat().st_size > 20_000


def test_the_document_that_is_no_interview_is_refused_with_its_reason(demo):
    out, printed = demo
    assert "refused barnaby-thrupp/2016-06-18_speech-at-the-jubilee.txt: monologue" in printed
    rejects = (out / "corpus" / "rejects.jsonl").read_text().splitlines()
    assert len(rejects) == 1


def test_people_with_one_interview_are_split_inside_it_and_labelled(demo):
    kinds = {name: split.rule.kind for name, split in Corpus(demo[0] / "corpus").splits.items()}
    assert sorted(name for name, kind in kinds.items() if kind == "within_interview") == [
        "p01",
        "p02",
        "p03",
        "p04",
    ]
    assert len(kinds) == 8


def test_every_adapter_learnt_something_and_carries_its_prompt(demo):
    adapters = demo[0] / "adapters"
    bundles = [read_bundle(find_bundle(adapters, name)) for name in list_names(adapters)]
    assert len(bundles) == 5
    for bundle in bundles:
        assert bundle.canary.distance() > LEARNT_NOTHING
        assert len(bundle.canary.adapter_logprobs) >= 32
        assert "{name}" in bundle.prompt.system


def test_each_own_adapter_beats_the_prompted_base_on_held_out_answers(metrics):
    table = group_of(metrics, "by_interview")["likelihood"]["methods"]
    own = next(entry for entry in table if entry["method"] == "{persona}")
    assert len(own["personas"]) == 4
    # measured -12 %; 8 % is what the project promises of a first adapter
    assert own["versus_baseline"]["relative"] < -0.08
    assert all(value < 0 for value in own["versus_baseline"]["relative_by_persona"].values())


def test_adapters_tell_who_said_it_better_than_chance(metrics):
    found = group_of(metrics, "by_interview")["who_said_it"]
    assert found["over_all"]["accuracy"]["mean"] > 2 * found["over_all"]["chance"]
    assert len(found["people"]) == 4


def test_the_two_kinds_of_split_share_no_number(metrics):
    people = [
        {name for e in group["likelihood"]["methods"] for name in e["personas"]}
        for group in metrics["groups"]
    ]
    assert len(people) == 2
    assert not people[0] & people[1]


def test_every_number_can_be_traced_to_a_row(demo, metrics):
    run = demo[0] / "eval"
    rows = read_rows(run / "generate" / "likelihood").by_key
    scored = read_table(run / "score" / "likelihood.parquet")
    own = [
        row
        for row in scored
        if (row["table"], row["method"], row["persona_id"])
        == ("likelihood", "{persona}", "corwin-pask")
    ]
    for row in own:
        assert rows[row["key"]]["bits"] / rows[row["key"]]["num_characters"] == pytest.approx(
            row["bits_per_character"]
        )
    table = group_of(metrics, "by_interview")["likelihood"]["methods"]
    reported = next(e for e in table if e["method"] == "{persona}")["personas"]["corwin-pask"]
    mean = sum(row["bits_per_character"] for row in own) / len(own)
    assert reported == pytest.approx(mean, abs=1e-6)


def test_verdicts_that_could_not_be_read_are_counted_and_are_no_numbers(demo, metrics):
    answers = read_table(demo[0] / "eval" / "score" / "answers.parquet")
    assert sum(metrics["statuses"]["judgements"].values()) == len(answers)
    for row in answers:
        assert (row["score"] in {1, 2, 3, 4, 5}) == (row["status"] == "ok")


def test_a_second_run_does_nothing_again_and_gives_the_same_numbers(demo):
    out, _ = demo
    before = {
        path: path.read_bytes()
        for path in [out / "eval" / "metrics.json", out / "eval" / "report.html"]
    }
    versions = sorted((out / "adapters").glob("*/*/persona.json"))
    again = run_demo(out)
    assert again.returncode == 0, again.stderr[-3000:]
    assert "train " not in again.stderr
    assert sorted((out / "adapters").glob("*/*/persona.json")) == versions
    assert {path: path.read_bytes() for path in before} == before
