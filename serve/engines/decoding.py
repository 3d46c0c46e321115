"""One reply while it is being written: which token comes next, and when it ends."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from data_prep.engine import FinishReason, Sampling
from data_prep.records import content_hash
from serve.engines.grammar import TokenMask

NUCLEUS = 512  # tokens sorted at first; almost always they hold `top_p`


class Writer:
    """Chooses the tokens of one reply.

    Its chance depends on the seed and the prompt alone, so other requests in the batch do
    not change it, and two prompts with one seed are not drawn alike.

    Args:
        end_ids: tokens that end a turn.
    """

    def __init__(
        self,
        prompt_ids: Sequence[int],
        sampling: Sampling,
        *,
        tokenizer: Any,
        end_ids: frozenset[int],
        mask: TokenMask | None = None,
    ) -> None:
        self.ids: list[int] = []
        self.finish_reason: FinishReason | None = None
        self._sampling = sampling
        self._tokenizer = tokenizer
        self._end_ids = end_ids
        self._mask = mask
        self._chance = random.Random(content_hash([sampling.seed, list(prompt_ids)]))

    @property
    def text(self) -> str:
        """The reply so far, up to the first stop text."""
        ids = self.ids[:-1] if self.ids and self.ids[-1] in self._end_ids else self.ids
        text: str = self._tokenizer.decode(ids, skip_special_tokens=True)
        ends = [text.find(stop) for stop in self._sampling.stop if stop in text]
        return text[: min(ends)] if ends else text

    def take(self, logits_V: torch.Tensor) -> int:
        """Choose the next token; afterwards `finish_reason` says whether it was the last."""
        if self._mask is not None:
            self._mask.apply(logits_V)
        if self._sampling.temperature == 0:
            token = int(logits_V.argmax())
        else:
            probs_V = torch.softmax(logits_V.double() / self._sampling.temperature, dim=-1)
            token = draw(probs_V, self._sampling.top_p, self._chance.random())
        self.ids.append(token)
        if token in self._end_ids or self._meets_stop():
            self.finish_reason = "stop"
        elif len(self.ids) >= self._sampling.max_tokens:
            self.finish_reason = "length"
        elif self._mask is not None:
            self._mask.accept(token)
        return token

    def _meets_stop(self) -> bool:
        if not self._sampling.stop:
            return False
        # a token holds at least one byte, so this tail covers the longest stop text
        tail = self.ids[-max(len(stop.encode()) for stop in self._sampling.stop) - 4 :]
        text = self._tokenizer.decode(tail, skip_special_tokens=True)
        return any(stop in text for stop in self._sampling.stop)


def draw(probs_V: torch.Tensor, top_p: float, chance: float) -> int:
    """The token at `chance` (from 0 to 1) of the cumulated probabilities.

    Only the likeliest tokens that together reach `top_p` take part (nucleus sampling:
    Holtzman et al. 2020, arXiv:1904.09751).
    """
    if top_p >= 1:
        return _at(probs_V.cumsum(0), chance)
    for num_sorted in (min(NUCLEUS, len(probs_V)), len(probs_V)):
        sorted_V, order_V = probs_V.topk(num_sorted)
        total_V = sorted_V.cumsum(0)
        if total_V[-1] >= top_p:
            break
    num_kept = int((total_V - sorted_V < top_p).sum())
    return int(order_V[_at(total_V[:num_kept], chance)])


def _at(total_V: torch.Tensor, chance: float) -> int:
    place = int(torch.searchsorted(total_V, chance * total_V[-1], right=True))
    return min(place, len(total_V) - 1)
