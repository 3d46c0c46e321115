"""`personae eval`, injured: no finished row is made again, and all ends as undisturbed."""

import json
import signal

import pyarrow.parquet as pq

from data_prep.engine import Request
from data_prep.journal import TABLE, Journal, read_rows
from eval.asking import ask, reply_row
from serve.engines.scripted import ScriptedEngine
from tests.chaos.harness import (
    CHECKPOINTED,
    DONE,
    KILLED,
    Injury,
    differences,
    num_injuries,
)

JOURNALS = ("generate/likelihood", "generate/replies", "judge")


def num_rows(run):
    return sum(num_in(run / name) for name in JOURNALS)


def num_in(folder):
    """Rows on disk, in the compact table or in parts; both are there for a moment."""
    if (folder / TABLE).exists():
        return pq.read_metadata(folder / TABLE).num_rows
    found = 0
    for part in folder.glob("part-*.jsonl"):
        try:
            found += part.read_bytes().count(b"\n")
        except FileNotFoundError:  # compacted this moment
            return num_in(folder)
    return found


def parts(run):
    return {part for name in JOURNALS for part in (run / name).glob("part-*.jsonl")}


def settled_keys(run):
    return {name: read_rows(run / name).settled_keys() for name in JOURNALS}


def is_compact(folder):
    return (folder / TABLE).exists() and not any(folder.glob("part-*.jsonl"))


def keys_in(part):
    return [json.loads(line)["key"] for line in part.read_bytes().split(b"\n")[:-1]]


def evaluate(personae, config, injury=None):
    arguments = ("eval", config, "--allow-scripted")
    return personae.injured(injury, *arguments) if injury else personae.run(*arguments)


def test_a_run_killed_at_any_moment_ends_as_an_undisturbed_one(
    personae, eval_config, evaluated, chance
):
    run = personae.folder / "run"
    count, total = num_injuries(8), num_rows(evaluated)
    killed = 0
    for number in range(count):
        done, before = settled_keys(run), parts(run)
        least = round(total * chance.uniform(number, number + 1) / count)
        injury = Injury(when=lambda n=least: num_rows(run) >= n, delay_seconds=chance.uniform(0, 1))
        ended = evaluate(personae, eval_config, injury)
        assert ended.code in (KILLED, DONE), ended.err
        killed += ended.code == KILLED
        for part in parts(run) - before:  # what this attempt has journalled
            finished = done[str(part.parent.relative_to(run))]
            assert finished.isdisjoint(keys_in(part)), f"{part} repeats what was done"
    assert killed
    assert evaluate(personae, eval_config).code == DONE
    assert differences(run, evaluated) == []


def test_a_stop_signal_at_any_stage_ends_eval_with_75_and_one_line(
    personae, eval_config, evaluated
):
    run = personae.folder / "run"
    total = num_rows(evaluated)
    moments = [
        (signal.SIGTERM, lambda: num_rows(run) >= 0.2 * total),
        (signal.SIGUSR1, lambda: num_rows(run) >= 0.5 * total),
        (signal.SIGTERM, (run / "generate" / "replies" / TABLE).exists),  # between two stages
        (signal.SIGUSR1, lambda: num_rows(run) >= 0.8 * total),
    ]
    for number, moment in moments:
        ended = evaluate(personae, eval_config, Injury(number, when=moment))
        assert ended.code == CHECKPOINTED, ended.err
        assert ended.complaint.endswith("run the same command again")
        assert num_rows(run) < total
    assert evaluate(personae, eval_config).code == DONE
    assert differences(run, evaluated) == []


def test_a_torn_last_line_is_dropped_said_and_made_again(personae, eval_config, evaluated):
    run = personae.folder / "run"
    for stage in ("generate/likelihood", "judge"):
        injury = Injury(when=lambda stage=stage: num_in(run / stage) >= 64)
        assert evaluate(personae, eval_config, injury).code == KILLED
        *_, part = sorted((run / stage).glob("part-*.jsonl"))
        part.write_bytes(part.read_bytes()[:-20])
        ended = evaluate(personae, eval_config, Injury(when=lambda s=stage: is_compact(run / s)))
        assert "1 torn line dropped, its row is made again" in ended.err
    assert evaluate(personae, eval_config).code == DONE
    assert differences(run, evaluated) == []


def test_a_half_written_window_is_asked_whole_and_kept_once(tmp_path):
    # replies of one batch depend a little on each other, so the rest of a batch is none
    requests = {
        f"{n:02d}": Request(messages=({"role": "user", "content": f"{n}"},)) for n in range(9)
    }
    batches = []

    def operation(asked):
        batches.append([request.messages[0]["content"] for request in asked])
        return ScriptedEngine().generate(asked)

    def answer(folder):
        ask(folder, requests, operation, reply_row, label="answer", window=3)
        return (folder / TABLE).read_bytes()

    whole = answer(tmp_path / "whole")
    rows = read_rows(tmp_path / "whole").by_key
    with Journal(tmp_path / "torn") as journal:
        journal.append(rows[key] for key in list(requests)[:5])
    [part] = (tmp_path / "torn").iterdir()
    part.write_bytes(part.read_bytes()[:-9])
    batches.clear()
    assert answer(tmp_path / "torn") == whole
    assert batches == [["3", "4", "5"], ["6", "7", "8"]]
