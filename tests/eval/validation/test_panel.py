"""Judges side by side: hand-counted agreement; unscored verdicts drop out and are counted."""

import pytest

from data_prep.journal import write_table
from eval.validation.panel import panel, read_tables, side_by_side

A = {"r1": 5, "r2": 4, "r3": 1, "r4": 2, "r5": None}
B = {"r1": 5, "r2": 3, "r3": 5, "r4": None, "r5": 3}
C = {"r1": 5, "r2": 4, "r3": 1}


def rows(**judges):
    return [
        {
            "reply_key": key,
            "judge": name,
            "judge_model": f"model-{name}",
            "metric": "content_similarity",
            "score": score,
            "status": "judge_unparseable" if score is None else "ok",
            "key": f"{name}{key}",
        }
        for name, own in judges.items()
        for key, score in own.items()
    ]


def test_agreement_is_of_what_both_scored():
    found = panel(rows(a=A, b=B, c=C))
    entry = {tuple(e["judges"]): e for e in found["agreement"]}[("a", "b")]
    assert (entry["num_pairs"], entry["num_dropped"]) == (3, 2)
    assert entry["exact"] == pytest.approx(1 / 3, abs=1e-6)
    assert entry["within_one"] == pytest.approx(2 / 3, abs=1e-6)
    assert {e["judge"]: e["num_unscored"] for e in found["judges"]} == {"a": 1, "b": 1, "c": 0}


def test_majority_and_mean_stand_beside_each_verdict():
    lines = {line["reply_key"]: line for line in side_by_side(rows(a=A, b=B, c=C))}
    assert lines["r2"]["scores"] == {"a": 4, "b": 3, "c": 4}
    assert (lines["r2"]["majority"], lines["r2"]["spread"]) == (4, 1)
    assert lines["r2"]["mean"] == pytest.approx(11 / 3, abs=1e-6)
    assert lines["r4"]["majority"] is None and lines["r4"]["unscored"] == {"b": "judge_unparseable"}
    found = panel(rows(a=A, b=B, c=C))
    assert found["biggest_disagreements"][0]["reply_key"] == "r3"
    assert found["num_without_majority"] == 2  # r4 and r5 were scored once
    lead = {e["judge"]: e["lead_on_mean"] for e in found["judges"]}
    assert lead["b"] == pytest.approx((0 - 2 / 3 + 8 / 3) / 3, abs=1e-6)


def test_a_scored_row_beats_an_unscored_one_of_the_same_reply():
    twice = rows(a={"r1": None}) + rows(a={"r1": 4}, b={"r1": 4})
    assert side_by_side(twice)[0]["scores"] == {"a": 4, "b": 4}


def test_tables_are_read_from_runs_and_a_name_is_one_model(tmp_path):
    write_table(tmp_path / "one" / "judge" / "rows.parquet", rows(a=A))
    write_table(tmp_path / "two" / "judge" / "rows.parquet", rows(b=B))
    assert len(read_tables([tmp_path / "one", tmp_path / "two" / "judge"])) == 10
    with pytest.raises(ValueError, match="a panel needs two"):
        panel(read_tables([tmp_path / "one"]))
    with pytest.raises(ValueError, match="holds no verdicts"):
        read_tables([tmp_path / "nothing"])
    other = [row | {"judge_model": "another"} for row in rows(a=A)]
    write_table(tmp_path / "three" / "judge" / "rows.parquet", other)
    with pytest.raises(ValueError, match="give judges different names"):
        read_tables([tmp_path / "one", tmp_path / "three"])
    with pytest.raises(ValueError, match="no reply was rated by two judges"):
        panel(rows(a={"r1": 3}, b={"r2": 3}))
