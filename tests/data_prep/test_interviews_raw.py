"""The reading side against 284 real transcripts in 8 formats, ten of them to be refused."""

import json
import os
from pathlib import Path

import pytest

from data_prep.interviewee import find_interviewee
from data_prep.pairs import build_pairs
from data_prep.readers import read_document
from data_prep.records import Persona
from data_prep.verify import verify

REPO = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("PERSONAE_SHARED", REPO / "../shared")) / "data/interviews_raw"
KINDS = {  # the manifest's kinds of reason, and the codes that say the same
    "answers only": {"answers_only", "no_questions"},
    "wrong person": {"wrong_person"},
    "panel": {"panel"},
    "monologue": {"monologue", "no_questions"},
}


@pytest.fixture(scope="module")
def judged():
    if not (CORPUS / "manifest.jsonl").exists():
        reason = f"no interviews at {CORPUS}; set PERSONAE_SHARED"
        if "shared" in os.environ.get("PERSONAE_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    lines = (CORPUS / "manifest.jsonl").read_text(encoding="utf-8").splitlines()
    rows = []
    for row in map(json.loads, lines):
        document = read_document(CORPUS / row["file"])
        persona = Persona(id=row["person_id"], name=row["person_name"])
        finding = find_interviewee(document, persona)
        verdict = verify(document, finding, persona)
        pairs = build_pairs(
            document.turns, finding, persona_id=persona.id, interview_id=row["interview_id"]
        )
        rows.append((row, document, finding, verdict, pairs))
    return rows


def accepts(judged):
    return [entry for entry in judged if entry[0]["expected"] == "accept"]


def test_real_interviews_are_accepted(judged):
    refused = [row["file"] for row, *_, verdict, _ in accepts(judged) if not verdict.accepted]
    assert len(refused) <= 0.05 * len(accepts(judged)), refused


def test_what_is_no_interview_is_refused_for_the_right_reason(judged):
    rejects = [entry for entry in judged if entry[0]["expected"] == "reject"]
    wrong = [
        (row["file"], verdict.reason)
        for row, *_, verdict, _ in rejects
        if verdict.reason not in KINDS[row["reject_reason"].split(":")[0]]
    ]
    assert len(rejects) == 10 and len(wrong) <= 1, wrong


def test_the_labels_of_the_person_are_found(judged):
    missed = [
        row["file"]
        for row, _, finding, *_ in accepts(judged)
        if not {label.strip("_#") for label in row["interviewee_speaker_labels"]}
        <= set(finding.labels)
    ]
    assert len(missed) <= 0.03 * len(accepts(judged)), missed


def test_dates_in_documents_or_file_names_are_right(judged):
    wrong = [row["file"] for row, document, *_ in accepts(judged) if document.date != row["date"]]
    assert len(wrong) <= 0.02 * len(accepts(judged)), wrong


def test_pairs_hold_most_of_what_the_person_said(judged):
    for row, document, finding, _, pairs in accepts(judged):
        said = sum(len(t.text.split()) for t in document.turns if t.speaker in finding.labels)
        kept = sum(len(pair.answer.split()) for pair in pairs)
        assert len(pairs) >= 2 and 0.25 * said <= kept <= said, row["file"]


def test_no_page_furniture_or_label_is_left_in_answers(judged):
    for row, _, finding, _, pairs in accepts(judged):
        text = " ".join(pair.answer for pair in pairs)
        assert "Page 2 of" not in text and "&quot;" not in text, row["file"]
        for label in finding.labels:
            assert f"{label}. " not in text if label.startswith("THE ") else True, row["file"]
