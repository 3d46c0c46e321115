"""What an evaluation asks: every held-out question under every method, as engine requests.

A `Use` says why a reply is needed (method, whose answer, addressed as whom); uses that need
the same request share it, so the base is asked once where several tables want it. The plan is
made from the full ordered list each time, and `plan.jsonl` ties every number to its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from data_prep.context import Ranker, select_context
from data_prep.corpus import Corpus
from data_prep.engine import Engine, Request, Sampling, request_key
from data_prep.prompting import NO_CONTEXT, Context, PromptSpec, build_messages
from data_prep.records import QAPair, refuse_without_consent
from data_prep.sft import read_prompt_spec
from data_prep.who import ContextKind, Who, parse_who
from eval.config import EvalConfig
from serve.answerers import resolve_answerer
from train.bundle import find_bundle, list_names
from train.jobs import category_name

T = TypeVar("T")
Table = Literal["likelihood", "who_said_it", "reply"]
PEER = "control: another person of the category"
POOLED = "control: pooled"
MESSAGE_OVERHEAD_TOKENS = 16  # what a chat template adds to each message, generously


@dataclass(frozen=True)
class Use:
    """One cell's need of a reply. `key` names the row that holds it."""

    table: Table
    method: str  # as the config spells it, `{persona}` and all
    who: str
    persona_id: str  # whose held-out answer it is
    addressed_as: str  # whose prompt is used
    pair_id: str
    num_context_pairs: int
    key: str


@dataclass(frozen=True)
class Plan:
    """All uses, and each request once, in the order of first use."""

    uses: list[Use]
    score_requests: dict[str, Request]
    reply_requests: dict[str, Request]
    missing: dict[str, list[str]]  # method -> people who have no such adapter
    num_follow_ups: dict[str, int]  # "asked with prior turns" or "dropped" -> pairs


@dataclass(frozen=True)
class Person:
    """One evaluated person: held-out questions, training pairs, the prompt that addresses them."""

    id: str
    test: list[QAPair]
    train: list[QAPair]
    prompt: PromptSpec


class Planner:
    """Builds the plan from a corpus, an adapters folder and the engine's sizes.

    Args:
        rankers: retrieval index by persona, for retrieval and hybrid contexts.
    """

    def __init__(
        self,
        corpus: Corpus,
        adapters: Path,
        engine: Engine,
        config: EvalConfig,
        rankers: dict[str, Ranker] | None = None,
    ) -> None:
        self.corpus = corpus
        self.adapters = adapters
        self.engine = engine
        self.config = config
        self.rankers = rankers or {}
        self._uses: list[Use] = []
        self._scores: dict[str, Request] = {}
        self._replies: dict[str, Request] = {}
        self._missing: dict[str, list[str]] = {}
        self._follow_ups = {"asked with prior turns": 0, "dropped": 0}
        self._full_names: dict[tuple[str | None, str | None], str | None] = {}

    def plan(self) -> Plan:
        """Raises ValueError for unknown people or adapters, lacking consent, empty test sets."""
        people = [self._person(name) for name in self._persona_ids()]
        refuse_without_consent((self.corpus.persona(p.id) for p in people), "evaluate")
        for person in people:
            self._follow_ups["asked with prior turns"] += self._num_follow_ups(person)
            for method in self.config.methods:
                if (who := self._who(method, person)) is not None:
                    self._plan_method(method, who, person)
            if self.config.likelihood.controls:
                self._plan_controls(person, people)
        if self.config.likelihood.who_said_it:
            self._plan_who_said_it(people)
        return Plan(
            uses=self._uses,
            score_requests=self._scores,
            reply_requests=self._replies,
            missing=self._missing,
            num_follow_ups=self._follow_ups,
        )

    def _persona_ids(self) -> list[str]:
        if self.config.personas == "all":
            return sorted(self.corpus.splits)
        return list(self.config.personas)

    def _person(self, persona_id: str) -> Person:
        test = self.corpus.part(persona_id, "test")
        alone = [pair for pair in test if pair.self_contained]
        if self.config.follow_ups == "drop":
            self._follow_ups["dropped"] += len(test) - len(alone)
            test = alone
        if not test:
            raise ValueError(f"persona {persona_id!r} has no held-out questions; add transcripts")
        default = read_prompt_spec(self.corpus.folder / "sft" / persona_id)
        who = Who(name=persona_id, is_adapter=False)
        prompt = resolve_answerer(who, adapters=self.adapters, default_prompt=default).prompt
        assert prompt is not None
        train = self.corpus.part(persona_id, "train")
        return Person(id=persona_id, test=test, train=train, prompt=prompt)

    def _num_follow_ups(self, person: Person) -> int:
        """Questions that are asked of this person and lean on what was said before."""
        scored = spread(person.test, self.config.likelihood.answers_per_persona)
        answered = spread(person.test, self.config.generate.questions_per_persona)
        return len({pair.id for pair in (*scored, *answered) if not pair.self_contained})

    def _who(self, method: str, person: Person) -> Who | None:
        """The method for this person, or None when it needs an adapter that is not there."""
        category = self.corpus.persona(person.id).category
        if "{category}" in method and not category:
            self._missing.setdefault(method, []).append(person.id)
            return None
        text = method.replace("{persona}", person.id)
        who = parse_who(text.replace("{category}", category_name(category or "none")))
        if who.is_adapter and who.name not in list_names(self.adapters):
            if self.config.missing_adapters == "refuse":
                find_bundle(self.adapters, str(who.name))  # raises, naming the known ones
            self._missing.setdefault(method, []).append(person.id)
            return None
        return who

    def _plan_method(self, method: str, who: Who, person: Person) -> None:
        likelihood = self.config.likelihood
        for pair in spread(person.test, likelihood.answers_per_persona):
            self._score("likelihood", method, who, person, pair, addressed_as=person)
        for pair in spread(person.test, self.config.generate.questions_per_persona):
            self._reply(method, who, person, pair)

    def _plan_controls(self, person: Person, people: Sequence[Person]) -> None:
        """Others' adapters under this person's own messages: what they gain is register."""
        names = list_names(self.adapters)
        if person.id not in names:
            return
        controls = {POOLED: "pooled", PEER: self._peer(person, people)}
        for label, name in controls.items():
            if name in names:
                who = Who(name=name, is_adapter=True)
                for pair in spread(person.test, self.config.likelihood.answers_per_persona):
                    self._score("likelihood", label, who, person, pair, addressed_as=person)

    def _peer(self, person: Person, people: Sequence[Person]) -> str | None:
        """The next person of the same category who has an adapter, in the order of ids."""
        category = self.corpus.persona(person.id).category
        names = set(list_names(self.adapters))
        peers = [
            p.id for p in people if p.id in names and self.corpus.persona(p.id).category == category
        ]
        if category is None or len(peers) < 2 or person.id not in peers:
            return None
        return peers[(peers.index(person.id) + 1) % len(peers)]

    def _plan_who_said_it(self, people: Sequence[Person]) -> None:
        """Every person's adapter and the base, addressed as that person, on everybody's answers.

        People split by interview and people split inside one are separate line-ups.
        """
        names = set(list_names(self.adapters))
        kinds = sorted({self.corpus.splits[person.id].rule.kind for person in people})
        for kind in kinds:
            self._plan_line_up(
                [
                    person
                    for person in people
                    if person.id in names and self.corpus.splits[person.id].rule.kind == kind
                ]
            )

    def _plan_line_up(self, suspects: Sequence[Person]) -> None:
        if len(suspects) < 2:
            return
        for person in suspects:
            for pair in spread(person.test, self.config.likelihood.answers_per_persona):
                for suspect in suspects:
                    for is_adapter in (True, False):
                        who = Who(name=suspect.id, is_adapter=is_adapter)
                        method = "{persona}" if is_adapter else "base:{persona}"
                        self._score("who_said_it", method, who, person, pair, addressed_as=suspect)

    def _score(
        self,
        table: Table,
        method: str,
        who: Who,
        person: Person,
        pair: QAPair,
        *,
        addressed_as: Person,
    ) -> None:
        request, used = self._request(who, person, pair, addressed_as, completion=pair.answer)
        key = request_key("score_text", request, self.engine.identity)
        self._scores.setdefault(key, request)
        self._use(table, method, who, person, pair, addressed_as, used, key)

    def _reply(self, method: str, who: Who, person: Person, pair: QAPair) -> None:
        request, used = self._request(who, person, pair, person, completion=None)
        key = request_key("generate", request, self.engine.identity)
        self._replies.setdefault(key, request)
        self._use("reply", method, who, person, pair, person, used, key)

    def _use(
        self,
        table: Table,
        method: str,
        who: Who,
        person: Person,
        pair: QAPair,
        addressed_as: Person,
        used: int,
        key: str,
    ) -> None:
        self._uses.append(
            Use(
                table=table,
                method=method,
                who=str(who),
                persona_id=person.id,
                addressed_as=addressed_as.id,
                pair_id=pair.id,
                num_context_pairs=used,
                key=key,
            )
        )

    def _request(
        self, who: Who, person: Person, pair: QAPair, addressed_as: Person, completion: str | None
    ) -> tuple[Request, int]:
        """The request and how many context pairs it holds; held-out text never is one of them."""
        prompt = addressed_as.prompt
        prior = () if pair.self_contained else pair.prior_turns
        context = without_repeats(self._context(who, addressed_as, pair.question), person.test)
        refuse_leaks(context, person.test)
        reserve = self.config.generate.max_tokens
        if completion is not None:
            reserve = self.engine.count_tokens(completion) + 1
        context = self._fit(context, who.context.kind, prompt, pair, prior, reserve)
        sampling = Sampling()
        if completion is None:
            generate = self.config.generate
            sampling = Sampling(
                max_tokens=generate.max_tokens,
                temperature=generate.temperature,
                seed=self.config.seed,
            )
        request = Request(
            messages=build_messages(prompt, pair.question, context, prior),
            adapter=self._adapter(who),
            sampling=sampling,
            completion=completion,
            template_args=prompt.template_args,
        )
        return request, len(context.pairs)

    def _adapter(self, who: Who) -> str | None:
        """NAME@VERSION; a bundle is read, and its weights are hashed, once a plan."""
        if not who.is_adapter:
            return None
        if (known := self._full_names.get((who.name, who.version))) is None:
            known = resolve_answerer(who, adapters=self.adapters).adapter
            self._full_names[who.name, who.version] = known
        return known

    def _context(self, who: Who, person: Person, question: str) -> Context:
        return select_context(
            who.context,
            persona=self.corpus.persona(person.id),
            train_pairs=person.train,
            question=question,
            seed=self.config.seed,
            ranker=self.rankers.get(person.id),
        )

    def _fit(
        self,
        context: Context,
        kind: ContextKind,
        prompt: PromptSpec,
        pair: QAPair,
        prior: Any,
        reserve: int,
    ) -> Context:
        """Drop whole pairs until prompt and answer fit: the oldest, or the least near ones."""
        pairs = list(context.pairs)
        room = self.engine.context_length - reserve
        while pairs:
            fitted = Context(profile=context.profile, pairs=tuple(pairs))
            messages = build_messages(prompt, pair.question, fitted, prior)
            tokens = sum(
                self.engine.count_tokens(m["content"]) + MESSAGE_OVERHEAD_TOKENS for m in messages
            )
            if tokens <= room:
                return fitted
            pairs.pop(-1 if kind in ("retrieval", "hybrid") else 0)  # those stand best first
        return Context(profile=context.profile) if context.profile else NO_CONTEXT


def spread(pairs: Sequence[T], limit: int | None) -> list[T]:
    """At most `limit` pairs at even distances, the same for every method."""
    if limit is None or limit >= len(pairs):
        return list(pairs)
    return [pairs[i * len(pairs) // limit] for i in range(limit)]


def without_repeats(context: Context, test: Sequence[QAPair]) -> Context:
    """Leave out training answers that the person gives again, word for word, in the test set.

    A test pair itself stays, for `refuse_leaks` to find: that is a broken split, no repetition.
    """
    texts, ids = _long_answers(test), {pair.id for pair in test}
    kept = tuple(p for p in context.pairs if p.answer not in texts or p.id in ids)
    return replace(context, pairs=kept)


def refuse_leaks(context: Context, test: Sequence[QAPair]) -> None:
    """Raises ValueError when a context holds a held-out answer, by id or by its text."""
    ids = {pair.id for pair in test}
    texts = _long_answers(test)
    for pair in context.pairs:
        if pair.id in ids or pair.answer in texts:
            raise ValueError(
                f"context pair {pair.id!r} is held-out text; the split leaks, "
                "prepare the corpus again"
            )


def _long_answers(test: Sequence[QAPair]) -> set[str]:
    """Answers long enough to be nobody's "Yes, of course."."""
    return {pair.answer for pair in test if len(pair.answer.split()) >= 8}
