"""Raw transcripts to a corpus: bad files are named, and a second run does only what is new."""

import datetime
import json
import shutil
import threading
import tracemalloc

import pytest

from data_prep import ingest as ingesting
from data_prep import prepare as preparing
from data_prep.corpus import Corpus
from data_prep.files import only_writer, read_jsonl, write_jsonl
from data_prep.interrupt import Checkpointed
from data_prep.pairs import PairConfig
from data_prep.prepare import PrepConfig, prepare
from data_prep.readers import read_bytes


@pytest.fixture
def raw(tmp_path, write_interviews):
    folder = tmp_path / "raw"
    write_interviews(folder, "Ada Quill", range(2011, 2014))
    write_interviews(folder, "Bo Fenn", range(2001, 2004))
    return folder


@pytest.fixture
def out(tmp_path):
    return tmp_path / "corpus"


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def reasons(tally):
    return {reject.source: reject.reason for reject in tally.rejects}


def count_reads(monkeypatch):
    names = []

    def counted(data, *, name=""):
        names.append(name)
        return read_bytes(data, name=name)

    monkeypatch.setattr(ingesting, "read_bytes", counted)
    return names


def test_bad_files_are_named_and_the_rest_goes_on(raw, out):
    ada = raw / "ada-quill"
    (ada / "empty.txt").write_bytes(b"")
    (ada / "photo.jpg").write_bytes(b"\xff\xd8\xff\xe0" + bytes(500))
    (ada / "cyrillic.txt").write_bytes(("Где вы родились, расскажите? " * 30).encode("cp1251"))
    (ada / "speech.txt").write_text("ADA QUILL: " + "My friends, clay is patient. " * 40)
    chat = "BO: Nice pots.\nADA QUILL: They are warm, my friend.\n" * 20
    (ada / "chat.txt").write_text(chat + "BO: Is that all?\n")
    tally = prepare([raw], out)
    assert reasons(tally) == {
        "ada-quill/empty.txt": "unreadable",
        "ada-quill/photo.jpg": "unreadable",
        "ada-quill/cyrillic.txt": "unreadable",
        "ada-quill/speech.txt": "monologue",
        "ada-quill/chat.txt": "no_questions",
    }
    assert len(tally.interviews) == 6 and sorted(Corpus(out).personas) == ["ada-quill", "bo-fenn"]
    kept = list(read_jsonl(out / "rejects.jsonl"))
    assert [row["source"] for row in kept] == sorted(reasons(tally))
    assert Corpus(out).manifest["counts"]["rejected"] == 5


def test_the_same_words_under_another_name_are_refused_as_a_duplicate(raw, out):
    first = raw / "ada-quill" / "2012-05-01_talk.txt"
    shutil.copy(first, raw / "ada-quill" / "2013-09-09_again.txt")
    tally = prepare([raw], out)
    assert reasons(tally) == {"ada-quill/2013-09-09_again.txt": "duplicate"}
    assert "ada-quill/2012-05-01_talk.txt" in tally.rejects[0].detail


def test_two_people_may_have_the_same_file_names(raw, out, transcript):
    for name in ("ada-quill", "bo-fenn"):
        path = raw / name / "1999-01-01_radio.txt"
        path.write_text(transcript(name.replace("-", " ").title(), 1999))
    assert prepare([raw], out).rejects == []


def test_interviews_in_folders_of_their_own_may_be_named_alike(tmp_path, out, transcript):
    for year in (2001, 2002, 2003):
        folder = tmp_path / "raw" / "ada-quill" / str(year)
        folder.mkdir(parents=True)
        (folder / "interview.txt").write_text(transcript("Ada Quill", year))
    tally = prepare([tmp_path / "raw"], out)
    assert tally.rejects == [] and len({interview.id for interview in tally.interviews}) == 3


def test_a_second_file_of_one_name_is_refused_with_advice(raw, out, transcript):
    (raw / "ada-quill" / "2011-05-01_talk.md").write_text(transcript("Ada Quill", 1950))
    tally = prepare([raw], out)
    assert reasons(tally) == {"ada-quill/2011-05-01_talk.txt": "same_name"}
    assert "rename one of them" in tally.rejects[0].detail


def test_undated_interviews_are_taken_as_the_oldest_and_told(tmp_path, out, write_interviews):
    folder = write_interviews(tmp_path / "raw", "Ada Quill", range(2011, 2014))
    text = (folder / "2013-05-01_talk.txt").read_text().replace("A talk of 2013", "A talk")
    (folder / "2013-05-01_talk.txt").unlink()
    (folder / "cellar.txt").write_text(text)
    tally = prepare([tmp_path / "raw"], out)
    assert next(i.source for i in tally.interviews) == "ada-quill/cellar.txt"
    assert [i.sequence for i in tally.interviews] == [0, 1, 2]
    assert tally.undated == ["ada-quill/cellar.txt"]
    assert "ada-quill/cellar.txt" in (out / "card.md").read_text()


def test_a_second_run_reads_nothing_and_changes_nothing(raw, out, monkeypatch):
    (raw / "ada-quill" / "empty.txt").write_bytes(b"")
    prepare([raw], out)
    before = contents(out)
    read = count_reads(monkeypatch)
    prepare([raw], out)
    assert read == [] and contents(out) == before


def test_only_what_is_new_or_changed_is_read(raw, out, monkeypatch, write_interviews):
    prepare([raw], out)
    read = count_reads(monkeypatch)
    write_interviews(raw, "Ada Quill", range(2014, 2015))
    changed = raw / "bo-fenn" / "2002-05-01_talk.txt"
    changed.write_text(changed.read_text().replace("roof", "fence"))
    prepare([raw], out)
    assert sorted(read) == ["2002-05-01_talk.txt", "2014-05-01_talk.txt"]


def test_a_new_interview_changes_only_that_persons_tables(raw, out, write_interviews):
    prepare([raw], out)
    before = contents(out)
    write_interviews(raw, "Ada Quill", range(2014, 2015))
    prepare([raw], out)
    after = contents(out)
    changed = {name for name in after if after[name] != before.get(name)}
    assert not [name for name in changed if "bo-fenn" in name]
    assert {"qa.parquet/ada-quill.parquet", "turns/ada-quill.parquet"} <= changed


@pytest.mark.parametrize("order", [[1, 0], [0, 1]])
def test_the_order_of_arguments_does_not_matter(raw, tmp_path, order):
    people = [raw / "ada-quill", raw / "bo-fenn"]
    prepare([raw], tmp_path / "whole")
    prepare([people[i] for i in order], tmp_path / "parts")
    prepare(sorted(raw.glob("*/*.txt"), reverse=bool(order[0])), tmp_path / "files")
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
    assert contents(tmp_path / "files") == contents(tmp_path / "whole")


def test_no_file_of_a_corpus_names_where_it_was_made(raw, out):
    prepare([raw], out)
    marks = (str(raw).encode(), str(out).encode())
    assert not [name for name, data in contents(out).items() if any(mark in data for mark in marks)]


def person(name, **fields):
    return {"id": name, "name": name.replace("-", " ").title()} | fields


def test_nothing_is_kept_of_a_person_who_did_not_consent(raw, out):
    prepare([raw], out)
    assert any("ada-quill" in name for name in contents(out))
    # the consent is withdrawn, or was never for this
    write_jsonl(raw / "personas.jsonl", [person("ada-quill", consent={"scopes": ["serve"]})])
    tally = prepare([raw], out)
    assert set(reasons(tally).values()) == {"no_consent"} and len(tally.rejects) == 3
    assert "covers serve, not 'prepare'" in tally.rejects[0].detail
    left = contents(out)
    assert not [name for name in left if "ada-quill" in name]
    said = [name for name, data in left.items() if b"Ada Quill, went to the" in data]
    assert said == [] and list(Corpus(out).personas) == ["bo-fenn"]


def test_an_expired_consent_is_none(raw, out):
    yesterday = datetime.date.today() - datetime.timedelta(days=1)
    consent = {"scopes": ["prepare"], "expires": str(yesterday)}
    write_jsonl(raw / "personas.jsonl", [person("ada-quill", consent=consent)])
    assert set(reasons(prepare([raw], out)).values()) == {"no_consent"}


def test_what_an_earlier_run_wrote_goes_with_the_person_or_their_interviews(raw, out):
    prepare([raw], out)
    shutil.rmtree(raw / "bo-fenn")
    for path in (raw / "ada-quill").iterdir():
        path.write_bytes(b"")
    prepare([raw], out)
    tables = [name for name in contents(out) if name.startswith(("turns/", "qa.parquet/", "sft/"))]
    assert tables == [] and not (out / "ingest" / "bo-fenn").exists()


def test_a_training_set_goes_when_the_person_cannot_be_split_any_more(raw, out):
    prepare([raw], out)
    for path in sorted((raw / "ada-quill").iterdir())[1:]:
        path.unlink()
    tally = prepare([raw], out, PrepConfig(split=preparing.SplitConfig(single="skip")))
    assert list(tally.not_split) == ["ada-quill"] and "ada-quill" not in Corpus(out).splits
    assert not (out / "sft" / "ada-quill").exists()
    assert (out / "qa.parquet" / "ada-quill.parquet").exists()


def test_changed_settings_reach_the_pairs(raw, out):
    prepare([raw], out)
    tally = prepare([raw], out, PrepConfig(pairs=PairConfig(min_answer_words=999)))
    assert set(reasons(tally).values()) == {"no_pairs"} and Corpus(out).personas == {}


def test_a_stop_keeps_what_is_read_and_the_next_run_ends_as_an_undisturbed_one(
    raw, out, tmp_path, monkeypatch
):
    import os
    import signal

    names = count_reads(monkeypatch)
    original = ingesting.read_bytes

    def stop_at_the_third(data, *, name=""):
        if len(names) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return original(data, name=name)

    monkeypatch.setattr(ingesting, "read_bytes", stop_at_the_third)
    with pytest.raises(Checkpointed, match=r"3 of 6 documents are read"):
        prepare([raw], out)
    assert not (out / "manifest.json").exists()
    prepare([raw], out)
    assert len(names) == 6
    prepare([raw], tmp_path / "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


def test_two_runs_at_once_do_not_mix(raw, out):
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with only_writer(out):
            held.set()
            let_go.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(10)
    try:
        with pytest.raises(ValueError, match=r"written by another process"):
            prepare([raw], out)
    finally:
        let_go.set()
        other.join()


@pytest.mark.parametrize("place", ["", "corpus", "ada-quill/corpus"])
def test_a_corpus_inside_raw_is_refused_before_it_is_read_as_a_person(raw, place):
    with pytest.raises(ValueError, match=r"lies in"):
        prepare([raw], raw / place)


def test_splits_are_as_configured(raw, out):
    prepare([raw], out, PrepConfig(split=preparing.SplitConfig(test_fraction=0.5)))
    split = Corpus(out).splits["ada-quill"]
    held = {pair_id.rsplit("-q", 1)[0] for pair_id in split.test}
    assert held == {"ada-quill-2012-05-01-talk", "ada-quill-2013-05-01-talk"}


def test_memory_does_not_grow_with_the_number_of_interviews(tmp_path, transcript):
    # pairs kept in memory with their prior turns would be about 47 KiB an interview
    def peak(count):
        folder = tmp_path / f"raw{count}" / "ada-quill"
        folder.mkdir(parents=True)
        for number in range(count):
            text = transcript("Ada Quill", 1000 + number, num_exchanges=10)
            (folder / f"{1000 + number}.txt").write_text(text)
        tracemalloc.start()
        tally = prepare([folder.parent], tmp_path / f"corpus{count}")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(tally.interviews) == count
        return peak

    peak(2)  # imports and caches
    few, many = peak(10), peak(60)
    assert many - few < 50 * 12 * 2**10, (few, many)


def test_a_corpus_holds_what_the_design_names(raw, out):
    prepare([raw], out)
    found = {path.name for path in out.iterdir()}
    assert found >= {
        "personas.jsonl", "interviews.jsonl", "turns", "qa.parquet", "rejects.jsonl", "splits.json",
        "sft", "stats.json", "card.md", "manifest.json",
    }  # fmt: skip
    assert json.loads((out / "stats.json").read_text())["by_persona"]["ada-quill"]["pairs"] == 12
