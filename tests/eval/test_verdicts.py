"""What is not exactly a verdict is never a number."""

import json
import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.verdicts import ContentVerdict, read_content_similarity


@pytest.mark.parametrize("score", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "frame", ["{}", " \n{}\n ", "```json\n{}\n```", "```\n{}\n```  ", "\n```JSON\n{}\n```"]
)
def test_a_verdict_is_read_with_at_most_one_fence(score, frame):
    text = json.dumps({"explanation": " Close enough. ", "score": score})
    found = read_content_similarity(frame.replace("{}", text))
    assert found == ContentVerdict(score=score, explanation="Close enough.")


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "4", '"4"', "[4]", "Score: 4", "I rate this 4 of 5.", "{}", "nan",
        '{"score": 4}',
        '{"explanation": "x"}',
        '{"score": 4.0, "explanation": "x"}',
        '{"score": 4e0, "explanation": "x"}',
        '{"score": "4", "explanation": "x"}',
        '{"score": true, "explanation": "x"}',
        '{"score": null, "explanation": "x"}',
        '{"score": [4], "explanation": "x"}',
        '{"score": 0, "explanation": "x"}',
        '{"score": 6, "explanation": "x"}',
        '{"score": -4, "explanation": "x"}',
        '{"score": 04, "explanation": "x"}',
        '{"score": NaN, "explanation": "x"}',
        '{"score": Infinity, "explanation": "x"}',
        '{"score": 4, "explanation": NaN}',
        '{"score": 4, "explanation": ""}',
        '{"score": 4, "explanation": "  \\n"}',
        '{"score": 4, "explanation": null}',
        '{"score": 4, "explanation": 4}',
        '{"score": 4, "explanation": "x", "confidence": 1}',
        '{"Score": 4, "explanation": "x"}',
        '{"score": 2, "score": 4, "explanation": "x"}',
        '{"score": 4, "explanation": "x", "explanation": "y"}',
        '{"score": 4, "explanation": "x"',
        '{"score": 4, "explanation": "x"}}',
        '{"score": 4, "explanation": "x"}{"score": 4, "explanation": "x"}',
        "{'score': 4, 'explanation': 'x'}",
        '{"score": ５, "explanation": "x"}',
        '{"verdict": {"score": 4, "explanation": "x"}}',
        'Here it is: {"score": 4, "explanation": "x"}',
        '{"score": 4, "explanation": "x"} Hope this helps!',
        'Sure.\n```json\n{"score": 4, "explanation": "x"}\n```',
        '```json\n{"score": 4, "explanation": "x"}\n```\nDone.',
        '```json\n```json\n{"score": 4, "explanation": "x"}\n```\n```',
        '```json\n{"score": 4, "explanation": "x"}',
        '{"score": ' + "9" * 5000 + ', "explanation": "x"}',
        "[" * 50 + "]" * 50,
    ],
)  # fmt: skip
def test_anything_else_is_refused(text):
    with pytest.raises(ValueError):
        read_content_similarity(text)


def corruptions(number):
    """Good verdicts with one thing wrong each, a thousand of them."""
    chance = random.Random(0)
    kinds = ("cut", "prefix", "suffix", "twice", "quote", "float", "range", "field", "swap", "word")
    for index in range(number):
        kind = kinds[index % len(kinds)]
        score, words = (
            chance.randint(1, 5),
            "".join(chance.choices(string.ascii_letters + " ", k=30)),
        )
        row = {"score": score, "explanation": f"x{words}"}
        text = json.dumps(row)
        match kind:
            case "cut":
                text = text[: chance.randint(0, len(text) - 1)]
            case "prefix":
                text = chance.choice(["Sure! ", "Score: ", "x", "[", "{", "<b>", "4\n"]) + text
            case "suffix":
                text += chance.choice([" ok", "]", "}", ".", "\n\nBest wishes", ",", " 4"])
            case "twice":
                text = text.replace("{", f'{{"score": {score}, ', 1)
            case "quote":
                text = json.dumps(row | {"score": str(score)})
            case "float":
                text = json.dumps(row | {"score": score + chance.choice([0.0, 0.5, 1e-9])})
            case "range":
                text = json.dumps(row | {"score": chance.choice([0, 6, -1, 10, 100, 10**30])})
            case "field":
                text = json.dumps(row | {chance.choice(["note", "Score", "score "]): score})
            case "swap":
                text = json.dumps({"score": row["explanation"], "explanation": str(score)})
            case "word":
                text = chance.choice(
                    [f"{score}", f"{score}/5", f"I would say {score}.", words, "N/A"]
                )
        yield kind, text


def test_of_a_thousand_corrupted_verdicts_none_becomes_a_number():
    read = []
    for kind, text in corruptions(1000):
        try:
            read.append((kind, text, read_content_similarity(text)))
        except ValueError:
            continue
    assert read == []


@given(st.text(max_size=60))
def test_any_text_is_refused_or_is_a_verdict_in_range(text):
    try:
        found = read_content_similarity(text)
    except ValueError:
        return
    assert found.score in range(1, 6) and found.explanation


@given(st.integers(1, 5), st.text(min_size=1).filter(str.strip), st.booleans())
def test_any_explanation_is_kept_in_a_fence_or_outside(score, explanation, fenced):
    text = json.dumps({"score": score, "explanation": explanation}, ensure_ascii=fenced)
    if fenced:
        text = f"```json\n{text}\n```"
    assert read_content_similarity(text) == ContentVerdict(score, explanation.strip())
