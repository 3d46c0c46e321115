"""From items to metrics with a scripted judge: what is asked, resumed, and counted."""

import json
import math
from dataclasses import replace

import pytest

from data_prep.engine import Reply
from data_prep.files import read_jsonl
from eval.personaeval.asking import generate_text, likelihood_text, pick_shots, request_of
from eval.personaeval.config import RoleConfig
from eval.personaeval.parsing import parse_reply
from eval.personaeval.run import run_role_identification
from eval.personaeval.table import table_lines
from serve.engines.scripted import ScriptedConfig, ScriptedEngine

ONCE = RoleConfig(attempts=1)
LIKELIHOOD = RoleConfig(mode="likelihood")
LOST = Reply(status="transport_error", finish_reason="error", detail="timeout")
ADA = "ada@0123456789ab"


def knows(items, written, share=0.7):
    """A judge who gives every truth the same share."""

    def judge(operation, request):
        text = request.messages[-1]["content"]
        item = next(i for i in reversed(items) if i.known_text in text)
        rest = (1 - share) / (len(item.names) - 1)
        return written(item.names, [share if n == item.truth else rest for n in item.names])

    return judge


def run(folder, items, judge, config=ONCE, **more):
    engine = judge if isinstance(judge, ScriptedEngine) else ScriptedEngine(judge)
    return run_role_identification(folder, items, engine, config, **more)


def pooled(metrics, name="BASE"):
    return metrics["answerers"][name]["tracks"]["pooled"]


def test_a_judge_who_knows_scores_fully_and_is_calibrated_as_it_says(tmp_path, items, written):
    metrics = run(tmp_path, items, knows(items, written))
    table = pooled(metrics)
    assert table["top1"]["mean"] == table["valid_share"] == table["mean_rank"]["mean"] == 1
    assert table["ece"] == pytest.approx(0.3) and table["brier"]["mean"] == pytest.approx(0.03)
    assert metrics["num_items"] == 24 and table["top1"]["num_clusters"] == 4
    assert metrics["baselines"]["chance"]["pooled"]["top1"]["mean"] == pytest.approx(0.25)
    assert any(line.startswith("BASE") for line in table_lines(metrics))


def test_every_number_traces_to_an_item_and_a_row(tmp_path, items, written):
    run(tmp_path, items, knows(items, written))
    answers = list(read_jsonl(tmp_path / "answers.jsonl"))
    ids = [row["id"] for row in read_jsonl(tmp_path / "items.jsonl")]
    assert [answer["item_id"] for answer in answers] == ids
    from data_prep.journal import read_rows

    rows = read_rows(tmp_path / "rows").by_key
    for answer in answers:
        parsed = parse_reply(rows[answer["key"]]["text"], ("Ada", "Bo", "Cleo", "Dan"))
        assert list(parsed.probabilities) == answer["probabilities"]


def test_an_invalid_output_is_wrong_and_ranks_last(tmp_path, make_item, written):
    items = [make_item(n, truth=n, work=f"play {n}") for n in range(2)]
    replies = [written(items[0].names, [0.7, 0.1, 0.1, 0.1]), "It is Bo, of course."]
    table = pooled(run(tmp_path, items, replies))
    assert table["top1"]["mean"] == 0.5 and table["mean_rank"]["mean"] == (1 + 4) / 2
    assert table["valid_share"] == 0.5 and table["num_valid"] == 1
    assert table["brier"]["mean"] == pytest.approx((0.09 + 3 * 0.01) / 4)
    assert table["ece"] == pytest.approx(0.3)


def test_an_unreadable_reply_is_asked_again_at_another_seed(tmp_path, make_item, written):
    asked = []

    def judge(operation, request):
        asked.append((request.sampling.temperature, request.sampling.seed))
        return "Hm." if len(asked) < 3 else written(make_item().names, [1, 0, 0, 0])

    metrics = run(tmp_path, [make_item()], judge, RoleConfig(attempts=5, seed=7))
    assert asked == [(0.0, 0), (0.7, 1007), (0.7, 2007)]
    assert pooled(metrics)["top1"]["mean"] == 1
    assert metrics["answerers"]["BASE"]["num_second_attempts"] == 1


def test_an_answer_that_never_arrived_is_not_scored_and_is_asked_for_again(
    tmp_path, make_item, written
):
    items = [make_item(n, truth=0) for n in range(2)]
    good = written(items[0].names, [1, 0, 0, 0])
    first = run(tmp_path, items, [good, LOST])
    assert first["num_unanswered"] == 1 and pooled(first)["num_items"] == 1
    assert any("never arrived" in line for line in table_lines(first))
    second = run(tmp_path, items, [good])
    assert second["num_unanswered"] == 0 and pooled(second)["num_items"] == 2


def test_a_second_attempt_that_never_arrived_is_waited_for(tmp_path, make_item, written):
    item, config = make_item(), RoleConfig(attempts=3)
    spare = make_item(1)
    good = written(item.names, [1, 0, 0, 0])
    first = run(tmp_path, [item, spare], ["?", good, LOST], config)
    assert first["num_unanswered"] == 1 and pooled(first)["num_items"] == 1
    second = ScriptedEngine([good])
    metrics = run(tmp_path, [item, spare], second, config)
    assert second.num_asked == 1 and metrics["num_unanswered"] == 0
    assert metrics["answerers"]["BASE"]["num_second_attempts"] == 1


def test_nothing_answered_is_an_error_and_not_a_zero(tmp_path, make_item):
    with pytest.raises(ValueError, match="no item was answered by BASE"):
        run(tmp_path, [make_item()], [LOST])


def test_a_refusal_is_invalid(tmp_path, make_item):
    refused = Reply(text="No.", status="refused", finish_reason="refused", detail="policy")
    metrics = run(tmp_path, [make_item()], [refused])
    assert pooled(metrics)["valid_share"] == 0
    assert "refused: policy" in next(iter(read_jsonl(tmp_path / "answers.jsonl")))["problem"]


def test_rescaled_answers_are_counted_and_the_strict_accuracy_stands_beside(
    tmp_path, make_item, written
):
    items = [make_item(n, truth=0) for n in range(2)]
    names = items[0].names
    replies = [written(names, [70, 10, 10, 10]), written(names, [0.7, 0.1, 0.1, 0.1])]
    found = run(tmp_path, items, replies)["answerers"]["BASE"]
    assert found["num_rescaled"] == 1
    assert found["tracks"]["pooled"]["top1"]["mean"] == 1
    assert found["strict"]["pooled"]["top1"]["mean"] == 0.5


def test_tracks_are_scored_apart_and_pooled_item_by_item(tmp_path, make_item, written):
    items = [make_item(n, truth=0) for n in range(3)]
    five = ("Child", "Teen", "Student", "Graduate", "Expert")
    items += [make_item(9, truth=4, names=five, track="expertise", work="a talk")]
    judge = knows([*items[:3], replace(items[3], truth="Child")], written)
    tracks = run(tmp_path, items, judge)["answerers"]["BASE"]["tracks"]
    assert tracks["drama"]["top1"]["mean"] == 1 and tracks["expertise"]["top1"]["mean"] == 0
    assert tracks["pooled"]["top1"]["mean"] == 0.75
    squares = [*[0.09, 0.01, 0.01, 0.01] * 3, 0.49, *[0.075**2] * 3, 0.925**2]
    assert tracks["pooled"]["brier"]["mean"] == pytest.approx(sum(squares) / 17)


def test_a_finished_run_asks_nothing_again_and_a_broken_one_only_the_rest(tmp_path, items, written):
    judge = knows(items, written)
    run(tmp_path / "whole", items, judge)
    again = ScriptedEngine(judge)
    run(tmp_path / "whole", items, again)
    assert again.num_asked == 0
    asked = []

    def breaks(operation, request):
        asked.append(1)
        return LOST if len(asked) > 10 else judge(operation, request)

    run(tmp_path / "broken", items, breaks)
    rest = ScriptedEngine(judge)
    run(tmp_path / "broken", items, rest)
    assert rest.num_asked == 14
    for name in ("metrics.json", "answers.jsonl", "plan.jsonl", "rows/rows.parquet"):
        whole, broken = (tmp_path / folder / name for folder in ("whole", "broken"))
        assert whole.read_bytes() == broken.read_bytes(), name


def test_a_folder_of_other_settings_items_or_weights_is_refused(tmp_path, items, written):
    judge = knows(items, written)
    run(tmp_path, items, judge)
    for changed in (
        lambda: run(tmp_path, items, judge, replace(ONCE, tie="official_stable")),
        lambda: run(tmp_path, items[1:], judge),
        lambda: run(tmp_path, items, ScriptedEngine(judge, model="other")),
    ):
        with pytest.raises(ValueError, match="begun with other settings"):
            changed()


def test_the_prompt_is_one_user_message_with_all_parts(make_item):
    item = make_item(known_text="Use {candidates} [aloud].", truth=1)
    request = request_of(item, (), ONCE)
    assert [message["role"] for message in request.messages] == ["user"]
    text = request.messages[0]["content"]
    parts = ["[Character1: Eve]", "[Begin]", "Use {candidates} [aloud].", "[Character2]", "[End]"]
    parts += ["1. Ada\nAda likes tea.", "4. Dan", '"Dan": "<probability of Dan>"', "Bayesian"]
    assert all(part in text for part in parts) and "{examples}" not in text
    assert request.sampling.temperature == 0


def test_an_official_prompt_is_sent_as_it_is(make_item):
    item = make_item(prompt="As published.")
    assert request_of(item, (), ONCE).messages[0]["content"] == "As published."
    shots = [make_item(1, prompt="Another one.")]
    text = request_of(item, shots, ONCE).messages[0]["content"]
    assert text.endswith("As published.") and "Another one." in text and "```json" in text
    bare = replace(item, known_text="")
    with pytest.raises(ValueError, match="could not be told apart"):
        request_of(bare, (), LIKELIHOOD)
    with pytest.raises(ValueError, match="could not be told apart"):
        request_of(bare, (), ONCE, rotation=1)


def test_examples_come_first_show_valid_answers_and_hide_the_item(make_item):
    shots = [make_item(n, truth=n, work="other") for n in (1, 2)]
    item = make_item(9)
    text = generate_text(item, shots, range(4))
    assert text.index("Question 1?") < text.index("Question 2?") < text.index("Question 9?")
    assert text.split("Question 9?")[0] == generate_text(
        make_item(8), shots, range(4)
    ).split("Question 8?")[0]  # fmt: skip
    answer = text.split("# Example 2")[0]
    assert parse_reply(answer, item.names, "strict").probabilities == (0.05, 0.85, 0.05, 0.05)
    short = likelihood_text(item, shots, range(4))
    assert short.count("Who gives the reply?") == 3 and short.endswith("Who gives the reply?")
    assert short.index("reply?\nBo\n") < short.index("reply?\nCleo\n")


def test_examples_are_of_one_work_that_is_not_scored_and_are_nested(items):
    shots, scored = {}, {}
    for count in (1, 3, 5):
        by_track, scored[count] = pick_shots(items, count, seed=3)
        shots[count] = by_track["drama"]
    assert shots[5][:3] == shots[3] and shots[3][:1] == shots[1]
    assert scored[1] == scored[3] == scored[5] and len(scored[1]) == 18
    assert not {i.work for i in shots[5]} & {i.work for i in scored[5]}
    assert len({item.truth_index for item in shots[3]}) == 3
    assert pick_shots(items, 0, seed=3) == ({}, items)


def test_examples_may_come_from_a_file_of_other_works(tmp_path, items, make_item, written):
    judge = knows(items, written)
    pool = [make_item(100 + n, truth=n % 4, work="spare") for n in range(3)]
    config = replace(ONCE, shots=3)
    assert run(tmp_path / "a", items, judge, config, shot_pool=pool)["num_items"] == 24
    with pytest.raises(ValueError, match="among the examples"):
        run(tmp_path / "b", items, judge, config, shot_pool=items[:5])
    with pytest.raises(ValueError, match="is from a work that is not scored"):
        run(tmp_path / "b", items, judge, config, shot_pool=[make_item(100, work="play 0")])


def test_too_few_works_for_examples_is_said(make_item):
    with pytest.raises(ValueError, match="examples need a work of their own"):
        pick_shots([make_item(n) for n in range(9)], 1, seed=0)


def test_likelihood_reads_names_by_probability_and_keeps_the_other_reading(tmp_path, make_item):
    names = ("Bo", "Bartholomew Fox", "Cy", "Di")
    reply = Reply(option_logprobs=(-4.0, -6.0, -5.0, -8.0))
    config = replace(LIKELIHOOD)
    metrics = run(tmp_path, [make_item(truth=0, names=names)], lambda *_: reply, config)
    found = metrics["answerers"]["BASE"]
    assert found["tracks"]["pooled"]["top1"]["mean"] == 1
    assert found["other_likelihood"]["pooled"]["top1"]["mean"] == 0  # -6 / 15 is the highest
    [answer] = read_jsonl(tmp_path / "answers.jsonl")
    assert sum(answer["probabilities"]) == pytest.approx(1)
    assert answer["probabilities"][0] / answer["probabilities"][2] == pytest.approx(math.e)


def follows(place, names_of):
    """A judge who always believes in the candidate at one place."""

    def judge(operation, request):
        shown = list(request.options)
        return Reply(option_logprobs=tuple(0.0 if n == place else -9.0 for n in range(len(shown))))

    return judge


def test_rotating_the_candidates_finds_a_judge_who_follows_the_place(tmp_path, items):
    config = replace(LIKELIHOOD, rotations="all")
    order = run(tmp_path, items, follows(1, items), config)["answerers"]["BASE"]["order"]
    assert order["num_rotated"] == order["num_rotated_valid"] == 24
    assert order["same_place_share"] == 1 and order["same_name_share"] == 0
    assert order["chosen_share_by_place"] == {"2": 1.0}
    assert [order["accuracy_by_place"][str(n)]["top1"] for n in (1, 2, 3, 4)] == [0, 1, 0, 0]
    assert order["top1_over_orders"] == 0.25


def test_rotating_the_candidates_finds_a_judge_who_follows_the_person(tmp_path, items):
    def judge(operation, request):
        return Reply(option_logprobs=tuple(0.0 if n == "Bo" else -9.0 for n in request.options))

    config = replace(LIKELIHOOD, rotations=3)
    order = run(tmp_path, items, judge, config)["answerers"]["BASE"]["order"]
    assert order["same_name_share"] == 1 and order["same_place_share"] == 0
    assert sum(row["num_answers"] for row in order["accuracy_by_place"].values()) == 72


def test_samples_are_voted_and_averaged(tmp_path, make_item, written):
    item = make_item(truth=1)
    vectors = [[0.6, 0.4, 0, 0], [0.6, 0.4, 0, 0], [0, 0.9, 0.1, 0]]
    seeds = []

    def judge(operation, request):
        seeds.append((request.sampling.temperature, request.sampling.seed))
        return written(item.names, vectors[len(seeds) - 1])

    found = run(tmp_path, [item], judge, replace(ONCE, samples=3))["answerers"]["BASE"]
    assert seeds == [(0.7, 0), (0.7, 1), (0.7, 2)]
    means = {name: value["mean"] for name, value in found["self_consistency"].items()}
    assert means == {"single": pytest.approx(1 / 3), "vote": 0.0, "average": 1.0}
    assert found["tracks"]["pooled"]["top1"]["mean"] == 1  # the average is the headline


def test_a_sample_that_cannot_be_read_leaves_the_others(tmp_path, make_item, written):
    replies = ["?", written(make_item().names, [1, 0, 0, 0]), "?"]
    found = run(tmp_path, [make_item()], replies, replace(ONCE, samples=3))["answerers"]["BASE"]
    assert found["tracks"]["pooled"]["valid_share"] == 1
    assert found["self_consistency"]["vote"]["mean"] == 1


def test_an_adapter_is_compared_with_the_base_on_the_same_items(tmp_path, items, written):
    right, asked = knows(items, written), set()

    def judge(operation, request):
        asked.add(request.messages[0]["content"])
        return "?" if request.adapter else right(operation, request)

    engine = ScriptedEngine(judge, adapters=[ADA])
    metrics = run(tmp_path, items, engine, replace(ONCE, adapters=(ADA,)))
    assert len(asked) == 24  # identical messages
    [row] = metrics["comparisons"]
    assert row["answerer"] == ADA and row["top1"]["mean"] == -1 and row["mean_rank"]["mean"] == 3
    assert row["p"] == row["p_holm"] == 2 / 2**4  # four works, all of one sign
    assert any(line.startswith(f"{ADA} - BASE: top-1 -100.0") for line in table_lines(metrics))


def test_relatives_of_the_model_that_filtered_the_items_are_warned_of(tmp_path, make_item, written):
    items = [make_item(filtered_by=("Qwen/Qwen-Max", "gpt-x"))]
    judge = knows(items, written)
    own = ScriptedEngine(judge, model="hub:Qwen/Qwen2.5-7B-Instruct")
    assert "do not rank it" in run(tmp_path / "a", items, own)["warnings"][0]
    other = ScriptedEngine(judge, model="llama-3-8b")
    assert run(tmp_path / "b", items, other)["warnings"] == []


def test_a_prompt_that_does_not_fit_is_refused_before_any_work(tmp_path, items):
    engine = ScriptedEngine(context_length=1100)
    with pytest.raises(ValueError, match=r"24 items do not fit .* lower role.shots"):
        run(tmp_path, items, engine)
    assert engine.num_asked == 0


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mode": "likelihood", "samples": 3}, "likelihood has none"),
        ({"rotations": 0}, "at least 1 or all"),
        ({"adapters": ("ada", "ada")}, "names one twice"),
        ({"shots": 2}, "shots"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, words):
    with pytest.raises(ValueError, match=words):
        RoleConfig(**settings)


def test_fewer_items_are_spread_over_the_list(tmp_path, items, written):
    run(tmp_path, items, knows(items, written), replace(ONCE, num_items=4))
    assert [row["work"] for row in read_jsonl(tmp_path / "items.jsonl")] == [
        f"play {n}" for n in range(4)
    ]


def test_replies_that_fail_in_every_way_are_all_accounted_for(tmp_path, items):
    faults = ScriptedConfig(
        transport_error_fraction=0.2, refusal_fraction=0.2, truncation_fraction=0.2
    )
    metrics = run(tmp_path, items, ScriptedEngine(config=faults))
    table = pooled(metrics)
    assert table["num_items"] + metrics["num_unanswered"] == 24 and table["num_valid"] == 0
    assert json.loads((tmp_path / "metrics.json").read_text()) == json.loads(json.dumps(metrics))
