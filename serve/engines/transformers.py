"""The engine for a laptop, and the reference for the others: Transformers and PEFT.

The decoding loop is ours, because `generate` of the library neither reuses the beginning
that many persona questions share, nor draws each request from a seed of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from transformers import Cache

from data_prep.engine import Operation, Reply, Request
from data_prep.records import canonical_json
from serve.engines import NO_ADAPTERS, EngineConfig
from serve.engines.adapters import Adapters
from serve.engines.batching import Batch, Item, plan_batches
from serve.engines.common import check_length, check_requests, in_order, split_reasoning
from serve.engines.decoding import Writer
from serve.engines.forward import Decoding, Forward
from serve.engines.grammar import Grammars, is_available
from train.base_model import load_model, load_tokenizer, preferred_dtype, resolve
from train.bundle import LEARNT_NOTHING, canary_problem
from train.encode import Encoder

KEEP_SHARE = 0.75  # finished rows are taken out of a batch when fewer than this still write

Run = Callable[[Batch], Sequence[Reply]]


class TransformersEngine:
    """One base model in memory, adapters over it by name.

    Replies to one list of requests are the same every time. Not for concurrent use: the
    active adapter is a state of the model.
    """

    def __init__(self, config: EngineConfig, adapters: Mapping[str, Path] = NO_ADAPTERS) -> None:
        base = resolve(config.base_model)
        dtype = preferred_dtype() if config.dtype == "auto" else getattr(torch, config.dtype)
        self.model = base.name
        self.fingerprint = base.fingerprint
        self.dtype = str(dtype).removeprefix("torch.")
        self.identity = f"{base.fingerprint}/{self.dtype}"
        self._config = config
        self._tokenizer = load_tokenizer(base)
        self._encoders: dict[str, Encoder] = {}
        model = load_model(base, dtype)
        self._forward = Forward(model)
        self.context_length = self._forward.config.max_position_embeddings
        if config.max_model_len is not None:
            self.context_length = min(self.context_length, config.max_model_len)
        self._adapters = Adapters(model, base, adapters, max_resident=config.max_resident_adapters)
        self._prefix_key: tuple[str | None, tuple[int, ...]] | None = None
        self._prefix: Cache | None = None
        self._end_ids = frozenset([self._encoder({}).end_of_turn, *_end_ids(model)])
        self._grammars: Grammars | None = None
        operations: set[Operation] = {"generate", "choose", "score_text"}
        if is_available():
            operations |= {"json_schema", "choices"}
        self.capabilities: frozenset[Operation] = frozenset(operations)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def generate(self, requests: Sequence[Request]) -> Iterator[Reply]:
        self._check("generate", requests)
        items = []
        for index, request in enumerate(requests):
            if request.constraint is not None:
                self._constraints().matcher(request.constraint)
            prompt_ids = self._encoder(request.template_args).prompt_ids(request.messages)
            check_length(index, len(prompt_ids), request.sampling.max_tokens, self.context_length)
            items.append(Item(request.adapter, prompt_ids, request.sampling.max_tokens))
        return self._run(items, partial(self._generate, requests, items))

    def choose(self, requests: Sequence[Request]) -> Iterator[Reply]:
        self._check("choose", requests)
        items, options = [], []
        for index, request in enumerate(requests):
            encoder = self._encoder(request.template_args)
            prompt_ids = encoder.prompt_ids(request.messages)
            own = [encoder.answer_ids(option)[:-1] for option in request.options]
            longest = max(map(len, own))
            check_length(index, len(prompt_ids), longest, self.context_length, what="option")
            options.append(own)
            # each option of several tokens branches off with a copy of the prompt
            copies = sum(len(ids) > 1 for ids in own)
            num_more = max(copies - 1, 0) * len(prompt_ids) + copies * longest
            items.append(Item(request.adapter, prompt_ids, num_more))
        return self._run(items, partial(self._choose, options, items))

    def score_text(self, requests: Sequence[Request]) -> Iterator[Reply]:
        self._check("score_text", requests)
        items, sequences = [], []
        for index, request in enumerate(requests):
            encoder = self._encoder(request.template_args)
            encoded = encoder.example(request.messages, request.completion or "")
            num_prompt = len(encoded.input_ids) - encoded.num_supervised
            check_length(index, num_prompt, encoded.num_supervised, self.context_length)
            sequences.append(encoded.input_ids)
            prompt_ids = encoded.input_ids[:num_prompt]
            items.append(Item(request.adapter, prompt_ids, encoded.num_supervised))
        return self._run(items, partial(self._score, sequences, items))

    def _run(self, items: Sequence[Item], run: Run) -> Iterator[Reply]:
        plan = plan_batches(
            items,
            max_batch_tokens=self._config.max_batch_tokens,
            share_prefixes=self._config.share_prefixes and self._forward.can_share,
        )
        return in_order(reply for batch in plan for reply in self._replies(batch, run))

    def _replies(self, batch: Batch, run: Run) -> list[tuple[int, Reply]]:
        self._activate(batch.adapter)
        return list(zip(batch.members, run(batch), strict=True))

    def _generate(
        self, requests: Sequence[Request], items: Sequence[Item], batch: Batch
    ) -> list[Reply]:
        writers = [self._writer(requests[i], items[i]) for i in batch.members]
        room = max(items[i].num_more for i in batch.members)
        self._write(writers, self._prefill(items, batch, room=room))
        return [
            _generated(writer, len(items[i].prompt_ids))
            for writer, i in zip(writers, batch.members, strict=True)
        ]

    @torch.inference_mode()
    def _write(self, writers: Sequence[Writer], state: Decoding) -> None:
        """Let each writer choose token after token until all have finished."""
        rows = list(writers)
        while True:
            logits_BV = self._forward.logits(state.hidden)
            tokens = [
                0 if writer.finish_reason else writer.take(logits_V)
                for writer, logits_V in zip(rows, logits_BV, strict=True)
            ]
            going = [row for row, writer in enumerate(rows) if not writer.finish_reason]
            if not going:
                return
            if len(going) < KEEP_SHARE * len(rows):
                state.keep(going)
                rows = [rows[row] for row in going]
                tokens = [tokens[row] for row in going]
            self._forward.step(state, tokens)

    def _choose(
        self, options: Sequence[Sequence[Sequence[int]]], items: Sequence[Item], batch: Batch
    ) -> list[Reply]:
        own = [options[i] for i in batch.members]
        room = max(len(ids) for ids_of_row in own for ids in ids_of_row)
        sums = self._forward.score_options(self._prefill(items, batch, room=room), own)
        return [
            Reply(
                option_logprobs=tuple(row),
                num_prompt_tokens=len(items[i].prompt_ids),
                num_output_tokens=sum(map(len, options[i])),
            )
            for i, row in zip(batch.members, sums, strict=True)
        ]

    def _score(
        self, sequences: Sequence[Sequence[int]], items: Sequence[Item], batch: Batch
    ) -> list[Reply]:
        rests = [sequences[i][batch.num_shared :] for i in batch.members]
        num_scored = [items[i].num_more for i in batch.members]
        found = self._forward.score(rests, num_scored, self._shared(items, batch))
        return [
            Reply(
                token_logprobs=logprobs,
                num_prompt_tokens=len(items[i].prompt_ids),
                num_output_tokens=len(logprobs),
            )
            for i, logprobs in zip(batch.members, found, strict=True)
        ]

    def _prefill(self, items: Sequence[Item], batch: Batch, *, room: int) -> Decoding:
        rests = [items[i].prompt_ids[batch.num_shared :] for i in batch.members]
        return self._forward.prefill(rests, self._shared(items, batch), room=room)

    def _shared(self, items: Sequence[Item], batch: Batch) -> Cache | None:
        """The batch's prefix, kept for the batches that follow with the same one."""
        ids = tuple(items[batch.members[0]].prompt_ids[: batch.num_shared])
        if self._prefix_key != (batch.adapter, ids):
            self._prefix = self._forward.prefix(ids)
            self._prefix_key = (batch.adapter, ids)
        return self._prefix

    def _check(self, operation: Operation, requests: Sequence[Request]) -> None:
        check_requests(
            operation, requests, capabilities=self.capabilities, adapters=self._adapters.folders
        )
        for name in {request.adapter for request in requests if request.adapter is not None}:
            self._adapters.bundle(name)

    def _activate(self, adapter: str | None) -> None:
        if self._adapters.activate(adapter):
            assert adapter is not None
            self._check_canary(adapter)

    def _check_canary(self, adapter: str) -> None:
        """Make sure that the adapter acts here as it did when it was trained."""
        bundle = self._adapters.bundle(adapter)
        encoder = self._encoder(bundle.prompt.template_args)
        encoded = encoder.example(bundle.canary.messages, bundle.canary.completion)
        [measured] = self._forward.score([encoded.input_ids], [encoded.num_supervised], None)
        problem = canary_problem(bundle.canary, measured, exact=self.dtype == "float32")
        if bundle.canary.distance() < LEARNT_NOTHING:
            # so near the base, rounding decides whether a canary looks more like one or the other
            warnings.warn(
                f"adapter {adapter!r} has learnt nothing: its canary is "
                f"{bundle.canary.distance():.2f} nat from the base (below {LEARNT_NOTHING}), "
                "so it cannot show that the adapter is applied",
                stacklevel=2,
            )
        elif problem is not None:
            self._adapters.drop(adapter)
            raise ValueError(f"adapter {adapter!r}: {problem}")

    def _encoder(self, template_args: dict[str, Any]) -> Encoder:
        key = canonical_json(template_args)
        if key not in self._encoders:
            self._encoders[key] = Encoder(self._tokenizer, template_args)
        return self._encoders[key]

    def _constraints(self) -> Grammars:
        if self._grammars is None:
            vocab_size = self._forward.config.vocab_size
            self._grammars = Grammars(self._tokenizer, vocab_size, sorted(self._end_ids))
        return self._grammars

    def _writer(self, request: Request, item: Item) -> Writer:
        constraint = request.constraint
        return Writer(
            item.prompt_ids,
            request.sampling,
            tokenizer=self._tokenizer,
            end_ids=self._end_ids,
            mask=self._constraints().matcher(constraint) if constraint else None,
        )


def _generated(writer: Writer, num_prompt_tokens: int) -> Reply:
    reasoning, text = split_reasoning(writer.text)
    assert writer.finish_reason is not None
    return Reply(
        text=text,
        reasoning=reasoning,
        finish_reason=writer.finish_reason,
        num_prompt_tokens=num_prompt_tokens,
        num_output_tokens=len(writer.ids),
    )


def _end_ids(model: Any) -> list[int]:
    """What the model's authors let generation end with: one token, several or none."""
    ends = model.generation_config.eos_token_id
    return ends if isinstance(ends, list) else [] if ends is None else [ends]
