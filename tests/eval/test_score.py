"""Scores by hand: bits per character, gains, who said it, and what unread verdicts leave open."""

import math
from itertools import product

import pytest

from data_prep.files import write_jsonl
from data_prep.journal import Journal, compact, read_table
from eval.config import EvalConfig
from eval.plan import POOLED
from eval.score import score_run, verdict_key

CONFIG = EvalConfig(methods=("base:{persona}", "{persona}"))
ADA = ["ada-quill-2015-05-01-talk-q0000", "ada-quill-2015-05-01-talk-q0001"]
BO = ["bo-fenn-2005-05-01-talk-q0000"]
CLEO = ["cleo-marsh-2020-05-01-talk-q0009"]


class Run:
    """A run folder, filled cell by cell."""

    def __init__(self, folder, corpus):
        self.folder, self.corpus = folder, corpus
        self.uses, self.rows = [], {"likelihood": [], "replies": [], "judge": []}

    def use(self, table, method, persona, pair, addressed_as=None):
        key = f"{table}/{method}/{pair}/{addressed_as}"
        self.uses.append(
            {
                "table": table, "method": method, "who": method, "persona_id": persona,
                "addressed_as": addressed_as or persona, "pair_id": pair,
                "num_context_pairs": 0, "key": key,
            }
        )  # fmt: skip
        return self.uses[-1]

    def bits(self, method, pair, bits, num_characters=10, *, table="likelihood", addressed_as=None):
        persona = pair.split("-2")[0]
        use = self.use(table, method, persona, pair, addressed_as)
        self.rows["likelihood"].append(
            {
                "key": use["key"], "status": "ok" if bits is not None else "transport_error",
                "bits": bits, "num_tokens": 3, "num_characters": num_characters,
                "num_prompt_tokens": 9, "detail": "",
            }
        )  # fmt: skip

    def judged(self, method, pair, score, *, status=None, reply="Words.", reply_status="ok"):
        use = self.use("reply", method, pair.split("-2")[0], pair)
        self.rows["replies"].append(
            {"key": use["key"], "status": reply_status, "text": reply, "finish_reason": "stop"}
        )
        if score is None and status is None:
            return
        self.verdict(use, score, status or "ok")

    def verdict(self, use, score, status):
        number = len(self.rows["judge"])
        self.rows["judge"].append(
            {
                "key": f"j{number}", "status": status, "reply_key": verdict_key(use),
                "score": score, "explanation": "x", "judge": "strict", "detail": "",
            }
        )  # fmt: skip

    def score(self, config=CONFIG):
        write_jsonl(self.folder / "generate" / "plan.jsonl", self.uses)
        for name, rows in self.rows.items():
            place = self.folder / (name if name == "judge" else f"generate/{name}")
            with Journal(place) as journal:
                journal.append(rows)
            compact(place)
        return score_run(self.folder, self.corpus, config)


@pytest.fixture
def run(tmp_path, corpus):
    return Run(tmp_path / "run", corpus)


def methods(table):
    return {entry["method"]: entry for entry in table["methods"]}


def test_bits_per_character_are_averaged_over_answers_then_people(run):
    # Ada: 20/10 and 40/10 = 2, 4 -> 3; Bo: 5/10 = 0.5; headline 3.5 / 2, not 6.5 / 3
    for pair, bits in zip([*ADA, *BO], (20.0, 40.0, 5.0), strict=True):
        run.bits("base:{persona}", pair, bits)
    for pair, bits in zip([*ADA, *BO], (10.0, 30.0, 7.0), strict=True):
        run.bits("{persona}", pair, bits)
    [group] = run.score()["groups"]
    found = methods(group["likelihood"])
    assert found["base:{persona}"]["mean"]["mean"] == 1.75
    assert found["base:{persona}"]["personas"] == {"ada-quill": 3.0, "bo-fenn": 0.5}
    assert found["base:{persona}"]["mean"]["num_items"] == 3
    versus = found["{persona}"]["versus_baseline"]
    # Ada -1 on each answer, Bo +0.2: mean -0.4; relative -2/6 and +0.2/0.5
    assert versus["difference"]["mean"] == pytest.approx(-0.4)
    assert versus["relative_by_persona"] == {
        "ada-quill": pytest.approx(-1 / 3, abs=1e-6),
        "bo-fenn": 0.4,
    }
    assert versus["p"] == 1.0  # two people: |-0.4| of {0.4, 0.6}: both and 0.4 again
    assert found["{persona}"]["is_primary"] is True


def test_lengths_weigh_by_answer_not_by_character(run):
    run.bits("base:{persona}", ADA[0], 30.0, num_characters=10)
    run.bits("base:{persona}", ADA[1], 10.0, num_characters=100)
    [group] = run.score()["groups"]
    assert methods(group["likelihood"])["base:{persona}"]["mean"]["mean"] == pytest.approx(1.55)


def test_an_answer_that_one_method_lacks_is_not_compared(run):
    for pair in ADA:
        run.bits("base:{persona}", pair, 20.0)
    run.bits("{persona}", ADA[0], 10.0)
    run.bits("{persona}", ADA[1], None)
    result = run.score()
    found = methods(result["groups"][0]["likelihood"])["{persona}"]
    assert (
        found["mean"]["num_items"] == 1 and found["versus_baseline"]["difference"]["mean"] == -1.0
    )
    assert result["statuses"]["likelihood"] == {"ok": 3, "transport_error": 1}


def test_a_plan_that_was_not_finished_says_so(run):
    run.bits("base:{persona}", ADA[0], 20.0)
    run.use("likelihood", "base:{persona}", "ada-quill", ADA[1])
    result = run.score()
    assert result["statuses"]["likelihood"] == {"not_run": 1, "ok": 1}


def test_weaker_evidence_is_never_pooled_with_the_other(run):
    for pair in (ADA[0], CLEO[0]):
        run.bits("base:{persona}", pair, 20.0)
        run.bits("{persona}", pair, 10.0)
    groups = run.score()["groups"]
    assert [group["split"] for group in groups] == ["by_interview", "within_interview"]
    assert [list(methods(g["likelihood"])["{persona}"]["personas"]) for g in groups] == [
        ["ada-quill"],
        ["cleo-marsh"],
    ]
    assert "weaker" in groups[1]["label"]


def line_up(run, pair, gains, num_characters=10):
    """Bits so that each suspect's adapter gains so much a character on this answer."""
    for suspect, gain in gains.items():
        for method, bits in (
            ("base:{persona}", 100.0),
            ("{persona}", 100.0 - gain * num_characters),
        ):
            run.bits(method, pair, bits, num_characters, table="who_said_it", addressed_as=suspect)


def test_who_said_it_by_hand(run):
    line_up(run, ADA[0], {"ada-quill": 2.0, "bo-fenn": 1.0})  # right
    line_up(run, ADA[1], {"ada-quill": -1.0, "bo-fenn": 0.5})  # wrong
    line_up(run, BO[0], {"ada-quill": 0.25, "bo-fenn": 0.25})  # a tie is wrong
    [group] = run.score()["groups"]
    found = group["who_said_it"]
    assert found["people"] == ["ada-quill", "bo-fenn"]
    assert found["matrix"] == [[0.5, 0.75], [0.25, 0.25]]
    assert found["over_all"]["personas"] == {"ada-quill": 0.5, "bo-fenn": 0.0}
    assert found["over_all"]["accuracy"]["mean"] == 0.25 and found["over_all"]["chance"] == 0.5
    assert found["within_category"]["accuracy"]["mean"] == 0.25  # both are potters


def test_a_failed_suspect_leaves_the_answer_unscored_not_easier(run):
    line_up(run, ADA[0], {"ada-quill": 2.0, "bo-fenn": 1.0})
    line_up(run, ADA[1], {"ada-quill": 2.0})
    run.bits("base:{persona}", ADA[1], 100.0, table="who_said_it", addressed_as="bo-fenn")
    run.bits("{persona}", ADA[1], None, table="who_said_it", addressed_as="bo-fenn")
    found = run.score()["groups"][0]["who_said_it"]
    assert found["num_unscored"] == 1 and found["over_all"]["accuracy"]["num_items"] == 1


def test_a_suspect_who_failed_everywhere_does_not_leave_the_line_up(run):
    line_up(run, ADA[0], {"ada-quill": 2.0})
    for method in ("base:{persona}", "{persona}"):
        run.bits(method, ADA[0], None, table="who_said_it", addressed_as="bo-fenn")
    assert run.score()["groups"][0]["who_said_it"] is None


def test_controls_stand_beside_the_methods(run):
    for method, bits in (("base:{persona}", 20.0), ("{persona}", 10.0), (POOLED, 12.0)):
        run.bits(method, ADA[0], bits)
    found = methods(run.score()["groups"][0]["likelihood"])
    assert found[POOLED]["versus_baseline"]["difference"]["mean"] == pytest.approx(-0.8)
    assert not found[POOLED]["is_primary"]


STATUSES = (
    "judge_unparseable",
    "judge_refused",
    "judge_truncated",
    "transport_error",
    "candidate_invalid",
)


@pytest.mark.parametrize("status", STATUSES)
def test_an_unread_verdict_is_no_number_and_is_bounded(run, status):
    is_invalid = status == "candidate_invalid"
    run.judged("base:{persona}", ADA[0], 4)
    run.judged("base:{persona}", ADA[1], None, status=status, reply="" if is_invalid else "Words.")
    run.judged("base:{persona}", BO[0], 2)
    [group] = run.score()["groups"]
    entry = methods(group["content_similarity"])["base:{persona}"]
    assert entry["mean"]["mean"] == 3.0 and entry["mean"]["num_items"] == 2  # Ada 4, Bo 2
    # Ada (4 + 1) / 2 or (4 + 5) / 2
    assert (entry["worst_case"], entry["best_case"]) == (2.25, 3.25)
    assert entry["statuses"] == {"ok": 2, status: 1}
    rows = read_table(run.folder / "score" / "answers.parquet")
    assert [row["score"] for row in rows] == [4, None, 2]


def test_dropped_failures_do_not_raise_a_method(run):
    # the method that answers half as often may not win by it
    for pair, score in zip(ADA, (2, 2), strict=True):
        run.judged("base:{persona}", pair, score)
    run.judged("{persona}", ADA[0], 5)
    run.judged("{persona}", ADA[1], None, status="candidate_invalid", reply="")
    entry = methods(run.score()["groups"][0]["content_similarity"])["{persona}"]
    assert entry["mean"]["mean"] == 5.0 and entry["worst_case"] == 3.0


def test_nothing_read_is_no_mean_but_bounds(run):
    run.judged("base:{persona}", ADA[0], None, status="judge_refused")
    entry = methods(run.score()["groups"][0]["content_similarity"])["base:{persona}"]
    assert entry["mean"] is None and (entry["worst_case"], entry["best_case"]) == (1.0, 5.0)


def test_without_a_judge_there_is_no_table(run):
    run.judged("base:{persona}", ADA[0], None)
    result = run.score()
    assert result["groups"][0]["content_similarity"] is None
    assert result["statuses"]["judgements"] == {"not_judged": 1}


@pytest.mark.parametrize("order", [0, 1])
def test_a_reply_that_came_after_its_first_verdict_is_scored_by_its_own(run, order):
    # first a transport error, judged invalid; then the reply arrives and is judged
    run.judged("base:{persona}", ADA[0], None)
    use = run.uses[-1]
    verdicts = [(None, "candidate_invalid"), (4, "ok")]
    for score, status in verdicts[:: -1 if order else 1]:
        run.verdict(use, score, status)
    entry = methods(run.score()["groups"][0]["content_similarity"])["base:{persona}"]
    assert entry["statuses"] == {"ok": 1} and entry["mean"]["mean"] == 4.0


def test_equal_replies_to_two_questions_keep_their_own_verdicts(run):
    run.judged("base:{persona}", ADA[0], 5)
    run.judged("base:{persona}", ADA[1], 1)
    run.uses[1]["key"] = run.uses[0]["key"]  # as when two people are asked the very same
    run.rows["judge"] = []
    for use, score in zip(run.uses, (5, 1), strict=True):
        run.verdict(use, score, "ok")
    entry = methods(run.score()["groups"][0]["content_similarity"])["base:{persona}"]
    assert entry["mean"]["mean"] == 3.0


def test_tests_of_a_report_are_corrected_together(run):
    for pair, (method, bits) in product(
        [*ADA, *BO], [("base:{persona}", 20.0), ("{persona}", 10.0), (POOLED, 11.0)]
    ):
        run.bits(method, pair, bits)
        if method != POOLED:
            run.judged(method, pair, 3 if "base" in method else 4)
    [group] = run.score()["groups"]
    compared = [
        entry["versus_baseline"]
        for table in ("likelihood", "content_similarity")
        for entry in group[table]["methods"]
        if "versus_baseline" in entry
    ]
    # three tests of two people each: p = 0.5, times three, at most one
    assert [c["p"] for c in compared] == [0.5] * 3 and [c["p_holm"] for c in compared] == [1.0] * 3


def test_scoring_twice_gives_the_same_bytes_whatever_the_order_of_rows(run, tmp_path, corpus):
    for pair in (*ADA, *BO):
        run.bits("base:{persona}", pair, math.pi * 10)
        run.bits("{persona}", pair, math.e * 10)
        run.judged("base:{persona}", pair, 3)
    first = run.score()
    files = {path.name: path.read_bytes() for path in (run.folder / "score").iterdir()}
    other = Run(tmp_path / "other", corpus)
    other.uses = run.uses
    other.rows = {name: rows[::-1] for name, rows in run.rows.items()}
    assert other.score() == first
    assert {p.name: p.read_bytes() for p in (other.folder / "score").iterdir()} == files
