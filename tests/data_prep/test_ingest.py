"""One document: accepted with its pairs, or refused with a reason; read once."""

import json

import pytest

from data_prep import ingest as ingesting
from data_prep.ingest import content_of, ingest
from data_prep.pairs import PairConfig
from data_prep.records import Persona
from data_prep.roster import RawDocument
from data_prep.verify import VerifyConfig

ADA = Persona(id="ada-quill", name="Ada Quill")


@pytest.fixture
def take(tmp_path):
    def run(content, *, name="2020-01-02_talk.txt", persona=ADA, pairs=None, **facts):
        path = tmp_path / "ada" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        document = RawDocument(path=path, source=f"ada/{name}", **facts)
        folder = tmp_path / "ingest"
        folder.mkdir(exist_ok=True)
        return ingest(document, persona, folder, VerifyConfig(), pairs or PairConfig())

    return run


def interview(outcome):
    return outcome.content["interview"]


def test_an_interview_is_accepted_with_what_is_known_about_it(take, transcript):
    found = take(transcript("Ada Quill", 2020), date="2019-05", title="Kilns", licence="CC0")
    assert found.reject is None and found.content["num_pairs"] == 4
    assert interview(found) == {
        "id": "ada-quill-2020-01-02-talk", "persona_id": "ada-quill", "sequence": 0,
        "date": "2019-05", "date_precision": "month",  # the manifest's, not the file name's
        "title": "Kilns", "source": "ada/2020-01-02_talk.txt", "language": "en",
        "licence": "CC0", "duration_seconds": None, "sha256": found.sha256,
    }  # fmt: skip


def test_a_date_comes_from_the_file_name_when_nothing_else_has_one(take, transcript):
    text = transcript("Ada Quill", 2020).replace("A talk of 2020", "A talk")
    assert interview(take(text))["date"] == "2020-01-02"
    undated = interview(take(text, name="talk.txt"))
    assert (undated["date"], undated["date_precision"]) == (None, "unknown")


CYRILLIC = "Q: Где вы родились?\nA: В маленьком городе у моря.\n" * 20
GERMAN = "Ich erzähle Ihnen gern von früher, von der Töpferei und vom Brennofen im Garten. " * 3


@pytest.mark.parametrize(
    ("content", "stage", "reason"),
    [
        (b"", "read", "unreadable"),
        (b" \n\t\n", "read", "unreadable"),
        (bytes(range(256)) * 20, "read", "unreadable"),
        (b"%PDF-1.7 ...", "read", "unreadable"),
        (CYRILLIC.encode("cp1251"), "read", "unreadable"),
        ("ADA QUILL: " + "I shape clay every day of my life. " * 30, "verify", "monologue"),
        ("I shape clay every day of my life. " * 30, "verify", "monologue"),
        (
            "BO: Lovely pots.\nADA QUILL: I made them all by hand.\n" * 20 + "BO: Is that all?\n",
            "verify",
            "no_questions",
        ),
        ("BO FENN: Why clay?\nCLEO: It is soft and warm to me.\n" * 20, "identify", "wrong_person"),
    ],
    ids="empty blank binary pdf cyrillic one-speaker prose no-questions others".split(),
)  # fmt: skip
def test_what_is_no_interview_is_refused_in_one_line(take, content, stage, reason):
    found = take(content)
    assert found.content is None and (found.reject.stage, found.reject.reason) == (stage, reason)
    assert found.reject.source == "ada/2020-01-02_talk.txt" and found.reject.detail
    assert "\n" not in found.reject.detail


def test_western_text_in_another_encoding_is_read(take, transcript):
    text = transcript("Zoë Quill", 2020)
    found = take(text.encode("cp1252"), persona=Persona(id="zoe", name="Zoë Quill"))
    assert found.reject is None
    assert (
        found.content["num_pairs"]
        == take(text, persona=Persona(id="zoe", name="Zoë Quill")).content["num_pairs"]
    )


def test_an_interview_without_a_pair_left_is_refused(take, transcript):
    found = take(transcript("Ada Quill", 2020), pairs=PairConfig(min_answer_words=900))
    assert (found.reject.stage, found.reject.reason) == ("structure", "no_pairs")


def test_english_rules_about_follow_ups_are_for_english_only(take, tmp_path):
    # an English question that begins with "also" leans on what was said before
    exchange = f"INTERVIEWER: Also, wo sind Sie aufgewachsen?\nADA QUILL: {GERMAN}\n"
    found = take(exchange + exchange.replace("früher", "damals"), language="de")
    kept = content_of(tmp_path / "ingest", found.key)
    assert [pair["self_contained"] for pair in kept["pairs"]] == [True, True]


def test_a_document_is_read_once(take, transcript, monkeypatch):
    text = transcript("Ada Quill", 2020)
    first = take(text)
    monkeypatch.setattr(ingesting, "read_bytes", lambda *a, **k: pytest.fail("read again"))
    assert take(text) == first


@pytest.mark.parametrize(
    "change",
    [
        {"date": "2001"},
        {"date_precision": "year", "date": "2020-01-01"},
        {"language": "de"},
        {"title": "Other"},
        {"licence": "CC0"},
        {"persona": Persona(id="ada-quill", name="Ada Quill", aliases=("A. Q.",))},
        {"pairs": PairConfig(num_prior_exchanges=0)},
        {"name": "other.txt"},
    ],
    ids=str,
)
def test_it_is_read_again_when_anything_said_about_it_changes(take, transcript, change):
    text = transcript("Ada Quill", 2020)
    assert take(text).key != take(text, **change).key


def test_changed_words_or_rules_are_read_again(take, transcript, monkeypatch):
    text = transcript("Ada Quill", 2020)
    first = take(text)
    assert take(text + " Yes.").key != first.key
    monkeypatch.setattr(ingesting, "code_digest", lambda: "other rules")
    assert take(text).key != first.key


def test_every_module_that_shapes_a_pair_counts_as_a_rule():
    # what ingest uses, directly or through others, but for records and files
    neutral = {"records", "files", "roster", "engine", "journal"}
    shaped = {"ingest"}
    waiting = ["ingest"]
    while waiting:
        source = (ingesting.CODE / f"{waiting.pop()}.py").read_text(encoding="utf-8")
        found = {
            line.split()[1].split(".")[1]
            for line in source.splitlines()
            if line.startswith("from data_prep.")
        }
        new = found - neutral - shaped
        shaped |= new
        waiting += [name for name in new if (ingesting.CODE / f"{name}.py").exists()]
    assert shaped <= {name.removesuffix(".py") for name in ingesting.READING_CODE}


@pytest.mark.parametrize("damage", ["", "{", "[]", "{}", '{"reject": null, "content": {}}'])
def test_a_damaged_outcome_is_made_again(take, transcript, damage, tmp_path):
    first = take(transcript("Ada Quill", 2020))
    [kept] = (tmp_path / "ingest").iterdir()
    whole = json.loads(kept.read_text())
    kept.write_text(damage)
    assert take(transcript("Ada Quill", 2020)) == first
    assert json.loads(kept.read_text()) == whole


def test_a_file_that_cannot_be_opened_is_refused_not_fatal(tmp_path):
    document = RawDocument(path=tmp_path / "gone.txt", source="ada/gone.txt")
    found = ingest(document, ADA, tmp_path, VerifyConfig(), PairConfig())
    assert found.reject.reason == "unreadable" and "cannot be opened" in found.reject.detail
