"""Reading a prepared corpus: parts, near names, refusals."""

import json
import shutil

import pytest

from data_prep.corpus import Corpus


@pytest.fixture
def own_copy(corpus, tmp_path):
    folder = tmp_path / "corpus"
    shutil.copytree(corpus.folder, folder)
    return folder


def test_parts_come_oldest_first_and_never_overlap(corpus):
    for name in corpus.splits:
        parts = [corpus.part(name, part) for part in ("train", "validation", "test")]
        ids = [pair.id for part in parts for pair in part]
        assert len(set(ids)) == len(ids) and set(ids) <= {pair.id for pair in corpus.pairs(name)}
        order = [pair.id for pair in corpus.pairs(name)]
        assert ids == sorted(ids, key=order.index)


def test_pairs_are_read_as_they_were_made(corpus):
    first, second = corpus.pairs("ada-quill")[:2]
    assert first.question == "What happened at the kiln in 2011, part 1?"
    assert [turn.text for turn in second.prior_turns] == [first.question, first.answer]
    assert second.turn_ids == (2, 3)


def test_a_misspelt_person_gets_the_nearest_id(corpus):
    with pytest.raises(
        ValueError, match=r"no persona 'ada-quil' .*did you mean 'ada-quill'\? known: .*cleo"
    ):
        corpus.pairs("ada-quil")


def test_a_person_without_split_is_told(own_copy):
    (own_copy / "splits.json").write_text('{"personas": []}')
    with pytest.raises(ValueError, match=r"'bo-fenn' has no split"):
        Corpus(own_copy).part("bo-fenn", "test")


def test_a_folder_that_is_no_corpus_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"is not a corpus .*personae prep"):
        Corpus(tmp_path)


def test_a_corpus_of_a_newer_tool_is_refused(own_copy):
    manifest = json.loads((own_copy / "manifest.json").read_text())
    (own_copy / "manifest.json").write_text(json.dumps(manifest | {"schema_version": 99}))
    with pytest.raises(ValueError, match=r"schema version 99, .*update personae"):
        Corpus(own_copy)


def test_a_damaged_table_is_told(own_copy):
    table = own_copy / "qa.parquet" / "ada-quill.parquet"
    table.write_bytes(table.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"ada-quill.parquet is damaged"):
        Corpus(own_copy).pairs("ada-quill")


def test_its_digest_follows_its_content(own_copy, corpus):
    assert Corpus(own_copy).digest() == corpus.digest()
    path = own_copy / "manifest.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | {"git_revision": "another", "tool_version": "9"}))
    assert Corpus(own_copy).digest() == corpus.digest()
    first = next(iter(manifest["inputs"]))
    path.write_text(json.dumps(manifest | {"inputs": manifest["inputs"] | {first: "0" * 64}}))
    assert Corpus(own_copy).digest() != corpus.digest()
