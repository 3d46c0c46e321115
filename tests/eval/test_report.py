"""The report says what the metrics say, no surer, and nothing in it comes alive."""

import copy
import html
import json
import re

import pytest

from data_prep.files import read_json, write_json
from data_prep.journal import read_table, write_table
from eval.config import JudgeConfig
from eval.plan import PEER, POOLED
from eval.report import method_label, summary_lines, write_report
from eval.report_figures import heat_map, scale_over, sparkline
from eval.report_samples import MAX_QUESTIONS, choose_samples, embedded_json
from eval.report_wording import answer, judge_badges, number, percent, without_secrets
from tests.eval.report_run import INJECTION, METHODS, build_run

TEMPORAL = ("maud", "tobias", "ines", "hollis")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build_run(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def page(built):
    run, adapters = built
    return write_report(run, adapters=adapters).read_text(encoding="utf-8")


@pytest.fixture
def metrics(built):
    return read_json(built[0] / "metrics.json")


@pytest.fixture
def group(metrics):
    return metrics["groups"][0]


def said(group, metrics):
    return answer(group, metrics["primary"])


def primary(group):
    return next(e for e in group["likelihood"]["methods"] if e["method"] == "{persona}")


def control(group, label=POOLED):
    return next(e for e in group["likelihood"]["methods"] if e["method"] == label)


def set_gain(entry, *relatives):
    """Relative changes of some people, with the differences they make at 1.25 bits."""
    compared = entry["versus_baseline"]
    compared["relative_by_persona"] = dict(zip("abcdefgh", relatives, strict=False))
    compared["relative"] = sum(relatives) / len(relatives)
    compared["num_personas"] = len(relatives)
    compared["difference"]["mean"] = compared["relative"] * 1.25


def text_of(page):
    visible = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", visible)))


def embedded(page):
    return json.loads(re.search(r'id="sample-data"[^>]*>(.*?)</script>', page, re.DOTALL)[1])


def rows_of(page, section):
    part = re.search(rf'<section id="{section}">.*?</section>', page, re.DOTALL)[0]
    return [text_of(row) for row in re.findall(r"<tr.*?</tr>", part, re.DOTALL)]


# What the page shows


def test_heat_map_shows_every_cell_with_its_sign_and_marks_own_adapters(page, group):
    who = group["who_said_it"]
    table = re.search(r'<table class="heat">.*?</table>', page, re.DOTALL)[0]
    body = table.partition("<tbody>")[2]
    rows = [
        re.findall(r"<td class=\"cell[^>]*>(.*?)</td>", r, re.DOTALL) for r in body.split("</tr>")
    ]
    shown = [[text_of(cell).strip(" ●") for cell in row] for row in rows if row]
    wanted = [row for row in who["matrix"] if row[0] is not None]
    assert shown == [[number(value, signed=True) for value in row] for row in wanted]
    assert len(re.findall(r'class="cell step-?\d own"', body)) == len(wanted) == 4


def test_groups_are_kept_apart_and_the_weaker_one_says_so(page):
    assert "Later interviews held out 4 people" in text_of(page)
    assert "End of the only interview held out (weaker evidence) 2 people" in text_of(page)
    heats = re.findall(r'<table class="heat">.*?</table>', page, re.DOTALL)
    assert len(heats) == 2
    assert "Pernilla Osk" not in re.findall(r'<th scope="row">(.*?)</th>', heats[0])


def test_methods_have_labels_specs_roles_and_numbers(page, group):
    rows = rows_of(page, "methods")
    own = next(row for row in rows if "{persona}" in row and "primary" in row)
    entry = primary(group)
    assert "own adapter" in own
    assert number(entry["mean"]["mean"]) in own
    assert percent(entry["versus_baseline"]["relative"], signed=True).replace("\u00a0", " ") in own
    assert any("pooled adapter control" in row for row in rows)
    assert any("base model, prompted baseline" in row and "– the baseline" in row for row in rows)


def test_context_that_did_not_hold_all_its_pairs_says_so(page):
    row = next(r for r in rows_of(page, "methods") if "chronological-10" in r)
    assert "held 7.0 of 10 available or fitting" in row
    assert not [r for r in rows_of(page, "methods") if "retrieval-10" in r and "held" in r]


def test_few_people_are_told_how_small_p_can_get(page):
    assert "With 4 people this permutation test cannot give a p below 0.125" in text_of(page)


def test_people_without_an_adapter_are_listed(page):
    assert "category adapter {category} : no such adapter for Hollis Brandreth" in text_of(page)


def test_judged_rows_carry_judge_badges_statuses_and_bounds(page, group):
    rows = [row for row in rows_of(page, "judged") if "owl-7b" in row]
    assert len(rows) == 2 * len(METHODS)
    assert all("unvalidated" in row and "same base: mechanics only" in row for row in rows)
    entry = next(
        e for e in group["content_similarity"]["methods"] if "judge_unparseable" in e["statuses"]
    )
    bounds = f"{number(entry['worst_case'], digits=2)} / {number(entry['best_case'], digits=2)}"
    assert any(bounds in row and "unreadable" in row for row in rows)


def test_training_shows_bundles_and_why_one_is_absent(page):
    rows = rows_of(page, "training")
    assert any("maud" in row and "41,210" in row and "epoch 3 of 4" in row for row in rows)
    assert any("ines" in row and "learnt next to nothing" in row for row in rows)
    assert any(
        "gwil" in row and "– no adapter 'gwil' in the adapters folder" in row for row in rows
    )


def test_versions_noted_by_the_run_are_shown_not_the_promoted_ones(built, tmp_path, metrics):
    run, adapters = built
    metrics["notes"]["adapters"] = ["maud@0123456789ab"]
    write_json(run / "metrics.json", metrics)
    try:
        page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    finally:
        del metrics["notes"]["adapters"]
        write_json(run / "metrics.json", metrics)
    row = next(row for row in rows_of(page, "training") if "maud" in row)
    assert "0123456789ab" in row and "has no version" in row


def test_adapters_trained_on_another_corpus_are_pointed_out(built, metrics):
    run, adapters = built
    original = copy.deepcopy(metrics)
    metrics["corpus"]["digest"] = "0" * 12
    write_json(run / "metrics.json", metrics)
    try:
        page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    finally:
        write_json(run / "metrics.json", original)
    assert "it may know held-out answers" in page


# No number where there is none


def test_missing_numbers_are_dashes_with_a_reason(tmp_path):
    run, _ = build_run(tmp_path, people=("maud",), gains={"{category}": None, PEER: None})
    page = write_report(run).read_text(encoding="utf-8")
    text = text_of(page)
    assert "– who said it needs two people with adapters" in text
    assert "one person allows no interval" in text
    assert "– no adapters folder was given" in text
    empty = next(row for row in rows_of(page, "methods") if "{category}" in row)
    assert "– no scored answers of these people" in empty
    assert "nan" not in text.lower().split() and "None" not in text


def test_run_without_a_judge_shows_no_judged_number(tmp_path):
    run, adapters = build_run(tmp_path)
    metrics = read_json(run / "metrics.json")
    metrics["judge"] = None
    for group in metrics["groups"]:
        group["content_similarity"] = None
    write_json(run / "metrics.json", metrics)
    page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    assert "No judge was named; nothing is judged." in text_of(page)
    assert not rows_of(page, "judged")


def test_run_without_replies_still_reports_its_likelihoods(tmp_path):
    run, adapters = build_run(tmp_path)
    metrics = read_json(run / "metrics.json")
    for group in metrics["groups"]:
        group["content_similarity"] = None
    write_json(run / "metrics.json", metrics)
    write_table(run / "score" / "answers.parquet", [])
    page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    assert "– no replies were generated" in text_of(page)
    assert rows_of(page, "methods")


def test_unscored_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"metrics\.json does not exist"):
        write_report(tmp_path)


# Safety


def test_texts_stay_texts(tmp_path):
    evil = dict.fromkeys(("question", "reference", "reply"), INJECTION)
    run, adapters = build_run(tmp_path, texts=evil)
    page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    assert "<img" not in page and "{{7*7}}" in page
    assert page.count("</script>") == 2  # ours and the data's
    item = embedded(page)["items"][0]
    assert item["question"] == item["reference"] == item["replies"][0]["text"] == INJECTION


def test_names_and_judges_are_escaped(tmp_path):
    judge = JudgeConfig(name="<b>owl</b>", allow_same_base=True)
    run, adapters = build_run(tmp_path, judge=judge)
    page = write_report(run, adapters=adapters).read_text(encoding="utf-8")
    assert "<b>owl" not in page and "&lt;b&gt;owl" in page


def test_page_names_no_resource_and_forbids_requests(page):
    assert not re.search(r"https?://|//[a-z]+\.[a-z]|\bsrc=|@import|url\(", page)
    assert not re.search(r"\sstyle=|\son[a-z]+=", page)
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1])
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy and "connect-src" not in policy


def test_report_without_texts_holds_nothing_that_was_said(built):
    run, adapters = built
    page = write_report(run, adapters=adapters, with_texts=False).read_text(encoding="utf-8")
    spoken = [row["reference"] for row in read_table(run / "score" / "answers.parquet")]
    assert not [text for text in spoken if text[:30] in page]
    assert "– this copy was written without texts" in text_of(page)


def test_keys_in_the_config_are_left_out(page):
    assert "abc123" not in page and "(left out)" in page
    kept = {"judge": {"engine": {"max_tokens": 3, "api_key": "k"}}, "list": [{"token": "t"}]}
    shown = {"judge": {"engine": {"max_tokens": 3, "api_key": "(left out)"}}}
    assert without_secrets(kept) == shown | {"list": [{"token": "(left out)"}]}


def test_same_run_gives_the_same_bytes_and_a_private_file(built):
    run, adapters = built
    first = write_report(run, adapters=adapters)
    before = first.read_bytes()
    assert write_report(run, adapters=adapters).read_bytes() == before
    assert len(before) < 400_000
    assert first.stat().st_mode & 0o077 == 0
    assert str(run.parent) not in before.decode()


def test_line_separators_cannot_end_the_data():
    text = "a</script>\u2028&\u2029<!--"
    written = embedded_json({"text": text})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {"text": text}


# The answer, no surer than its numbers


def test_answer_that_few_people_give_points_but_does_not_prove(group, metrics):
    found = said(group, metrics)
    assert found.verdict == "Points to yes"
    assert "fewer bits per character than the prompted base model" in found.sentence
    assert "4 people, 24 answers" in found.sentence and "p = 0.125" in found.sentence
    assert "chance is 17\u00a0%" in found.remarks[0]


def test_answer_is_yes_when_the_test_agrees_and_controls_stay_behind(group, metrics):
    primary(group)["versus_baseline"]["p"] = 0.01
    assert said(group, metrics).verdict == "Yes"


def test_answer_is_not_shown_when_the_interval_includes_zero(group, metrics):
    primary(group)["versus_baseline"]["difference"] |= {"mean": -0.02, "low": -0.07, "high": 0.03}
    found = said(group, metrics)
    assert found.verdict == "Not shown"
    assert "the interval includes no difference at all" in found.sentence


def test_answer_is_no_when_the_adapter_needs_more_bits(group, metrics):
    compared = primary(group)["versus_baseline"]
    compared["difference"] |= {"mean": 0.05, "low": 0.02, "high": 0.08}
    compared["relative"] = 0.04
    found = said(group, metrics)
    assert found.verdict == "No" and "4.0\u00a0% more bits" in found.sentence
    assert not [remark for remark in found.remarks if "ontrol" in remark]


@pytest.mark.parametrize(("count", "verdict"), [(1, "One person only"), (2, "Two people only")])
def test_one_or_two_people_speak_for_nobody_else(group, metrics, count, verdict):
    compared = primary(group)["versus_baseline"]
    compared["num_personas"] = count
    if count == 1:
        compared["difference"] |= {"low": None, "high": None}
    found = said(group, metrics)
    assert found.verdict == verdict
    assert ("95\u00a0% interval" in found.sentence) == (count == 2)


def test_gain_that_a_control_shares_is_register(group, metrics):
    set_gain(primary(group), -0.10, -0.12, -0.11, -0.09)
    set_gain(control(group), -0.11, -0.12, -0.12, -0.10)
    found = said(group, metrics)
    assert found.verdict == "Register, not person"
    assert "(as much)" in found.remarks[-1]
    assert "A gain the controls share is register, not person." in found.remarks[-1]


def test_control_that_cannot_be_told_apart_leaves_the_answer_open(group, metrics):
    set_gain(primary(group), -0.10, -0.12, -0.11, -0.09)
    set_gain(control(group), -0.02, -0.20, -0.01, -0.12)
    found = said(group, metrics)
    assert found.verdict == "Open" and "not told apart" in found.remarks[-1]


def test_gain_without_controls_says_what_stays_open(group, metrics):
    table = group["likelihood"]
    table["methods"] = [e for e in table["methods"] if e["method"] not in (POOLED, PEER)]
    assert said(group, metrics).remarks[-1].startswith("No control was scored")


def test_no_shared_answers_is_no_answer(group, metrics):
    primary(group)["versus_baseline"] = {"num_personas": 0}
    assert said(group, metrics).sentence.startswith("No answer yet: ")


def test_summary_is_short_and_carries_badges(metrics):
    lines = summary_lines(metrics)
    assert lines[0] == said(metrics["groups"][0], metrics).sentence
    assert any(line.startswith("Kept apart, end of the only interview") for line in lines)
    assert sum(line.startswith("  control: ") for line in lines) == 2
    assert "owl-7b (unvalidated; same base: mechanics only)" in lines[-1]
    assert len(lines) <= 14 and not any("\n" in line for line in lines)


def test_summary_of_nothing_says_so(metrics):
    assert summary_lines(metrics | {"groups": []}) == ["Nothing was scored."]


# Words, numbers, figures


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("base:{persona}", "base model, prompted"),
        ("base:{persona}+chronological-10", "base model + last 10 training answers"),
        ("base:{persona}+random-1", "base model + 1 random training answer"),
        ("base:{persona}+long_profile", "base model + long profile"),
        ("{persona}", "own adapter"),
        ("{persona}+hybrid-5-3", "own adapter + 5 retrieved and last 3 training answers"),
        ("{category}", "category adapter"),
        ("pooled", "pooled adapter"),
        ("BASE", "base model, no persona"),
        ("base:ada", "base model, prompted as ada"),
        ("ada@0123456789ab", "adapter ada, version 0123456789ab"),
        (POOLED, "pooled adapter"),
        ("not a method!", "not a method!"),
    ],
)
def test_methods_are_named_in_human_words(spec, label):
    assert method_label(spec) == label


def test_rounded_zero_has_no_sign():
    assert number(-0.0001) == "0.000" and number(0.0001, signed=True) == "0.000"
    assert number(-1.5, digits=1) == "−1.5" and number(None) == "–"


def test_badges_follow_the_judge():
    assert judge_badges(None) == []
    assert judge_badges({"validation": None, "same_base": False}) == ["unvalidated"]
    passed = {"badge": "validated", "failed": [], "incomplete": [], "changed_rules": {}}
    assert judge_badges({"validation": passed, "same_base": False}) == ["validated"]
    failed = passed | {"badge": "failed", "failed": ["scale_use", "master_keys"]}
    assert judge_badges({"validation": failed}) == ["validation failed: scale use, master keys"]
    open_ = passed | {"badge": "incomplete", "incomplete": ["role_identification"]}
    assert judge_badges({"validation": open_}) == ["validation incomplete: role identification"]
    eased = passed | {"changed_rules": {"min_levels": 2}}
    assert judge_badges({"validation": eased}) == ["validated with changed min levels"]


def test_colours_are_centred_on_zero_and_rows_without_answers_are_left_out():
    drawn = heat_map(["A", "B", "C"], [[0.2, -0.1, 0.0], [None, None, None], [0.05, -0.2, 0.1]])
    assert [name for name, _ in drawn.rows] == ["A", "C"]
    assert [[cell.step for cell in cells] for _, cells in drawn.rows] == [[6, -3, 0], [2, -6, 3]]
    assert [cell.is_own for cell in drawn.rows[1][1]] == [False, False, True]


def test_heat_map_of_many_people_is_cut_and_says_how_many():
    people = [f"person {i}" for i in range(100)]
    drawn = heat_map(people, [[0.1] * 100 for _ in people])
    assert len(drawn.rows) == len(drawn.columns) == 24 and drawn.num_left_out == 76


def test_axis_has_round_ticks_inside_it():
    axis = scale_over([-0.19, -0.02], width=200, zero=True)
    assert axis.ticks() == [-0.15, -0.1, -0.05, 0.0] or axis.ticks() == [-0.2, -0.1, 0.0]
    assert 0 < axis(-0.19) < axis(0.0) < 200


def test_sparkline_puts_the_largest_loss_on_top_and_survives_one_point():
    assert sparkline([3.0, 2.0, 1.0])[0][1] < sparkline([3.0, 2.0, 1.0])[-1][1]
    assert len(sparkline([2.0])) == 1


def test_samples_are_even_over_people_and_the_same_for_every_method():
    rows = [
        {
            "persona_id": f"p{i}",
            "pair_id": f"p{i}-{n}",
            "method": method,
            "question": "q",
            "reference": "a",
            "reply": "x" * 5000,
            "reply_status": "ok",
            "finish_reason": "length",
            "status": "not_judged",
            "score": None,
            "explanation": None,
            "detail": "",
        }
        for i in range(7)
        for n in range(100)
        for method in ("{persona}", "BASE")
    ]
    chosen = choose_samples(rows, [], ["{persona}", "BASE"])
    counts = {p: sum(item["person"] == p for item in chosen) for p in ("p0", "p3", "p6")}
    assert len(chosen) <= MAX_QUESTIONS and set(counts.values()) == {MAX_QUESTIONS // 7}
    assert all(all(item["replies"]) for item in chosen)
    assert chosen[0]["replies"][0]["text"].endswith("[…]")
    assert chosen[0]["replies"][0]["is_cut_off"]
