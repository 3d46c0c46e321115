"""`personae prep`, injured: the corpus ends as an undisturbed one and is never half of one."""

import shutil
import signal

import pytest

from tests.chaos.harness import (
    CHECKPOINTED,
    DONE,
    KILLED,
    Injury,
    Personae,
    differences,
    files_in,
    num_injuries,
)


def num_outcomes(corpus):
    return sum(1 for _ in corpus.glob("ingest/*/*.json"))


@pytest.fixture(scope="module")
def younger(raw, prepared, code, cache, tmp_path_factory):
    """The same people before their last four interviews: their files, and the corpus of these."""
    folder = tmp_path_factory.mktemp("younger")
    shutil.copytree(raw, folder / "raw")
    for person in (path for path in (folder / "raw").iterdir() if path.is_dir()):
        for talk in sorted(person.glob("*_talk.*"))[4:]:
            talk.unlink()
    ended = Personae(code, cache, folder).run("prep", "raw", "--out", "corpus")
    assert ended.code == DONE, ended.err
    return folder


@pytest.mark.parametrize("begins_with", ["nothing", "an older corpus"])
def test_a_corpus_killed_at_any_moment_ends_as_an_undisturbed_one(
    personae, raw, prepared, younger, tmp_path, chance, begins_with
):
    corpus = tmp_path / "corpus"
    if begins_with == "an older corpus":
        shutil.copytree(younger / "corpus", corpus)
    count = num_injuries(4)
    start, end = num_outcomes(corpus), num_outcomes(prepared)
    killed = 0
    for number in range(count):
        least = start + round((end - start) * chance.uniform(number, number + 1) / count)
        injury = Injury(
            when=lambda least=least: num_outcomes(corpus) >= least,
            delay_seconds=chance.uniform(0, 0.6),
        )
        ended = personae.injured(injury, "prep", raw, "--out", corpus)
        assert ended.code in (KILLED, DONE), ended.err
        killed += ended.code == KILLED
        # what says it is a corpus is one: the older or the new one, never something between
        if (corpus / "manifest.json").exists():
            kept = differences(corpus, prepared, apart_from=["ingest/"])
            older = differences(corpus, younger / "corpus", apart_from=["ingest/"])
            assert whole(kept) or whole(older), (number, kept, older)
    assert killed
    assert personae.run("prep", raw, "--out", corpus).code == DONE
    assert differences(corpus, prepared) == []


def whole(found):
    """Whether nothing differs but files that a killed run had not yet renamed."""
    return all(name.endswith(".tmp: left over") for name in found)


def test_a_stop_signal_ends_prep_with_75_and_one_line(personae, raw, prepared, tmp_path):
    corpus = tmp_path / "corpus"
    for number, least in ((signal.SIGTERM, 10), (signal.SIGUSR1, 25)):
        injury = Injury(number, when=lambda least=least: num_outcomes(corpus) >= least)
        ended = personae.injured(injury, "prep", raw, "--out", corpus)
        assert ended.code == CHECKPOINTED, ended.err
        assert "documents are read; run the same command again" in ended.complaint
    read = times_written(corpus / "ingest")
    assert 25 <= len(read) < num_outcomes(prepared)
    assert personae.run("prep", raw, "--out", corpus).code == DONE
    assert differences(corpus, prepared) == []
    assert read.items() <= times_written(corpus / "ingest").items()  # nothing is read twice


def times_written(folder):
    return {name: path.stat().st_mtime_ns for name, path in files_in(folder).items()}
