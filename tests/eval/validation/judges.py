"""Judges that are right, or wrong in one way, on purpose."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from data_prep.engine import Reply
from eval.config import JudgeConfig
from eval.validation.config import ValidateConfig
from eval.validation.texts import FILLER
from serve.engines.scripted import ScriptedEngine

CONFIG = ValidateConfig(num_pairs=24, num_repeated_pairs=20)
JUDGE = JudgeConfig(name="owl", attempts=2)
MARK = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)
FILLING = set(re.findall(r"\w+", FILLER.lower()))


def content(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.lower()) if word not in FILLING]


def overlap_score(marks: dict[str, str]) -> int:
    """1 to 5 by the share of the real answer's words that are there."""
    real, said = set(content(marks["real_answer"])), set(content(marks["second_answer"]))
    return 1 + round(4 * len(real & said) / len(real))


def choose(operation, request):
    """Right in both forms: the nearer answer, and the speaker's number."""
    text = request.messages[-1]["content"]
    marks = dict(MARK.findall(text))
    if "answer_a" in marks:
        real = set(content(marks["real_answer"]))
        own = [len(real & set(content(marks[m]))) for m in ("answer_a", "answer_b")]
        # two that are equally far are told apart by their words, not by their places
        own = [n + hash_share(marks[m]) for n, m in zip(own, ("answer_a", "answer_b"), strict=True)]
        return Reply(option_logprobs=tuple(-100.0 + n for n in own))
    number = int(re.search(r"people, number (\d)", text)[1])
    return Reply(option_logprobs=tuple(-float(k != number) for k in range(len(request.options))))


def hash_share(text: str) -> float:
    return sum(map(ord, text)) % 997 / 1000


def verdict(score: int) -> str:
    return json.dumps({"score": score, "explanation": "Because."})


def judge_that(
    rates: Callable[[dict, object], object] | None = None, chooses=choose
) -> ScriptedEngine:
    """A judge from a function of the texts it is shown; a number is a verdict, a text is said."""

    def reply(operation, request):
        if operation == "choose":
            return chooses(operation, request)
        marks = dict(MARK.findall(request.messages[-1]["content"]))
        marks.setdefault("second_answer", "")
        found = overlap_score(marks) if rates is None else rates(marks, request)
        return verdict(found) if isinstance(found, int) else found

    return ScriptedEngine(reply, model="owl-7b")
