"""Sheets: blinded, stratified, safe to open; what comes back is read strictly and compared."""

import csv
import json

import pytest

from data_prep.files import read_jsonl, write_json, write_jsonl
from data_prep.journal import write_table
from eval.validation.human import read_labels, write_labels
from eval.validation.sheets import sheet_of_errors, sheet_of_run, stratified, write_sheet
from eval.validation.study import labels_of, read_filled, read_key, study
from personae.cli import main
from tests.eval.validation.judges import judge_that, overlap_score

METHODS = ("base:{persona}", "{persona}")
FORMULA = "=HYPERLINK(1)"


@pytest.fixture
def run(tmp_path):
    """Four people, two methods, six questions; the judge scored by the number of the question."""
    answers = [
        {
            "key": f"{person}-{method}-{n}",
            "persona_id": person,
            "pair_id": f"{person}-{n}",
            "method": method,
            "question": f"Question {n}?",
            "reference": f"{person} said {n}.",
            "reply": FORMULA if n == 0 else f"Reply {n} of {method} as {person}.",
            "reply_status": "ok" if n < 5 else "refused",
            "status": "ok" if n else "judge_unparseable",
            "score": n if n else None,
            "judge": "owl",
        }
        for person in ("ann", "bob", "cid", "dot")
        for method in METHODS
        for n in range(6)
    ]
    folder = tmp_path / "run"
    write_table(folder / "score" / "answers.parquet", answers)
    people = {name: {"name": name.title()} for name in ("ann", "bob", "cid", "dot")}
    write_json(folder / "metrics.json", {"corpus": {"people": people}})
    return folder


def fill(sheet, to, label):
    """What a rater sends back: the sheet with a label in each row."""
    with open(sheet, encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with open(to, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows([row | {"score": label(row)} for row in rows])
    return rows


def test_a_sheet_shows_no_method_judge_or_score(run, tmp_path):
    key = write_sheet(sheet_of_run(run, num=40, seed=0), tmp_path / "sheet.csv")
    text = (tmp_path / "sheet.csv").read_text(encoding="utf-8-sig")
    header = text.splitlines()[0].split(",")
    assert header == ["item", "question", "real_answer", "second_answer", "score", "comment"]
    assert "owl" not in text and f",{FORMULA}" not in text and f"'{FORMULA}" in text
    rows = list(read_jsonl(key))
    assert len(rows) == 40 and {row["method"] for row in rows} == set(METHODS)
    assert rows[0]["persona_name"] == rows[0]["persona_id"].title()
    with pytest.raises(ValueError, match="exists; name another file"):
        write_sheet(sheet_of_run(run, num=40, seed=0), tmp_path / "sheet.csv")


def test_a_draw_is_even_over_people_and_methods_and_follows_the_seed(run):
    def strata(seed):
        key = sheet_of_run(run, num=16, seed=seed).key
        return [(row["persona_id"], row["method"], row["reply_key"]) for row in key]

    drawn = strata(0)
    assert sorted((p, m) for p, m, _ in drawn) == sorted(
        (p, m) for p in ("ann", "bob", "cid", "dot") for m in METHODS for _ in range(2)
    )
    assert strata(0) == drawn != strata(1) and sorted(drawn) != drawn
    assert len(sheet_of_run(run, num=999, seed=0).rows) == 40  # refused replies are not shown
    same = [{"persona_id": "a", "method": m, "pair_id": "q", "key": "k"} for m in METHODS]
    assert len(stratified(same, 5, 0)) == 1  # two methods may share a reply


def test_a_study_by_hand(run, tmp_path):
    key_file = write_sheet(sheet_of_run(run, num=40, seed=0), tmp_path / "sheet.csv")
    key = read_key(key_file)
    judged = {item: row["judge_score"] for item, row in key.items()}

    def as_judge(row):
        return judged[row["item"]] or 1

    def one_less(row):
        return max(1, as_judge(row) - 1)

    fill(tmp_path / "sheet.csv", tmp_path / "ann.csv", as_judge)
    fill(tmp_path / "sheet.csv", tmp_path / "bob.csv", one_less)
    fill(
        tmp_path / "sheet.csv",
        tmp_path / "cid.csv",
        lambda r: as_judge(r) if r["item"] < "i0021" else "",
    )
    raters = {n: read_filled(tmp_path / f"{n}.csv", key) for n in ("ann", "bob", "cid")}
    found = study(key, raters)
    assert found["completion"] == {"ann": 1.0, "bob": 1.0, "cid": 0.5}
    assert (found["num_items"], found["num_complete"]) == (40, 20)
    judge = found["judge"]
    assert judge["num_unscored"] == 8 and judge["raters"]["ann"]["quadratic_kappa"] == 1
    assert judge["raters"]["ann"]["num_pairs"] == 32 and judge["raters"]["bob"]["within_one"] == 1
    people = {tuple(pair["raters"]): pair for pair in found["between_people"]["pairs"]}
    assert people["ann", "cid"]["cohen_kappa"] == 1 and people["ann", "bob"]["spearman"] > 0.9
    assert 0 < found["between_people"]["fleiss_kappa"] < 1
    assert found["majority"]["i0001"] == as_judge({"item": "i0001"})
    # beyond the half that cid did, ann and bob differ unless both say 1
    assert found["num_without_majority"] == sum(
        item > "i0020" and as_judge({"item": item}) > 1 for item in key
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("i9999,3", r"bob.csv row 2: item 'i9999' is not in the key"),
        ("i0001,6", r"bob.csv row 2: found '6', expected a whole number from 1 to 5"),
        ("i0001,0", r"row 2: found '0'"),
        ("i0001,4.0", r"row 2: found '4.0'"),
        ("i0001,４", r"row 2: found '４'"),
        ("i0001,good", r"row 2: found 'good'"),
        ("i0001,3\ni0001,3", r"bob.csv row 3: item 'i0001' stands twice"),
    ],
)
def test_what_a_rater_cannot_have_meant_is_named_by_row(run, tmp_path, line, says):
    key = read_key(write_sheet(sheet_of_run(run, num=4, seed=0), tmp_path / "sheet.csv"))
    (tmp_path / "bob.csv").write_text(f"item,score\n{line}\n")
    with pytest.raises(ValueError, match=says):
        read_filled(tmp_path / "bob.csv", key)


def test_empty_sheets_and_strange_keys_are_refused(run, tmp_path):
    key = read_key(write_sheet(sheet_of_run(run, num=4, seed=0), tmp_path / "sheet.csv"))
    with pytest.raises(ValueError, match="the sheets are empty"):
        study(key, {"ann": read_filled(tmp_path / "sheet.csv", key)})
    write_jsonl(tmp_path / "other.jsonl", [{"item": "i1"}])
    with pytest.raises(ValueError, match="is not the key of a sheet"):
        read_key(tmp_path / "other.jsonl")
    with pytest.raises(ValueError, match="was not scored"):
        sheet_of_run(tmp_path, num=4, seed=0)


def test_labels_of_people_decide_about_a_judge(run, tmp_path, probe):
    """Two raters see what the good judge sees; the one that says 6 minus it must fail."""
    key = [
        {
            "item": f"i{n}",
            "kind": "score",
            "persona_id": f"p{n % 4}",
            "persona_name": "Ann",
            "question": "Why?",
            "real_answer": "w0 w1 w2 w3 w4 w5 w6 w7",
            "second_answer": " ".join(f"w{k}" for k in range(n % 9)) or FORMULA,
        }
        for n in range(27)
    ]
    key = {row["item"]: row for row in key}
    truth = {item: overlap_score(row) for item, row in key.items()}
    wobbly = {item: min(5, score + (item[-1] == "4")) for item, score in truth.items()}
    labels = labels_of(key, {"ann": truth, "bob": wobbly})
    write_labels(tmp_path / "labels.csv", labels)
    assert read_labels(tmp_path / "labels.csv") == labels  # formulas come back as they were
    entry = probe(judge_that(), labels=tmp_path / "labels.csv")["probes"]["human_agreement"]
    assert entry["status"] == "passed" and len(entry["conditions"]) == 2
    kappa = entry["figures"]["kappa"]
    assert kappa["mean"] == pytest.approx((1 + entry["figures"]["ceiling_kappa"]) / 2, abs=1e-6)
    assert kappa["low"] <= kappa["mean"] <= kappa["high"]

    def upside_down(marks, request):
        score = overlap_score(marks)
        return 6 - score if "w0" in marks["real_answer"] else score

    found = probe(judge_that(upside_down), labels=tmp_path / "labels.csv", folder=tmp_path / "b")
    assert found["failed"] == ["human_agreement"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"label": "7"}, r"row 3: label is '7'"),
        ({"second_answer": "Other."}, r"row 3: the texts of item 'i1' differ"),
        ({"rater": "ann"}, r"row 3: 'ann' rated item 'i1' twice"),
    ],
)
def test_broken_labels_are_named_by_row(tmp_path, change, says):
    row = {"item": "i1", "persona_id": "p", "persona_name": "P", "question": "Q?",
           "real_answer": "A.", "second_answer": "B.", "rater": "ann", "label": "3"}  # fmt: skip
    with open(tmp_path / "labels.csv", "w") as file:
        writer = csv.DictWriter(file, row)
        writer.writeheader()
        writer.writerows([row, row | {"rater": "bob"} | change])
    with pytest.raises(ValueError, match=says):
        read_labels(tmp_path / "labels.csv")


def test_confident_errors_make_a_sheet_of_choices(tmp_path, roleid_items):
    items = list(read_jsonl(roleid_items))
    answers = [
        {
            "item_id": item["id"], "answerer": "BASE", "rotation": 0, "sample": 0, "status": "ok",
            "key": f"k{n}", "probabilities": [0.8 - n / 100, 0.1, 0.1 + n / 100],
        }
        for n, item in enumerate(items)
    ]  # fmt: skip
    write_jsonl(tmp_path / "items.jsonl", items)
    write_jsonl(tmp_path / "answers.jsonl", answers)
    row = {"key": "k1", "status": "ok", "text": "Bob 0 talks so."}
    write_table(tmp_path / "rows" / "rows.parquet", [row])
    sheet = sheet_of_errors(tmp_path, num=5, seed=0)
    assert sheet_of_errors(tmp_path / "answers.jsonl", num=5, seed=0) == sheet
    assert len(sheet.rows) == 5 and all("Bob" in row["candidates"] for row in sheet.rows)
    wrong = {row["source"]["id"]: row for row in sheet.key}
    assert set(wrong) == {f"item-{n}" for n in (1, 2, 4, 5, 7)}  # 0, 3, 6 are right
    assert wrong["item-1"]["reasoning"] == "Bob 0 talks so." and wrong["item-1"]["prediction"] == 1
    key = read_key(write_sheet(sheet, tmp_path / "sheet.csv"))
    right = {item: row["answer"] for item, row in key.items()}
    found = study(key, {"ann": right, "bob": dict.fromkeys(right, 1), "cid": right})
    assert found["accuracy"] == {
        "raters": {"ann": 1.0, "bob": 0.0, "cid": 1.0},
        "mean_of_raters": pytest.approx(2 / 3, abs=1e-6),
        "majority": 1.0,
    }
    (tmp_path / "ann.csv").write_text("item,choice\ni0001,4\n")
    with pytest.raises(ValueError, match="expected a whole number from 1 to 3"):
        read_filled(tmp_path / "ann.csv", key)


def test_sheets_by_command(run, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["judge", "sheet", "export", "run", "--out", "sheet.csv", "--num", "8"]) == 0
    fill("sheet.csv", "ann.csv", lambda row: 4)
    fill("sheet.csv", "bob.csv", lambda row: 3)
    words = ["judge", "sheet", "import", "ann.csv", "bob.csv", "--key", "sheet.key.jsonl"]
    assert main([*words, "--out", "study.json", "--labels", "labels.csv"]) == 0
    assert "ann: 100% of 8 items" in capsys.readouterr().out
    assert json.loads((tmp_path / "study.json").read_text())["num_without_majority"] == 8
    assert len(read_labels(tmp_path / "labels.csv").cases) == 8
    assert main(["judge", "sheet", "export", "--out", "x.csv"]) == 2
    assert "name a RUN or" in capsys.readouterr().err
