"""Requests are asked in windows of the full list; what is on disk is never asked again."""

import math
import os
import signal

import pytest

from data_prep.engine import Reply, Request, Sampling
from data_prep.interrupt import Checkpointed
from data_prep.journal import TABLE, Journal, read_rows
from eval.asking import ask, reply_row, score_row
from serve.engines.scripted import ScriptedConfig, ScriptedEngine


def request(text, **fields):
    return Request(messages=({"role": "user", "content": text},), **fields)


REQUESTS = {f"k{n:02d}": request(f"Question {n}?") for n in range(10)}


class Asked:
    """Counts what is asked, batch by batch, and can stop or break on the way."""

    def __init__(self, engine=None, *, at=None, action=None):
        self.engine = engine or ScriptedEngine()
        self.batches = []
        self.at, self.action = at, action

    def __call__(self, requests):
        self.batches.append([r.messages[0]["content"] for r in requests])
        if len(self.batches) == self.at:
            self.action()
        return self.engine.generate(requests)

    @property
    def num_asked(self):
        return sum(map(len, self.batches))


def run(folder, asked, requests=REQUESTS, window=4):
    ask(folder, requests, asked, reply_row, label="answer", window=window)
    return read_rows(folder).by_key


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)


def crash():
    raise RuntimeError("killed")


def test_windows_are_cut_from_the_full_ordered_list(tmp_path):
    asked = Asked()
    rows = run(tmp_path, asked)
    assert [len(batch) for batch in asked.batches] == [4, 4, 2]
    assert asked.batches[0] == [f"Question {n}?" for n in range(4)]
    assert list(rows) == list(REQUESTS) and {row["status"] for row in rows.values()} == {"ok"}
    assert [path.name for path in tmp_path.iterdir() if path.suffix] == [TABLE]


def test_replies_stand_with_their_requests(tmp_path):
    engine = ScriptedEngine(lambda operation, asked: "Re: " + asked.messages[0]["content"])
    rows = run(tmp_path, Asked(engine))
    assert all(rows[key]["text"] == f"Re: Question {int(key[1:])}?" for key in REQUESTS)


def test_a_second_run_asks_nothing_and_changes_nothing(tmp_path):
    config = ScriptedConfig(refusal_fraction=0.3, truncation_fraction=0.3)
    run(tmp_path, Asked(ScriptedEngine(config=config)))
    before = (tmp_path / TABLE).read_bytes()
    again = Asked(ScriptedEngine(config=config))
    rows = run(tmp_path, again)
    # a refusal is an answer too; only what never arrived is asked again
    assert "refused" in {row["status"] for row in rows.values()}
    assert again.num_asked == 0 and (tmp_path / TABLE).read_bytes() == before


@pytest.mark.parametrize("action", [terminate, crash])
def test_a_stopped_run_ends_as_an_undisturbed_one_and_asks_no_window_twice(tmp_path, action):
    run(tmp_path / "whole", Asked())
    stopped = Asked(at=2, action=action)
    with pytest.raises((Checkpointed, RuntimeError)):
        run(tmp_path / "parts", stopped)
    safe = len(read_rows(tmp_path / "parts").by_key)
    assert safe == (8 if action is terminate else 4)  # a stop keeps the window it fell into
    resumed = Asked()
    run(tmp_path / "parts", resumed)
    assert resumed.num_asked == 10 - safe
    assert (tmp_path / "parts" / TABLE).read_bytes() == (tmp_path / "whole" / TABLE).read_bytes()


def test_a_stop_says_how_far_it_came(tmp_path):
    with pytest.raises(Checkpointed, match=r"4 of 10 of answer are on disk; run the same command"):
        run(tmp_path, Asked(at=1, action=terminate))


def test_transport_errors_are_asked_again_and_only_they(tmp_path):
    failing = ScriptedEngine(config=ScriptedConfig(transport_error_fraction=0.5))
    rows = run(tmp_path, Asked(failing))
    failed = [key for key, row in rows.items() if row["status"] == "transport_error"]
    assert 0 < len(failed) < 10
    again = Asked()
    rows = run(tmp_path, again)
    assert [q for batch in again.batches for q in batch] == [
        f"Question {int(k[1:])}?" for k in failed
    ]
    assert {row["status"] for row in rows.values()} == {"ok"}


def test_a_torn_row_is_made_again_and_told(tmp_path, capfd):
    whole = run(tmp_path / "whole", Asked())
    with pytest.raises(RuntimeError):
        run(tmp_path / "torn", Asked(at=2, action=crash))
    [part] = [p for p in (tmp_path / "torn").glob("part-*") if p.stat().st_size]
    part.write_bytes(part.read_bytes()[:-10])
    asked = Asked()
    assert run(tmp_path / "torn", asked) == whole
    assert asked.num_asked == 10  # a batch is asked whole, or its replies could differ
    assert "1 torn line dropped" in capfd.readouterr().err


def test_a_row_that_was_written_before_is_kept_over_a_new_one(tmp_path):
    with Journal(tmp_path) as journal:
        journal.append([{"key": "k00", "status": "ok", "text": "first", "finish_reason": "stop"}])
    asked = Asked()
    assert run(tmp_path, asked)["k00"]["text"] == "first" and asked.num_asked == 9


def test_an_engine_that_loses_a_reply_is_noticed(tmp_path):
    engine = ScriptedEngine()
    with pytest.raises(ValueError, match=r"shorter"):
        ask(tmp_path, REQUESTS, lambda rs: engine.generate(rs[1:]), reply_row, label="answer")
    assert not read_rows(tmp_path).by_key or len(read_rows(tmp_path).by_key) < len(REQUESTS)


def test_no_requests_leave_an_empty_table(tmp_path):
    assert run(tmp_path, Asked(), requests={}) == {}


def test_a_likelihood_row_is_bits_over_answer_and_end_of_turn():
    reply = Reply(token_logprobs=(-math.log(2), -math.log(4), -math.log(8)), num_prompt_tokens=7)
    row = score_row("k", request("Q?", completion=" ab "), reply)
    assert row["bits"] == pytest.approx(1 + 2 + 3)
    assert (row["num_tokens"], row["num_characters"], row["num_prompt_tokens"]) == (3, 2, 7)


def test_a_failed_likelihood_has_no_bits():
    failed = Reply(status="transport_error", finish_reason="error", detail="timeout")
    row = score_row("k", request("Q?", completion="ab"), failed)
    assert row["bits"] is None and row["detail"] == "timeout"


def test_an_empty_reply_is_kept_as_it_is(tmp_path):
    row = reply_row("k", request("Q?", sampling=Sampling()), Reply(text="", finish_reason="length"))
    assert row["text"] == "" and row["finish_reason"] == "length"


def test_a_stop_leaves_a_slow_window_which_is_asked_whole_again(tmp_path, monkeypatch):
    run(tmp_path / "whole", Asked())
    monkeypatch.setattr("data_prep.interrupt.GRACE_SECONDS", 0.0)
    with pytest.raises(Checkpointed, match="4 of 10 of answer are on disk"):
        run(tmp_path / "parts", Asked(at=2, action=terminate))
    assert len(read_rows(tmp_path / "parts").by_key) == 4
    resumed = Asked()
    run(tmp_path / "parts", resumed)
    assert [len(batch) for batch in resumed.batches] == [4, 2]
    assert (tmp_path / "parts" / TABLE).read_bytes() == (tmp_path / "whole" / TABLE).read_bytes()
