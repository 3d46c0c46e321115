"""All requests of a validation but those of given items, in the order they are asked.

The order is fixed by corpus and settings alone. Repeats of one question stand far apart, so
that they are computed in the company of other requests, as happens in a real run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from data_prep.engine import Message, Request
from data_prep.prompting import read_prompt
from eval.config import JudgeConfig
from eval.judging import Case, quoted
from eval.validation.asks import Ask, verdict_ask
from eval.validation.config import ValidateConfig
from eval.validation.subjects import Subject
from eval.validation.texts import MASTER_KEYS, padded

PROMPTS = Path(__file__).parent / "prompts"
PAIRWISE_PROMPT = "which-is-nearer.v1"
LADDER = ("truth", "paraphrase", "other", "shuffled")  # from best to worst
RATED = (*LADDER[:2], "part", *LADDER[2:])  # what scale use is measured on
PADDED = ("part", "other")  # a truth cannot rise any more
ORDERS = ("ab", "ba")
SWAPS = ("easy", "hard")
TEMPERATURES = {"greedy": 0.0, "sampled": 0.7}


class Planner:
    """Makes the asks of each probe.

    Args:
        constrained: whether the engine holds replies to the verdict's schema.
    """

    def __init__(
        self,
        subjects: Sequence[Subject],
        config: ValidateConfig,
        judge: JudgeConfig,
        *,
        constrained: bool,
    ) -> None:
        self.subjects = list(subjects)
        self.config = config
        self.judge = judge
        self.constrained = constrained

    def asks(self) -> list[Ask]:
        return [
            *self._ladder(),
            *self._padding(),
            *self._master_keys(),
            *self._repeats(),
            *self._swaps(),
        ]

    def verdict(
        self, probe: str, subject: Subject, variant: str, candidate: str, *, item: str | None = None
    ) -> Ask:
        case = Case(
            reply_key=item or subject.pair_id,
            persona_name=subject.persona_name,
            question=subject.question,
            reference=subject.truth,
            candidate=candidate,
            candidate_status="ok",
        )
        return verdict_ask(
            probe, case, subject.persona_id, variant, self.judge, self.constrained, self.config.seed
        )

    def _ladder(self) -> Iterator[Ask]:
        for subject in self.subjects:
            for variant in RATED:
                yield self.verdict("ladder", subject, variant, getattr(subject, variant))

    def _padding(self) -> Iterator[Ask]:
        for subject in self.subjects:
            for kind in PADDED:
                text = getattr(subject, kind)
                item = f"{subject.pair_id}/{kind}"
                yield self.verdict("length_bias", subject, "plain", text, item=item)
                yield self.verdict("length_bias", subject, "padded", padded(text), item=item)

    def _master_keys(self) -> Iterator[Ask]:
        for subject in self._repeated():
            for number, text in enumerate(MASTER_KEYS):
                item = f"{subject.pair_id}/{number}"
                yield self.verdict("master_keys", subject, "verdict", text, item=item)

    def _repeats(self) -> Iterator[Ask]:
        """Each time at another seed and in another order; part answers, where scores may waver."""
        chosen = self._repeated()
        for repeat in range(self.config.num_repeats):
            turn = repeat * len(chosen) // self.config.num_repeats
            for name, temperature in TEMPERATURES.items():
                for subject in [*chosen[turn:], *chosen[:turn]]:
                    own = self.verdict("self_agreement", subject, f"{name}/{repeat}", subject.part)
                    sampling = replace(
                        own.request.sampling,
                        temperature=temperature,
                        seed=self.config.seed + 100 * (repeat + 1),
                    )
                    yield replace(own, request=replace(own.request, sampling=sampling))

    def _swaps(self) -> Iterator[Ask]:
        """Easy: a paraphrase or a stranger's answer; hard: two answers to other questions."""
        for subject in self.subjects:
            pairs = {"easy": (subject.paraphrase, subject.other)}
            if subject.own_other is not None:
                pairs["hard"] = (subject.own_other, subject.other)
            for kind, (first, second) in pairs.items():
                for order, (a, b) in zip(ORDERS, ((first, second), (second, first)), strict=True):
                    yield Ask(
                        "order_swap",
                        f"{subject.pair_id}/{kind}",
                        subject.persona_id,
                        order,
                        "choose",
                        _which_is_nearer(subject, a, b),
                    )

    def _repeated(self) -> list[Subject]:
        """A part of the subjects, over all people."""
        count, limit = len(self.subjects), self.config.num_repeated_pairs
        if limit >= count:
            return self.subjects
        return [self.subjects[i * count // limit] for i in range(limit)]


def _which_is_nearer(subject: Subject, a: str, b: str) -> Request:
    rules = read_prompt(PROMPTS, PAIRWISE_PROMPT).replace("{name}", subject.persona_name)
    body = (
        f"<question>\n{quoted(subject.question)}\n</question>\n"
        f"<real_answer>\n{quoted(subject.truth)}\n</real_answer>\n"
        f"<answer_a>\n{quoted(a)}\n</answer_a>\n"
        f"<answer_b>\n{quoted(b)}\n</answer_b>"
    )
    messages: tuple[Message, ...] = (
        {"role": "system", "content": rules},
        {"role": "user", "content": body},
    )
    return Request(messages=messages, options=("A", "B"))
