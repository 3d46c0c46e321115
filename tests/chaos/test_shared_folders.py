"""Two commands on one folder: the second is told in one line, the first ends as if alone."""

import signal

from tests.chaos.harness import DONE, MISTAKE, differences


def test_a_second_prep_into_one_corpus_is_refused(personae, raw, prepared, tmp_path):
    corpus = tmp_path / "corpus"
    with personae.start("prep", raw, "--out", corpus) as first:
        assert first.until(lambda: len(list(corpus.glob("ingest/*/*.json"))) >= 5)
        first.send(signal.SIGSTOP)
        second = personae.run("prep", raw, "--out", corpus)
        first.send(signal.SIGCONT)
        assert second.code == MISTAKE, second.err
        assert "corpus is being written by another process" in second.complaint
        assert first.wait().code == DONE
    assert differences(corpus, prepared) == []


def test_a_second_eval_of_one_run_is_refused_at_any_stage(personae, eval_config, evaluated):
    run = personae.folder / "run"
    command = ("eval", eval_config, "--allow-scripted")
    with personae.start(*command) as first:
        for begun in ("generate/likelihood", "judge"):
            assert first.until((run / begun).is_dir)
            first.send(signal.SIGSTOP)
            second = personae.run(*command)
            first.send(signal.SIGCONT)
            assert second.code == MISTAKE, second.err
            assert "run is being written by another process" in second.complaint
        assert first.wait().code == DONE
    assert differences(run, evaluated) == []
