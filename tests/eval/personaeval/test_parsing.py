"""What a judge writes is probabilities by the stated rule, or a reason why not."""

import json
import math
import random
import re
import time

import pytest

from eval.personaeval.lenient import read_lenient_object
from eval.personaeval.parsing import last_block, parse_reply

NAMES = ("Ada", "Bo", "Cleo", "Dan")


def reply(*values, names=NAMES):
    return "```json\n" + json.dumps(dict(zip(names, values, strict=True))) + "\n```"


def strict(text, names=NAMES):
    return parse_reply(text, names, "strict").probabilities


def renorm(text, names=NAMES):
    return parse_reply(text, names, "renorm").probabilities


def test_worked_example_the_sum_may_miss_one_by_a_hundred_thousandth():
    assert strict(reply(0.4, 0.3, 0.2, 0.099995)) == (0.4, 0.3, 0.2, 0.099995)
    assert strict(reply(0.4, 0.3, 0.2, 0.09998)) is None


def test_worked_example_percent_numbers_are_rescaled_only_by_renorm():
    assert strict(reply(40, 30, 20, 10)) is None
    assert renorm(reply(40, 30, 20, 10)) == pytest.approx((0.4, 0.3, 0.2, 0.1))
    assert not parse_reply(reply(40, 30, 20, 10), NAMES).is_strict


def test_thirds_are_not_quietly_renormalised():
    assert strict(reply(0.333, 0.333, 0.333, 0)) is None
    assert renorm(reply(0.333, 0.333, 0.333, 0)) == pytest.approx((1 / 3, 1 / 3, 1 / 3, 0))


@pytest.mark.parametrize("value", ["0.4", " 0.4 ", "4e-1"])
def test_numbers_as_text_are_numbers(value):
    assert strict(reply(value, 0.3, 0.2, 0.1)) == (0.4, 0.3, 0.2, 0.1)


def test_percent_signs_are_numbers_for_renorm_alone():
    text = reply("40%", "30%", "20%", "10%")
    assert strict(text) is None and renorm(text) == pytest.approx((0.4, 0.3, 0.2, 0.1))
    assert renorm("{Ada: 40%, Bo: 30%, Cleo: 20%, Dan: 10%}") == renorm(text)
    assert renorm(reply("50%", "50%", 0, 0)) == (0.5, 0.5, 0, 0)
    assert renorm(reply("50%", 50, 0, 0)) is None


def test_negative_and_large_values_pass_strictly_when_the_sum_is_one():
    assert strict(reply(1.5, -0.5, 0, 0)) == (1.5, -0.5, 0, 0)
    assert renorm(reply(1.5, -0.6, 0, 0)) is None


@pytest.mark.parametrize(
    "text",
    [
        reply(math.nan, 0.5, 0.3, 0.2),
        reply("nan", 0.5, 0.3, 0.2),
        reply(math.inf, 0.5, 0.3, 0.2),
        reply(math.inf, -math.inf, 0.5, 0.5),
        reply("1e999", 0.5, 0.3, 0.2),
        reply(10**400, 0, 0, 0),
        reply(1e308, 1e308, 1e308, 1e308),
        reply(0, 0, 0, 0),
        reply(0, 0, 0, -1),
        reply(None, 0.5, 0.3, 0.2),
        reply([0.4], 0.3, 0.2, 0.1),
        reply("high", 0.3, 0.2, 0.1),
        '{"Ada": 0.5, "Bo": 0.5}',
        reply(0.4, 0.3, 0.2, 0.1, names=("ada", "Bo", "Cleo", "Dan")),
        reply(0.4, 0.3, 0.2, 0.1, names=("Ada ", "Bo", "Cleo", "Dan")),
        "[" + reply(0.4, 0.3, 0.2, 0.1).strip("`json\n") + "]",
        "It is Ada.",
        "",
        "{" * 5000,
        '{"a":' * 3000,
        "[" * 5000,
    ],
)
def test_what_is_no_distribution_is_refused_under_both_rules(text):
    assert strict(text) is None and renorm(text) is None
    assert parse_reply(text, NAMES).problem


def test_extra_names_are_passed_over():
    text = reply(0.4, 0.3, 0.2, 0.1, 0.9, names=(*NAMES, "Nobody"))
    assert strict(text) == (0.4, 0.3, 0.2, 0.1)


def test_five_candidates_asked_and_four_answered_is_refused():
    assert strict(reply(0.4, 0.3, 0.2, 0.1), (*NAMES, "Eve")) is None


def test_names_with_quotes_are_matched_as_they_are():
    names = ('Cap\'n "Red" Bo', "O'Hara")
    assert strict(reply(0.25, 0.75, names=names), names) == (0.25, 0.75)
    assert strict("{'Cap\\'n \"Red\" Bo': 0.25, 'O'Hara': 0.75,}", names) == (0.25, 0.75)
    assert strict('{"Cap\'n "Red" Bo": 0.25, "O\'Hara": 0.75}', names) == (0.25, 0.75)


@pytest.mark.parametrize(
    "text",
    [
        '{"Ada": 0.5, "Bo": 0.5,}',
        "{'Ada': 0.5, 'Bo': 0.5}",
        'So: {"Ada": 0.5, "Bo": 0.5} is my answer {sorry}',
        "{Ada: 0.5, Bo: 0.5}",
        "{“Ada”: 0.5, “Bo”: 0.5}",
        '{"Ada": 0.5 "Bo": 0.5}',
        '{"Ada": 0.5, // surely\n "Bo": 0.5}',
        '{"Ada": .5 (likely), "Bo": 0.5 (too)}',
        '{"Ada": 0.5, "Bo": 0.5',
        '```json\n{"Ada": 0.5, "Bo": 0.5',
        '{thinking} {"Ada": 0.5, "Bo": 0.5}',
        '{{"Ada": 0.5, "Bo": 0.5}}',
        '{"Ada": 0.9, "Bo": 0.1} or rather {"Ada": 0.5, "Bo": 0.5}',
        '{"Ada": 0.1, "Bo": 0.5, "Ada": 0.5}',
        '```\n{"Ada": 0.9, "Bo": 0.1}\n```\nNo:\n```json\n{"Ada": 0.5, "Bo": 0.5}\n```',
        '```\n```json\n{"Ada": 0.5, "Bo": 0.5}\n```',
    ],
)
def test_spelling_is_forgiven(text):
    assert strict(text, ("Ada", "Bo")) == (0.5, 0.5)


def test_a_reply_cut_off_within_a_number_is_not_rescaled():
    assert renorm('{"Ada": 0.3, "Bo": 0.7', ("Ada", "Bo")) == (0.3, 0.7)
    assert renorm('{"Ada": 0.25, "Bo": 0.7', ("Ada", "Bo")) is None


def test_the_last_block_counts_even_when_an_earlier_one_could_be_read():
    assert renorm(reply(0.4, 0.3, 0.2, 0.1) + "\n```\nDone.\n```") is None


def test_objects_with_different_keys_are_no_answer():
    with pytest.raises(ValueError, match="different keys"):
        read_lenient_object('{"Ada": 1} {"Bo": 1}')


@pytest.mark.parametrize(
    "piece", ["{", '{"', '{"a":', "```", "``` ", '{"a": "', "{a: 1} ", "/*", " "]
)
def test_a_hostile_reply_is_read_in_time(piece):
    text = piece * (60_000 // len(piece))  # a limit per key keeps the time linear
    begun = time.monotonic()
    assert renorm(text) is None
    assert time.monotonic() - begun < 5


def test_blocks_are_cut_as_by_the_released_pattern():
    chance = random.Random(0)
    for _ in range(20_000):
        pieces = chance.choices(["```", "`", "\n", " ", "x", "{}", "json"], k=chance.randint(0, 9))
        text = "".join(pieces)
        found = re.findall(r"```\s*(.+?)\s*```", text, re.DOTALL)
        assert last_block(text).strip() == (found[-1] if found else text).strip()


def test_of_ten_thousand_odd_replies_none_is_accepted_against_the_rule():
    """The rule again, from the numbers that were put into the reply."""
    chance = random.Random(8)
    accepted = {"strict": 0, "renorm": 0}
    for _ in range(10_000):
        names = chance.choice([NAMES, (*NAMES, "O'Hara"), ('The "Fox"', "Bo")])
        given = {name: odd_value(chance) for name in names}
        if chance.random() < 0.5:  # make it sum to one
            given |= {name: 1 / len(names) for name in names}
            first, second = chance.sample(names, 2)
            shift = chance.choice([0, 0.1, 2, 4e-6, 3e-5])
            given[first] += shift
            given[second] -= shift if shift > 1e-4 else 0
        for _ in range(chance.choice([0, 0, 0, 1, 2])):
            given.pop(chance.choice(sorted(given)), None) if given else None
        if chance.random() < 0.2:
            given["Nobody"] = odd_value(chance)
        text = odd_text(given, chance)
        for parse in ("strict", "renorm"):
            found = parse_reply(text, names, parse).probabilities
            if found is not None:
                accepted[parse] += 1
                check(found, given, names, parse)
    assert accepted["strict"] > 1000 and accepted["renorm"] > accepted["strict"]


def odd_value(chance):
    return chance.choice(
        [chance.random(), chance.random() * 100, -chance.random(), 0, 1, 40, "0.4", "40%", "high",
         None, math.nan, math.inf, -math.inf, True, [0.4], {"p": 1}, "", 1e308, 5e-324]
    )  # fmt: skip


def odd_text(given, chance):
    text = json.dumps(given, ensure_ascii=chance.random() < 0.5)
    before = chance.choice(["", "Well. ", "{hm} ", '{"Ada": 9} ', "Step 1: {"])
    return chance.choice(
        [text, f"{before}{text}", f"```json\n{text}\n```", f"{before}\n```\n{text}\n```\n",
         f"```\nx\n```{text}", text[:-1] + ",}", text[: chance.randint(0, len(text) // 2)],
         text.replace('"', "'"), f"[{text}]", f"{text}\n{text}"]
    )  # fmt: skip


def check(found, given, names, parse):
    assert len(found) == len(names) and all(math.isfinite(p) for p in found)
    numbers = [as_number(given[name]) for name in names]  # a missing name is a KeyError here
    total = sum(numbers)
    plain = not any(isinstance(given[name], str) and "%" in given[name] for name in names)
    if plain and abs(total - 1) <= 1e-5:
        assert list(found) == numbers
    else:
        assert parse == "renorm" and min(numbers) >= 0 and 0 < total < math.inf
        assert len({"%" in str(given[name]) for name in names if as_number(given[name])}) == 1
        assert list(found) == pytest.approx([number / total for number in numbers])
        assert sum(found) == pytest.approx(1)


def as_number(value):
    if isinstance(value, str) and value.endswith("%"):
        return float(value[:-1]) / 100
    return float(value)
